"""Labels, masks and drawings: areas of one value each, which have no noise however many edges they have."""

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from whorl.automatic.windows import blank, ends_of
from whorl.foundations import validation

LABELLED = 0.9
"""The share of pixels near edges that, in an image of labels, have as many neighbours of their value as axes."""


def labels(parts: Sequence[Tensor], caller: str) -> bool:
    """Whether the picture holds labels or a mask, which have no noise, and is to be copied; said in a warning."""
    what = "areas of one whole number each, such as labels, have" if labelled(parts) else ""
    if not what and _two_values(parts):
        what = "a picture of two values, such as a mask, has"
    if what:
        warnings.warn(f"{caller}: {what} no noise: copied.", stacklevel=validation.outside())
    return bool(what)


def _two_values(parts: Sequence[Tensor]) -> bool:
    """Whether the samples have two values and no others."""
    if not parts:
        return False
    black, white = ends_of(parts)
    return black < white and all(bool(((part == black) | (part == white)).all()) for part in parts)


def labelled(samples: Sequence[Tensor]) -> bool:
    """Whether all values are whole numbers, and pixels near edges have neighbours of their own value, as labels do.

    >>> y, x = torch.meshgrid(torch.arange(40), torch.arange(40), indexing="ij")
    >>> cells, noise = (x // 9 + 7 * (y // 8)).double(), torch.randn(40, 40, generator=torch.Generator().manual_seed(0))
    >>> [labelled([u[None, None]]) for u in (cells, (cells + 5 * noise).round())]
    [True, False]
    """
    if not samples or any(bool((part != part.round()).any()) for part in samples):
        return False
    black, white = ends_of(samples)
    return black < white and drawn([plane for part in samples for plane in part.detach().flatten(0, 1)]) >= LABELLED


def drawn(planes: Sequence[Tensor], slack: float = 0.0) -> float:
    """The share of pixels near edges that have as many neighbours of their value as axes: nearly none where is noise.

    Where there are no edges it is 1.
    """
    rim = inside = 0
    for u in planes:
        equal = torch.zeros_like(u, dtype=torch.int8)
        for axis, size in enumerate(u.shape):
            one = u.narrow(axis, 0, size - 1) == u.narrow(axis, 1, size - 1)
            equal.narrow(axis, 0, size - 1).add_(one)
            equal.narrow(axis, 1, size - 1).add_(one)
        edge = ~blank(u, slack)
        rim, inside = rim + int(edge.sum()), inside + int((edge & (equal >= u.dim())).sum())
    return inside / rim if rim else 1.0
