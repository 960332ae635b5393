"""The Laplacian of You and Kaveh's model."""

from dataclasses import replace

import torch
from torch import Tensor

from whorl.foundations.types import Image, Responses, SpacingLike
from whorl.operators.base import Operator
from whorl.operators.cells import CellGradient
from whorl.operators.derivative import Derivative


class Laplacian(Operator):
    r"""The nine-point Laplacian (27 points in space) :math:`\Delta_\alpha = -K^* K` of the cell gradient.

    For :math:`\alpha = 1/6` its weights are 1/6 at the corners and 4/6 at the edges, and its leading error
    :math:`\frac{h^2}{12} \Delta^2 u` is rotationally invariant; in space faces weigh 5/12, edges 1/8 and corners 1/48,
    with the same error. :math:`\alpha = 0` is the five-point (seven-point) stencil. On the ``"wide"`` cell its errors
    are of fourth order.

    Shapes: ``(n, c, y, x) -> (n, c, 1, 1, y, x)``, on pixels; a volume with one more axis.

    Guarantees
    ----------
    Self-adjoint; :math:`\|\Delta\| = \|K\|^2` of the cell gradient, 16/3 for the default in the plane and in
    space; annihilates constants to the last bit.

    Examples
    --------
    >>> parabola = torch.arange(5.0)[None, None, :, None].expand(1, 1, 5, 5) ** 2
    >>> Laplacian()(parabola)[0, 0, 0, 0, 2, 2]
    tensor(2.)
    """

    def __init__(self, alpha: float = 1 / 6, spacing: SpacingLike = 1.0, cell: str = "compact") -> None:
        super().__init__()
        self.gradient = CellGradient(alpha, spacing, cell)
        self.spacing = self.gradient.spacing

    @property
    def alpha(self) -> float:
        """The parameter of the underlying cell gradient."""
        return self.gradient.alpha

    @property
    def degree(self) -> int:
        return 2 * self.gradient.degree

    def forward(self, u: Image) -> Responses:
        K = self.gradient
        return -K.adjoint(K(u))[:, :, None, None]

    def adjoint(self, v: Responses) -> Image:
        K = self.gradient
        return -K.adjoint(K(v[:, :, 0, 0]))

    def symbol(self, *theta: Tensor) -> Tensor:
        return torch.square(self.gradient.symbol(*theta))

    def _parts(self, dimension: int) -> Derivative:
        return replace(self.gradient._parts(dimension), name="laplacian")

    def squared_norm_bound(self, dimension: int | None = None) -> float:
        return self.gradient.squared_norm_bound(dimension) ** 2
