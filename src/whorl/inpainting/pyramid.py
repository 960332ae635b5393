"""The picture at half, a quarter, ... of its size: where coarse pixels get their values from the known ones.

A coarse pixel is the mean of the known pixels among the two (along each axis) that it covers, and known if one of them
is. Few levels down all pixels are known; a guess that comes back up from there leaves the fine level little to do.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

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
    """The image at twice the size, linear between the centres of the pixels, cut to the shape asked for."""
    for axis in range(2, u.dim()):
        first, last = u.narrow(axis, 0, 1), u.narrow(axis, -1, 1)
        before = torch.cat([first, u.narrow(axis, 0, u.shape[axis] - 1)], axis)
        after = torch.cat([u.narrow(axis, 1, u.shape[axis] - 1), last], axis)
        pairs = torch.stack([torch.lerp(u, before, 0.25), torch.lerp(u, after, 0.25)], axis + 1)
        u = pairs.flatten(axis, axis + 1).narrow(axis, 0, shape[axis - 2])
    return u


def _halved(u: Tensor) -> Tensor:
    """Sums of two neighbours along each axis; a last pixel without neighbour stands alone."""
    for axis in range(2, u.dim()):
        odd = u.shape[axis] % 2
        padding = [0, 0] * (u.dim() - 1 - axis) + [0, odd]
        u = functional.pad(u, padding).unflatten(axis, (-1, 2)).sum(axis + 1)
    return u
