r"""The (p, q, r) operator of 2x2 pixel cells, on which every second order model stands.

Cell ``u00 u10 / u01 u11`` (first index = x) of the image mirrored by one pixel:

.. math:: p = \tfrac12 (u_{10} - u_{00} + u_{11} - u_{01}), \quad
          q = \tfrac12 (u_{01} - u_{00} + u_{11} - u_{10}), \quad
          r = \tfrac12 (u_{11} - u_{10} - u_{01} + u_{00})

are the derivatives at the cell centre and the remaining Haar detail. (mean, p, q, r) is the undecimated Haar transform.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.types import Image, Responses, Spacing
from whorl.operators.base import Operator
from whorl.operators.boundary import fold, mirror

__all__ = ["CellGradient", "Haar", "border_weights", "haar", "haar_adjoint"]


class Haar(NamedTuple):
    """The three Haar details of every cell, each ``(n, c, y+1, x+1)``."""

    p: Tensor
    q: Tensor
    r: Tensor


def haar(u: Image) -> Haar:
    """The three Haar details of every cell of the mirrored image; exactly zero where the image is constant.

    >>> haar(torch.ones(1, 1, 4, 4)).p.shape
    torch.Size([1, 1, 5, 5])
    """
    extended = mirror(u, 1)
    u00, u10 = extended[..., :-1, :-1], extended[..., :-1, 1:]
    u01, u11 = extended[..., 1:, :-1], extended[..., 1:, 1:]
    upper, lower = u10 - u00, u11 - u01
    left, right = u01 - u00, u11 - u10
    return Haar(0.5 * (upper + lower), 0.5 * (left + right), 0.5 * (lower - upper))


def haar_adjoint(v: Haar) -> Image:
    """The transpose of :func:`haar` for unweighted sums and arbitrary arguments."""
    p, q, r = v
    back, forth = p + q, p - q
    u00, u11 = 0.5 * (r - back), 0.5 * (r + back)
    u10, u01 = 0.5 * (forth - r), -0.5 * (forth + r)
    pad = torch.nn.functional.pad
    spread = pad(u00, (0, 1, 0, 1)) + pad(u11, (1, 0, 1, 0)) + (pad(u10, (1, 0, 0, 1)) + pad(u01, (0, 1, 1, 0)))
    return fold(spread, 1)


def border_weights(v: Tensor) -> Tensor:
    """``W = diag(1, 1/2, 1/4)``: cells on the border are shared with the mirror image, corner cells with three.

    >>> border_weights(torch.zeros(3, 3))
    tensor([[0.2500, 0.5000, 0.2500],
            [0.5000, 1.0000, 0.5000],
            [0.2500, 0.5000, 0.2500]])
    """
    rows, columns = v.new_ones(v.shape[-2]), v.new_ones(v.shape[-1])
    for line in (rows, columns):
        line[0] *= 0.5
        line[-1] *= 0.5
    return torch.outer(rows, columns)


class CellGradient(Operator):
    r"""First derivatives at the cell centres, with the detail that makes the stencil family of WWW13.

    .. math:: K u = \Big(\frac{p}{h_x},\ \frac{q}{h_y},\ \sqrt{1-2\alpha}\,\frac{r}{h_x},\
              \sqrt{1-2\alpha}\,\frac{r}{h_y}\Big)

    Shapes: ``(n, c, y, x) -> (n, c, 1, 4, y+1, x+1)``. Channel ``k`` belongs to direction ``k % 2`` (0 = x, 1 = y);
    the first two channels are the derivative, the last two the detail. With a tensor
    :math:`D = \begin{pmatrix} a & b \\ b & c\end{pmatrix}` per cell, :math:`K^*` of
    :math:`(ap+bq,\ bp+cq,\ a r_x - \gamma|b| r_y,\ c r_y - \gamma|b| r_x)` is exactly the 3x3 discretisation of
    :math:`-\mathrm{div}(D\,\nabla u)` by Weickert, Welk and Wickert (2013) with parameters alpha and gamma.

    Parameters
    ----------
    alpha : float
        In [0, 1/2]. 0: the five-point stencil. 1/6: leading error isotropic. 1/2: no detail, and the grid falls apart
        into two checkerboards.
    spacing : (float, float)
        Pixel size ``(h_y, h_x)``.

    Guarantees
    ----------
    Exact adjoint; :math:`\|K\|^2 = 4 \max(h_x^{-2}, h_y^{-2}, (1-2\alpha)(h_x^{-2} + h_y^{-2}))`, approached as the
    image grows; annihilates constants to the last bit; quarter turns carry over.

    Examples
    --------
    >>> CellGradient()(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 1, 4, 9, 9])
    """

    def __init__(self, alpha: float = 0.41, spacing: Spacing | float = (1.0, 1.0)) -> None:
        super().__init__()
        self.alpha = validation.number(alpha, "alpha", "CellGradient", 0.0, 0.5)
        self.spacing = validation.spacing(spacing, "CellGradient")

    def forward(self, u: Image) -> Responses:
        h_y, h_x = self.spacing
        p, q, r = haar(u)
        detail = (1 - 2 * self.alpha) ** 0.5
        return torch.stack([p / h_x, q / h_y, (detail / h_x) * r, (detail / h_y) * r], dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        h_y, h_x = self.spacing
        p, q, r_x, r_y = (v * self.cell_weights(v)).squeeze(2).unbind(2)
        detail = (1 - 2 * self.alpha) ** 0.5
        return haar_adjoint(Haar(p / h_x, q / h_y, (detail / h_x) * r_x + (detail / h_y) * r_y))

    def symbol(self, theta_y: Tensor, theta_x: Tensor) -> Tensor:
        h_y, h_x = self.spacing
        Y, X = torch.sin(theta_y / 2) ** 2, torch.sin(theta_x / 2) ** 2
        return 4 * (X / h_x**2 + Y / h_y**2 - 2 * self.alpha * X * Y * (h_x**-2 + h_y**-2))

    def squared_norm_bound(self) -> float:
        # The symbol is bilinear in X and Y, so that its maximum over [0, 1]^2 sits in a corner.
        h_y, h_x = self.spacing
        return 4 * max(h_x**-2, h_y**-2, (1 - 2 * self.alpha) * (h_x**-2 + h_y**-2))

    def cell_weights(self, v: Responses) -> Tensor:
        return border_weights(v)

    @property
    def degree(self) -> int:
        return 1

    @property
    def reach(self) -> int:
        return 1

    @property
    def axes(self) -> int:
        return 2

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}, spacing={self.spacing}"
