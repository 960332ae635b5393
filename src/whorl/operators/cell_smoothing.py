"""Gaussian smoothing of fields that live on the cells between pixels, such as structure tensors."""

from collections.abc import Collection

import torch
from torch import Tensor

from whorl.foundations.types import SpacingLike
from whorl.operators.boundary import along
from whorl.operators.smoothing import Gaussian, convolved


class CellSmoothing(Gaussian):
    r"""The Gaussian of :class:`Smoothing` for fields on cells, ``(n, c, s, k, y+1, x+1)``, and of volumes alike.

    The image is mirrored, and its border lies in the middle of the outermost cells: there a field on cells is mirrored
    without repeating them, ``c b | a b c | b a``. A product of derivatives along two different directions changes its
    sign in the mirror; such a field is *odd* along both. So the smoothed field is that of the mirrored image, exactly.

    Parameters
    ----------
    sigma : float
        Standard deviation, a length like the spacing.
    spacing : float or tuple of float
        Pixel size ``(h_y, h_x)``, voxel size ``(h_z, h_y, h_x)``, or one number for images and volumes alike.

    Guarantees
    ----------
    Constants stay constant; tensors smoothed entry by entry stay positive semidefinite.

    Examples
    --------
    >>> field = torch.tensor([1.0, 0.0, 0.0, 0.0]).expand(1, 1, 1, 1, 2, 4)
    >>> CellSmoothing(0.5)(field)[..., 0, :].mul(10).round().flatten()
    tensor([8., 1., 0., 0.])
    """

    def __init__(self, sigma: float, spacing: SpacingLike = 1.0) -> None:
        super().__init__(sigma, spacing=spacing)

    def forward(self, field: Tensor, odd: Collection[int] = ()) -> Tensor:
        """The smoothed field; ``odd`` names the directions (0 is x) along which it changes its sign in the mirror."""
        weights_along = self.weights_along(field.dim() - 4)
        for axis, weights in enumerate(weights_along, start=-len(weights_along)):
            extended = _mirrored(field, axis, len(weights) - 1, -1 if ~axis in odd else 1)
            field = convolved(field, extended, axis, weights)
        return field


def _mirrored(field: Tensor, axis: int, radius: int, sign: int) -> Tensor:
    """The field extended by ``radius`` cells on either side of an axis."""
    if radius == 0:
        return field
    size = field.shape[axis]
    period = torch.cat([field, sign * along(field, axis, 1, size - 1).flip(axis)], dim=axis)
    length = period.shape[axis]
    start = -radius % length
    copies = -(-(start + size + 2 * radius) // length)
    return along(torch.cat([period] * copies, dim=axis), axis, start, start + size + 2 * radius)
