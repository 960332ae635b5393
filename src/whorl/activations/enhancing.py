r"""The laws of edge-enhancing, of edge-continuing and of coherence-enhancing diffusion.

They choose eigenvalues :math:`\lambda_i` for the eigenvectors of :math:`J`, by its eigenvalues
:math:`\mu_1 \ge \mu_2\ (\ge \mu_3)`. Where two eigenvalues of :math:`J` meet, their directions have no meaning, and
choosing one would let the tensor jump. There both directions get the mean; it sets in where eigenvalues differ by less
than a thousandth of the largest one.
"""

from abc import abstractmethod
from itertools import pairwise

import torch
from torch import Tensor

from whorl.activations.laws import Law
from whorl.activations.tensors import PAIRS, Structure, SymmetricMatrix, eigenvalues, parted, spectral
from whorl.diffusivities import Diffusivity, Exponential
from whorl.diffusivities.base import Contrast, Contrasted
from whorl.foundations import validation
from whorl.foundations.traced import quotient

TOGETHER = 1e-3
"""Eigenvalues that differ by less than this share of the largest one count as nearly equal."""

KEEP = ("plates", "lines")


class Spectral(Law):
    """A law that chooses eigenvalues by those of ``J``; compiled engines and the page write down its ``rises``."""

    formula = True

    together = TOGETHER
    """In the plane, the share of the largest eigenvalue below which a difference counts as that share."""

    @abstractmethod
    def rises(self, mu: tuple[Tensor, ...], spread: Tensor) -> tuple[Tensor, ...]:
        r"""The eigenvalue :math:`\lambda_d`, then :math:`\lambda_i - \lambda_{i+1}` from :math:`i = 1` on.

        ``mu`` are the eigenvalues of ``J``, the largest first, and ``spread`` is the first less the last.
        """

    def tensor(self, J: Structure) -> SymmetricMatrix:
        A = J.matrix()
        if A.dimensions == 3:
            return spectral(A, lambda mu: _spatial(mu, *self.rises(mu, mu[0] - mu[2])))
        mu = eigenvalues(A)
        last, rise = self.rises(mu, 2 * parted(A)[2])
        return _planar(A, last, rise, self.together * mu[0])


class EdgeEnhancing(Spectral):
    r"""Edge-enhancing diffusion (Weickert 1994): little across edges, as much along them as in flat regions.

    .. math:: \lambda_1 = g(\mu_1), \quad \lambda_2 = g(0) \qquad \text{and in space} \qquad
              \lambda_1 = g(\mu_1), \quad \lambda_2 = g(0) \text{ or } g(\mu_2), \quad \lambda_3 = g(0)

    with :math:`g(0) = 1` for all diffusivities but ``tv``, with which the whole flow runs :math:`1/\varepsilon` times
    as fast. Of a single gradient, :math:`J = \nabla u \nabla u^\top`, the tensor is
    :math:`D = g(0)\, I + g[0, \mu_1]\, J` with a divided difference: nothing is lost to rounding, however strong the
    edge, and the law is smooth.

    Parameters
    ----------
    diffusivity : Diffusivity
        The function :math:`g`.
    keep : str
        In space: ``"plates"`` smooths along both directions of an edge's surface, ``"lines"`` along the one in which
        the image changes least. (Of a single gradient both make the same: it has no second direction.)

    Examples
    --------
    >>> from whorl.diffusivities import Rational
    >>> J = SymmetricMatrix(*torch.tensor([3.0, 0.0, 0.0]).view(3, 1, 1, 1, 1, 1, 1))
    >>> [entry.item() for entry in EdgeEnhancing(Rational(1.0)).tensor(J)]
    [0.25, -0.0, 1.0]
    """

    name = "edge-enhancing"

    def __init__(self, diffusivity: Diffusivity, keep: str = "plates") -> None:
        if keep not in KEEP:
            raise ValueError(f"EdgeEnhancing: keep must be {' or '.join(KEEP)}, got {keep!r}.")
        self.diffusivity: Diffusivity = diffusivity
        self.keep = keep

    def rises(self, mu: tuple[Tensor, ...], spread: Tensor) -> tuple[Tensor, ...]:
        g, flat = self.diffusivity, torch.zeros_like(mu[0])
        between = mu[1:-1] if self.keep == "lines" else (flat,) * (len(mu) - 2)
        return g(flat), *((a - b) * g.divided_difference(b, a) for a, b in pairwise((mu[0], *between, flat)))

    def maximum(self) -> float:
        return self.diffusivity.maximum()

    def extra_repr(self) -> str:
        return f"keep={self.keep!r}"


