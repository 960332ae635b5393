r"""Reflecting boundaries: the half-sample mirror and its exact transpose.

The pixel before the first is the first again: ``c b a | a b c d | d c b``. No flux leaves a mirrored image. Both
functions work for any radius and any size, also where the radius exceeds the image several times, and are built from
slices and sums alone, so that they are deterministic on every device.
"""

from typing import Any

import torch
from torch import Tensor


def mirror(u: Tensor, *radii: int) -> Tensor:
    """Extend the last axes by one radius each on either side; a single number serves all axes after the second.

    >>> mirror(torch.tensor([[1.0, 2.0, 3.0]]), 0, 2)
    tensor([[2., 1., 1., 2., 3., 3., 2.]])
    >>> mirror(torch.zeros(1, 1, 4, 4, 4), 1).shape
    torch.Size([1, 1, 6, 6, 6])
    """
    # With a view of its own, autograd sums the derivatives of the mirrored image before it adds those of other uses.
    u = u.view_as(u)
    for axis, radius in _by_axis(u, radii):
        u = _mirror_axis(u, axis, radius)
    return u


def fold(v: Tensor, *radii: int) -> Tensor:
    """The transpose of :func:`mirror`: ghost pixels are added back onto the pixels they were copied from.

    >>> fold(torch.ones(1, 7), 0, 2)
    tensor([[2., 3., 2.]])
    """
    for axis, radius in _by_axis(v, radii):
        v = _fold_axis(v, axis, radius)
    return v


def along(u: Tensor, axis: int, start: int, end: int | None = None) -> Tensor:
    """The slice ``start:end`` of one of the last axes, the others whole.

    >>> along(torch.arange(6).view(2, 3), -1, 1)
    tensor([[1, 2],
            [4, 5]])
    """
    return u[(..., slice(start, end), *[slice(None)] * (-1 - axis))]


def placed(v: Tensor, axis: int, before: int, after: int) -> Tensor:
    """The tensor with zeros before and after it along one of the last axes."""
    return torch.nn.functional.pad(v, (*[0, 0] * (-1 - axis), before, after)) if before or after else v


def _by_axis(u: Tensor, radii: tuple[int, ...]) -> list[tuple[int, int]]:
    """Every axis that is extended, counted from the last, with its radius."""
    radii = radii * (u.dim() - 2) if len(radii) == 1 else radii
    return [(axis - len(radii), radius) for axis, radius in enumerate(radii)]


def _mirror_axis(u: Tensor, axis: int, radius: int) -> Tensor:
    if radius == 0:
        return u
    size = u.shape[axis]
    left, right = [], []
    for period, (_, width) in enumerate(_periods(size, radius)):
        first, last = along(u, axis, 0, width), along(u, axis, size - width)
        # Every second period of the mirrored image runs forwards again.
        flipped = period % 2 == 0
        left.append(first.flip(axis) if flipped else last)
        right.append(last.flip(axis) if flipped else first)
    return torch.cat([*reversed(left), u, *right], dim=axis)


def _fold_axis(v: Tensor, axis: int, radius: int) -> Tensor:
    if radius == 0:
        return v
    size = v.shape[axis] - 2 * radius
    result = along(v, axis, radius, radius + size)
    for period, (start, width) in enumerate(_periods(size, radius)):
        left = along(v, axis, radius - start - width, radius - start)
        right = along(v, axis, radius + size + start, radius + size + start + width)
        missing = size - width
        if period % 2 == 0:
            result = result + placed(left.flip(axis), axis, 0, missing) + placed(right.flip(axis), axis, missing, 0)
        else:
            result = result + placed(left, axis, missing, 0) + placed(right, axis, 0, missing)
    return result


def _periods(size: Any, radius: int) -> list[tuple[int, int]]:
    """Where every copy of the image begins beyond the border, and how much of it is needed."""
    if isinstance(size, torch.SymInt):
        # Programs for any size, which torch.export writes, have one copy: their images are larger than the radius.
        torch._check(size > radius)
        return [(0, radius)]
    return [(start, min(size, radius - start)) for start in range(0, radius, size)]
