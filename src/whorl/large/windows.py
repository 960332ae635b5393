"""Windows of an image or a volume: boxes that cover it, and the same with a halo."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any


class Window(tuple[int, ...]):
    """The pixels from a first to before a last one along every axis: ``Window(top, bottom, left, right)``.

    A volume has two more numbers in front, for z.

    >>> Window(0, 10, 20, 32).shape
    (10, 12)
    """

    __slots__ = ()

    def __new__(cls, *bounds: int) -> "Window":
        """From first and last number of every axis, one after the other."""
        return super().__new__(cls, bounds)

    def __getnewargs__(self) -> tuple[int, ...]:
        return tuple(self)

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """First and last number of every axis, in pairs."""
        return tuple(zip(self[::2], self[1::2], strict=True))

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of pixels along every axis."""
        return tuple(stop - start for start, stop in self.spans)

    @property
    def slices(self) -> tuple[slice, ...]:
        """The index of the window in an array that holds the whole."""
        return tuple(slice(start, stop) for start, stop in self.spans)

    def grown(self, halo: int, *shape: int) -> "Window":
        """The window with ``halo`` more pixels on every side, as far as an image of that ``shape`` has them.

        >>> Window(0, 10, 20, 30).grown(4, 100, 32)
        Window(0, 14, 16, 32)
        """
        spans = zip(self.spans, shape, strict=True)
        return Window(*(n for (start, stop), size in spans for n in (max(start - halo, 0), min(stop + halo, size))))

    def inside(self, other: "Window") -> tuple[Any, ...]:
        """The index of this window in an array ``(..., y, x)`` that holds ``other``."""
        pairs = zip(self.spans, other.spans, strict=True)
        return ..., *(slice(start - first, stop - first) for (start, stop), (first, _) in pairs)

    def __repr__(self) -> str:
        return f"Window{tuple(self)!r}"


def windows(shape: Sequence[int], sides: Sequence[int]) -> Iterator[Window]:
    """Windows of the given sides that cover the image without overlap, row by row; the last ones may be smaller.

    >>> list(windows((3, 5), (2, 5)))
    [Window(0, 2, 0, 5), Window(2, 3, 0, 5)]
    """
    for corner in product(*(range(0, size, side) for size, side in zip(shape, sides, strict=True))):
        ends = zip(corner, sides, shape, strict=True)
        yield Window(*(n for start, side, size in ends for n in (start, min(start + side, size))))


def window_at(place: Sequence[slice]) -> Window:
    """The window at a place that is told by slices."""
    return Window(*(n for part in place for n in (part.start, part.stop)))
