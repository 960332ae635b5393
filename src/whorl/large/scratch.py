"""A file without a name that holds an image between two passes, in full precision."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whorl.large.windows import Window

__all__ = ["Scratch"]


class Scratch:
    """Planes ``(c, y, x)`` on disk, read and written by window; number and type of the planes come with the first.

    The file has no name: it is gone when it is closed, also when the process is killed. It is read and written by plain
    calls, not by memory mapping, whose pages would count as memory of the process.
    """

    def __init__(self, folder: Path, height: int, width: int) -> None:
        self.folder, self.height, self.width = folder, height, width
        self.file: IO[bytes] | None = None
        self.channels, self.dtype = 0, np.dtype(np.float32)

    def read(self, window: Window) -> NDArray[Any]:
        """Samples ``(c, y, x)`` of a window."""
        file = self._opened(self.channels, self.dtype)
        block = np.empty((self.channels, window.height, window.width), self.dtype)
        for place, row in self._rows(window, block):
            file.seek(place)
            view = row.data.cast("B")
            while view:  # an unbuffered read may give less than asked for
                view = view[file.readinto(view) or _end_of_file() :]
        return block

    def write(self, window: Window, block: NDArray[Any]) -> None:
        """Put samples ``(c, y, x)`` into a window."""
        file = self._opened(len(block), block.dtype)
        for place, row in self._rows(window, np.ascontiguousarray(block)):
            file.seek(place)
            view = row.data.cast("B")
            while view:
                view = view[file.write(view) :]

    def close(self) -> None:
        """Give the disk space back."""
        if self.file is not None:
            self.file.close()

    def _opened(self, channels: int, dtype: np.dtype[Any]) -> Any:
        if self.file is None:
            self.channels, self.dtype = channels, dtype
            self.file = tempfile.TemporaryFile(dir=self.folder, buffering=0)  # noqa: SIM115  (closed by close)
            self.file.truncate(channels * self.height * self.width * dtype.itemsize)
        return self.file

    def _rows(self, window: Window, block: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Place in the file and piece of the block, for every run of samples that lies together in both."""
        for channel in range(self.channels):
            start = channel * self.height + window.top
            if window.width == self.width:
                yield start * self.width * self.dtype.itemsize, block[channel]
                continue
            for row in range(window.height):
                yield ((start + row) * self.width + window.left) * self.dtype.itemsize, block[channel, row]


def _end_of_file() -> int:
    raise OSError("the scratch file ended early; is the disk full?")
