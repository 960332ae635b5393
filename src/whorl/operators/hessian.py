"""The Hessian of Lysaker, Lundervold and Tai's model."""

import torch
from torch import Tensor

from whorl import validation
from whorl.operators.base import Operator
from whorl.operators.boundary import fold, mirror
from whorl.types import Image, Responses, Spacing

__all__ = ["Hessian"]


class Hessian(Operator):
    r"""Second derivatives (xx, xy, yx, yy) at the pixels, each on a 3x3 stencil.

    With the central second differences :math:`\delta_{xx}, \delta_{yy}` and central first differences :math:`\mu_x,
    \mu_y` (all scaled by the spacing):

    .. math:: u_{xx} \approx \delta_{xx}\big(1 + \tfrac{h_y^2}{12} \delta_{yy}\big) u, \qquad
              u_{xy} = u_{yx} \approx \mu_x \mu_y u, \qquad
              u_{yy} \approx \delta_{yy}\big(1 + \tfrac{h_x^2}{12} \delta_{xx}\big) u .

    The averaging makes the trace the isotropic nine-point Laplacian, and the errors of the diagonal entries
    :math:`\frac{h^2}{12} \partial_{xx} \Delta u` and :math:`\frac{h^2}{12} \partial_{yy} \Delta u`: they turn with the
    image. Only the mixed entry, for which a 3x3 stencil leaves no choice, has the error
    :math:`\frac{h^2}{6} \partial_{xy} \Delta u`.

    Shapes: ``(n, c, y, x) -> (n, c, 1, 4, y, x)``.

    Guarantees
    ----------
    Exact adjoint; :math:`\|K\|^2 = 16 / h^4` for square pixels, approached as the image grows, and a proven numerical
    bound otherwise; annihilates constants to the last bit.

    Examples
    --------
    >>> Hessian()(torch.zeros(1, 1, 6, 7)).shape
    torch.Size([1, 1, 1, 4, 6, 7])
    """

    def __init__(self, spacing: Spacing | float = (1.0, 1.0)) -> None:
        super().__init__()
        self.spacing = validation.spacing(spacing, "Hessian")

    def forward(self, u: Image) -> Responses:
        h_y, h_x = self.spacing
        extended = mirror(u, 1)
        second_y = _second_y(extended)
        second_x = _second_x(extended)
        xx = (second_x[..., 1:-1, :] + _second_y(second_x) / 12) / h_x**2
        yy = (second_y[..., :, 1:-1] + _second_x(second_y) / 12) / h_y**2
        xy = _first_x(_first_y(extended)) / (4 * h_x * h_y)
        return torch.stack([xx, xy, xy, yy], dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        h_y, h_x = self.spacing
        xx, xy, yx, yy = v.squeeze(2).unbind(2)
        pad = torch.nn.functional.pad
        xx, yy = xx / h_x**2, yy / h_y**2
        second_x = pad(xx, (0, 0, 1, 1)) + _spread_y(xx / 12)
        second_y = pad(yy, (1, 1, 0, 0)) + _spread_x(yy / 12)
        mixed = _spread_first_y(_spread_first_x((xy + yx) / (4 * h_x * h_y)))
        return fold(_spread_x(second_x) + _spread_y(second_y) + mixed, 1)

    def symbol(self, theta_y: Tensor, theta_x: Tensor) -> Tensor:
        h_y, h_x = self.spacing
        Y, X = torch.sin(theta_y / 2) ** 2, torch.sin(theta_x / 2) ** 2
        xx, yy = 4 * X * (1 - Y / 3) / h_x**2, 4 * Y * (1 - X / 3) / h_y**2
        return xx**2 + yy**2 + 2 * 16 * X * (1 - X) * Y * (1 - Y) / (h_x * h_y) ** 2

    def squared_norm_bound(self) -> float:
        h_y, h_x = self.spacing
        if h_x == h_y:
            # f = X²(1-Y/3)² + Y²(1-X/3)² + 2XY(1-X)(1-Y) is a parabola in Y whose coefficient of
            # Y² is 1 - 8X/3 + 20X²/9 > 0, so convex: its maximum sits at Y = 0, where f = X² <= 1,
            # or at Y = 1, where f = 1 - 2X/3 + 5X²/9 <= 1.
            return 16 / h_x**4
        return super().squared_norm_bound()

    @property
    def degree(self) -> int:
        return 4

    @property
    def reach(self) -> int:
        return 2

    @property
    def axes(self) -> int:
        return 4

    def extra_repr(self) -> str:
        return f"spacing={self.spacing}"


# Differences are written as sums of differences so that constants give exactly zero.


def _second_x(u: Tensor) -> Tensor:
    return (u[..., 2:] - u[..., 1:-1]) - (u[..., 1:-1] - u[..., :-2])


def _second_y(u: Tensor) -> Tensor:
    return (u[..., 2:, :] - u[..., 1:-1, :]) - (u[..., 1:-1, :] - u[..., :-2, :])


def _first_x(u: Tensor) -> Tensor:
    return u[..., 2:] - u[..., :-2]


def _first_y(u: Tensor) -> Tensor:
    return u[..., 2:, :] - u[..., :-2, :]


def _spread_x(v: Tensor) -> Tensor:
    pad = torch.nn.functional.pad
    return pad(v, (2, 0)) - 2 * pad(v, (1, 1)) + pad(v, (0, 2))


def _spread_y(v: Tensor) -> Tensor:
    return _spread_x(v.mT).mT


def _spread_first_x(v: Tensor) -> Tensor:
    return torch.nn.functional.pad(v, (2, 0)) - torch.nn.functional.pad(v, (0, 2))


def _spread_first_y(v: Tensor) -> Tensor:
    return _spread_first_x(v.mT).mT
