r"""The Haar details of cells of 2x2 pixels or 2x2x2 voxels, the basis of every second order model.

Cell ``u00 u10 / u01 u11`` (first index = x) of the image mirrored by one pixel:

.. math:: p = \tfrac12 (u_{10} - u_{00} + u_{11} - u_{01}), \quad
          q = \tfrac12 (u_{01} - u_{00} + u_{11} - u_{10}), \quad
          r = \tfrac12 (u_{11} - u_{10} - u_{01} + u_{00})

are the derivatives at the cell centre and the remaining Haar detail. (mean, p, q, r) is the undecimated Haar transform.
In space a cell has the mean and seven details: three derivatives, three mixed differences and one difference along all
three axes. A detail is named by the set of directions (0 = x, 1 = y, 2 = z) along which it takes differences; along the
others it takes means.
"""

from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from itertools import combinations, product

import torch
from torch import Tensor

from whorl.foundations import validation
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Image, Responses, SpacingLike
from whorl.operators.base import Operator
from whorl.operators.boundary import fold, mirror, placed

__all__ = ["CellGradient", "Detail", "border_weights", "channels", "details", "haar", "haar_adjoint"]

Detail = tuple[int, ...]
"""The directions along which a Haar detail takes differences: ``(0,)`` is p, ``(0, 1)`` is r of the plane."""


@cache
def details(dimension: int) -> tuple[Detail, ...]:
    """The Haar details of a cell but the mean, derivatives first.

    >>> details(2)
    ((0,), (1,), (0, 1))
    """
    return tuple(chosen for count in range(1, dimension + 1) for chosen in combinations(range(dimension), count))


@cache
def channels(dimension: int) -> tuple[Detail, ...]:
    """The detail in every operator channel; channel k belongs to direction k % dimension, one of the detail's own.

    >>> channels(2)
    ((0,), (1,), (0, 1), (0, 1))
    """
    parts = [[tuple(sorted((k + j) % dimension for j in near)) for k in range(dimension)] for near in _near(dimension)]
    return tuple(detail for part in parts for detail in part)


def _near(dimension: int) -> list[Detail]:
    """The details of direction 0, as directions counted from it on."""
    return [chosen for chosen in details(dimension) if 0 in chosen]


def haar(u: Image) -> dict[Detail, Tensor]:
    """All Haar details of every cell of the mirrored image; exactly zero where the image is constant.

    >>> haar(torch.ones(1, 1, 4, 4))[0, 1].shape
    torch.Size([1, 1, 5, 5])
    """
    dimension = u.dim() - 2
    extended = mirror(u, 1)
    corners = {corner: _from_corner(extended, corner) for corner in product((0, 1), repeat=dimension)}
    # Differences come first: those of neighbours are nearly exact. Each is taken once and shared by what follows.
    differences: dict[Detail, dict[Corner, Tensor]] = {(): corners}
    for chosen in details(dimension):
        differences[chosen] = _joined(differences[chosen[:-1]], chosen[-1], torch.sub)
    result = {}
    for chosen in details(dimension):
        fields = differences[chosen]
        for k in sorted({*range(dimension)} - {*chosen}):
            fields = _joined(fields, k, torch.add)
        (field,) = fields.values()
        result[chosen] = 0.5 ** (dimension - 1) * field
    return result


def haar_adjoint(v: Mapping[Detail, Tensor]) -> Image:
    """The transpose of :func:`haar` for unweighted sums and arbitrary arguments."""
    dimension = max(map(len, v))
    scale = 0.5 ** (dimension - 1)
    spread = []
    for signs in product((1, -1), repeat=dimension - 1):
        corner = (1, *signs)
        # Details of an odd number of differences change their sign in the opposite corner, the others do not.
        _, odd = _signed_sum({chosen: field for chosen, field in v.items() if len(chosen) % 2}, corner)
        sign, even = _signed_sum({chosen: field for chosen, field in v.items() if len(chosen) % 2 == 0}, corner)
        near, far = (
            (scale * (even - odd), scale * (even + odd)) if sign > 0 else (-scale * (odd + even), scale * (odd - even))
        )
        spread.append(_to_corner(near, [-sign for sign in corner]) + _to_corner(far, corner))
    return fold(ordered_sum(spread), 1)


Corner = tuple[int, ...]
"""Which pixel of a cell along each axis, in the order of the axes: 0 the first, 1 the second, -1 neither any more."""


def _joined(fields: Mapping[Corner, Tensor], k: int, join: Callable[[Tensor, Tensor], Tensor]) -> dict[Corner, Tensor]:
    """Pairs of fields that are neighbours along direction k, the second joined with the first."""
    ends = [corner for corner in fields if corner[~k] == 0]

    def at(corner: Corner, end: int) -> Corner:
        return tuple(end if axis == len(corner) + ~k else value for axis, value in enumerate(corner))

    return {at(corner, -1): join(fields[at(corner, 1)], fields[corner]) for corner in ends}


