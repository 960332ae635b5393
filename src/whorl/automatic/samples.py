"""Parts that stand for a picture when something is measured on it: all of it, or windows spread evenly."""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any, TypeVar

from torch import Tensor

LONGEST = {2: 1024, 3: 192}
"""Axes up to this length are taken whole, by the number of axes."""

COUNT = 4
"""Windows along a longer axis; together they are as long as the longest axis that is taken whole."""

BLANK = 0.01
"""Samples count as blank paper where a smaller share of pixels differs from a neighbour: then the rest is searched."""

Part = TypeVar("Part", bound=Any)


def sample_slices(shape: Sequence[int]) -> Iterator[tuple[Any, ...]]:
    """The places of the samples. They depend on the size alone, so that every part of a picture is measured alike, and
    a mirrored picture as well.

    >>> len(list(sample_slices((1024, 1024)))), len(list(sample_slices((5000, 800))))
    (1, 4)
    """
    longest = LONGEST[len(shape)]
    return product(*(_spread(size, longest) for size in shape))


def samples_of(u: Tensor) -> list[Tensor]:
    """Samples of an image ``(n, c, y, x)`` or a volume ``(n, c, z, y, x)``.

    >>> import torch
    >>> [tuple(part.shape) for part in samples_of(torch.zeros(1, 1, 64, 48))]
    [(1, 1, 64, 48)]
    """
    return list(samples_read(u.shape[2:], lambda place: u[(slice(None), slice(None), *place)].contiguous()))


def samples_read(shape: Sequence[int], read: Callable[[tuple[Any, ...]], Part]) -> Iterator[Part]:
    """The samples of what has this shape along its last axes, each read from its place.

    Where they show nothing but blank paper, the whole is read, window by window, and those that show most are added.
    """
    shown = pixels = 0
    for place in sample_slices(shape):
        yield (part := read(place))
        shown, pixels = shown + _shown(part, len(shape)), pixels + _size(part)
    sides = [min(size, LONGEST[len(shape)] // COUNT) for size in shape]
    if shown >= BLANK * pixels or all(size <= LONGEST[len(shape)] for size in shape):
        return
    best: list[tuple[int, float, Part]] = []
    for place in product(*(blocks_along(size, side) for size, side in zip(shape, sides, strict=True))):
        part = read(place)
        best.append((_shown(part, len(shape)), float(part.sum()), part))
        best = sorted(best, key=lambda row: row[:2])[-(COUNT ** len(shape)) :]
    yield from (part for count, _, part in best if count > BLANK * _size(part))


def _shown(part: Any, axes: int) -> int:
    """How many pixels differ from the one before, in the mean over the axes."""
    ends = [(slice(None),) * rest for rest in range(axes)]
    differ = (part[(..., slice(1, None), *end)] != part[(..., slice(None, -1), *end)] for end in ends)
    return sum(int(each.sum()) for each in differ) // axes


def _size(part: Any) -> int:
    return int(part.numel() if isinstance(part, Tensor) else part.size)


def blocks_along(size: int, side: int) -> list[slice]:
    """Blocks along an axis, the same from both of its ends; the middle of an odd axis may be left out."""
    count = max(1, size // side)
    ends = [number * size // count for number in range(count // 2 + 1)]
    left = list(pairwise(ends))
    middle = [(ends[-1], size - ends[-1])] if count % 2 else []
    return [slice(*span) for span in (*left, *middle, *((size - end, size - start) for start, end in reversed(left)))]


def _spread(size: int, longest: int) -> list[slice]:
    if size <= longest:
        return [slice(0, size)]
    side = longest // COUNT
    left = [number * (size - side) // (COUNT - 1) for number in range(COUNT // 2)]
    return [slice(start, start + side) for start in (*left, *(size - side - start for start in reversed(left)))]
