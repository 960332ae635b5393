"""A step in plain numbers, which engines compile and exports write down."""

from dataclasses import dataclass

from whorl.activations import Activation
from whorl.foundations.types import Spacing
from whorl.operators import CellGradient, Composed, Operator, ScaleStack, Smoothing

__all__ = ["Cells", "Form", "form_of"]

LAWS = {
    "uncoupled": "uncoupled",
    "isotropic": "isotropic",
    "anisotropic": "anisotropic",
    "edge-enhancing": "anisotropic",
}
"""The laws that have a form, and what engines call them. Of a single gradient the edge-enhancing tensor is g(J)."""

Taps = tuple[float, ...]
"""The weights :math:`w_0, \\dots, w_R` of a Gaussian."""


@dataclass(frozen=True)
class Cells:
    """A cell gradient after Gaussians: alpha, ``(h_y, h_x)``, and the taps ``w_0 .. w_R`` of every scale."""

    alpha: float
    spacing: Spacing
    taps: tuple[Taps, ...]


@dataclass(frozen=True)
class Form:
    r"""A step :math:`u - \tau \sum_\ell \omega_\ell \beta_\ell G_\ell K^* D\, \beta_\ell K G_\ell u`, less its numbers.

    ``D`` comes by the ``law`` from the structure: the responses of ``structure``, summed over what is coupled with the
    weights ``inside`` and, where ``rho`` is not empty, smoothed with these taps along y and x. ``floor`` is the number
    of the coherence-enhancing law. If ``frozen``, the second half of the channels steers and the first half flows.
    """

    law: str
    diffusivity: str
    gamma: float
    flux: Cells
    structure: Cells
    omega: tuple[float, ...]
    inside: tuple[float, ...]
    couple_channels: bool
    couple_scales: bool
    rho: tuple[Taps, ...] = ()
    floor: float = 0.0
    frozen: bool = False

    @property
    def pointwise(self) -> bool:
        """Whether the step looks at the neighbours of a pixel alone: one scale, and no Gaussian."""
        return self.flux.taps == ((1.0,),) and self.structure == self.flux and not self.frozen and not self.rho


def form_of(operator: Operator, activation: Activation, structure: Operator | None = None) -> Form | str:
    """The form of a step, or the reason why it has none."""
    law = LAWS.get(activation.law.name, "")
    if not law:
        return f"the law {activation.law.name!r} has no compiled form"
    if activation.smoothing is not None:
        return "a smoothed structure tensor has no compiled form"
    if law == "uncoupled" and activation.axes != 2:
        return f"{type(activation).__name__} with {activation.axes} directions has no compiled form"
    g = activation.diffusivity
    if not g.closed_form:
        return f"the diffusivity {type(g).__name__} has no compiled form"
    if g.scale_adaptive:
        return "a contrast per scale has no compiled form"
    flux = _cells(operator)
    if flux is None:
        return f"{type(operator).__name__} has no compiled form"
    steering = flux if structure is None else _cells(structure)
    if steering is None:
        return f"a structure from {type(structure).__name__} has no compiled form"
    scales = len(steering.taps)
    if activation.law.name == "edge-enhancing" and (steering.alpha != 0.5 or scales > 1 or activation.couple):
        return "edge-enhancing diffusion of several gradients has no compiled form"
    couple_scales = "scales" in activation.couple and (scales > 1 or activation.inside is not None)
    if not couple_scales and scales not in (1, len(flux.taps)):
        return f"a structure of {scales} scales for a flux of {len(flux.taps)} has no compiled form"
    weights = activation.inside
    inside = weights if couple_scales and weights is not None else (1.0,) * scales
    if len(inside) != scales:
        return f"{len(inside)} weights for {scales} scales have no compiled form"
    return Form(
        law=law,
        diffusivity=g.name,
        gamma=activation.gamma,
        flux=flux,
        structure=steering,
        omega=tuple(operator.get_buffer("omega").tolist()) if isinstance(operator, ScaleStack) else (1.0,),
        inside=inside,
        couple_channels="channels" in activation.couple,
        couple_scales=couple_scales,
    )


def _cells(operator: Operator) -> Cells | None:
    """The cell gradient and Gaussians an operator consists of, if it consists of nothing else."""
    if type(operator) is CellGradient:
        return Cells(operator.alpha, operator.spacing, ((1.0,),))
    if type(operator) is Composed and type(operator.operator) is CellGradient and operator.smoothing.uniform:
        inner = operator.operator
        return Cells(inner.alpha, inner.spacing, (tuple(operator.smoothing.weights),))
    if type(operator) is ScaleStack and type(operator.operator) is CellGradient and len({*operator.spacing}) == 1:
        inner = operator.operator
        smoothings = [G for G in operator.smoothings if isinstance(G, Smoothing)]
        return Cells(inner.alpha, inner.spacing, tuple(tuple(G.weights) for G in smoothings))
    return None
