"""Denoisers that are minimisers of a learned energy: the one minimiser, up to a stated tolerance."""

import math
import warnings
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from whorl import engines
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.energies import EnergyAt, Guidance, LearnedEnergy, Minimum, implicit, minimise
from whorl.energies.learned import LEVELS, Kind, OfColours
from whorl.energies.minimise import TOLERANCE
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.networks.denoiser import REFERENCE_LEVEL, trained_for
from whorl.networks.trained import Spec, TrainedNetwork
from whorl.operators.steerable import SteerableMap

_WEIGHT = 8.0  # the weights of a guide lie between 1/8 and 8
_BEND = 0.98  # below 1, so that tensors stay positive definite


@dataclass(frozen=True)
class EnergySpec(Spec, kind="energy"):
    """The architecture of a learned energy, and of the network that guides it.

    Parameters
    ----------
    energy : str
        ``"convex"``, ``"weak"`` or ``"guided"``; see :class:`~whorl.energies.LearnedEnergy`.
    fields : tuple of int
        Fields of angular order 0, 1, 2, ...
    mu : float
        The largest slope of a potential's derivative.
    width, guide_fields, blocks, repetitions
        Channels, fields, blocks and repetitions of the guide; the other kinds have none.

    Examples
    --------
    >>> EnergySpec("weak").build().parameter_count
    2316
    """

    energy: Kind = "convex"
    fields: tuple[int, ...] = (20, 28, 20, 10, 6)
    mu: float = 40.0
    width: int = 24
    guide_fields: tuple[int, ...] = (24, 20, 10)
    blocks: int = 2
    repetitions: int = 4

    def build(self) -> "EnergyNetwork":
        return EnergyNetwork(self)


class EnergyNetwork(TrainedNetwork):
    r"""The minimiser of a data term and a learned energy.

    .. math:: N(f) = \mathrm{argmin}_u\; \tfrac12 |u - f|^2 + R_\sigma(u)

    It is unique for any weights. Outside training the result has a gradient of at most ``tolerance`` times the norm of
    the picture; where that is not reached, a warning says what is. Derivatives are those of the minimiser.

    Guarantees
    ----------
    For the convex kind :math:`|N(f) - N(g)| \le |f - g|`; for the weak kind at most 1/0.03 times as far. The guided
    kind is convex for a given picture; nothing is proved of its result for another one.

    Examples
    --------
    >>> import torch, whorl
    >>> network = whorl.load("energy-convex")
    >>> with torch.no_grad():
    ...     network(torch.full((1, 1, 16, 16), 100.0), 25.0).mean()
    tensor(100.)
    """

    channels = 1
    engine = "auto"
    tolerance = TOLERANCE
    steps = 2000
    floats_per_pixel = 1024

    def __init__(self, spec: EnergySpec) -> None:
        super().__init__()
        self.spec: EnergySpec = spec
        self.energy = LearnedEnergy(spec.energy, spec.fields, spec.mu)
        self.guide = Guide(self.energy, spec) if spec.energy == "guided" else None
        self.takes_colours = self.guide is None

    def forward(self, picture: Image, noise: float | Tensor | None = None) -> Image:
        """The minimiser for pictures ``(n, 1, y, x)`` from 0 to 255 with noise of this standard deviation.

        Those with three channels are taken for colours, except by the guided kind.
        """
        term = self.term(picture, noise)
        found = self.minimum(picture, term)
        if not found.reached:
            warnings.warn(
                f"energy: stopped after {found.steps} steps with a gradient of {found.residual:.1e} of the picture's "
                f"norm, {self.tolerance:.1e} was asked for. Set network.steps higher.",
                stacklevel=2,
            )
        if not torch.is_grad_enabled():
            return found.u
        energy = engines.energy(term, found.u, self.engine)
        along = getattr(energy, "along", None)  # of compiled energies
        return implicit(
            lambda u: u - picture + term.gradient(u), found.u, along=along and (lambda p: p + along(found.u, p))
        )

    def term(self, picture: Image, noise: float | Tensor | None) -> EnergyAt | OfColours:
        """The energy for this picture and level; its weights are read off the picture where it is guided."""
        validation.batched(picture, "EnergyNetwork", 2)
        if picture.shape[1] != 1 and not (self.takes_colours and picture.shape[1] == 3):
            kinds = "1 channel, or 3 colours" if self.takes_colours else "1 channel"
            raise ShapeError(f"EnergyNetwork: takes {kinds}, got shape {tuple(picture.shape)}.")
        if noise is None or (isinstance(noise, Tensor) and noise.numel() != 1):
            raise ValueError("EnergyNetwork: takes one level of noise for all pixels. Use photo-grey for a map.")
        trained_for(self, noise)
        level = min(max(float(noise), LEVELS[0]), LEVELS[-1])
        if picture.shape[1] == 3:
            return self.energy.of_colours(level)
        return self.energy.at(level, None if self.guide is None else self.guide(picture, level))

    def minimum(self, picture: Image, term: EnergyAt | OfColours) -> Minimum:
        """The minimiser, the gradient reached and the steps taken."""
        f = picture.detach()
        energy = engines.energy(term, f, self.engine)
        return minimise(
            lambda u: 0.5 * (u - f).square().sum() + energy(u), lambda u: u - f + energy.gradient(u), f,
            1 + term.curvature, float(f.norm()) or 1.0, self.tolerance, self.steps,
        )  # fmt: skip

    @property
    def noise_range(self) -> tuple[float, float]:
        return LEVELS[0], LEVELS[-1]

    @property
    def reach(self) -> int:
        """Every pixel depends on all others; at this distance by no more than the tolerance.

        The inverse of a matrix with a band and the condition number k falls by (sqrt k - 1) / (sqrt k + 1) with each
        width of the band (Demko, Moss and Smith 1984).
        """
        most = _WEIGHT * (1 + _BEND) if self.guide is not None else 1.0
        condition = (1 + self.spec.mu * most) / (1 - self.energy.potentials.weak)
        share = (math.sqrt(condition) - 1) / (math.sqrt(condition) + 1)
        return self.energy.operator.degree * math.ceil(math.log(self.tolerance) / math.log(share))


