"""What all trained networks share: a structure, named numbers, and two ways to compute."""

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import Charbonnier, Diffusivity, Exponential, Rational, Weickert
from whorl.foundations.types import Image
from whorl.networks.chain import FusedChain
from whorl.networks.spec import NetworkSpec
from whorl.operators import CellGradient, ScaleSampling, ScaleStack, sample_scales

__all__ = ["DiffusionNetwork", "Values", "activation", "scale_stack"]

Values = dict[str, list[float]]

DIFFUSIVITIES: dict[str, type[Diffusivity]] = {
    "exponential": Exponential,
    "rational": Rational,
    "charbonnier": Charbonnier,
    "weickert": Weickert,
}


class DiffusionNetwork(nn.Module, ABC):
    """A chain of explicit diffusion steps on ``(n, c, y, x)``, in plain torch or in fused CUDA kernels."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self.spec = spec
        self.chain: FusedChain | None = None

    @abstractmethod
    def step(self, u: Image, k: int) -> Image:
        """The image after step ``k`` (counted from 0), in plain torch: the definition."""

    def plain(self, u: Image) -> Image:
        """The image after all steps, in plain torch."""
        for k in range(self.spec.steps):
            u = self.step(u, k)
        return u

    @abstractmethod
    def coefficients(self, unit: float) -> Tensor:
        r"""The numbers of every step, :math:`(\tau X, X\lambda^{-2}, c_1 \dots c_L, w_1 \dots w_L)`: ``(k, 2 + 2 L)``.

        Weights :math:`c_\ell` stand before the flux of a scale, :math:`w_\ell` before its share in the
        structure measure.
        """

    @abstractmethod
    def trained(self) -> dict[str, list[Tensor]]:
        """What is trained, by name, each a list of tensors; names beginning with ``log_`` hold logarithms."""

    @property
    def stack(self) -> ScaleStack:
        """The operator of the flux."""
        found = self.get_submodule("operator")
        assert isinstance(found, ScaleStack)
        return found

    def forward(self, u: Image) -> Image:
        """The image after all steps."""
        if self.chain is not None and self.chain.supports(self.spec, u):
            return self.chain(u, self.coefficients(self.chain.unit))
        return self.plain(u)

    def fused(self) -> "DiffusionNetwork":
        """Compute in fused CUDA kernels from now on (Triton; float32 images of one channel); returns the network."""
        if self.spec.centred:
            raise ValueError(f"{type(self).__name__}.fused: the centred structure measure exists in plain torch only.")
        self.chain = FusedChain(self.spec, self.stack.sampling.sigma)
        return self

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the whole network looks at, on either side."""
        return self.spec.steps * self.stack.reach

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
        """The structure in words."""
        return f"{self.spec.coupling}, alpha={self.spec.alpha:g}, steps={self.spec.steps}"


def scale_stack(spec: NetworkSpec, alpha: float, beta: float, *, trainable: bool) -> ScaleStack:
    """The smoothed gradients of a network, one scale or several."""
    sampling = ScaleSampling((spec.sigma,), (1.0,)) if spec.sigma else sample_scales(spec.scales)
    return ScaleStack(CellGradient(alpha), sampling, [beta] * len(sampling.sigma), trainable=trainable)


def activation(spec: NetworkSpec, omega: Sequence[float], contrast: float, *, trainable: bool) -> Activation:
    """The coupled (or uncoupled) activation of a network."""
    couple = ("channels", "scales")
    weights = omega if spec.omega_inside else None
    g = DIFFUSIVITIES[spec.diffusivity](contrast, trainable=trainable)
    if spec.coupling == "anisotropic":
        return Anisotropic(g, couple, gamma=spec.gamma, scale_weights=weights)
    if spec.coupling == "isotropic":
        return Isotropic(g, couple, scale_weights=weights)
    return Uncoupled(g, couple, scale_weights=weights)
