r"""Cells of 4x4 pixels or 4x4x4 voxels, whose derivatives are of fourth order at the cell centre.

Along an axis four pixels in a row have a derivative, an average and a third difference:

.. math:: \tfrac{1}{24} (1, -27, 27, -1), \qquad \tfrac{1}{16} (-1, 9, 9, -1), \qquad \tfrac18 (-1, 3, -3, 1) .

The first two are exact on polynomials of degree 4 and 3. A derivative of the cell is the derivative along one axis of
averages along the others. A further detail, in the place of a mixed difference, takes third differences along two or
three axes and averages along the rest, times 2. With :math:`X = \sin^2(\theta/2)` the squares of their transfer
functions are

.. math:: D = 4 X \big(1 + \tfrac{X}{6}\big)^2, \qquad A = (1 - X) \big(1 + \tfrac{X}{2}\big)^2, \qquad E = X^3 .

No wave but the constant is lost: derivatives vanish together only where an average vanishes along two axes or three,
so where :math:`X = Y = 1`, and there the detail of just these axes is 2.
"""

from collections.abc import Mapping
from typing import NamedTuple

from torch import Tensor

from whorl.foundations.types import Image
from whorl.operators.boundary import along, fold, mirror, placed
from whorl.operators.haar import Detail, details

STEEPEST = 49 / 9
"""The largest value of D, at X = 1."""


class Filter(NamedTuple):
    """Four taps: the two in the middle times ``near``, the outer two times ``far``; the first two count ``sign``."""

    sign: int
    near: float
    far: float


DERIVATIVE = Filter(-1, 27 / 24, -1 / 24)
AVERAGE = Filter(1, 9 / 16, -1 / 16)
THIRD_DIFFERENCE = Filter(-1, -3 / 8, 1 / 8)

Pass = tuple[int, Filter]
"""A direction (0 = x) and the filter along it."""


def wide(u: Image) -> dict[Detail, Tensor]:
    """All details of every wide cell of the mirrored image; exactly zero where the image is constant.

    >>> import torch
    >>> wide(torch.ones(1, 1, 4, 4))[0, 1].shape
    torch.Size([1, 1, 5, 5])
    """
    known: dict[tuple[Pass, ...], Tensor] = {(): mirror(u, 2)}

    def after(passes: tuple[Pass, ...]) -> Tensor:
        if passes not in known:
            known[passes] = _filtered(after(passes[:-1]), *passes[-1])
        return known[passes]

    dimension = u.dim() - 2
    return {chosen: _scale(chosen) * after(_passes(chosen, dimension)) for chosen in details(dimension)}


def wide_adjoint(v: Mapping[Detail, Tensor]) -> Image:
    """The transpose of :func:`wide` for unweighted sums and arbitrary arguments."""
    dimension = max(map(len, v))
    waiting = {_passes(chosen, dimension): _scale(chosen) * field for chosen, field in v.items()}
    for _ in range(dimension):
        # What went through the same passes before the last one is added up, and then goes back through them together.
        earlier: dict[tuple[Pass, ...], Tensor] = {}
        for passes, field in waiting.items():
            term, before = _transposed(field, *passes[-1]), passes[:-1]
            earlier[before] = earlier[before] + term if before in earlier else term
        waiting = earlier
    return fold(waiting[()], 2)


def squared_transfers(X: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """D, A and E, the squared transfer functions of derivative, average and third difference."""
    return 4 * X * (1 + X / 6) ** 2, (1 - X) * (1 + X / 2) ** 2, X**3


def _passes(chosen: Detail, dimension: int) -> tuple[Pass, ...]:
    """Differences come first: they are exactly zero where the image is constant."""
    difference = DERIVATIVE if len(chosen) == 1 else THIRD_DIFFERENCE
    rest = [(k, AVERAGE) for k in range(dimension) if k not in chosen]
    return (*((k, difference) for k in chosen), *rest)


def _scale(chosen: Detail) -> float:
    return 1.0 if len(chosen) == 1 else 2.0


def _filtered(u: Tensor, k: int, filter: Filter) -> Tensor:
    size = u.shape[~k] - 3
    a, b, c, d = (along(u, ~k, start, start + size) for start in range(4))
    return filter.near * (c + filter.sign * b) + filter.far * (d + filter.sign * a)


def _transposed(v: Tensor, k: int, filter: Filter) -> Tensor:
    near, far = filter.near * v, filter.far * v
    return (
        placed(near, ~k, 2, 1)
        + filter.sign * placed(near, ~k, 1, 2)
        + placed(far, ~k, 3, 0)
        + filter.sign * placed(far, ~k, 0, 3)
    )
