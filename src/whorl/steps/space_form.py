"""A step in space in plain numbers, which engines compile: one scale, with or without Gaussians that steer it."""

from dataclasses import dataclass

from whorl.activations import Activation, EdgeEnhancing
from whorl.operators import CellGradient, Composed, Operator
from whorl.steps.form import LAWS, Taps, wide

__all__ = ["SpaceForm", "space_form"]


@dataclass(frozen=True)
class SpaceForm:
    """A step on volumes, without its numbers.

    The tensor comes by the ``law`` from the structure of the channels, which are smoothed and differenced with
    ``alpha_seen``. ``taps`` holds the Gaussians along z, y and x of these channels, then of the structure tensor, six
    in all; it is empty where the channels steer themselves. ``keep`` is "plates" or "lines", ``across`` the least
    diffusivity of coherence-enhancing diffusion.
    """

    law: str
    diffusivity: str
    alpha: float
    alpha_seen: float
    spacing: tuple[float, ...]
    couple_channels: bool
    taps: tuple[Taps, ...] = ()
    keep: str = ""
    across: float = 0.0

    @property
    def rank_one(self) -> bool:
        """Whether the structure tensor is that of a single gradient."""
        alone = not self.couple_channels and self.alpha_seen == 0.5
        return alone and all(len(weights) == 1 for weights in self.taps[3:])


def space_form(operator: Operator, activation: Activation, structure: Operator | None = None) -> SpaceForm | str:
    """The form of a step in space, or the reason why it has none."""
    law = activation.law
    if law.name not in LAWS or (law.name == "uncoupled" and activation.axes != 2):
        return f"the law {law.name!r} of {activation.axes} directions has no compiled form in space"
    if wide(operator, structure):
        return "the wide cell has no compiled form"
    if activation.gamma:
        return f"gamma = {activation.gamma:g} is for the plane"
    g = law.diffusivity
    if g is not None and not g.closed_form:
        return f"the diffusivity {type(g).__name__} has no compiled form"
    if law.contrast.numel() > 1:
        return "several contrasts have no compiled form in space"
    if type(operator) is not CellGradient:
        return f"{type(operator).__name__} has no compiled form in space"
    if operator.dimension == 2:
        return "a model for pictures takes no volumes"
    seen, none = operator, ((1.0,),) * 3
    taps: tuple[Taps, ...] = none
    if type(structure) is CellGradient:
        seen = structure
    elif type(structure) is Composed and type(structure.operator) is CellGradient:
        seen, taps = structure.operator, tuple(tuple(w) for w in structure.smoothing.weights_along(3))
    elif structure is not None:
        return f"a structure from {type(structure).__name__} has no compiled form in space"
    spacing = operator.spacing.along(3)
    if seen.spacing.along(3) != spacing:
        return "a structure with a spacing of its own has no compiled form in space"
    smoothing = activation.smoothing
    taps += none if smoothing is None else smoothing.weights_along(3)
    return SpaceForm(
        law=law.name,
        diffusivity="" if g is None else g.name,
        alpha=operator.alpha,
        alpha_seen=seen.alpha,
        spacing=spacing,
        couple_channels="channels" in activation.couple,
        taps=() if structure is None and smoothing is None else taps,
        keep=law.keep if isinstance(law, EdgeEnhancing) else "",
        across=getattr(law, "across", 0.0),
    )
