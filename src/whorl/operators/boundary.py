r"""Reflecting boundaries: the half-sample mirror and its exact transpose.

The pixel before the first is the first again: ``c b a | a b c d | d c b``. No flux leaves a mirrored image. Both
functions work for any radius and any size, also where the radius exceeds the image several times, and are built from
slices and sums alone, so that they are deterministic on every device.
"""

import torch
from torch import Tensor

__all__ = ["fold", "mirror"]


def mirror(u: Tensor, radius_y: int, radius_x: int | None = None) -> Tensor:
    """Extend the last two axes by ``radius`` pixels on either side.

    >>> mirror(torch.tensor([[1.0, 2.0, 3.0]]), 0, 2)
    tensor([[2., 1., 1., 2., 3., 3., 2.]])
    """
    radius_x = radius_y if radius_x is None else radius_x
    return _mirror_last(_mirror_last(u.mT, radius_y).mT, radius_x)


def fold(v: Tensor, radius_y: int, radius_x: int | None = None) -> Tensor:
    """The transpose of :func:`mirror`: ghost pixels are added back onto the pixels they were copied from.

    >>> fold(torch.ones(1, 7), 0, 2)
    tensor([[2., 3., 2.]])
    """
    radius_x = radius_y if radius_x is None else radius_x
    return _fold_last(_fold_last(v.mT, radius_y).mT, radius_x)


def _mirror_last(u: Tensor, radius: int) -> Tensor:
    if radius == 0:
        return u
    size = u.shape[-1]
    left, right = [], []
    for period, start in enumerate(range(0, radius, size)):
        width = min(size, radius - start)
        # Every second period of the mirrored image runs forwards again.
        flipped = period % 2 == 0
        near_left = u[..., :width] if flipped else u[..., size - width :]
        near_right = u[..., size - width :] if flipped else u[..., :width]
        left.append(near_left.flip(-1) if flipped else near_left)
        right.append(near_right.flip(-1) if flipped else near_right)
    return torch.cat([*reversed(left), u, *right], dim=-1)


def _fold_last(v: Tensor, radius: int) -> Tensor:
    if radius == 0:
        return v
    size = v.shape[-1] - 2 * radius
    result = v[..., radius : radius + size]
    for period, start in enumerate(range(0, radius, size)):
        width = min(size, radius - start)
        left = v[..., radius - start - width : radius - start]
        right = v[..., radius + size + start : radius + size + start + width]
        if period % 2 == 0:
            left, right = left.flip(-1), right.flip(-1)
            left, right = _at_left(left, size), _at_right(right, size)
        else:
            left, right = _at_right(left, size), _at_left(right, size)
        result = result + left + right
    return result


def _at_left(v: Tensor, size: int) -> Tensor:
    return torch.nn.functional.pad(v, (0, size - v.shape[-1]))


def _at_right(v: Tensor, size: int) -> Tensor:
    return torch.nn.functional.pad(v, (size - v.shape[-1], 0))
