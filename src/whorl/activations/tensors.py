r"""Functions of symmetric 2x2 and 3x3 matrices, with values and gradients exact at equal eigenvalues.

A function of :math:`J` in the sense of a power series is its Newton polynomial at the eigenvalues
:math:`\nu_1 \ge \nu_2\ (\ge \nu_3)`,

.. math:: g(J) = g[\nu_1]\, I + g[\nu_1, \nu_2]\, (J - \nu_1 I) + g[\nu_1, \nu_2, \nu_3]\, (J - \nu_1 I)(J - \nu_2 I)

with divided differences :math:`g[\cdot]`: no eigenvectors, and nothing is divided by a difference of eigenvalues. The
first two terms are the plane; there they are written around the mean :math:`t` of both eigenvalues,
:math:`g(J) = \tfrac12 (g(\nu_1) + g(\nu_2))\, I + g[\nu_2, \nu_1]\, (J - t I)`. On flat images all eigenvalues are
equal, and the root that parts them has no derivative; there its directions cancel, and zero is the right one.
"""

import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from whorl.diffusivities import Diffusivity
from whorl.foundations.ordered import ordered_sum

__all__ = ["Structure", "SymmetricMatrix", "eigenvalues", "matrix_diffusivity", "matrix_product", "parted", "upper"]


