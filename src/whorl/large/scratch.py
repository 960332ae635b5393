"""What a long run keeps on disk: the image between two passes, in full precision, and a note of what is done."""

import math
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.raw_volume import RawSamples
from whorl.foundations.atomic import lock
from whorl.large.windows import Window


class Scratch:
    """Samples ``(c, y, x)`` or ``(c, z, y, x)`` on disk, read and written by window.

    Number and type of the channels come with the first window. The file has no name: it is gone when it is closed, also
    when the process is killed. With a ``name`` it outlives the process until :meth:`close`, and :meth:`reopen` finds
    what was written before.
    """

    def __init__(self, folder: Path, shape: Sequence[int], name: str | None = None) -> None:
        self.folder, self.shape, self.name = folder, tuple(shape), name
        self.file: IO[bytes] | None = None
        self.held: RawSamples | None = None

    def reopen(self, channels: int, dtype: np.dtype[Any]) -> None:
        """Go on with a file of that name, or begin it."""
        self._opened(channels, dtype)

    def read(self, window: Window) -> NDArray[Any]:
        """Samples of a window."""
        assert self.held is not None, "nothing was written"
        return self.held.read((slice(0, self.held.shape[0]), *window.slices))

    def write(self, window: Window, block: NDArray[Any]) -> None:
        """Put samples into a window."""
        self._opened(len(block), block.dtype).write((slice(0, len(block)), *window.slices), block)

    def flush(self) -> None:
        """Bring what was written to the disk."""
        if self.file is not None:
            os.fsync(self.file.fileno())

    def release(self) -> None:
        """Close the file; one with a name stays."""
        if self.file is not None:
            self.file.close()

    def close(self) -> None:
        """Give the disk space back."""
        self.release()
        if self.name is not None:
            (self.folder / self.name).unlink(missing_ok=True)

    def _opened(self, channels: int, dtype: np.dtype[Any]) -> RawSamples:
        if self.held is None:
            if self.name is None:
                self.file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115  (closed by close)
            else:
                place = self.folder / self.name
                self.file = place.open("r+b" if place.exists() else "w+b", buffering=0)
            self.file.truncate(channels * math.prod(self.shape) * dtype.itemsize)
            self.held = RawSamples(self.file, (channels, *self.shape), dtype)
        return self.held


IDENTITY, DONE = "run", "done"


class Journal:
    """A folder with the scratch files of a run and one line for each window that is done.

    ``identity`` stands for what is computed from what; a folder that was left by a run with another one is emptied. A
    line is written when the samples of its window are on the disk, so a window counts as done only when it is. The
    folder is locked as long as the run lives.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.holder = os.open(folder, os.O_RDONLY)
        if lock(self.holder) is False:
            os.close(self.holder)
            raise FileError(f"{folder}: another run for the same output is under way. Wait for it, or stop it.")
        said = folder / IDENTITY
        if not said.exists() or said.read_text() != identity:
            for old in folder.iterdir():
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            said.write_text(identity)
        log = folder / DONE
        # The last line may have been cut short by the kill: without its end it does not count.
        lines = log.read_text().rpartition("\n")[0].splitlines() if log.exists() else []
        log.write_text("".join(f"{line}\n" for line in lines))
        self.log = log.open("a")
        self.done = set(lines)
        self.resumed = bool(lines)

    def __contains__(self, entry: tuple[int, int | str]) -> bool:
        """Whether a window of a pass, or ``(pass, "all")``, is done."""
        return "{} {}".format(*entry) in self.done

    def mark(self, entry: tuple[int, int | str]) -> None:
        """Write down that it is done."""
        self.done.add("{} {}".format(*entry))
        self.log.write("{} {}\n".format(*entry))
        self.log.flush()
        os.fsync(self.log.fileno())

    def leave(self) -> None:
        """Close the journal; another run can go on with it."""
        self.log.close()
        os.close(self.holder)

    def remove(self) -> None:
        """The run is over: nothing of it is left."""
        self.leave()
        shutil.rmtree(self.folder, ignore_errors=True)