class Guide(nn.Module):
    """Reads weights and tensors of the fields off a picture, by gated blocks: they turn with it."""

    def __init__(self, energy: LearnedEnergy, spec: EnergySpec) -> None:
        super().__init__()
        width, orders = spec.width, energy.operator.orders
        self.lift = SteerableMap(1, (width,))
        self.blocks = nn.ModuleList()
        for _ in range(spec.blocks):
            K1, K2 = SteerableMap(width, spec.guide_fields), SteerableMap(width, spec.guide_fields)
            with torch.no_grad():
                for weight in K2.weights:
                    weight *= 0.1
            self.blocks.append(GatedBlock(K1, K2, Gated(K1.orders, 0, spec.repetitions, levelled=True)))
        self.repetitions, self.count = spec.repetitions, len(orders)
        # A tensor for a field of order m turns by 2 m.
        self.readout = SteerableMap(width, (self.count, 0, orders.count(1), 0, orders.count(2)))
        self.bias = nn.Parameter(torch.zeros(self.count))

    def forward(self, picture: Image, noise: float) -> Guidance:
        """Weights between 1/8 and 8, bends within a disc of radius 0.98."""
        level = picture.new_full((1, 1, 1, 1), math.log(noise / REFERENCE_LEVEL))
        u = self.lift(picture / 255 - 0.5)[:, 0, 0]
        for block in self.blocks:
            for repetition in range(self.repetitions):
                u = block(u, repetition, level)
        z = self.readout(u)[:, 0, 0]
        weights = (math.log(_WEIGHT) * torch.tanh(z[:, : self.count] + self.bias[:, None, None])).exp()
        bend = z[:, self.count :].unflatten(1, (-1, 2))
        bend = _BEND * bend / (1 + bend.square().sum(2, keepdim=True)).sqrt()
        return Guidance(weights, bend)