class Structure(Protocol):
    """What a law asks of a structure tensor: its trace, its diagonal, or all of it."""

    def trace(self, function: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """The trace of ``J``, or of a function of it: the sum of the function over the eigenvalues."""

    def diagonal(self) -> Tensor:
        """The diagonal of ``J``, along axis 3."""

    def matrix(self) -> "SymmetricMatrix":
        """All of ``J``."""


class SymmetricMatrix(tuple[Tensor, ...]):
    r"""Fields of symmetric matrices: the upper triangle, row by row.

    Three fields are :math:`\begin{pmatrix} a & b \\ b & c \end{pmatrix}`, six the entries xx, xy, xz, yy, yz, zz.

    >>> J = SymmetricMatrix(*torch.arange(1.0, 7.0).view(6, 1, 1, 1, 1))
    >>> J.dimensions, J.entry(2, 1).item(), J.trace().item()
    (3, 5.0, 11.0)
    """

    __slots__ = ()

    def __new__(cls, *entries: Tensor) -> "SymmetricMatrix":
        if len(entries) not in (3, 6):
            raise ValueError(f"SymmetricMatrix: expected 3 entries (plane) or 6 (space), got {len(entries)}.")
        return super().__new__(cls, entries)

    @property
    def dimensions(self) -> int:
        """2 or 3."""
        return 2 if len(self) == 3 else 3

    @property
    def a(self) -> Tensor:
        """The entry xx."""
        return self[0]

    @property
    def b(self) -> Tensor:
        """The entry xy."""
        return self[1]

    @property
    def c(self) -> Tensor:
        """The entry yy."""
        return self.entry(1, 1)

    def entry(self, i: int, j: int) -> Tensor:
        """The entry in row ``i`` and column ``j``."""
        i, j = min(i, j), max(i, j)
        return self[i * self.dimensions - i * (i + 1) // 2 + j]

    def shifted(self, nu: Tensor) -> "SymmetricMatrix":
        """The matrix ``J + nu I``."""
        d = self.dimensions
        return SymmetricMatrix(*(e + nu if i == j else e for (i, j), e in zip(upper(d), self, strict=True)))

    def scaled(self, factor: Tensor) -> "SymmetricMatrix":
        """The matrix ``factor J``."""
        return SymmetricMatrix(*(factor * e for e in self))

    def plus(self, other: "SymmetricMatrix") -> "SymmetricMatrix":
        """The sum of two matrices."""
        return SymmetricMatrix(*(e + f for e, f in zip(self, other, strict=True)))

    def trace(self, function: Callable[[Tensor], Tensor] | None = None) -> Tensor:
        """The trace of the matrix, or of a function of it: the sum of the function over the eigenvalues."""
        if function is None:
            return ordered_sum(self.entry(i, i) for i in range(self.dimensions))
        return ordered_sum(function(nu) for nu in eigenvalues(self))

    def diagonal(self) -> Tensor:
        """The diagonal, along axis 3."""
        return torch.cat([self.entry(i, i) for i in range(self.dimensions)], dim=3)

    def matrix(self) -> "SymmetricMatrix":
        """The matrix itself."""
        return self


def upper(dimensions: int) -> list[tuple[int, int]]:
    """The places of the upper triangle, row by row.

    >>> upper(2)
    [(0, 0), (0, 1), (1, 1)]
    """
    return [(i, j) for i in range(dimensions) for j in range(i, dimensions)]


def eigenvalues(J: SymmetricMatrix) -> tuple[Tensor, ...]:
    """The eigenvalues, the largest first; of a positive semidefinite matrix none is negative.

    >>> one, two = eigenvalues(SymmetricMatrix(torch.tensor(2.0), torch.tensor(2.0), torch.tensor(5.0)))
    >>> one, two
    (tensor(6.), tensor(1.))
    """
    if J.dimensions == 3:
        return _spatial_eigenvalues(J)
    mean, _, radius = parted(J)
    return mean + radius, _mended(mean - radius)


def parted(J: SymmetricMatrix) -> tuple[Tensor, Tensor, Tensor]:
    """Of a 2x2 matrix: the mean of both eigenvalues, half the difference of the diagonal, half that of eigenvalues."""
    mean, half = 0.5 * (J.a + J.c), 0.5 * (J.a - J.c)
    return mean, half, _safe_hypotenuse(half, J.b)


def matrix_diffusivity(g: Diffusivity, J: SymmetricMatrix) -> SymmetricMatrix:
    """The diffusion tensor ``g(J)`` of a structure tensor ``J``."""
    if J.dimensions == 3:
        return _newton(g, J)
    large, small = eigenvalues(J)
    mean = 0.5 * (g(large) + g(small))
    secant = g.divided_difference(small, large)
    half = 0.5 * (J.a - J.c)
    return SymmetricMatrix(mean + secant * half, secant * J.b, mean - secant * half)


def matrix_product(A: SymmetricMatrix, B: SymmetricMatrix) -> SymmetricMatrix:
    """The product of two matrices that commute, which is symmetric."""
    d = A.dimensions
    return SymmetricMatrix(*(ordered_sum(A.entry(i, k) * B.entry(k, j) for k in range(d)) for i, j in upper(d)))


def _newton(g: Diffusivity, J: SymmetricMatrix) -> SymmetricMatrix:
    one, two, three = eigenvalues(J)
    linear = J.shifted(-one).scaled(g.divided_difference(two, one))
    # The last difference is kept without its denominator, the spread of the eigenvalues, which scales the product: so
    # that the squares of large entries do not overflow.
    bend = g.difference_of_secants(three, two, one)
    spread = one - three
    equal = spread < torch.finfo(spread.dtype).tiny  # below it the reciprocal is infinite
    share = J.shifted(-two).scaled(torch.where(equal, 0, 1 / torch.where(equal, 1, spread)))
    return matrix_product(J.shifted(-one).scaled(bend), share).plus(linear).shifted(g(one))


def _spatial_eigenvalues(J: SymmetricMatrix) -> tuple[Tensor, ...]:
    r"""Cardano's formula with the angle from its sine and cosine, accurate also where two eigenvalues meet.

    With :math:`N = (J - t I)/p`, :math:`t` a third of the trace and :math:`|N|^2 = 6`, the eigenvalues are
    :math:`t + 2 p \cos(\varphi + 2\pi k/3)`, where :math:`\cos 3\varphi = r = \det(N)/2`, and :math:`\sin 3\varphi` is
    the length of :math:`N^2 - 2 I - r N` divided by :math:`\sqrt 6`. The cosine alone would lose half of the digits.
    """
    mean = J.trace() / 3
    deviation = J.shifted(-mean)
    # The largest entry scales the rest and cancels in the end, with its derivative: so squares do not overflow.
    size = torch.stack([e.detach().abs() for e in torch.broadcast_tensors(*deviation)]).amax(0)
    flat = size < torch.finfo(size.dtype).tiny  # below it the reciprocal is infinite
    deviation = deviation.scaled(1 / torch.where(flat, 1, size))
    p = _safe_length(deviation) / math.sqrt(6)
    N = deviation.scaled(1 / torch.where(flat, 1, p))
    r = 0.5 * _determinant(N)
    rest = matrix_product(N, N).shifted(torch.full_like(r, -2.0)).plus(N.scaled(-r))
    rest = rest.scaled(torch.where(flat, 0, 1).to(r.dtype))
    angle = torch.atan2(_safe_length(rest) / math.sqrt(6), torch.where(flat, 1, r)) / 3
    third = 2 * math.pi / 3
    radius = 2 * size * p
    large, middle, small = (mean + radius * torch.cos(angle + turn) for turn in (0.0, -third, third))
    return _mended(large), _mended(middle), _mended(small)


def _determinant(N: SymmetricMatrix) -> Tensor:
    xx, xy, xz, yy, yz, zz = N
    return xx * (yy * zz - yz * yz) - xy * (xy * zz - yz * xz) + xz * (xy * yz - yy * xz)


def _safe_length(A: SymmetricMatrix) -> Tensor:
    """The root of the sum of all squared entries, with derivative zero at the origin."""
    squares = ordered_sum((1 if i == j else 2) * e * e for (i, j), e in zip(upper(A.dimensions), A, strict=True))
    origin = squares == 0
    return torch.where(origin, 0, torch.sqrt(torch.where(origin, 1, squares)))


def _mended(nu: Tensor) -> Tensor:
    # Rounding may leave a small eigenvalue just below zero: mend its value, but let gradients pass.
    return nu + (nu.clamp_min(0) - nu).detach()


def _safe_hypotenuse(x: Tensor, y: Tensor) -> Tensor:
    """The length of ``(x, y)`` without overflow, with derivative zero at the origin."""
    origin = (x == 0) & (y == 0)
    return torch.where(origin, 0, torch.hypot(torch.where(origin, 1, x), y))
