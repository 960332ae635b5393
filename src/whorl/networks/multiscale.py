"""Trained multiscale diffusion: a chain of blocks that share most of their parameters."""

import math
from collections.abc import Mapping, Sequence

import torch
from torch import nn

from whorl.activations import Activation, Anisotropic, Isotropic, Uncoupled
from whorl.blocks import DiffusionBlock
from whorl.diffusivities import Exponential
from whorl.networks.spec import NetworkSpec
from whorl.operators import CellGradient, ScaleSampling, ScaleStack, sample_scales
from whorl.types import Image

__all__ = ["MultiscaleNetwork"]

Values = dict[str, list[float]]


class MultiscaleNetwork(nn.Module):
    r"""Ten explicit steps of multiscale diffusion with trained parameters.

    .. math:: u^{k+1} = u^k - \tau \sum_{\ell=1}^{L} \omega_\ell\, K_\ell^\top\, \Phi(u^k, K_\ell u^k),
              \qquad K_\ell = \beta_\ell\, \nabla_{\sigma_\ell}

    with :math:`g(s^2) = \exp(-s^2 / (2\lambda^2))` in :math:`\Phi`. Trained are :math:`\tau`, :math:`\lambda` (their
    logarithms) and :math:`\beta_1, \dots, \beta_L`: ten numbers for the paper's networks.

    Shapes: ``(n, c, y, x) -> (n, c, y, x)``, grey values in the range the network was trained on (0 to 255); image
    channels are coupled.

    Guarantees
    ----------
    The mean is kept, constants stay constant, quarter turns of the image turn the result. Coupled networks approximate
    invariance under any turn; uncoupled ones do not. Trained step sizes may lie above the proven stability limit.

    Examples
    --------
    >>> network = MultiscaleNetwork(NetworkSpec("isotropic"))
    >>> sum(p.numel() for p in network.parameters() if p.requires_grad)
    10
    """

    def __init__(
        self, spec: NetworkSpec | None = None, *, tau: float = 0.05, contrast: float = 60.0, beta: float = 1.0
    ) -> None:
        super().__init__()
        self.spec = spec = NetworkSpec() if spec is None else spec
        sampling = ScaleSampling((spec.sigma,), (1.0,)) if spec.sigma else sample_scales(spec.scales)
        weights = [beta] * len(sampling.sigma)
        self.operator = ScaleStack(CellGradient(spec.alpha), sampling, weights, trainable=not spec.sigma)
        self.structure: ScaleStack | None = None
        if spec.own_structure or spec.centred:
            # alpha = 1/2 leaves no detail: the centred measure
            seen = CellGradient(0.5 if spec.centred else spec.alpha)
            self.structure = ScaleStack(seen, sampling, weights, trainable=not spec.sigma)
            if not spec.own_structure:
                self.structure.beta = self.operator.beta
        self.blocks = nn.ModuleList()
        for _ in range(spec.steps if spec.own_steps else 1):
            phi = _activation(spec, sampling, contrast)
            self.blocks.append(DiffusionBlock(self.operator, phi, tau, structure=self.structure, trainable_tau=True))

    def forward(self, u: Image) -> Image:
        """The image after all steps."""
        for k in range(self.spec.steps):
            u = self.blocks[k % len(self.blocks)](u)
        return u

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the whole network looks at, on either side."""
        return self.spec.steps * self.operator.reach

    @torch.no_grad()
    def values(self) -> Values:
        """The trained numbers by name, as a model card keeps them."""
        found = {name: [float(p.exp()) for p in self._logarithms(name)] for name in ("tau", "contrast")}
        found["beta"] = self.operator.beta.tolist()
        if self.structure is not None and self.spec.own_structure:
            found["structure_beta"] = self.structure.beta.tolist()
        return found

    @torch.no_grad()
    def set_values(self, values: Mapping[str, Sequence[float]]) -> "MultiscaleNetwork":
        """Take over numbers as :meth:`values` gives them; returns the network."""
        expected = {name: len(numbers) for name, numbers in self.values().items()}
        given = {name: len(numbers) for name, numbers in values.items()}
        if expected != given:
            raise ValueError(f"MultiscaleNetwork.set_values: expected so many of each {expected}, got {given}.")
        if not all(math.isfinite(x) and (x > 0 or "beta" in name) for name in values for x in values[name]):
            raise ValueError("MultiscaleNetwork.set_values: expected finite numbers, tau and contrast positive.")
        for name in ("tau", "contrast"):
            for p, value in zip(self._logarithms(name), values[name], strict=True):
                p.fill_(math.log(value))
        self.operator.beta.copy_(torch.tensor(values["beta"], dtype=torch.float64))
        if self.structure is not None and "structure_beta" in values:
            self.structure.beta.copy_(torch.tensor(values["structure_beta"], dtype=torch.float64))
        return self

    def _logarithms(self, name: str) -> list[nn.Parameter]:
        path = {"tau": "_tau.log", "contrast": "activation.diffusivity._contrast.log"}[name]
        return [block.get_parameter(path) for block in self.blocks]

    def extra_repr(self) -> str:
        """The structure in words."""
        return f"{self.spec.coupling}, alpha={self.spec.alpha:g}, steps={self.spec.steps}"


def _activation(spec: NetworkSpec, sampling: ScaleSampling, contrast: float) -> Activation:
    couple = ("channels", "scales")
    weights = sampling.omega if spec.omega_inside else None
    g = Exponential(contrast, trainable=True)
    if spec.coupling == "anisotropic":
        return Anisotropic(g, couple, gamma=spec.gamma, scale_weights=weights)
    if spec.coupling == "isotropic":
        return Isotropic(g, couple, scale_weights=weights)
    return Uncoupled(g, couple, scale_weights=weights)
