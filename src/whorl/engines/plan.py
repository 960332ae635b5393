"""What an engine needs to know of a model: the step as plain numbers, or the reason why it has no compiled form."""

from dataclasses import dataclass

from torch import Tensor

from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import (
    Charbonnier,
    Exponential,
    Homogeneous,
    Rational,
    RegularisedTV,
    Weickert,
)
from whorl.operators import CellGradient, Composed, Operator, ScaleStack
from whorl.types import Spacing

__all__ = ["Cells", "Plan", "describe"]

DIFFUSIVITIES = (Exponential, Rational, Charbonnier, RegularisedTV, Weickert, Homogeneous)
"""The diffusivities with a closed form that engines compile."""

ACTIVATIONS: dict[type[Activation], str] = {Uncoupled: "uncoupled", Isotropic: "isotropic", Anisotropic: "anisotropic"}


@dataclass(frozen=True)
class Cells:
    """A cell gradient after Gaussians: alpha, ``(h_y, h_x)``, and the taps ``w_0 .. w_R`` of every scale."""

    alpha: float
    spacing: Spacing
    taps: tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class Plan:
    r"""A step :math:`u - \tau \sum_\ell \omega_\ell \beta_\ell G_\ell K^* D\, \beta_\ell K G_\ell u`.

    ``D`` comes from the structure, summed over ``couple`` with the weights ``inside``. ``structure`` is None where
    the fields that flow also steer. Contrast, tau and beta are tensors, perhaps trained, and are given with each call.
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

    @property
    def radius(self) -> int:
        """The largest radius of a Gaussian in the step."""
        sets = [self.flux] if self.structure is None else [self.flux, self.structure]
        return max(len(taps) - 1 for cells in sets for taps in cells.taps)


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
    flux, seen = _cells(operator), None if structure is None else _cells(structure)
    if flux is None:
        return f"{type(operator).__name__} has no compiled form"
    if structure is not None and (seen is None or len(seen.taps) > 1):
        return f"a structure from {type(structure).__name__} has no compiled form"
    scales = len(flux.taps)
    omega = tuple(operator.get_buffer("omega").tolist()) if isinstance(operator, ScaleStack) else (1.0,)
    couple_scales = "scales" in activation.couple and scales > 1 and seen is None
    weights = activation._buffers["scale_weights"]
    inside = tuple(weights.tolist()) if couple_scales and weights is not None else (1.0,) * scales
    if len(inside) != scales:
        return f"{len(inside)} scale weights do not fit {scales} scales"
    gamma = activation.gamma if isinstance(activation, Anisotropic) else 0.0
    return Plan(
        coupling,
        type(g).__name__,
        gamma,
        flux,
        omega,
        (1.0,) if seen is not None else inside,
        seen,
        "channels" in activation.couple,
        couple_scales,
    )


def betas(operator: Operator) -> Tensor | None:
    """The weights of the scales, where the operator has them."""
    return operator.beta if isinstance(operator, ScaleStack) else None


def _cells(operator: Operator) -> Cells | None:
    """The cell gradient and Gaussians an operator consists of, if it consists of nothing else."""
    if type(operator) is CellGradient:
        return Cells(operator.alpha, operator.spacing, ((1.0,),))
    if type(operator) is Composed and type(operator.operator) is CellGradient:
        inner = operator.operator
        return Cells(inner.alpha, inner.spacing, (tuple(operator.smoothing.weights),))
    if type(operator) is ScaleStack and type(operator.operator) is CellGradient:
        inner = operator.operator
        return Cells(inner.alpha, inner.spacing, tuple(tuple(G.weights) for G in operator._members()))
    return None
