r"""All steps of a multiscale network as one differentiable function of image and coefficients, in fused CUDA kernels.

Step :math:`k` is determined by the numbers :math:`(\tau X, X\lambda^{-2}, c_1 \dots c_L, w_1 \dots w_L)`: step size,
contrast, weights of the scales outside (:math:`c_\ell = \omega_\ell \beta_\ell^2`) and inside (:math:`w_\ell`) the
diffusivity; :math:`X = 1/4` belongs to the kernels' units. Gradients reach the image and all of these numbers. Only the
images between the steps are kept; everything else is computed again on the way back.
"""

from typing import Any

import torch
from torch import Tensor

from whorl.networks.spec import NetworkSpec
from whorl.operators import Smoothing

__all__ = ["FusedChain"]


class FusedChain:
    """The steps of networks with one structure; buffers are kept for each shape of a batch.

    Needs Triton and float32 images with one channel; see :meth:`supports`.
    """

    def __init__(self, spec: NetworkSpec, sigmas: tuple[float, ...]) -> None:
        from whorl.engines.cuda import diffusivity
        from whorl.engines.cuda.launches import Design

        coupling, kind = (getattr(diffusivity, name.upper()) for name in (spec.coupling, spec.diffusivity))
        taps = tuple(tuple(Smoothing(sigma).weights) for sigma in sigmas)
        self.design = Design(coupling, kind, spec.alpha, spec.gamma, taps=taps)
        self.unit = self.design.unit
        self._launches: dict[tuple[Any, ...], Any] = {}

    @staticmethod
    def supports(spec: NetworkSpec, u: Tensor) -> bool:
        """Whether this engine computes such a network on such an image."""
        return not spec.centred and u.dtype == torch.float32 and u.dim() == 4 and u.shape[1] == 1

    def __call__(self, u: Tensor, coefficients: Tensor) -> Tensor:
        """The image after ``len(coefficients)`` steps: ``(n, 1, y, x), (k, 2 + 2 L) -> (n, 1, y, x)``."""
        result: Tensor = _Chain.apply(u.contiguous(), coefficients.float().contiguous(), self._for(u))  # type: ignore[no-untyped-call]
        return result

    def _for(self, u: Tensor) -> Any:
        from whorl.engines.cuda.launches import Launches

        key = (u.shape[0], *u.shape[-2:], u.device)
        if key not in self._launches:
            self._launches[key] = Launches(self.design, u.shape[0], u.shape[-2], u.shape[-1], u.device)
        return self._launches[key]


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, u: Tensor, coefficients: Tensor, launches: Any) -> Tensor:
        steps = len(coefficients)
        needed = ctx.needs_input_grad[0] or ctx.needs_input_grad[1]
        fields = u.new_empty(steps + 1 if needed else 2, *u.shape)
        fields[0].copy_(u)
        if needed:
            launches.reserve()
        for k in range(steps):
            here, there = (k, k + 1) if needed else (k % 2, (k + 1) % 2)
            launches.step(fields[here], fields[there], coefficients[k])
        if needed:
            ctx.save_for_backward(fields, coefficients)
            ctx.launches = launches
        return fields[steps if needed else steps % 2].clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, Tensor, None]:
        fields, coefficients = ctx.saved_tensors
        steps, scales = len(coefficients), (coefficients.shape[1] - 2) // 2
        sums = ctx.launches.new_sums(steps)
        state = fields.new_empty(3, *fields.shape[1:])  # u^k beside the adjoint state of step k + 1, and that of step k
        state[1].copy_(gradients[0])
        for k in reversed(range(steps)):
            state[0].copy_(fields[k])
            ctx.launches.step_adjoint(state[:2], state[2], sums[k], coefficients[k])
            state[1].copy_(state[2])
        by_outer, by_inner = sums.sum(-1).unbind(1)  # (k, L) each
        tau, inverse, outer, inner = coefficients.split([1, 1, scales, scales], dim=1)
        found = torch.cat(
            [
                -(outer * by_outer).sum(1, keepdim=True),
                -tau * (inner * by_inner).sum(1, keepdim=True) / inverse,
                -tau * by_outer,
                -tau * by_inner,
            ],
            dim=1,
        )
        return state[1].clone(), found, None
