"""Windows of a picture: sums over them, whether they are blank, and quantiles of what they show.

Nothing here prefers a place: turned and mirrored pictures have turned and mirrored windows.
"""

from collections.abc import Callable, Sequence
from functools import reduce

import torch
from torch import Tensor

WINDOW = 15
"""Side of the windows in pixels."""

BLANK = 5
"""Side of the smallest square, or cube, of one value that counts as blank."""

NEARLY = 1e-3
"""Parts where values differ by this share of what they differ by in busy parts are as good as blank."""

BUSY = 0.97
"""The quantile of the differences in small squares, or cubes, that stands for busy parts: a few hot pixels do not."""

PATCH = 5
"""Side of the patches of which the means are taken, to see how much noise is cut off there."""


def box(values: Tensor, sides: Sequence[int], margin: int = 0) -> Tensor:
    """The sums over windows of these odd sides around every pixel; what lies beyond the borders is mirrored.

    With a ``margin`` there are so many windows more on every side of the picture.
    """
    for axis, side in enumerate(sides):
        size, reach = values.shape[axis] + 2 * margin, side // 2 + margin
        sums = _mirrored(values, axis, reach + 1, reach).cumsum(axis)
        values = sums.narrow(axis, side, size) - sums.narrow(axis, 0, size)
    return values


def _mirrored(values: Tensor, axis: int, before: int, after: int) -> Tensor:
    """The values with so many more before and after them, as two mirrors at the borders show them."""
    size = values.shape[axis]
    place = torch.arange(-before, size + after, device=values.device) % (2 * size)
    return values.index_select(axis, torch.minimum(place, 2 * size - 1 - place))


def blank(u: Tensor, slack: float = 0.0) -> Tensor:
    """Where a picture or a volume holds one value over 5 pixels along every axis: paper, or nothing at all.

    With a ``slack`` values may differ by so much; see :func:`slack_of`.
    """
    for axis in range(u.dim()):
        u = _mirrored(u, axis, BLANK - 1, BLANK - 1)
    return _sliding(_spans(u) <= slack, torch.logical_or)


def slack_of(planes: Sequence[Tensor]) -> float:
    """By how much the values of a blank part may differ: what is left around a scan by resampling or compression.

    It is far below what nearly all small squares, or cubes, of the busier parts show.

    >>> scan = torch.zeros(64, 64).double()
    >>> scan[20:40, 20:40] = torch.randn(20, 20, generator=torch.Generator().manual_seed(0))
    >>> nearly = scan + 1e-6 * torch.rand(64, 64)
    >>> slack_of([scan + torch.rand(64, 64)]) < 0.01, int(blank(nearly, slack_of([nearly])).sum()) > 3000
    (True, True)
    """
    black, white = ends_of(planes)
    if white - black < 1 / NEARLY and all(bool((plane == plane.round()).all()) for plane in planes):
        return 0.0  # whole values are equal, or differ by more
    # Each by itself: content may lie in a few of many samples, or in one of many channels.
    busy = (quantile(_spans(plane).flatten(), BUSY) for plane in planes if min(plane.shape) >= BLANK)
    return NEARLY * max(busy, default=0.0)


def _spans(u: Tensor) -> Tensor:
    """By how much the values differ in every square, or cube, of side 5 that lies inside."""
    return _sliding(u, torch.maximum) - _sliding(u, torch.minimum)


def _sliding(values: Tensor, join: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    """The values of every window of side 5 that lies inside, joined."""
    for axis in range(values.dim()):
        values = reduce(join, values.unfold(axis, BLANK, 1).unbind(-1))
    return values


def quantile(values: Tensor, share: float) -> float:
    """The value below which that share of the values lies, interpolated linearly."""
    place = share * (len(values) - 1)
    low = int(place)
    below, above = (float(values.kthvalue(min(at, len(values))).values) for at in (low + 1, low + 2))
    return below + (place - low) * (above - below)


def binned(values: Tensor, count: int) -> Tensor:
    """The bin of every value, from small to large, with about equally many in each.

    Equal values share a bin, also where sums in other orders, as of a turned picture, round them differently.

    >>> binned(torch.tensor([3.0, 1.0, 1.0 + 1e-15, 2.0]).double(), 2).tolist()
    [1, 0, 0, 1]
    """
    ordered = values.sort().values
    ends = ordered[[len(ordered) * k // count for k in range(1, count)]]
    return torch.bucketize(values, ends - 1e-9 * (ordered[-1] - ordered[0]), right=True)


def thick(u: Tensor) -> Tensor:
    """The images without their axes of space of less than three pixels, whose slices become images of their own."""
    thin = [axis for axis in range(2, u.dim()) if u.shape[axis] < 3]
    return u.movedim(thin, tuple(range(len(thin)))).flatten(0, len(thin)) if thin else u


def ends_of(parts: Sequence[Tensor]) -> tuple[float, float]:
    """The smallest and the largest value."""
    return min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)
