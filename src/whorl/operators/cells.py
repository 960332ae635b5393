"""First derivatives at the centres of cells, compact or wide: the operator of every second order model."""

from functools import lru_cache, reduce
from operator import mul

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Image, Responses, SpacingLike
from whorl.foundations.validation import unknown
from whorl.operators.base import Operator
from whorl.operators.derivative import Derivative
from whorl.operators.haar import Detail, channels, details, haar, haar_adjoint
from whorl.operators.wide import STEEPEST, squared_transfers, wide, wide_adjoint

CELLS = ("compact", "wide")
"""The paper's cell of 2x2 pixels, and that of 4x4, on which turned pictures differ least."""


def border_weights(v: Tensor, dimension: int = 2) -> Tensor:
    """``W``: along each axis the first and last cell count 1/2, since they are shared with the mirror image.

    >>> border_weights(torch.zeros(3, 3))
    tensor([[0.2500, 0.5000, 0.2500],
            [0.5000, 1.0000, 0.5000],
            [0.2500, 0.5000, 0.2500]])
    """
    weights = v.new_ones(())
    for size in v.shape[-dimension:]:
        line = v.new_ones(size)
        line[0] *= 0.5
        line[-1] *= 0.5
        weights = weights[..., None] * line
    return weights


class CellGradient(Operator):
    r"""First derivatives at the cell centres, with the details that make the stencil family of WWW13.

    .. math:: K u = \Big(\frac{p}{h_x},\ \frac{q}{h_y},\ \sqrt{1-2\alpha}\,\frac{r}{h_x},\
              \sqrt{1-2\alpha}\,\frac{r}{h_y}\Big)

    Shapes: ``(n, c, y, x) -> (n, c, 1, 4, y+1, x+1)`` and ``(n, c, z, y, x) -> (n, c, 1, 12, z+1, y+1, x+1)``.
    Channel ``k`` belongs to direction ``k % 2`` (0 = x, 1 = y); the first two channels are the derivative, the last two
    the detail. With a tensor
    :math:`D = \begin{pmatrix} a & b \\ b & c\end{pmatrix}` per cell, :math:`K^*` of
    :math:`(ap+bq,\ bp+cq,\ a r_x - \gamma|b| r_y,\ c r_y - \gamma|b| r_x)` is exactly the 3x3 discretisation of
    :math:`-\mathrm{div}(D\,\nabla u)` by Weickert, Welk and Wickert (2013) with parameters alpha and gamma.

    In space, channel ``k`` belongs to direction ``k % 3``. With :math:`\kappa = 1 - 2\alpha` a detail that takes
    differences along :math:`m` directions counts :math:`\kappa^{(m-1)/2} / h_i` towards each direction :math:`i` of
    them: after the three derivatives come
    :math:`\sqrt\kappa\,(r_{xy}, r_{yz}, r_{xz})`, :math:`\sqrt\kappa\,(r_{xz}, r_{xy}, r_{yz})` and
    :math:`\kappa\,(t, t, t)`, each over :math:`(h_x, h_y, h_z)`.

    The *wide* cell (:mod:`whorl.operators.wide`) has the same details in the same channels, from 4x4 pixels or 4x4x4
    voxels: derivatives of fourth order, and third differences where the compact cell has mixed ones. With any alpha
    a checkerboard decays as fast as on the compact cell. Structure tensors, laws, fluxes and energies are the same.

    Parameters
    ----------
    alpha : float
        In [0, 1/2]. 0: the five-point (seven-point) stencil. 1/6: leading error isotropic. 1/2: no detail, and pixels
        of the two colours of a checkerboard no longer exchange anything.
    spacing : float or tuple of float
        Pixel size ``(h_y, h_x)``, voxel size ``(h_z, h_y, h_x)``, or one number for images and volumes alike.
    cell : str
        ``"compact"``, 2x2 pixels, or ``"wide"``, 4x4. Images narrower than a cell are mirrored as often as needed.

    Guarantees
    ----------
    Exact adjoint; :math:`\|K\|^2 = 4 \max_A \kappa^{|A|-1} \sum_{i \in A} h_i^{-2}` over the sets :math:`A` of
    directions, approached as the image grows: :math:`4 \max(1, 2\kappa, 3\kappa^2)` for unit voxels; annihilates
    constants to the last bit; quarter turns carry over.

    On the wide cell sets of one direction count 49/9 instead of 4, so that steps up to 18/49 = 0.367 are stable where
    compact ones go up to 1/2 (alpha from 0.16 on). Proof: in :math:`X_i = \sin^2(\theta_i/2)` the symbol is a
    polynomial of degree 3 for each axis, and no polynomial on the unit cube exceeds its largest Bernstein
    coefficient. Those of :math:`D, A, E` are :math:`(0, \tfrac43, \tfrac{28}{9}, \tfrac{49}{9})`, :math:`(1, 1,
    \tfrac34, 0)` and :math:`(0, 0, 0, 1)`. Where at most one index is 3 all details vanish, and the sum over
    :math:`i` of :math:`h_i^{-2} D_i \prod_{j \ne i} A_j` is at most :math:`\tfrac{49}{9} \max_i h_i^{-2}`: 4, 46/9,
    65/12 or 21/4 for the indices 111, 211, 221, 222 of unit voxels. Where two or three are 3, the derivatives
    vanish, and the detail of these axes
    alone is left. All these values are taken, in the corners of the cube.

    Examples
    --------
    >>> CellGradient()(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 1, 4, 9, 9])
    >>> CellGradient()(torch.zeros(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 1, 12, 9, 9, 9])
    """

    orders = (1,)

    def __init__(self, alpha: float = 0.41, spacing: SpacingLike = 1.0, cell: str = "compact") -> None:
        super().__init__()
        if cell not in CELLS:
            raise unknown("cell", cell, CELLS)
        self.cell = cell
        self.alpha = validation.number(alpha, "alpha", "CellGradient", 0.0, 0.5)
        self.spacing = validation.spacing(spacing, "CellGradient")

    def forward(self, u: Image) -> Responses:
        found = wide(u) if self.cell == "wide" else haar(u)
        terms = [_times(found[chosen], chosen, *weight) for chosen, weight in self._weights(u.dim() - 2)]
        return torch.stack(terms, dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        dimension = v.dim() - 4
        gathered: dict[Detail, Tensor] = {}
        fields = (v * self.cell_weights(v)).squeeze(2).unbind(2)
        for field, (chosen, weight) in zip(fields, self._weights(dimension), strict=True):
            term = _times(field, chosen, *weight)
            gathered[chosen] = gathered[chosen] + term if chosen in gathered else term
        return wide_adjoint(gathered) if self.cell == "wide" else haar_adjoint(gathered)

    @property
    def degree(self) -> int:
        return 3 if self.cell == "wide" else 1

    def symbol(self, *theta: Tensor) -> Tensor:
        X = [torch.sin(angle / 2) ** 2 for angle in reversed(theta)]
        h = self.spacing.along(len(theta))[::-1]
        if self.cell == "wide":
            return _wide_symbol(X, h, 1 - 2 * self.alpha)
        total = ordered_sum(x / size**2 for x, size in zip(X, h, strict=True))
        for chosen in details(len(theta))[len(theta) :]:
            term: Tensor | float = (-2 * self.alpha) ** (len(chosen) - 1)
            for k in chosen:
                term = term * X[k]
            total = total + term * sum(h[k] ** -2 for k in chosen)
        return 4 * total

    def squared_norm_bound(self, dimension: int | None = None) -> float:
        return _largest_symbol(self.alpha, self.spacing.along(self.settle(dimension)), self.cell)

    def cell_weights(self, v: Responses) -> Tensor:
        return border_weights(v, v.dim() - 4)

    def _parts(self, dimension: int) -> Derivative:
        return Derivative("cells", self.spacing.along(dimension), self.alpha, self.cell)

    def extra_repr(self) -> str:
        cell = f", cell={self.cell!r}" if self.cell != "compact" else ""
        return f"alpha={self.alpha:g}, spacing={tuple(self.spacing)}{cell}"

    def _weights(self, dimension: int) -> list[tuple[Detail, tuple[float, float]]]:
        """The detail in every channel with its factor and the size it is divided by."""
        h = self.spacing.along(dimension)[::-1]
        kappa = 1 - 2 * self.alpha
        return [
            (chosen, (kappa ** (0.5 * (len(chosen) - 1)), h[channel % dimension]))
            for channel, chosen in enumerate(channels(dimension))
        ]


def _wide_symbol(X: list[Tensor], h: tuple[float, ...], kappa: float) -> Tensor:
    """The sum over the details of the wide cell of their squared transfer functions."""
    D, A, E = zip(*(squared_transfers(x) for x in X), strict=True)
    terms = []
    for chosen in details(len(X)):
        alone = len(chosen) == 1
        factors = [A[k] if k not in chosen else D[k] if alone else E[k] for k in range(len(X))]
        weight = 1.0 if alone else 4 * kappa ** (len(chosen) - 1)
        terms.append(weight * sum(h[k] ** -2 for k in chosen) * reduce(mul, factors))
    return ordered_sum(terms)


@lru_cache(maxsize=64)
def _largest_symbol(alpha: float, spacing: tuple[float, ...], cell: str) -> float:
    """The maximum over the unit cube of all sin² sits in a corner, as :class:`CellGradient` proves for the wide cell.

    On the compact cell the symbol is linear in each of them.
    """
    h, kappa = spacing[::-1], 1 - 2 * alpha
    steepest = STEEPEST if cell == "wide" else 4.0
    largest = [
        (steepest if len(A) == 1 else 4 * kappa ** (len(A) - 1)) * sum(h[k] ** -2 for k in A) for A in details(len(h))
    ]
    return max(largest)


def _times(field: Tensor, chosen: Detail, factor: float, size: float) -> Tensor:
    return field / size if len(chosen) == 1 else (factor / size) * field
