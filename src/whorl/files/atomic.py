"""Whole or not at all: an output is written beside its place and moved there when it is complete."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whorl.errors import FileError

__all__ = ["beside", "check_target"]


@contextmanager
def beside(target: Path, force: bool = False) -> Iterator[Path]:
    """Give a path next to ``target`` to write to; it becomes ``target`` if the block ends well and is gone if not.

    A run that was killed (SIGKILL, power) leaves ``.NAME.<pid>.part``; it is locked only while its process lives, and
    the next run for the same target removes what nobody holds.
    """
    check_target(target, force)
    _sweep(target)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    missing = [folder for folder in target.parents if not folder.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        holder = _hold(part, folder=target.suffix == ".zarr")
    except OSError as error:
        raise FileError(f"{target}: cannot be written ({error.strerror}). Choose another place.") from None
    try:
        yield part
        check_target(target, force)  # somebody else may have written it meanwhile
        _move(part, target)
    except BaseException:
        shutil.rmtree(part) if part.is_dir() else part.unlink(missing_ok=True)
        for folder in missing:  # innermost first
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise
    finally:
        os.close(holder)


def _move(part: Path, target: Path) -> None:
    if not target.is_dir():
        os.replace(part, target)
        return
    old = part.with_suffix(".old")  # a folder cannot be replaced in one go
    os.replace(target, old)
    os.replace(part, target)
    shutil.rmtree(old)


def check_target(target: Path, force: bool = False) -> None:
    """Refuse a target that exists and may not be replaced."""
    try:
        exists = target.exists()
    except OSError as error:
        raise FileError(f"{target}: cannot be written ({error.strerror}). Choose another place.") from None
    if exists and not force:
        raise FileError(f"{target}: exists already and is kept. Use --force (force=True) to replace it.")
    if target.is_dir() and target.suffix != ".zarr":
        raise FileError(f"{target}: is a folder. Give a file name for a single picture.")


def _hold(part: Path, folder: bool) -> int:
    """Create ``part`` and lock it as long as this process lives."""
    if folder:
        part.mkdir()
    else:
        part.touch()
    descriptor = os.open(part, os.O_RDONLY)
    _lock(descriptor)
    return descriptor


def _sweep(target: Path) -> None:
    """Remove what killed runs left for this target."""
    for part in target.parent.glob(f".{target.name}.*.part"):
        with contextlib.suppress(OSError):
            descriptor = os.open(part, os.O_RDONLY)
            try:
                if _lock(descriptor):
                    shutil.rmtree(part) if part.is_dir() else part.unlink()
            finally:
                os.close(descriptor)


def _lock(descriptor: int) -> bool:
    try:
        import fcntl
    except ModuleNotFoundError:  # no such locks on this system: nothing is swept
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
