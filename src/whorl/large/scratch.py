"""A file that holds an image between two passes, in full precision."""

import math
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whorl.files.raw import RawSamples
from whorl.large.windows import Window

__all__ = ["Scratch"]


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
