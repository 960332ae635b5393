"""A step in plain numbers, which engines compile and exports write down."""

from dataclasses import dataclass
from functools import cached_property

from whorl.activations import Activation
from whorl.operators import CellGradient, Composed, Laplacian, Operator, ScaleStack, Smoothing

__all__ = ["BIHARMONIC", "SHARED_EDGES", "Cells", "Form", "form_of"]

LAWS = ("uncoupled", "isotropic", "anisotropic", "edge-enhancing", "edge-continuing", "coherence-enhancing")
"""The laws that have a form."""

SMOOTHED = ("edge-continuing", "coherence-enhancing")
"""The laws of structure tensors that are smoothed."""

SHARED_EDGES = "edge-enhancing of channels"
"""The edge-enhancing law of the gradients of several channels: engines that know it of one need not know this one."""

Taps = tuple[float, ...]
"""The weights :math:`w_0, \\dots, w_R` of a Gaussian."""


BIHARMONIC = "biharmonic"
r"""The step :math:`u - \tau \Delta^2 u`, a product of two of second order: :math:`(1 - s \Delta)(1 + s \Delta) u` with
:math:`s^2 = \tau`."""


@dataclass(frozen=True)
class Cells:
    """A cell gradient after Gaussians: alpha, ``(h_y, h_x)``, and for every scale the taps along y and along x."""

    alpha: float
    spacing: tuple[float, ...]
    taps: tuple[tuple[Taps, ...], ...]

    @property
    def plain(self) -> bool:
        """Whether there is one scale, and no Gaussian."""
        return self.taps == (((1.0,), (1.0,)),)


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

    @cached_property
    def _hash(self) -> int:
        return hash((self.gamma, self.flux, self.structure, self.omega, self.inside, self.rho))

    def __hash__(self) -> int:
        """Found once: forms have hundreds of taps, and every call asks for arrays that are kept by form."""
        return self._hash

    @property
    def pointwise(self) -> bool:
        """Whether the step looks at the neighbours of a pixel alone: one scale, and no Gaussian."""
        return self.flux.plain and self.structure == self.flux and not self.frozen and not self.rho


def form_of(operator: Operator, activation: Activation, structure: Operator | None = None) -> Form | str:
    """The form of a step, or the reason why it has none."""
    law = activation.law
    if law.name not in LAWS:
        return f"the law {law.name!r} has no compiled form"
    if wide(operator, structure):
        return "the wide cell has no compiled form"
    if law.name == "uncoupled" and activation.axes != 2:
        return f"{type(activation).__name__} with {activation.axes} directions has no compiled form"
    g = law.diffusivity
    if g is not None and not g.closed_form:
        return f"the diffusivity {type(g).__name__} has no compiled form"
    if law.contrast.dim():
        return "a contrast per scale has no compiled form"
    fourth = type(operator) is Laplacian and structure is None and g is not None and g.name == "homogeneous"
    flux = _cells(operator.gradient if fourth and isinstance(operator, Laplacian) else operator)
    if flux is None:
        return f"{type(operator).__name__} has no compiled form"
    steering = flux if structure is None else _cells(structure)
    if steering is None:
        return f"a structure from {type(structure).__name__} has no compiled form"
    scales = len(steering.taps)
    edges, shared = law.name == "edge-enhancing", "channels" in activation.couple
    if edges and (steering.alpha != 0.5 or scales > 1 or "scales" in activation.couple):
        return "edge-enhancing diffusion of several gradients of one channel has no compiled form"
    couple_scales = "scales" in activation.couple and (scales > 1 or activation.inside is not None)
    if not couple_scales and scales not in (1, len(flux.taps)):
        return f"a structure of {scales} scales for a flux of {len(flux.taps)} has no compiled form"
    weights = activation.inside
    inside = weights if couple_scales and weights is not None else (1.0,) * scales
    if len(inside) != scales:
        return f"{len(inside)} weights for {scales} scales have no compiled form"
    rho: tuple[Taps, ...] = ((1.0,), (1.0,)) if law.name in SMOOTHED else ()
    if activation.smoothing is not None:
        if law.name in ("uncoupled", "isotropic"):
            return "a smoothed structure without directions has no compiled form"
        rho = tuple(tuple(taps) for taps in activation.smoothing.weights_along(2))
    return Form(
        law=BIHARMONIC if fourth else SHARED_EDGES if edges and shared else law.name,
        diffusivity="none" if g is None else g.name,
        gamma=activation.gamma,
        flux=flux,
        structure=steering,
        omega=tuple(operator.omega.tolist()) if isinstance(operator, ScaleStack) else (1.0,),
        inside=inside,
        couple_channels=shared,
        couple_scales=couple_scales,
        rho=rho,
        floor=getattr(law, "across", 0.0),
    )


def wide(*operators: Operator | None) -> bool:
    """Whether any of the operators works on wide cells, of which compiled steps know nothing yet."""
    parts = (part for operator in operators if operator is not None for part in operator.modules())
    return any(isinstance(part, CellGradient) and part.cell == "wide" for part in parts)


def _cells(operator: Operator) -> Cells | None:
    """The cell gradient and Gaussians an operator consists of, if it consists of nothing else."""
    inner: object = operator
    smoothings: list[Smoothing] = []
    if isinstance(operator, Composed):
        inner, smoothings = operator.operator, [operator.smoothing]
    elif isinstance(operator, ScaleStack):
        inner, smoothings = operator.operator, [G for G in operator.smoothings if isinstance(G, Smoothing)]
    if type(inner) is not CellGradient:
        return None
    taps = tuple(tuple(tuple(along) for along in G.weights_along(2)) for G in smoothings) or (((1.0,), (1.0,)),)
    return Cells(inner.alpha, inner.spacing.along(2), taps)
