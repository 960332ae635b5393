r"""The structure tensor :math:`J` of responses: what an activation looks at before its law decides.

Responses ``(n, c, s, k, y, x)`` come in parts of as many operator channels as there are directions. The first part is a
vector :math:`(p_x, p_y)`, or :math:`(p_x, p_y, p_z)` in space; further parts are details, which count towards their own
direction:

.. math:: J_{ii} = \sum \Big(p_i^2 + \sum_{\text{details}} r_i^2\Big), \qquad J_{ij} = \sum p_i\, p_j .

The outer sums run over the image channels and scales that are coupled. For complex responses, squares are
:math:`|p_i|^2` and products :math:`\operatorname{Re} p_i\, \bar p_j`.
"""

from collections.abc import Callable

from torch import Tensor

from whorl.activations.tensors import SymmetricMatrix, upper
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Responses
from whorl.operators.cell_smoothing import CellSmoothing


class ResponseStructure:
    """The structure tensor of responses, of which a law computes no more than it asks for.

    Parameters
    ----------
    v : Responses
        The responses.
    axes : int
        How many directions they belong to.
    total : callable
        Sums a quantity over what is coupled.
    smoothing : CellSmoothing, optional
        Smooths every entry (the scale rho).
    """

    def __init__(
        self, v: Responses, axes: int, total: Callable[[Tensor], Tensor], smoothing: CellSmoothing | None = None
    ) -> None:
        self.v, self.axes, self.total, self.smoothing = v, axes, total, smoothing

    def trace(self, function: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """The sum of all squares; with a function, its sum over the eigenvalues."""
        if function is not None:
            return self.matrix().trace(function)
        return self._smoothed(self.total(ordered_sum(_product(self.v, self.v).split(1, dim=3))))

    def diagonal(self) -> Tensor:
        """The sum of squares for each direction, along axis 3."""
        return self._smoothed(self.total(self._squares()))

    def matrix(self) -> SymmetricMatrix:
        """All of the tensor."""
        squares = self._squares().split(1, dim=3)
        p = self.v.split(1, dim=3)
        entries = []
        for i, j in upper(self.axes):
            odd = () if i == j else (i, j)  # a product of two derivatives changes its sign in the mirror
            entries.append(self._smoothed(self.total(squares[i] if i == j else _product(p[i], p[j])), odd))
        return SymmetricMatrix(*entries)

    def _squares(self) -> Tensor:
        parts = by_axis(self.v, self.axes)
        return ordered_sum(_product(parts, parts).unbind(3))

    def _smoothed(self, entry: Tensor, odd: tuple[int, ...] = ()) -> Tensor:
        return entry if self.smoothing is None else self.smoothing(entry, odd)


def _product(p: Tensor, q: Tensor) -> Tensor:
    """The product; for complex responses the real part of ``p`` times the conjugate of ``q``: phases cancel."""
    if p.is_complex():
        return p.real * q.real + p.imag * q.imag
    return p.square() if p is q else p * q


def by_axis(v: Responses, axes: int) -> Tensor:
    """``(n, c, s, parts, axes, y, x)``: operator channels split into parts of each direction."""
    n, c, s, k, *grid = v.shape
    if k % axes:
        raise ValueError(f"Activation: {k} operator channels do not divide into {axes} directions.")
    return v.reshape(n, c, s, k // axes, axes, *grid)
