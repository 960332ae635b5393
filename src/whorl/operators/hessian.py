"""The Hessian of Lysaker, Lundervold and Tai's model."""

from collections.abc import Iterable
from itertools import combinations, product

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Image, Responses, SpacingLike
from whorl.operators.base import Operator
from whorl.operators.boundary import along, fold, mirror, placed
from whorl.operators.derivative import Derivative


class Hessian(Operator):
    r"""Second derivatives (xx, xy, yx, yy) at the pixels; their leading error turns with the image.

    With the central second differences :math:`\delta_{xx}, \delta_{yy}` and central first differences :math:`\mu_x,
    \mu_y` (all scaled by the spacing):

    .. math:: u_{xx} \approx \delta_{xx}\big(1 + \tfrac{h_y^2}{12} \delta_{yy}\big) u, \qquad
              u_{yy} \approx \delta_{yy}\big(1 + \tfrac{h_x^2}{12} \delta_{xx}\big) u, \qquad
              u_{xy} = u_{yx} \approx \mu_x \mu_y \big(1 - \tfrac{h_x^2}{12} \delta_{xx} - \tfrac{h_y^2}{12} \delta_{yy}
              \big) u .

    Every entry then has the error :math:`\frac{h^2}{12} \partial_{ij} \Delta u`: up to fourth order the operator is the
    exact Hessian of :math:`u + \frac{h^2}{12} \Delta u`, and its trace the isotropic nine-point Laplacian. The diagonal
    entries need 3x3 pixels, the mixed one 5x5: on 3x3 pixels there is only :math:`\mu_x \mu_y`, whose error
    :math:`\frac{h^2}{6} \partial_{xy} \Delta u` costs a factor of a hundred in rotation invariance.

    In space there are nine entries, :math:`u_{xx} \approx \delta_{xx}(1 + \frac{h_y^2}{12}\delta_{yy} +
    \frac{h_z^2}{12}\delta_{zz}) u`, and the mixed entries carry :math:`+\frac{h_z^2}{12}\delta_{zz}` of the third
    direction: again one error :math:`\frac{h^2}{12} \partial_{ij} \Delta u` for all.

    Shapes: ``(n, c, y, x) -> (n, c, 1, 4, y, x)`` and ``(n, c, z, y, x) -> (n, c, 1, 9, z, y, x)``.

    Guarantees
    ----------
    Exact adjoint; :math:`\|K\|^2 = 16 / h^4` for square pixels, approached as the image grows, and a proven numerical
    bound otherwise; annihilates constants to the last bit.

    Examples
    --------
    >>> Hessian()(torch.zeros(1, 1, 6, 7)).shape
    torch.Size([1, 1, 1, 4, 6, 7])
    """

    degree = 4
    orders = (0, 2)

    def __init__(self, spacing: SpacingLike = 1.0) -> None:
        super().__init__()
        self.spacing = validation.spacing(spacing, "Hessian")

    def forward(self, u: Image) -> Responses:
        directions = range(u.dim() - 2)
        h = self.spacing.along(u.dim() - 2)[::-1]
        extended = mirror(u, 2)
        near = _cropped(extended, directions)
        pure = {i: _second(near, i) for i in reversed(directions)}
        entries = {}
        for i in directions:
            others = [j for j in directions if j != i]
            centre = _cropped(pure[i], others)
            bend = ordered_sum(_cropped(_second(pure[i], j), [k for k in others if k != j]) for j in others)
            entries[i, i] = (centre + bend / 12) / h[i] ** 2
        for i, j in combinations(directions, 2):
            others = [k for k in directions if k not in (i, j)]
            mixed = _cropped(_first(_first(extended, j), i), others)
            bend = _cropped(_second(mixed, i), [j, *others]) + _cropped(_second(mixed, j), [i, *others])
            for k in others:
                bend = bend - _cropped(_second(mixed, k), [i, j])
            entries[i, j] = entries[j, i] = (_cropped(mixed, directions) - bend / 12) / (4 * h[i] * h[j])
        return torch.stack([entries[i, j] for i in directions for j in directions], dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        directions = range(v.dim() - 4)
        h = self.spacing.along(v.dim() - 4)[::-1]
        fields = dict(zip(product(directions, directions), v.squeeze(2).unbind(2), strict=True))
        pure = []
        for i in directions:
            others = [j for j in directions if j != i]
            entry = fields[i, i] / h[i] ** 2
            spread = _grown(entry, others)
            for j in others:
                spread = spread + _grown(_spread_second(entry / 12, j), [k for k in others if k != j])
            pure.append(_spread_second(spread, i))
        result = _grown(ordered_sum(pure), directions)
        for i, j in combinations(directions, 2):
            others = [k for k in directions if k not in (i, j)]
            entry = (fields[i, j] + fields[j, i]) / (4 * h[i] * h[j])
            # The view keeps the derivatives of one bend together, so that they are summed up in a fixed order.
            across = _grown(_spread_second(entry, i), [j, *others])
            bend = across + _grown(_spread_second(entry.view_as(entry), j), [i, *others])
            for k in others:
                bend = bend - _grown(_spread_second(entry, k), [i, j])
            mixed = _spread_first(_spread_first(_grown(entry, directions) - bend / 12, i), j)
            result = result + _grown(mixed, others)
        return fold(result, 2)

    def symbol(self, *theta: Tensor) -> Tensor:
        directions = range(len(theta))
        h = self.spacing.along(len(theta))[::-1]
        X = [torch.sin(angle / 2) ** 2 for angle in reversed(theta)]
        total = ordered_sum(
            (4 * X[i] * (1 - sum(X[j] for j in directions if j != i) / 3) / h[i] ** 2) ** 2 for i in directions
        )
        for i, j in combinations(directions, 2):
            bend = X[i] + X[j] - sum(X[k] for k in directions if k not in (i, j))
            mixed = 16 * X[i] * (1 - X[i]) * X[j] * (1 - X[j]) * (1 + bend / 3) ** 2 / (h[i] * h[j]) ** 2
            total = total + 2 * mixed
        return total

    def _parts(self, dimension: int) -> Derivative:
        return Derivative("hessian", self.spacing.along(dimension))

    def squared_norm_bound(self, dimension: int | None = None) -> float:
        dimension = self.settle(dimension)
        h_y, h_x = self.spacing.along(dimension)[-2:]
        if dimension == 2 and h_x == h_y:
            # The symbol is 16 f, f = X²(1-Y/3)² + Y²(1-X/3)² + 2XY(1-X)(1-Y)(1+(X+Y)/3)². In s = X+Y and P = XY it is
            # s² - P(4s/3 + 10s²/9 + 2s³/9) + P²(2/9 + 2(1+s/3)²), convex in P, so largest at an end of P's range:
            # P = 0, where f = s² <= 1 (s <= 1); X = 1, where f = 1 - 2Y/3 + 5Y²/9 <= 1; or X = Y, where f =
            # 2X²(1-X/3)² + 2(X(1-X)(1+2X/3))² <= 0.58 + 0.24 for X <= 0.7, 0.80 + 0.19 up to 0.9, 0.89 + 0.05 beyond.
            return 16 / h_x**4
        return super().squared_norm_bound(dimension)

    def extra_repr(self) -> str:
        return f"spacing={self.spacing}"


# Differences are written as sums of differences so that constants give exactly zero.


def _second(u: Tensor, k: int) -> Tensor:
    return (along(u, ~k, 2) - along(u, ~k, 1, -1)) - (along(u, ~k, 1, -1) - along(u, ~k, 0, -2))


def _first(u: Tensor, k: int) -> Tensor:
    return along(u, ~k, 2) - along(u, ~k, 0, -2)


def _spread_second(v: Tensor, k: int) -> Tensor:
    return placed(v, ~k, 2, 0) - 2 * placed(v, ~k, 1, 1) + placed(v, ~k, 0, 2)


def _spread_first(v: Tensor, k: int) -> Tensor:
    return placed(v, ~k, 2, 0) - placed(v, ~k, 0, 2)


def _cropped(u: Tensor, directions: Iterable[int]) -> Tensor:
    """Without the first and last pixel along these directions."""
    for k in directions:
        u = along(u, ~k, 1, -1)
    return u


def _grown(v: Tensor, directions: Iterable[int]) -> Tensor:
    """With a zero before and after along these directions."""
    for k in directions:
        v = placed(v, ~k, 1, 1)
    return v
