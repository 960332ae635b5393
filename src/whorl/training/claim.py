"""One run at a time: the file of a run belongs to one process as long as it trains."""

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whorl.errors import FileError
from whorl.foundations.atomic import lock

__all__ = ["claimed"]


@contextmanager
def claimed(checkpoint: Path) -> Iterator[None]:
    """Keep other processes from training into ``checkpoint`` during the block.

    A small file ``.NAME.lock`` beside it is locked; the lock ends with the process, however it ends.
    """
    place = checkpoint.with_name(f".{checkpoint.name}.lock")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(place)
    except OSError as error:
        raise FileError(f"{checkpoint}: cannot be written ({error.strerror}). Choose another folder.") from None
    if descriptor is None:
        raise FileError(
            f"{checkpoint}: another training is writing there. Wait until it has ended, or choose another folder."
        )
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink()
        os.close(descriptor)


def _locked(place: Path) -> int | None:
    """The open, locked file; None where another process has locked it."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        if lock(descriptor) is False:
            os.close(descriptor)
            return None
        try:
            if os.path.samestat(os.fstat(descriptor), os.stat(place)):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # its last owner removed it between our two calls
