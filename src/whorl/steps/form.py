"""A step in plain numbers, which engines compile, exports write down and the page shows: one form for plane and space.

The form says what a step is; the registry of the engines says which engines can take it, and nothing here asks for
that. Every step that is structure → law → flux with derivatives after Gaussians has a form: with several scales, with
another operator that steers, in plane and space, with second derivatives, and with filters of any size, each of which
has a name (``cell``).

The second form, :class:`~whorl.steps.gated.GatedForm`, begins where stencils are trained: learned blocks have matrices
of filters between channels, two operators that are not adjoint, and gates in the place of a diffusion tensor. Gates
of other sizes, wider learned filters and the levels of a pyramid belong there. Diffusion-shock has neither form.
"""

from dataclasses import dataclass
from functools import cached_property

from whorl.activations import Activation
from whorl.operators import Derivative, Operator
from whorl.operators.derivative import Taps


@dataclass(frozen=True)
class Form:
    r"""A step :math:`u - \tau \sum_\ell \omega_\ell \beta_\ell G_\ell K^* D\, \beta_\ell K G_\ell u`, without its
    numbers.

    ``flux`` says what :math:`K` and the Gaussians are. ``D`` comes by the ``law`` from the structure: the responses of
    ``structure`` along ``axes`` directions, summed over what is coupled with the weights ``inside`` and, where ``rho``
    is not empty, smoothed with these taps along every axis. An ``aligned`` law looks at the diagonal of the structure
    alone. ``keep`` and ``floor`` are settings of the edge-enhancing and of the coherence-enhancing law, and ``varies``
    says along what the contrast differs. A ``diffusivity`` that is not in closed form goes by its class, and a
    law without one has "none".

    >>> import whorl
    >>> form = whorl.models.build("eed", contrast=5.0).description.form(2)
    >>> form.law, form.diffusivity
    ('edge-enhancing', 'exponential')
    """

    law: str
    diffusivity: str
    flux: Derivative
    structure: Derivative
    inside: tuple[float, ...] = (1.0,)
    couple_channels: bool = False
    couple_scales: bool = False
    axes: int = 2
    gamma: float = 0.0
    rho: tuple[Taps, ...] = ()
    floor: float = 0.0
    keep: str = ""
    aligned: bool = False
    varies: tuple[str, ...] = ()

    @cached_property
    def _hash(self) -> int:
        return hash((self.gamma, self.flux, self.structure, self.inside, self.rho))

    def __hash__(self) -> int:
        """The hash, computed once: forms have hundreds of taps, and every call looks up arrays by the form."""
        return self._hash

    @property
    def dimension(self) -> int:
        """2 for pictures, 3 for volumes."""
        return len(self.flux.spacing)

    @property
    def entries(self) -> int:
        """How many numbers the diffusion tensor has: one, one for each direction, or all of a symmetric matrix."""
        d = self.dimension
        return {"isotropic": 1, "uncoupled": d}.get(self.law, d * (d + 1) // 2)

    @property
    def omega(self) -> tuple[float, ...]:
        """The weights of the scales of the flux."""
        return self.flux.omega

    @property
    def pointwise(self) -> bool:
        """Whether the step looks at the neighbours of a pixel alone: one scale, and no Gaussian."""
        return self.flux.plain and self.structure == self.flux and not self.rho

    @property
    def one_gradient(self) -> bool:
        """Whether the structure tensor is that of a single gradient of one channel: a matrix of rank one."""
        single = self.structure.name == "cells" and self.structure.alpha == 0.5 and len(self.structure.taps) == 1
        return single and not self.couple_channels and all(len(taps) == 1 for taps in self.rho)

    @property
    def steering(self) -> tuple[Taps, ...]:
        """Gaussians along every axis: those that smooth the channels that steer (on one scale), then those that smooth
        their structure tensor. Empty where the channels steer themselves.
        """
        none: tuple[Taps, ...] = ((1.0,),) * self.dimension
        rho = self.rho or none
        return () if self.structure == self.flux and rho == none else (*self.structure.taps[0], *rho)


def form_of(
    dimension: int, operator: Operator, activation: Activation, structure: Operator | None = None
) -> Form | str:
    """The form of a step in so many dimensions, or the reason why it has none."""
    if operator.dimension not in (None, dimension):
        return "a model for pictures takes no volumes" if dimension == 3 else "a model for volumes takes no pictures"
    flux = operator.parts(dimension)
    steering = flux if structure is None else structure.parts(dimension)
    if flux is None or steering is None:
        return f"{type(operator if flux is None else structure).__name__} has no compiled form"
    law = activation.law.inner
    if type(activation).forward is not Activation.forward:
        return f"{type(activation).__name__} has no compiled form"
    if not law.formula:
        return f"the law {law.name!r} has no compiled form"
    g, scales = law.diffusivity, len(steering.taps)
    weights, smoothing = activation.inside, activation.smoothing
    couple_scales = "scales" in activation.couple and (scales > 1 or weights is not None)
    inside = weights if couple_scales and weights is not None else (1.0,) * scales
    if not couple_scales and scales not in (1, len(flux.taps)):
        return f"a structure of {scales} scales for a flux of {len(flux.taps)} has no compiled form"
    if len(inside) != scales:
        return f"{len(inside)} weights for {scales} scales have no compiled form"
    none: tuple[Taps, ...] = ((1.0,),) * dimension if law.smoothed else ()
    return Form(
        law=law.name,
        diffusivity="none" if g is None else g.name if g.closed_form else type(g).__name__,
        flux=flux,
        structure=steering,
        inside=inside,
        couple_channels="channels" in activation.couple,
        couple_scales=couple_scales,
        axes=activation.axes,
        gamma=activation.gamma,
        rho=none if smoothing is None else smoothing.weights_along(dimension),
        floor=getattr(law, "across", 0.0),
        keep=getattr(law, "keep", ""),
        aligned=law is not activation.law,
        varies=() if not law.contrast.dim() else (g.varies if g is not None else ()) or ("scales",),
    )
