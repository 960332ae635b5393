"""What all trained networks share: an architecture, named numbers, and a chain of steps."""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from whorl import engines
from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import by_name
from whorl.foundations import validation
from whorl.foundations.types import Image
from whorl.networks.spec import NetworkSpec
from whorl.networks.trained import TrainedNetwork
from whorl.operators import CellGradient, ScaleSampling, ScaleStack, sample_scales
from whorl.steps import Numbers, Step

Values = dict[str, list[float]]


class DiffusionNetwork(TrainedNetwork):
    """A chain of explicit diffusion steps on ``(n, c, y, x)``, by the engine named in ``engine``.

    ``trained_noise`` is the standard deviation of the noise in the pictures it was trained on, if that is known.

    >>> import whorl
    >>> network = whorl.load("anisotropic-0.41")
    >>> isinstance(network, whorl.networks.DiffusionNetwork), network.parameter_count
    (True, 10)
    """

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self.spec: NetworkSpec = spec
        self.engine = "auto"
        self.trained_noise: float | None = None

    @property
    @abstractmethod
    def description(self) -> Step:
        """What all steps have in common."""

    @abstractmethod
    def numbers(self) -> list[Numbers]:
        """The numbers of every step, none left open."""

    def forward(self, u: Image, noise: float | None = None) -> Image:
        r"""The image after all steps, :math:`N(u)`; with a level of noise :math:`N(cu)/c`.

        The factor :math:`c` scales noise of that standard deviation to the noise that the network was trained for.
        """
        validation.batched(u, type(self).__name__, 2)
        if noise is None:
            return engines.advance(self.description, u, self.numbers(), self.engine)
        factor = self.factor(noise)
        return (1 / factor) * engines.advance(self.description, factor * u, self.numbers(), self.engine)

    def factor(self, noise: float) -> float:
        """What a picture with noise of this standard deviation is multiplied with."""
        if self.trained_noise is None:
            raise ValueError(
                f"{type(self).__name__}: the noise it was trained for is not known. Set its trained_noise, or leave "
                "noise out."
            )
        if not validation.single(noise):
            raise ValueError(
                f"{type(self).__name__}: noise must be one number. Call it for each picture, or network.remove, "
                "which takes one for each."
            )
        return self.trained_noise / validation.number(noise, "noise", type(self).__name__, 0.0, open_low=True)

    @property
    def noise_range(self) -> tuple[float, float] | None:
        return None if self.trained_noise is None else (self.trained_noise, self.trained_noise)

    def remove(self, u: Image, noise: float | Tensor, *, eight_bits: bool = False) -> Image:
        """The picture scaled to the noise trained for; where black and white are does not matter to diffusion."""
        validation.finite(u, "denoise")
        if isinstance(noise, Tensor):
            if noise.shape[1:].numel() > 1:
                raise ValueError(f"{type(self).__name__}: takes one level of noise, and no map. Use photo-grey.")
            return torch.cat([self(page, float(level)) for page, level in zip(u.split(1), noise, strict=True)])
        result: Image = self(u, noise)
        return result

    def step(self, u: Image, k: int) -> Image:
        """The image after step ``k`` alone, counted from 0."""
        return engines.advance(self.description, u, [self.numbers()[k]], self.engine)

    @abstractmethod
    def trained(self) -> dict[str, list[Tensor]]:
        """What is trained, by name, each a list of tensors; names beginning with ``log_`` hold logarithms."""

    @property
    def stack(self) -> ScaleStack:
        """The operator of the flux."""
        found = self.get_submodule("operator")
        assert isinstance(found, ScaleStack)
        return found

    @property
    def reach(self) -> int:
        return self.spec.steps * self.stack.reach

    def saved(self) -> dict[str, Tensor]:
        """The trained numbers by name, in float64."""
        return {name: torch.tensor(numbers, dtype=torch.float64) for name, numbers in self.values().items()}

    def restore(self, weights: Mapping[str, Tensor], data: Mapping[str, Any]) -> None:
        self.set_values({name: weight.tolist() for name, weight in weights.items()})
        noise = data.get("noise")
        self.trained_noise = None if noise is None else float(noise)

    @torch.no_grad()
    def values(self) -> Values:
        """The trained numbers by name, as a model card keeps them."""
        return {
            name.removeprefix("log_"): [
                math.exp(x) if name.startswith("log_") else x for tensor in tensors for x in tensor.flatten().tolist()
            ]
            for name, tensors in self.trained().items()
        }

    @torch.no_grad()
    def set_values(self, values: Mapping[str, Sequence[float]]) -> "DiffusionNetwork":
        """Take over numbers as :meth:`values` gives them; returns the network."""
        caller = f"{type(self).__name__}.set_values"
        expected = {name: len(numbers) for name, numbers in self.values().items()}
        given = {name: len(numbers) for name, numbers in values.items()}
        if expected != given:
            raise ValueError(f"{caller}: expected so many of each {expected}, got {given}.")
        for name, tensors in self.trained().items():
            numbers = [float(x) for x in values[name.removeprefix("log_")]]
            if not all(math.isfinite(x) and (x > 0 or not name.startswith("log_")) for x in numbers):
                raise ValueError(f"{caller}: expected finite numbers, {name.removeprefix('log_')} = {numbers} are not.")
            if name.startswith("log_"):
                numbers = [math.log(x) for x in numbers]
            parts = torch.tensor(numbers, dtype=torch.float64).split([tensor.numel() for tensor in tensors])
            for tensor, part in zip(tensors, parts, strict=True):
                tensor.copy_(part.view_as(tensor))
        return self

    def extra_repr(self) -> str:
        return f"{self.spec.coupling}, alpha={self.spec.alpha:g}, steps={self.spec.steps}"


def scale_stack(spec: NetworkSpec, alpha: float, beta: float, *, trainable: bool) -> ScaleStack:
    """The smoothed gradients of a network, one scale or several."""
    sampling = ScaleSampling((spec.sigma,), (1.0,)) if spec.sigma else sample_scales(spec.scales)
    return ScaleStack(CellGradient(alpha), sampling, [beta] * len(sampling.sigma), trainable=trainable)


def activation(spec: NetworkSpec, omega: Sequence[float], contrast: float, *, trainable: bool) -> Activation:
    """The coupled (or uncoupled) activation of a network."""
    couple = ("channels", "scales")
    weights = omega if spec.omega_inside else None
    g = by_name(spec.diffusivity, contrast, trainable=trainable)
    if spec.coupling == "anisotropic":
        return Anisotropic(g, couple, gamma=spec.gamma, scale_weights=weights)
    if spec.coupling == "isotropic":
        return Isotropic(g, couple, scale_weights=weights)
    return Uncoupled(g, couple, scale_weights=weights)
