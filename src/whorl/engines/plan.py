"""What an engine needs to know of a model: the step as plain numbers, or the reason why it has no compiled form."""

from dataclasses import dataclass
from typing import NamedTuple

from torch import Tensor

from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import Charbonnier, Exponential, Homogeneous, Rational, RegularisedTV, Weickert
from whorl.foundations.types import Spacing
from whorl.operators import CellGradient, Composed, Operator, ScaleStack

__all__ = ["Cells", "Plan", "Trained", "describe", "trained"]

DIFFUSIVITIES = (Exponential, Rational, Charbonnier, RegularisedTV, Weickert, Homogeneous)
"""The diffusivities with a closed form that engines compile."""

ACTIVATIONS: dict[type[Activation], str] = {
    Uncoupled: "uncoupled",
    Isotropic: "isotropic",
    Anisotropic: "anisotropic",
}


@dataclass(frozen=True)
class Cells:
    """A cell gradient after Gaussians: alpha, ``(h_y, h_x)``, and the taps ``w_0 .. w_R`` of every scale."""

    alpha: float
    spacing: Spacing
    taps: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Plan:
    r"""A step :math:`u - \tau \sum_\ell \omega_\ell \beta_\ell G_\ell K^* D\, \beta_\ell K G_\ell u`, less its numbers.

    ``D`` comes from the structure: the responses of ``structure``, or of ``flux`` where that is None, summed over what
    is coupled with the weights ``inside``. Contrast, tau and beta may be trained and are given with each call. If
    ``frozen``, the second half of the channels steers and the first half flows.
    """

    coupling: str
    diffusivity: str
    gamma: float
    flux: Cells
    omega: tuple[float, ...]
    inside: tuple[float, ...]
    structure: Cells | None
    couple_channels: bool
    couple_scales: bool
    frozen: bool = False

    @property
    def seen(self) -> Cells:
        """The cell gradients that steer."""
        return self.flux if self.structure is None else self.structure

    @property
    def pointwise(self) -> bool:
        """Whether the step looks at the neighbours of a pixel alone: one scale, and no Gaussian."""
        return self.flux.taps == ((1.0,),) and self.structure is None and not self.frozen


class Trained(NamedTuple):
    """The tensors of a step that may be trained; ``beta`` and ``seen`` weigh the scales in flux and structure."""

    contrast: Tensor
    beta: Tensor | None
    seen: Tensor | None


def describe(operator: Operator, activation: Activation, structure: Operator | None = None) -> Plan | str:
    """The plan of a step, or the reason why only the reference can take it."""
    coupling = ACTIVATIONS.get(type(activation), "")
    if not coupling or (coupling == "uncoupled" and activation.axes != 2):
        return f"{type(activation).__name__} with {activation.axes} directions has no compiled form"
    g = activation.diffusivity
    if type(g) not in DIFFUSIVITIES:
        return f"the diffusivity {type(g).__name__} has no compiled form"
    if g.scale_adaptive:
        return "a contrast per scale has no compiled form"
    flux = _cells(operator)
    if flux is None:
        return f"{type(operator).__name__} has no compiled form"
    steering = None if structure is None else _cells(structure)
    if structure is not None and steering is None:
        return f"a structure from {type(structure).__name__} has no compiled form"
    scales = len((steering or flux).taps)
    couple_scales = "scales" in activation.couple and scales > 1
    if not couple_scales and scales not in (1, len(flux.taps)):
        return f"a structure of {scales} scales for a flux of {len(flux.taps)} has no compiled form"
    weights = activation._buffers["scale_weights"]
    inside = tuple(weights.tolist()) if couple_scales and weights is not None else (1.0,) * scales
    if len(inside) != scales:
        return f"{len(inside)} weights for {scales} scales have no compiled form"
    return Plan(
        coupling=coupling,
        diffusivity=type(g).__name__,
        gamma=activation.gamma if isinstance(activation, Anisotropic) else 0.0,
        flux=flux,
        omega=tuple(operator.get_buffer("omega").tolist()) if isinstance(operator, ScaleStack) else (1.0,),
        inside=inside,
        structure=steering,
        couple_channels="channels" in activation.couple,
        couple_scales=couple_scales,
    )


def trained(operator: Operator, activation: Activation, structure: Operator | None = None) -> Trained:
    """The tensors that go with the plan."""
    steering = operator if structure is None else structure
    return Trained(activation.diffusivity.contrast, _beta(operator), _beta(steering))


def _beta(operator: Operator) -> Tensor | None:
    return operator.beta if isinstance(operator, ScaleStack) else None


def _cells(operator: Operator) -> Cells | None:
    """The cell gradient and Gaussians an operator consists of, if it consists of nothing else."""
    if type(operator) is CellGradient:
        return Cells(operator.alpha, operator.spacing, ((1.0,),))
    if type(operator) is Composed and type(operator.operator) is CellGradient and operator.smoothing.uniform:
        inner = operator.operator
        return Cells(inner.alpha, inner.spacing, (tuple(operator.smoothing.weights),))
    if type(operator) is ScaleStack and type(operator.operator) is CellGradient and len({*operator.spacing}) == 1:
        inner = operator.operator
        return Cells(inner.alpha, inner.spacing, tuple(tuple(G.weights) for G in operator._members()))
    return None
