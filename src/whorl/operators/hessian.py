"""The Hessian of Lysaker, Lundervold and Tai's model."""

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.types import Image, Responses, Spacing
from whorl.operators.base import Operator
from whorl.operators.boundary import fold, mirror

__all__ = ["Hessian"]


class Hessian(Operator):
    r"""Second derivatives (xx, xy, yx, yy) at the pixels, with one error that turns with the image.

    With the central second differences :math:`\delta_{xx}, \delta_{yy}` and central first differences :math:`\mu_x,
    \mu_y` (all scaled by the spacing):

    .. math:: u_{xx} \approx \delta_{xx}\big(1 + \tfrac{h_y^2}{12} \delta_{yy}\big) u, \qquad
              u_{yy} \approx \delta_{yy}\big(1 + \tfrac{h_x^2}{12} \delta_{xx}\big) u, \qquad
              u_{xy} = u_{yx} \approx \mu_x \mu_y \big(1 - \tfrac{h_x^2}{12} \delta_{xx} - \tfrac{h_y^2}{12} \delta_{yy}
              \big) u .

    Every entry then has the error :math:`\frac{h^2}{12} \partial_{ij} \Delta u`: up to fourth order the operator is the
    exact Hessian of :math:`u + \frac{h^2}{12} \Delta u`, and its trace the isotropic nine-point Laplacian. The diagonal
    entries need 3x3 pixels, the mixed one 5x5: on 3x3 it is :math:`\mu_x \mu_y` without choice, whose error
    :math:`\frac{h^2}{6} \partial_{xy} \Delta u` costs a factor of a hundred in rotation invariance.

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
        extended = mirror(u, 2)
        near = extended[..., 1:-1, 1:-1]
        second_y = _second_y(near)
        second_x = _second_x(near)
        xx = (second_x[..., 1:-1, :] + _second_y(second_x) / 12) / h_x**2
        yy = (second_y[..., :, 1:-1] + _second_x(second_y) / 12) / h_y**2
        mixed = _first_x(_first_y(extended))
        bend = _second_x(mixed)[..., 1:-1, :] + _second_y(mixed)[..., :, 1:-1]
        xy = (mixed[..., 1:-1, 1:-1] - bend / 12) / (4 * h_x * h_y)
        return torch.stack([xx, xy, xy, yy], dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        h_y, h_x = self.spacing
        xx, xy, yx, yy = v.squeeze(2).unbind(2)
        pad = torch.nn.functional.pad
        xx, yy = xx / h_x**2, yy / h_y**2
        second_x = pad(xx, (0, 0, 1, 1)) + _spread_y(xx / 12)
        second_y = pad(yy, (1, 1, 0, 0)) + _spread_x(yy / 12)
        mixed = (xy + yx) / (4 * h_x * h_y)
        bend = pad(_spread_x(mixed), (0, 0, 1, 1)) + pad(_spread_y(mixed), (1, 1, 0, 0))
        mixed = _spread_first_y(_spread_first_x(pad(mixed, (1, 1, 1, 1)) - bend / 12))
        pure = _spread_x(second_x) + _spread_y(second_y)
        return fold(pad(pure, (1, 1, 1, 1)) + mixed, 2)

    def symbol(self, theta_y: Tensor, theta_x: Tensor) -> Tensor:
        h_y, h_x = self.spacing
        Y, X = torch.sin(theta_y / 2) ** 2, torch.sin(theta_x / 2) ** 2
        xx, yy = 4 * X * (1 - Y / 3) / h_x**2, 4 * Y * (1 - X / 3) / h_y**2
        xy = 16 * X * (1 - X) * Y * (1 - Y) * (1 + (X + Y) / 3) ** 2 / (h_x * h_y) ** 2
        return xx**2 + yy**2 + 2 * xy

    def squared_norm_bound(self) -> float:
        h_y, h_x = self.spacing
        if h_x == h_y:
            # The symbol is 16 f, f = X²(1-Y/3)² + Y²(1-X/3)² + 2XY(1-X)(1-Y)(1+(X+Y)/3)². In s = X+Y and P = XY it is
            # s² - P(4s/3 + 10s²/9 + 2s³/9) + P²(2/9 + 2(1+s/3)²), convex in P, so largest at an end of P's range:
            # P = 0, where f = s² <= 1 (s <= 1); X = 1, where f = 1 - 2Y/3 + 5Y²/9 <= 1; or X = Y, where f =
            # 2X²(1-X/3)² + 2(X(1-X)(1+2X/3))² <= 0.58 + 0.24 for X <= 0.7, 0.80 + 0.19 up to 0.9, 0.89 + 0.05 beyond.
            return 16 / h_x**4
        return super().squared_norm_bound()

    @property
    def degree(self) -> int:
        return 4

    @property
    def reach(self) -> int:
        return 4

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
