r"""Energies whose operators and potentials are learned, with bounds that are proven whatever is learned.

.. math:: R_\sigma(u) = \sum_f \sum_x w_f(x)\, c_f^2\, \psi_f\big(a_f\, |D_f(x)^{1/2} (K_f u)(x)| / c_f\big)

:math:`K_f u` is a steerable field, so that its length does not change when the picture turns. The level of the noise
:math:`\sigma` decides on :math:`a_f` and :math:`c_f`, both linear between the trained levels in double logarithms. The
guided kind has weights :math:`w_f > 0` and tensors :math:`D_f > 0` that a network reads off the data; for the others
both are 1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, get_args

import torch
from torch import Tensor, nn

from whorl.energies.potentials import Potentials
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.operators.profiles import ProfileMap

Kind = Literal["convex", "weak", "guided"]
LEVELS = (5.0, 15.0, 25.0)
WEAK = 0.97  # below 1, so that data term and energy together are strongly convex
_TINY = 1e-10
_NODES = 48


class Regulariser(Protocol):
    """An energy with its gradient and a bound of its second derivatives."""

    def __call__(self, u: Image) -> Tensor: ...
    def gradient(self, u: Image) -> Image: ...
    @property
    def curvature(self) -> float: ...


class LearnedEnergy(nn.Module):
    r"""A learned energy of coupled fields; :meth:`at` gives it for one level of noise.

    Parameters
    ----------
    kind : str
        ``"convex"``; ``"weak"``, for which :math:`R + \tfrac12 |u|^2` is convex; or ``"guided"``, convex in the picture
        with weights that come from the data.
    fields : sequence of int
        Fields of angular order 0, 1, 2, ...
    mu : float
        The largest slope of a potential's derivative.

    Guarantees
    ----------
    For any weights: the potentials keep their limits, and :math:`\|\mathrm{diag}(a) K\| \le 1` at every level, proven
    outside training. Hence :math:`-0.97 \le \nabla^2 R_\sigma` for the weak kind and :math:`0 \le \nabla^2 R_\sigma`
    for the others; from above :attr:`EnergyAt.curvature` is the bound.

    Examples
    --------
    >>> energy = LearnedEnergy("convex", (2, 2)).eval()
    >>> term = energy.at(25.0)
    >>> bool(term(torch.ones(1, 1, 16, 16)) < 1e-6)  # constants cost nothing
    True
    """

    def __init__(self, kind: Kind, fields: Sequence[int], mu: float = 40.0) -> None:
        super().__init__()
        if kind not in get_args(Kind):
            raise validation.unknown("kind of energy", kind, get_args(Kind))
        self.kind = kind
        self.operator = ProfileMap(fields)
        count = len(self.operator.orders)
        self.potentials = Potentials(count, mu, WEAK if kind == "weak" else 0.0)
        contrasts = torch.tensor([[math.log(0.1 * level)] for level in LEVELS])
        self.log_contrast = nn.Parameter(contrasts.expand(-1, count).clone())
        self.log_factor = nn.Parameter(torch.zeros(len(LEVELS), count))
        self._norms: tuple[list[float], Tensor] | None = None

    def at(self, noise: float, guide: "Guidance | None" = None) -> "EnergyAt":
        """The energy for noise of this standard deviation, in grey values from 0 to 255."""
        noise = validation.number(noise, "noise", "LearnedEnergy", 0.0, open_low=True)
        if (guide is not None) != (self.kind == "guided"):
            raise ValueError(f"LearnedEnergy: the {self.kind} kind takes {'a' if guide is None else 'no'} guide.")
        factor = self._between(self.log_factor - 0.5 * self.norms().log()[:, None], noise).exp()
        return EnergyAt(self, factor, self._between(self.log_contrast, noise).exp(), guide)

    def of_colours(self, noise: float) -> "OfColours":
        """The energy of pictures with three channels, each with noise of this standard deviation.

        The mean of the channels is a grey picture with less noise. Their differences hold less than a picture: where
        every weight keeps the energy convex, they count twice.
        """
        if self.kind == "guided":
            raise ValueError("LearnedEnergy: the guided kind takes each channel for itself.")
        return OfColours(self.at(noise / math.sqrt(3)), self.at(noise), 2.0 if self.kind == "convex" else 1.0)

    def norms(self) -> Tensor:
        r"""The squared norm of :math:`\mathrm{diag}(a) K` at the trained levels: proven, or differentiable in training.

        Between two levels the logarithm of the norm lies below the line through theirs: the sum of squares is a sum of
        :math:`p^{1-t} q^t`, and Hölder's inequality holds.
        """
        factors = self.log_factor.exp()
        if self.training:
            squares: Tensor = torch.einsum("lf,fyx->lyx", factors.square(), self.operator.powers(_NODES))
            return squares.flatten(1).amax(1)
        state = [*factors.flatten().tolist(), *(x for w in self.operator.weights for x in w.flatten().tolist())]
        if self._norms is None or self._norms[0] != state:
            self._norms = state, self.operator.scaled_norms(factors)
        return self._norms[1].to(factors)

    def _between(self, values: Tensor, noise: float) -> Tensor:
        """Linear in the logarithm of the level, and beyond the trained levels as at the last of them."""
        levels = [math.log(level) for level in LEVELS]
        place = min(max(math.log(noise), levels[0]), levels[-1])
        k = 0 if place <= levels[1] else 1
        share = (place - levels[k]) / (levels[k + 1] - levels[k])
        return torch.lerp(values[k], values[k + 1], share)


@dataclass(frozen=True)
class Guidance:
    """What the network reads off the data: weights ``(n, fields, y, x)``, and the bend ``(n, bent, 2, y, x)`` of the
    first fields with two components, each inside the unit disc.

    >>> Guidance(torch.ones(1, 4, 8, 8), torch.zeros(1, 2, 2, 8, 8)).bend.shape[1]
    2
    """

    weights: Tensor
    bend: Tensor


@dataclass(frozen=True, eq=False)
class EnergyAt:
    """A learned energy at one level of noise, for one picture if it is guided: value, gradient and proven bounds.

    >>> energy = LearnedEnergy("weak", (2, 2)).eval()
    >>> term = energy.at(5.0)
    >>> term.least >= -0.97, term.curvature <= 40.0
    (True, True)
    """

    energy: LearnedEnergy
    factor: Tensor
    contrast: Tensor
    guide: Guidance | None = None

    def __call__(self, u: Image) -> Tensor:
        """The energy of all pictures together; every channel is a picture of its own."""
        squares, _ = self._bent(self._responses(u))
        length = (squares + _TINY).sqrt() * (self.factor / self.contrast).to(u.dtype)[:, None, None]
        density = self.energy.potentials.of(length.movedim(1, -1))[0] * self.contrast.to(u.dtype).square()
        return (density if self.guide is None else density * self.guide.weights.to(u.dtype).movedim(1, -1)).sum()

    def gradient(self, u: Image) -> Image:
        """Its derivative, with the adjoint of the operator."""
        squares, bent = self._bent(self._responses(u))
        length = (squares + _TINY).sqrt()
        factor, contrast, potentials = self.factor, self.contrast, self.energy.potentials
        part = potentials.part(length * (factor / contrast).to(u.dtype)[:, None, None])
        slopes, heights = potentials.lines()
        place = part + (slopes.shape[1] * torch.arange(len(slopes), dtype=torch.int32, device=u.device))[:, None, None]
        a, b = (slopes * factor.square()[:, None]).to(u.dtype), (heights * (factor * contrast)[:, None]).to(u.dtype)
        number = torch.addcdiv(_looked_up(a, place), _looked_up(b, place), length)
        if self.guide is not None:
            number = number * self.guide.weights.to(u.dtype)
        scalars = self.energy.operator.fields[0]
        v = [number[:, :scalars] * bent[0], (number[:, scalars:, None] * bent[1]).flatten(1, 2)]
        return self.energy.operator.adjoint(torch.cat(v, 1)[:, None, None]).view(u.shape)

    @property
    def curvature(self) -> float:
        """The largest second derivative that the energy may have: the norm of K is at most 1."""
        largest = float(self.energy.potentials.slopes().detach().max())
        if self.guide is None:
            return largest
        weights, bend = self.guide.weights.detach(), self.guide.bend.detach()
        grown = torch.ones_like(weights)
        scalars, bent = self.energy.operator.fields[0], bend.shape[1]
        grown[:, scalars : scalars + bent] += bend.norm(dim=2)
        return largest * float((weights * grown).max())

    @property
    def least(self) -> float:
        """The smallest second derivative that the energy may have."""
        return min(float(self.energy.potentials.slopes().detach().min()), 0.0)

    def _responses(self, u: Image) -> Tensor:
        return self.energy.operator(u.flatten(0, 1)[:, None])[:, 0, 0]

    def _bent(self, v: Tensor) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        r"""The squares :math:`v^\top D v` of every field, and the vectors :math:`D v`: single ones, and pairs."""
        scalars = self.energy.operator.fields[0]
        single, pairs = v[:, :scalars], v[:, scalars:].unflatten(1, (-1, 2))
        turned = pairs
        if self.guide is not None:
            s, t = self.guide.bend.to(v.dtype).unbind(2)
            some, rest = pairs[:, : s.shape[1]], pairs[:, s.shape[1] :]
            p, q = some.unbind(2)
            turned = torch.cat([torch.stack([p * (1 + s) + q * t, q * (1 - s) + p * t], 2), rest], 1)
        squares = torch.cat([single.square(), (pairs * turned).sum(2)], 1)
        return squares, (single, turned)


def _looked_up(table: Tensor, place: Tensor) -> Tensor:
    return table.flatten().index_select(0, place.flatten()).view(place.shape)


class OfColours:
    r"""An energy of pictures ``(n, 3, y, x)`` from one for grey pictures, with its bounds.

    With an orthogonal matrix M whose first row is the mean times :math:`\sqrt 3`, and :math:`v = M u`, it is
    :math:`3 R(v_1 / \sqrt 3) + s\,(S(v_2) + S(v_3))`. Its second derivatives are those of R, and s times those of S:
    what is proved of them for grey pictures holds for colours.

    >>> term = LearnedEnergy("weak", (2, 2)).eval().of_colours(20.0)
    >>> term.least >= -0.97, bool(term(torch.full((1, 3, 8, 8), 9.0)) < 1e-6)
    (True, True)
    """

    def __init__(self, mean: Any, differences: Any, share: float) -> None:
        self.mean, self.differences, self.share = mean, differences, share
        if hasattr(mean, "along") and hasattr(differences, "along"):
            self.along = lambda u, p: self._back(u, lambda part, v, q: part.along(v, q), p)

    def __call__(self, u: Image) -> Tensor:
        """The energy of all pictures together."""
        mean, differences = self._split(u)
        found: Tensor = 3 * self.mean(mean) + self.share * self.differences(differences)
        return found

    def gradient(self, u: Image) -> Image:
        """Its derivative."""
        return self._back(u, lambda part, v: part.gradient(v))

    @property
    def curvature(self) -> float:
        """The largest second derivative that the energy may have."""
        return float(max(self.mean.curvature, self.share * self.differences.curvature))

    @property
    def least(self) -> float:
        """The smallest second derivative that the energy may have."""
        return float(min(self.mean.least, self.share * self.differences.least))

    def by(self, engine: Callable[["EnergyAt"], Regulariser]) -> "OfColours":
        """The same, its parts as an engine computes them."""
        return OfColours(engine(self.mean), engine(self.differences), self.share)

    def _split(self, u: Image) -> tuple[Image, Image]:
        v = torch.einsum("ij,njyx->niyx", _axes(u), u)
        return v[:, :1] / math.sqrt(3), v[:, 1:]

    def _back(self, u: Image, derivative: Callable[..., Image], *along: Image) -> Image:
        mean, differences = zip(*map(self._split, (u, *along)), strict=True)
        parts = math.sqrt(3) * derivative(self.mean, *mean), self.share * derivative(self.differences, *differences)
        found: Tensor = torch.einsum("ij,niyx->njyx", _axes(u), torch.cat(parts, 1))
        return found


def _axes(u: Tensor) -> Tensor:
    """The mean of three channels, and two directions of their differences: an orthogonal matrix."""
    rows = u.new_tensor([[1.0, 1.0, 1.0], [1.0, 0.0, -1.0], [1.0, -2.0, 1.0]])
    return torch.nn.functional.normalize(rows)
