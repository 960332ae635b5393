"""The picture at half, a quarter, ... of its size: where coarse pixels get their values from the known ones.

Along an axis of even length two pixels become one, centred between them; along one of odd length every second pixel is
kept, beginning with the first, with half the weight for its neighbours. Both look the same from either end, so that
mirror images carry over. A coarse pixel is the mean of the known pixels that it covers, and known if one of them is.
Few levels down all pixels are known; a guess that comes back up from there leaves the fine level little to do.
"""

from typing import NamedTuple

import torch
from torch import Tensor

SMALLEST = 4
"""No axis gets shorter than this."""


class Level(NamedTuple):
    """Data ``(n, c, y, x)`` (or with ``z``), and where they are known, ``(n or 1, 1, y, x)``.

    >>> import torch
    >>> Level(torch.zeros(1, 1, 4, 4), torch.ones(1, 1, 4, 4, dtype=torch.bool)).known.all()
    tensor(True)
    """

    data: Tensor
    known: Tensor


def pyramid(level: Level) -> list[Level]:
    """The level and all coarser ones, down to one where every pixel is known or the picture is tiny.

    >>> known = torch.zeros(1, 1, 32, 32, dtype=torch.bool)
    >>> known[..., ::4, ::4] = True
    >>> [tuple(level.data.shape[2:]) for level in pyramid(Level(torch.ones(1, 1, 32, 32), known))]
    [(32, 32), (16, 16), (8, 8)]
    """
    levels = [level]
    while not bool(levels[-1].known.all()) and max(levels[-1].data.shape[2:]) > SMALLEST:
        levels.append(coarser(levels[-1]))
    return levels


def coarser(level: Level) -> Level:
    """The level of half the size, rounded up."""
    count = _halved(level.known.to(level.data.dtype))
    total = _halved(torch.where(level.known, level.data, 0))
    known = count > 0
    return Level(torch.where(known, total / torch.where(known, count, 1), 0), known)


def finer(u: Tensor, shape: tuple[int, ...]) -> Tensor:
    """The image on the next finer level, which has this shape: linear between the centres of the pixels."""
    for axis, size in enumerate(shape, 2):
        first, last = u.narrow(axis, 0, 1), u.narrow(axis, -1, 1)
        after = torch.cat([u.narrow(axis, 1, u.shape[axis] - 1), last], axis)
        if size % 2:
            pairs = [u, torch.lerp(u, after, 0.5)]
        else:
            before = torch.cat([first, u.narrow(axis, 0, u.shape[axis] - 1)], axis)
            pairs = [torch.lerp(u, before, 0.25), torch.lerp(u, after, 0.25)]
        u = torch.stack(pairs, axis + 1).flatten(axis, axis + 1).narrow(axis, 0, size)
    return u


def _halved(u: Tensor) -> Tensor:
    """Sums of pairs along each axis; of odd length, of every second pixel twice and its neighbours once."""
    for axis in range(2, u.dim()):
        here = (slice(None),) * axis
        even, odd = u[(*here, slice(0, None, 2))], u[(*here, slice(1, None, 2))]
        if u.shape[axis] % 2:
            none = torch.zeros_like(u.narrow(axis, 0, 1))
            u = 2 * even + (torch.cat([none, odd], axis) + torch.cat([odd, none], axis))
        else:
            u = even + odd
    return u
