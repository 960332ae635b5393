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
from functools import cache
from itertools import combinations, product

import torch
from torch import Tensor

from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Image
from whorl.operators.boundary import fold, mirror, placed

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
    near = [chosen for chosen in details(dimension) if 0 in chosen]  # of direction 0, as directions counted from it on
    return tuple(tuple(sorted((k + j) % dimension for j in each)) for each in near for k in range(dimension))


def haar(u: Image) -> dict[Detail, Tensor]:
    """All Haar details of every cell of the mirrored image; exactly zero where the image is constant.

    >>> haar(torch.ones(1, 1, 4, 4))[0, 1].shape
    torch.Size([1, 1, 5, 5])
    """
    dimension = u.dim() - 2
    extended = mirror(u, 1)
    ends = slice(None, -1), slice(1, None)
    corners = {corner: extended[(..., *(ends[end] for end in corner))] for corner in product((0, 1), repeat=dimension)}
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


def _to_corner(v: Tensor, corner: tuple[int, ...] | list[int]) -> Tensor:
    """Values of cells as values of the pixels in one of their corners, on the extended image."""
    for k, sign in enumerate(corner):
        v = placed(v, ~k, *((1, 0) if sign > 0 else (0, 1)))
    return v