class ContrastLaw(Contrasted, Spectral):
    """A law with a contrast of its own in the place of a diffusivity, for structure tensors that are smoothed."""

    smoothed = True


class EdgeContinuing(ContrastLaw):
    r"""Edge-enhancing diffusion for smoothed structure tensors: as much along edges as the direction is certain.

    .. math:: D = (\lambda^2 + \mu_d)\, (\lambda^2 I + J)^{-1}, \qquad
              \lambda_i = \frac{\lambda^2 + \mu_d}{\lambda^2 + \mu_i}

    Along the direction in which the image changes least the eigenvalue is 1; across it counts how much more the image
    changes there. Of a single gradient this is edge-enhancing diffusion with the rational diffusivity. Where gradients
    around a point have all directions (corners, texture, noise), :math:`\mu_1` and :math:`\mu_d` are both large, and
    diffusion is isotropic instead of following a direction that means nothing.

    Parameters
    ----------
    contrast : float
        Gradients well below :math:`\lambda` have no direction that counts.
    trainable : bool
        Whether the contrast is trained.

    Examples
    --------
    >>> J = SymmetricMatrix(*torch.tensor([7.0, 0.0, 1.0]).view(3, 1, 1, 1, 1, 1, 1))
    >>> [entry.item() for entry in EdgeContinuing(1.0).tensor(J)]
    [0.25, -0.0, 1.0]
    """

    name = "edge-continuing"

    def tensor(self, J: Structure) -> SymmetricMatrix:
        A = J.matrix()
        if A.dimensions == 3:
            return super().tensor(A)
        # The inverse of a 2x2 matrix is its adjugate over its determinant.
        squared = (self.contrast**2).to(A.a.dtype)
        share = quotient(1.0, squared + eigenvalues(A)[0])
        return SymmetricMatrix((squared + A.c) * share, -A.b * share, (squared + A.a) * share)

    def rises(self, mu: tuple[Tensor, ...], spread: Tensor) -> tuple[Tensor, ...]:
        squared = (self.contrast**2).to(mu[0].dtype)
        shares = [quotient(squared + mu[-1], squared + nu) for nu in mu[:-1]]
        along = torch.ones_like(shares[0])
        return along, *(a - b for a, b in pairwise((*shares, along)))

    def maximum(self) -> float:
        return 1.0


