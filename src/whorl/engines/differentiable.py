"""One step as a function that PyTorch can differentiate, for any engine.

Only the image before the step is kept. The derivative is evaluated from it anew, so that training needs one field per
step and image instead of all intermediate ones.
"""

from typing import Any

import torch
from torch import Tensor

from whorl.engines.base import Engine
from whorl.engines.plan import Plan

__all__ = ["Step"]


class Step(torch.autograd.Function):
    """``Step.apply(u, tau, contrast, beta, plan, engine)``; first derivatives with respect to the first four."""

    @staticmethod
    def forward(
        ctx: Any, u: Tensor, tau: Tensor, contrast: Tensor, beta: Tensor | None, plan: Plan, engine: Engine
    ) -> Tensor:
        """The image after the step."""
        source = u.detach().contiguous()
        ctx.numbers = float(tau), float(contrast), None if beta is None else tuple(beta.tolist())
        ctx.plan, ctx.engine = plan, engine
        ctx.save_for_backward(source)
        return engine.advance(plan, source, [ctx.numbers[0]], *ctx.numbers[1:])

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives with respect to image, tau, contrast and beta."""
        (source,) = ctx.saved_tensors
        found = ctx.engine.pull_back(ctx.plan, source, w.detach().contiguous(), *ctx.numbers)
        wanted = ctx.needs_input_grad

        def number(value: Any, index: int) -> Tensor | None:
            return torch.tensor(value, dtype=torch.float64) if wanted[index] else None

        return (
            found.u if wanted[0] else None,
            number(found.tau, 1),
            number(found.contrast, 2),
            number(found.beta, 3),
            None,
            None,
        )