def _signed_sum(fields: Mapping[Detail, Tensor], corner: tuple[int, ...]) -> tuple[int, Tensor]:
    """The sign of the first detail in a corner, and that sign times the sum of all with their signs."""

    def sign(chosen: Detail) -> int:
        return -1 if sum(corner[k] < 0 for k in chosen) % 2 else 1

    (first, total), *rest = fields.items()
    for chosen, field in rest:
        total = total + field if sign(chosen) == sign(first) else total - field
    return sign(first), total


def _from_corner(extended: Tensor, corner: Corner) -> Tensor:
    """The pixels in one corner of every cell."""
    return extended[(..., *(slice(1, None) if end else slice(None, -1) for end in corner))]


def _to_corner(v: Tensor, corner: tuple[int, ...] | list[int]) -> Tensor:
    """Values of cells as values of the pixels in one of their corners, on the extended image."""
    for k, sign in enumerate(corner):
        v = placed(v, ~k, *((1, 0) if sign > 0 else (0, 1)))
    return v


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

    Parameters
    ----------
    alpha : float
        In [0, 1/2]. 0: the five-point (seven-point) stencil. 1/6: leading error isotropic. 1/2: no detail, and pixels
        of the two colours of a checkerboard no longer exchange anything.
    spacing : float or tuple of float
        Pixel size ``(h_y, h_x)``, voxel size ``(h_z, h_y, h_x)``, or one number for images and volumes alike.

    Guarantees
    ----------
    Exact adjoint; :math:`\|K\|^2 = 4 \max_A \kappa^{|A|-1} \sum_{i \in A} h_i^{-2}` over the sets :math:`A` of
    directions, approached as the image grows: :math:`4 \max(1, 2\kappa, 3\kappa^2)` for unit voxels; annihilates
    constants to the last bit; quarter turns carry over.

    Examples
    --------
    >>> CellGradient()(torch.zeros(1, 3, 8, 8)).shape
    torch.Size([1, 3, 1, 4, 9, 9])
    >>> CellGradient()(torch.zeros(1, 3, 8, 8, 8)).shape
    torch.Size([1, 3, 1, 12, 9, 9, 9])
    """

    degree = reach = 1
    orders = (1,)

    def __init__(self, alpha: float = 0.41, spacing: SpacingLike = 1.0) -> None:
        super().__init__()
        self.alpha = validation.number(alpha, "alpha", "CellGradient", 0.0, 0.5)
        self.spacing = validation.spacing(spacing, "CellGradient")

    def forward(self, u: Image) -> Responses:
        found = haar(u)
        terms = [_times(found[chosen], chosen, *weight) for chosen, weight in self._weights(u.dim() - 2)]
        return torch.stack(terms, dim=2).unsqueeze(2)

    def adjoint(self, v: Responses) -> Image:
        dimension = v.dim() - 4
        gathered: dict[Detail, Tensor] = {}
        fields = (v * self.cell_weights(v)).squeeze(2).unbind(2)
        for field, (chosen, weight) in zip(fields, self._weights(dimension), strict=True):
            term = _times(field, chosen, *weight)
            gathered[chosen] = gathered[chosen] + term if chosen in gathered else term
        return haar_adjoint(gathered)

    def symbol(self, *theta: Tensor) -> Tensor:
        X = [torch.sin(angle / 2) ** 2 for angle in reversed(theta)]
        h = self.spacing.along(len(theta))[::-1]
        total = ordered_sum(x / size**2 for x, size in zip(X, h, strict=True))
        for chosen in details(len(theta))[len(theta) :]:
            term: Tensor | float = (-2 * self.alpha) ** (len(chosen) - 1)
            for k in chosen:
                term = term * X[k]
            total = total + term * sum(h[k] ** -2 for k in chosen)
        return 4 * total

    def squared_norm_bound(self, dimension: int | None = None) -> float:
        return _largest_symbol(self.alpha, self.spacing.along(self.settle(dimension)))

    def cell_weights(self, v: Responses) -> Tensor:
        return border_weights(v, v.dim() - 4)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha:g}, spacing={tuple(self.spacing)}"

    def _weights(self, dimension: int) -> list[tuple[Detail, tuple[float, float]]]:
        """The detail in every channel with its factor and the size it is divided by."""
        h = self.spacing.along(dimension)[::-1]
        kappa = 1 - 2 * self.alpha
        return [
            (chosen, (kappa ** (0.5 * (len(chosen) - 1)), h[channel % dimension]))
            for channel, chosen in enumerate(channels(dimension))
        ]


@lru_cache(maxsize=64)
def _largest_symbol(alpha: float, spacing: tuple[float, ...]) -> float:
    """The symbol is linear in each sin², so that its maximum over the unit cube sits in a corner."""
    h, kappa = spacing[::-1], 1 - 2 * alpha
    return 4 * max(kappa ** (len(A) - 1) * sum(h[k] ** -2 for k in A) for A in details(len(h)))


def _times(field: Tensor, chosen: Detail, factor: float, size: float) -> Tensor:
    return field / size if len(chosen) == 1 else (factor / size) * field