class CoherenceEnhancing(ContrastLaw):
    r"""Coherence-enhancing diffusion (Weickert 1999): along lines, and hardly at all elsewhere.

    .. math:: \lambda_1 = \dots = \lambda_{d-1} = a, \qquad
              \lambda_d = a + (1 - a) \exp\!\Big(-\frac{\lambda^4}{(\mu_1 - \mu_d)^2}\Big)

    with Weickert's constant written as :math:`C = \lambda^4`, so that the contrast :math:`\lambda` has the units of the
    image. Where all eigenvalues are equal there is no line, and :math:`D = a I`.

    Parameters
    ----------
    contrast : float
        Lines whose coherence :math:`\mu_1 - \mu_d` exceeds :math:`\lambda^2` are smoothed along.
    across : float
        The diffusivity :math:`a` across lines, in (0, 1).
    trainable : bool
        Whether the contrast is trained.

    Examples
    --------
    >>> J = SymmetricMatrix(*torch.tensor([0.0, 0.0, 1e6]).view(3, 1, 1, 1, 1, 1, 1))
    >>> [round(entry.item(), 4) for entry in CoherenceEnhancing(1.0).tensor(J)]
    [1.0, -0.0, 0.001]
    """

    name, together = "coherence-enhancing", 0.0

    def __init__(self, contrast: Contrast = 1.0, across: float = 0.001, *, trainable: bool = False) -> None:
        super().__init__(contrast, trainable=trainable)
        self.across = validation.number(across, "across", "CoherenceEnhancing", 0.0, 1.0, open_low=True)

    def rises(self, mu: tuple[Tensor, ...], spread: Tensor) -> tuple[Tensor, ...]:
        along = self._along(spread)
        return self.across + along, *(torch.zeros_like(along) for _ in mu[2:]), -along

    def maximum(self) -> float:
        return 1.0

    def extra_repr(self) -> str:
        return f"across={self.across:g}"

    def _along(self, coherence: Tensor) -> Tensor:
        """What is added along lines: ``(1 - a) exp(-contrast⁴ / coherence²)``."""
        squared = (self.contrast**2).to(coherence.dtype)
        # Below this share of the squared contrast the exponential is zero in every precision.
        calm = coherence < squared / 30
        ratio = quotient(squared, torch.where(calm, squared, coherence))
        return torch.where(calm, 0, (1 - self.across) * torch.exp(-(ratio**2)))


def _planar(J: SymmetricMatrix, last: Tensor, rise: Tensor, least: Tensor) -> SymmetricMatrix:
    """The matrix with the eigenvalues ``last + rise`` and ``last`` for the larger and the smaller one of ``J``.

    Differences of the eigenvalues of ``J`` below ``least`` count as ``least``.
    """
    _, half, radius = parted(J)
    secant = _divided(rise, torch.maximum(2 * radius, least))
    centre = last + 0.5 * rise
    return SymmetricMatrix(centre + secant * half, secant * J.b, centre - secant * half)


def _spatial(mu: tuple[Tensor, ...], last: Tensor, first: Tensor, second: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """The eigenvalues ``last + second + first``, ``last + second`` and ``last``, evened out, and their secants.

    Every eigenvalue becomes a mean of all three whose weights grow as those of ``J`` come near each other: a half for
    two that are equal, a third for three. Equal ones of ``J`` stay equal, and the trace stays as it is.
    """
    gaps = [mu[i] - mu[j] for i, j in PAIRS]
    least = TOGETHER * mu[0]
    near, ends, far = (1 - _divided(gap, torch.maximum(gap, least)) for gap in gaps)
    near, far = near / (2 + ends), far / (2 + ends)
    ends = ends / (2 + (2 + ends) * torch.minimum(near, far))
    last = last + far * second + ends * (first + second)
    first, second = (
        (1 - 2 * near - ends) * first + (far - ends) * second,
        (1 - 2 * far - ends) * second + (near - ends) * first,
    )
    rises = first, first + second, second
    return [last + rises[1], last + second, last], [_divided(x, gap) for x, gap in zip(rises, gaps, strict=True)]


def _divided(x: Tensor, y: Tensor) -> Tensor:
    """``x / y``, and zero with derivative zero where ``y`` is zero, or too small to be divided by twice."""
    zero = y <= torch.finfo(y.dtype).tiny
    return torch.where(zero, 0, quotient(x, torch.where(zero, 1, y)))


SPECTRAL: dict[str, Spectral] = {
    "edge-enhancing": EdgeEnhancing(Exponential()),
    "edge-enhancing, lines": EdgeEnhancing(Exponential(), "lines"),
    "coherence-enhancing": CoherenceEnhancing(),
    "edge-continuing": EdgeContinuing(),
}
"""One example of each law of this file; compiled engines and the page have all of them."""
