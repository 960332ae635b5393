"""One step as a function that PyTorch can differentiate, for any engine.

Only the image before the step is kept. The derivative is evaluated from it anew, so that training needs one field per
step and image instead of all intermediate ones.
"""

from typing import Any

import torch
from torch import Tensor

from whorl.engines.base import Engine, Numbers
from whorl.engines.plan import Plan, Trained

__all__ = ["Step", "numbers"]


class Step(torch.autograd.Function):
    """``Step.apply(u, tau, contrast, beta, seen, plan, engine)``; first derivatives with respect to the first five."""

    @staticmethod
    def forward(
        ctx: Any,
        u: Tensor,
        tau: Tensor,
        contrast: Tensor,
        beta: Tensor | None,
        seen: Tensor | None,
        plan: Plan,
        engine: Engine,
    ) -> Tensor:
        """The image after the step."""
        source = u.detach().contiguous()
        ctx.tau, ctx.values = float(tau.detach()), numbers(Trained(contrast, beta, seen))
        ctx.plan, ctx.engine = plan, engine
        ctx.devices = [None if part is None else part.device for part in (tau, contrast, beta, seen)]
        ctx.save_for_backward(source)
        return engine.advance(plan, source, [ctx.tau], ctx.values)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives with respect to image, tau, contrast and the weights of the scales."""
        (source,) = ctx.saved_tensors
        found = ctx.engine.pull_back(ctx.plan, source, w.detach().contiguous(), ctx.tau, ctx.values)
        scalars = (found.tau, *found.numbers)
        wanted = ctx.needs_input_grad
        derivatives = [
            torch.tensor(value, dtype=torch.float64, device=device) if want else None
            for value, want, device in zip(scalars, wanted[1:5], ctx.devices, strict=True)
        ]
        return found.u if wanted[0] else None, *derivatives, None, None


def numbers(values: Trained) -> Numbers:
    """The values of the trained tensors."""
    lists = [(1.0,) if beta is None else tuple(beta.detach().tolist()) for beta in (values.beta, values.seen)]
    return Numbers(float(values.contrast.detach()), *lists)
