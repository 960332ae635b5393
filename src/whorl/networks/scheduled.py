"""Multiscale diffusion whose scales change from step to step, by a smooth schedule of few numbers."""

import math

import torch
from torch import Tensor, nn

from whorl.networks.base import DiffusionNetwork, activation, scale_stack
from whorl.networks.spec import NetworkSpec
from whorl.steps import Described, Numbers, Step


class ScheduledNetwork(DiffusionNetwork):
    r"""Explicit steps with weights that depend smoothly on scale and step, separately for flux and structure.

    .. math:: u^{k+1} = u^k - \sum_\ell c_{k\ell}\, \nabla_{\sigma_\ell}^\top D_k \nabla_{\sigma_\ell} u^k, \qquad
              D_k = g\Big(\sum_\ell w_{k\ell}\, \nabla_{\sigma_\ell} u^k\, (\nabla_{\sigma_\ell} u^k)^\top\Big)

    .. math:: \ln \frac{c_{k\ell}}{\omega_\ell} = a_k + A_1 s_\ell + A_2 s_\ell^2 + A_3 x_k s_\ell + A_4 x_k s_\ell^2,
              \qquad \ln w_{k\ell} = b_k + B_1 s_\ell + B_2 s_\ell^2 + B_3 x_k s_\ell + B_4 x_k s_\ell^2

    with step :math:`x_k` and scale :math:`s_\ell \sim \ln \sigma_\ell` both running from -1 to 1, and :math:`g` of
    contrast 1. Early steps can look for structure on coarse scales, where the noise is averaged out, and late ones on
    fine scales. Ten steps have :math:`2 \cdot (10 + 4) = 28` parameters; with levels :math:`a_k, b_k` that follow a
    polynomial of degree ``d`` over the steps there are :math:`2 \cdot (d + 5)`. All weights are positive.

    Guarantees: as for :class:`~whorl.networks.MultiscaleNetwork`.

    >>> network = ScheduledNetwork(NetworkSpec(scheduled=True))
    >>> sum(p.numel() for p in network.parameters() if p.requires_grad)
    28
    """

    def __init__(self, spec: NetworkSpec, *, tau: float = 0.05, contrast: float = 60.0) -> None:
        super().__init__(spec)
        self.operator = scale_stack(spec, spec.alpha, 1.0, trainable=False)
        self.activation = activation(spec, self.operator.sampling.omega, 1.0, trainable=False)
        f64 = torch.float64
        scales = len(self.operator.sampling.sigma)
        x, s = torch.linspace(-1, 1, spec.steps, dtype=f64)[:, None], torch.linspace(-1, 1, scales, dtype=f64)[None, :]
        terms = torch.stack([s + 0 * x, s**2 + 0 * x, x * s, x * s**2], -1)
        levels = (
            torch.cat([x**j for j in range(spec.degree + 1)], 1) if spec.degree else torch.eye(spec.steps, dtype=f64)
        )
        self.register_buffer("terms", terms, persistent=False)
        self.register_buffer("levels", levels, persistent=False)
        start = torch.eye(1, levels.shape[1], dtype=f64)[0] if spec.degree else torch.ones(spec.steps, dtype=f64)
        self.flux = nn.Parameter(math.log(tau) * start)
        self.measure = nn.Parameter(-2 * math.log(contrast) * start)
        self.flux_slopes = nn.Parameter(torch.zeros(4, dtype=f64))
        self.measure_slopes = nn.Parameter(torch.zeros(4, dtype=f64))
        self._described = Described(self.operator, self.activation, None)

    def weights(self) -> tuple[Tensor, Tensor]:
        """Weights of the scales in flux and structure measure at every step, each ``(k, L)``."""
        terms, levels = self.get_buffer("terms"), self.get_buffer("levels")
        flux = torch.exp((levels @ self.flux)[:, None] + terms @ self.flux_slopes)
        measure = torch.exp((levels @ self.measure)[:, None] + terms @ self.measure_slopes)
        return self.operator.get_buffer("omega") * flux, measure

    @property
    def description(self) -> Step:
        """The step with the weights of flux and structure left open."""
        return self._described.of(self.operator, self.activation, None)

    def numbers(self) -> list[Numbers]:
        """The weights of every step, as roots: the operator counts them twice."""
        flux, measure = self.weights()
        beta, seen = (flux / self.operator.get_buffer("omega")).sqrt(), measure.sqrt()
        one, contrast = torch.ones_like(flux[0, 0].detach()), self.activation.diffusivity.contrast
        return [Numbers(one, contrast, *each) for each in zip(beta, seen, strict=True)]

    def trained(self) -> dict[str, list[Tensor]]:
        """Levels (of every step, or the coefficients of their polynomial) and slopes of both schedules."""
        return {
            "flux": [self.flux],
            "flux_slopes": [self.flux_slopes],
            "measure": [self.measure],
            "measure_slopes": [self.measure_slopes],
        }
