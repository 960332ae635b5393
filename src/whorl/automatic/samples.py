"""Parts that stand for a picture when something is measured on it: all of it, or windows spread evenly."""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import Any

from torch import Tensor

__all__ = ["sample_slices", "samples_of"]

LONGEST = {2: 1024, 3: 192}
"""Axes up to this length are taken whole, by the number of axes."""

COUNT = 4
"""Windows along a longer axis; together they are as long as the longest axis that is taken whole."""


def sample_slices(shape: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The places of the samples. They depend on the size alone, so that a measurement is one for the whole picture, and
    are the same for its mirror images.

    >>> len(list(sample_slices((1024, 1024)))), len(list(sample_slices((5000, 800))))
    (1, 4)
    """
    longest = LONGEST[len(shape)]
    return product(*(_spread(size, longest) for size in shape))


def samples_of(u: Tensor) -> list[Tensor]:
    """Samples of an image ``(n, c, y, x)`` or a volume ``(n, c, z, y, x)``."""
    return [u[(slice(None), slice(None), *place)].contiguous() for place in sample_slices(u.shape[2:])]


def _spread(size: int, longest: int) -> list[slice]:
    if size <= longest:
        return [slice(0, size)]
    side = longest // COUNT
    left = [number * (size - side) // (COUNT - 1) for number in range(COUNT // 2)]
    return [slice(start, start + side) for start in (*left, *(size - side - start for start in reversed(left)))]
