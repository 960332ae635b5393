"""What a multiscale network looks like, as one frozen value."""

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from whorl.diffusivities import CLASSICAL
from whorl.networks.trained import ARCHITECTURES, Spec

if TYPE_CHECKING:
    from whorl.networks.base import DiffusionNetwork

Coupling = Literal["uncoupled", "isotropic", "anisotropic"]


@dataclass(frozen=True)
class NetworkSpec(Spec, kind="diffusion"):
    """Architecture of a :class:`~whorl.networks.MultiscaleNetwork`; the defaults are the paper's.

    Parameters
    ----------
    coupling : str
        ``"uncoupled"`` (the counter-example), ``"isotropic"`` or ``"anisotropic"``. Scales are coupled in all three.
    alpha, gamma : float
        Of the 3x3 discretisation; ``gamma`` has a meaning for anisotropic coupling only.
    steps : int
        How many blocks.
    scales : int
        How many scales of the exponential sampling between 0.1 and 10.
    sigma : float
        If positive, one scale of this size instead.
    omega_inside : bool
        Whether scales are weighted by omega inside the diffusivity, too: the paper's energies do, its printed flux
        does not.
    centred : bool
        Leave the Haar detail out of the structure measure.
    own_steps : bool
        Give each block a step size and a contrast of its own; otherwise all share one of each.
    own_structure : bool
        Give the structure measure scale weights of its own; otherwise those of the flux serve for both.
    scheduled : bool
        Let the weights change smoothly over scales and steps: a :class:`~whorl.networks.ScheduledNetwork`.
    degree : int
        If positive, the levels of a scheduled network follow a polynomial of this degree over the steps; otherwise
        every step has levels of its own.
    diffusivity : str
        A diffusivity in closed form, such as ``"exponential"``; all of ``whorl.diffusivities.CLASSICAL``.

    >>> NetworkSpec("isotropic", gamma=1.0)
    Traceback (most recent call last):
    ...
    ValueError: NetworkSpec(coupling='isotropic', gamma=1.0): gamma has an effect on anisotropic coupling only. Use 0.
    """

    coupling: Coupling = "anisotropic"
    alpha: float = 0.41
    gamma: float = 0.0
    steps: int = 10
    scales: int = 8
    sigma: float = 0.0
    omega_inside: bool = False
    centred: bool = False
    own_steps: bool = False
    own_structure: bool = False
    scheduled: bool = False
    degree: int = 0
    diffusivity: str = "exponential"

    def __post_init__(self) -> None:
        if self.coupling not in get_args(Coupling):
            raise ValueError(f"NetworkSpec(coupling={self.coupling!r}): choose one of {get_args(Coupling)}.")
        known = tuple(kind.name for kind in CLASSICAL)
        if self.diffusivity not in known:
            raise ValueError(f"NetworkSpec(diffusivity={self.diffusivity!r}): choose one of {known}.")
        if self.scheduled and (self.centred or self.own_steps or self.own_structure or self.sigma):
            raise ValueError("NetworkSpec(scheduled=True): has steps and structure of its own; leave the others out.")
        largest = {"alpha": 0.5, "gamma": 1, "steps": 10_000, "scales": 1_000, "degree": 1_000}
        for name, low in {"alpha": 0, "gamma": 0, "steps": 1, "scales": 1, "sigma": 0, "degree": 0}.items():
            value, high = getattr(self, name), largest.get(name, math.inf)
            if not low <= value <= high:
                raise ValueError(f"NetworkSpec({name}={value}): must lie in [{low}, {high}].")
        if self.degree and not self.scheduled:
            raise ValueError(f"NetworkSpec(degree={self.degree}): must be 0 unless scheduled=True.")
        if self.gamma and self.coupling != "anisotropic":
            raise ValueError(
                f"NetworkSpec(coupling={self.coupling!r}, gamma={self.gamma}): gamma has an effect on anisotropic "
                "coupling only. Use 0."
            )

    def build(self) -> "DiffusionNetwork":
        from whorl.networks.multiscale import MultiscaleNetwork
        from whorl.networks.scheduled import ScheduledNetwork

        return ScheduledNetwork(self) if self.scheduled else MultiscaleNetwork(self)


NAMED = {
    "uncoupled-0.41": NetworkSpec("uncoupled", omega_inside=True),
    "isotropic-0.41": NetworkSpec("isotropic", omega_inside=True),
    "anisotropic-0.41": NetworkSpec("anisotropic", omega_inside=True),
    "isotropic-0.5": NetworkSpec("isotropic", alpha=0.5, omega_inside=True),
    "anisotropic-0.5": NetworkSpec("anisotropic", alpha=0.5, omega_inside=True),
}
"""The five networks of the paper's figure, with scales weighted inside the diffusivity as in the paper's energies."""

PRINTED = {f"{name}-printed": dataclasses.replace(spec, omega_inside=False) for name, spec in NAMED.items()}
"""The same with the flux as the paper prints it: no weights inside the diffusivity."""

BETTER = {"whorl-28": NetworkSpec("isotropic", scheduled=True)}
"""Beyond the paper: 28 parameters, isotropic, with weights that change smoothly over scales and steps."""

ARCHITECTURES.update(NAMED | PRINTED | BETTER)
