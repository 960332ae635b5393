"""Windows of an image: rectangles that cover it, and the same with a halo."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from whorl.automatic import sample_slices

__all__ = ["Window", "samples", "windows"]


class Window(NamedTuple):
    """The pixels ``top <= y < bottom``, ``left <= x < right``."""

    top: int
    bottom: int
    left: int
    right: int

    @property
    def height(self) -> int:
        """Number of rows."""
        return self.bottom - self.top

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.right - self.left

    def grown(self, halo: int, height: int, width: int) -> "Window":
        """The window with ``halo`` more pixels on every side, as far as the image of ``height x width`` has them.

        >>> Window(0, 10, 20, 30).grown(4, 100, 32)
        Window(top=0, bottom=14, left=16, right=32)
        """
        return Window(
            max(self.top - halo, 0),
            min(self.bottom + halo, height),
            max(self.left - halo, 0),
            min(self.right + halo, width),
        )

    def inside(self, other: "Window") -> tuple[Any, slice, slice]:
        """The index of this window in an array ``(..., y, x)`` that holds ``other``."""
        rows = slice(self.top - other.top, self.bottom - other.top)
        return ..., rows, slice(self.left - other.left, self.right - other.left)


def windows(height: int, width: int, rows: int, columns: int) -> Iterator[Window]:
    """Windows of ``rows x columns`` that cover the image without overlap, row by row; the last ones may be smaller.

    >>> list(windows(3, 5, 2, 5))
    [Window(top=0, bottom=2, left=0, right=5), Window(top=2, bottom=3, left=0, right=5)]
    """
    for top in range(0, height, rows):
        for left in range(0, width, columns):
            yield Window(top, min(top + rows, height), left, min(left + columns, width))


def samples(height: int, width: int) -> Iterator[Window]:
    """Windows that stand for the image when something is measured on it; see :func:`whorl.automatic.sample_slices`."""
    for rows, columns in sample_slices((height, width)):
        yield Window(rows.start, rows.stop, columns.start, columns.stop)
