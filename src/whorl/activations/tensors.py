r"""Functions of symmetric 2x2 and 3x3 matrices, with values and gradients exact at equal eigenvalues.

In the plane a function of :math:`J` is written with a divided difference around the mean :math:`t` of both eigenvalues,
:math:`g(J) = \tfrac12 (g(\nu_1) + g(\nu_2))\, I + g[\nu_2, \nu_1]\, (J - t I)`: no eigenvectors, and nothing is divided
by a difference of eigenvalues. On flat images the root that parts them has no derivative; its slopes in opposite
directions cancel there, and zero takes their place. In space see :func:`spectral`.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import torch
from torch import Tensor

from whorl.diffusivities import Diffusivity
from whorl.foundations.ordered import ordered_sum

PAIRS = ((0, 1), (0, 2), (1, 2))
"""The pairs of three eigenvalues, in the order in which their secants are listed."""

Spectrum = Callable[[tuple[Tensor, ...]], tuple[Sequence[Tensor], Sequence[Tensor]]]
"""From three eigenvalues, the largest first, to those of another matrix and the secants of their ``PAIRS``."""

SWEEPS = 4
"""Rounds of Jacobi rotations; after the fourth nothing is left off the diagonal in either precision."""


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
        _, F = _principal(J)
        return _eigenvalues(F, _squares(F, _reciprocal_gaps(F)))
    mean, _, radius = parted(J)
    return mean + radius, _mended(mean - radius)


def parted(J: SymmetricMatrix) -> tuple[Tensor, Tensor, Tensor]:
    """Of a 2x2 matrix the mean of its eigenvalues, half the difference of its diagonal and half their difference."""
    mean, half = 0.5 * (J.a + J.c), 0.5 * (J.a - J.c)
    return mean, half, _safe_hypotenuse(half, J.b)


def matrix_diffusivity(g: Diffusivity, J: SymmetricMatrix) -> SymmetricMatrix:
    """The diffusion tensor ``g(J)`` of a structure tensor ``J``.

    >>> import torch
    >>> from whorl.activations import SymmetricMatrix
    >>> from whorl.diffusivities import Charbonnier
    >>> one, zero = torch.ones(1), torch.zeros(1)
    >>> matrix_diffusivity(Charbonnier(1.0), SymmetricMatrix(3 * one, zero, zero))
    (tensor([0.5000]), tensor([-0.]), tensor([1.]))
    """
    if J.dimensions == 3:
        return spectral(J, lambda mu: ([g(nu) for nu in mu], [g.divided_difference(mu[j], mu[i]) for i, j in PAIRS]))
    large, small = eigenvalues(J)
    mean = 0.5 * (g(large) + g(small))
    secant = g.divided_difference(small, large)
    half = 0.5 * (J.a - J.c)
    return SymmetricMatrix(mean + secant * half, secant * J.b, mean - secant * half)


def spectral(J: SymmetricMatrix, law: Spectrum) -> SymmetricMatrix:
    r"""The matrix with the eigenvectors of a 3x3 matrix, and eigenvalues and secants by a law.

    Vectors :math:`V` that diagonalise :math:`J` are found by Jacobi rotations and then count as constants. Of
    :math:`F = V^\top J V`, a diagonal matrix but for rounding, the result is expanded in the entries off the diagonal:

    .. math:: D_{ii} = \lambda_i(\mu) - \sum_k \frac{\theta_{ik} F_{ik}^2}{\mu_i - \mu_k}, \quad
              D_{ij} = \theta_{ij} F_{ij} + \frac{\theta_{ik} - \theta_{jk}}{\mu_i - \mu_j} F_{ik} F_{kj}, \quad
              \mu_i = F_{ii} + \sum_k \frac{F_{ik}^2}{\mu_i - \mu_k}

    with the secants :math:`\theta_{ij} = (\lambda_i - \lambda_j) / (\mu_i - \mu_j)`. Its first derivative is that of
    Daleckii and Krein, in which nothing is divided by a small difference; the second order matters to second
    derivatives alone, and is left out where two eigenvalues are nearly equal.
    """
    V, F = _principal(J)
    apart = _reciprocal_gaps(F)
    squares = _squares(F, apart)
    values, secants = law(_eigenvalues(F, squares))
    theta = {pair: secant for (i, j), secant in zip(PAIRS, secants, strict=True) for pair in ((i, j), (j, i))}
    entries = []
    for i, j in upper(3):
        if i == j:
            entries.append(values[i] - ordered_sum(theta[i, k] * squares[i, k] for k in range(3) if k != i))
        else:
            k = 3 - i - j
            bend = (F.entry(i, k) * apart[i, j]) * (theta[i, k] - theta[j, k]) * F.entry(k, j)
            entries.append(theta[i, j] * F.entry(i, j) + bend)
    return _turned(SymmetricMatrix(*entries), [[v[i] for v in V] for i in range(3)])


def _squares(F: SymmetricMatrix, apart: dict[tuple[int, int], Tensor]) -> dict[tuple[int, int], Tensor]:
    """The squares of entries off the diagonal over the differences of the diagonal; never large, whatever F is."""
    return {(i, k): (F.entry(i, k) * apart[i, k]) * F.entry(i, k) for i, k in apart}


def _eigenvalues(F: SymmetricMatrix, squares: dict[tuple[int, int], Tensor]) -> tuple[Tensor, ...]:
    corrections = (ordered_sum(squares[i, k] for k in range(3) if k != i) for i in range(3))
    return tuple(_mended(F.entry(i, i) + correction) for i, correction in enumerate(corrections))


def _reciprocal_gaps(F: SymmetricMatrix) -> dict[tuple[int, int], Tensor]:
    """One over the differences of the diagonal, and zero for those below a thousandth of the largest entry."""
    least = 1e-3 * F.entry(0, 0).detach().abs() + torch.finfo(F[0].dtype).tiny
    found = {}
    for i, j in PAIRS:
        gap = (F.entry(i, i) - F.entry(j, j)).detach()
        found[i, j] = torch.where(gap > least, 1 / torch.where(gap > least, gap, 1), 0)
        found[j, i] = -found[i, j]
    return found


def _principal(J: SymmetricMatrix) -> tuple[list[list[Tensor]], SymmetricMatrix]:
    """Three orthonormal vectors, constants, and ``J`` in their frame: its eigenvalues, largest first, but for rounding.

    A fixed number of Jacobi rotations as in the compiled engines, of entries scaled so that squares keep in range.
    """
    A = [e.detach() for e in torch.broadcast_tensors(*J)]
    size = torch.stack([e.abs() for e in A]).amax(0)
    size = torch.where(size < torch.finfo(size.dtype).tiny, 1, size)  # below it the reciprocal is infinite
    M = {place: e / size for place, e in zip(upper(3), A, strict=True)}
    zero, one = torch.zeros_like(size), torch.ones_like(size)
    V = [[one if i == j else zero for j in range(3)] for i in range(3)]
    for _ in range(SWEEPS):
        for p, q in PAIRS:
            _rotate(M, V, p, q)
    F = _turned(J, V)
    for p, q in ((0, 1), (1, 2), (0, 1)):
        swap = F.entry(q, q).detach() > F.entry(p, p).detach()
        order = {p: q, q: p}
        places = [(order.get(i, i), order.get(j, j)) for i, j in upper(3)]
        F = SymmetricMatrix(*(torch.where(swap, F.entry(*place), e) for place, e in zip(places, F, strict=True)))
        V[p], V[q] = (
            [torch.where(swap, a, b) for a, b in zip(V[q], V[p], strict=True)],
            [torch.where(swap, a, b) for a, b in zip(V[p], V[q], strict=True)],
        )
    return V, F


def _rotate(M: dict[tuple[int, int], Tensor], V: list[list[Tensor]], p: int, q: int) -> None:
    """Make the entry (p, q) zero by a rotation of the axes p < q, and turn the vectors with them."""
    r = 3 - p - q
    rp, rq = (min(r, p), max(r, p)), (min(r, q), max(r, q))
    gap = 0.5 * (M[q, q] - M[p, p])
    far = (gap.abs() + torch.sqrt(gap * gap + M[p, q] * M[p, q])).clamp_min(torch.finfo(gap.dtype).tiny)
    tangent = torch.where(gap >= 0, M[p, q], -M[p, q]) / far
    c = torch.rsqrt(tangent * tangent + 1)
    s, shift = tangent * c, tangent * M[p, q]
    M[p, p], M[q, q], M[p, q] = M[p, p] - shift, M[q, q] + shift, torch.zeros_like(shift)
    M[rp], M[rq] = c * M[rp] - s * M[rq], s * M[rp] + c * M[rq]
    V[p], V[q] = (
        [c * a - s * b for a, b in zip(V[p], V[q], strict=True)],
        [s * a + c * b for a, b in zip(V[p], V[q], strict=True)],
    )


def _turned(A: SymmetricMatrix, V: Sequence[Sequence[Tensor]]) -> SymmetricMatrix:
    """The entries ``v_i A v_j`` for the rows of V."""
    image = [[ordered_sum(A.entry(a, b) * v[b] for b in range(3)) for a in range(3)] for v in V]
    return SymmetricMatrix(*(ordered_sum(V[i][a] * image[j][a] for a in range(3)) for i, j in upper(3)))


def _mended(nu: Tensor) -> Tensor:
    # Rounding may leave a small eigenvalue just below zero: mend its value, but let gradients pass.
    return nu + (nu.clamp_min(0) - nu).detach()


def _safe_hypotenuse(x: Tensor, y: Tensor) -> Tensor:
    """The length of ``(x, y)`` without overflow, with derivative zero at the origin."""
    origin = (x == 0) & (y == 0)
    return torch.where(origin, 0, torch.hypot(torch.where(origin, 1, x), y))
