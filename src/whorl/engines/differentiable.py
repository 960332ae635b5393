"""One step as a function that PyTorch can differentiate, for any engine.

Only the image before the step is kept. Derivatives are evaluated from it anew, so that training needs one field per
step and image instead of all intermediate ones. Backwards they are transposed derivatives, of first order; forwards
(``torch.func.jvp``, ``jacfwd``) they go along many directions at once.
"""

from typing import Any

import torch
from torch import Tensor

from whorl.engines.base import Engine, ForwardEngine, Numbers
from whorl.engines.plan import Plan, Trained

__all__ = ["Step", "numbers"]

COUNT = 5
"""The first five arguments are tensors: image, tau, contrast, and the weights of the scales in flux and structure."""


class Step(torch.autograd.Function):
    """``Step.apply(u, tau, contrast, beta, seen, plan, engine)``; the weights of a single scale are None."""

    @staticmethod
    def forward(
        u: Tensor, tau: Tensor, contrast: Tensor, beta: Tensor | None, seen: Tensor | None, plan: Plan, engine: Engine
    ) -> Tensor:
        """The image after the step."""
        values = numbers(Trained(contrast, beta, seen))
        return engine.advance(plan, u.detach().contiguous(), [float(tau.detach())], values)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the image before the step, and the numbers."""
        ctx.save_for_backward(*inputs[:COUNT])
        ctx.save_for_forward(*inputs[:COUNT])
        ctx.plan, ctx.engine = inputs[COUNT:]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives with respect to image, tau, contrast and the weights of the scales."""
        u, tau, *rest = ctx.saved_tensors
        found = ctx.engine.pull_back(
            ctx.plan, u.detach().contiguous(), w.detach().contiguous(), float(tau.detach()), numbers(Trained(*rest))
        )
        wanted = ctx.needs_input_grad
        derivatives = [
            torch.tensor(value, dtype=torch.float64, device=part.device) if want else None
            for value, want, part in zip((found.tau, *found.numbers), wanted[1:COUNT], (tau, *rest), strict=True)
        ]
        return found.u if wanted[0] else None, *derivatives, None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Tensor | None) -> Tensor:
        """The derivative along a direction."""
        values = ctx.saved_tensors
        directions = [
            None if value is None else torch.zeros_like(value) if tangent is None else tangent
            for value, tangent in zip(values, tangents[:COUNT], strict=True)
        ]
        result: Tensor = Along.apply(*values, *directions, ctx.plan, ctx.engine)  # type: ignore[no-untyped-call]
        return result

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        """Step after step: a batch of images needs no vmap."""
        parts = [_parts(argument, dim, info.batch_size) for argument, dim in zip(arguments, in_dims, strict=True)]
        return torch.stack([Step.apply(*each) for each in zip(*parts, strict=True)]), 0  # type: ignore[no-untyped-call]


class Along(torch.autograd.Function):
    """``Along.apply(u, tau, contrast, beta, seen, du, dtau, dcontrast, dbeta, dseen, plan, engine)``."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        """The derivative of a step along one direction."""
        values, directions = arguments[:COUNT], arguments[COUNT : 2 * COUNT]
        return _along(values, [None if d is None else d[None] for d in directions], *arguments[2 * COUNT :])[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing is kept: derivatives of derivatives belong to the reference engine."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        """Many directions share the fields of the image."""
        if any(dim is not None for dim in in_dims[:COUNT]):
            parts = [_parts(argument, dim, info.batch_size) for argument, dim in zip(arguments, in_dims, strict=True)]
            each = [Along.apply(*one) for one in zip(*parts, strict=True)]  # type: ignore[no-untyped-call]
            return torch.stack(each), 0
        directions = [
            None if d is None else d.expand(info.batch_size, *d.shape) if dim is None else d.movedim(dim, 0)
            for d, dim in zip(arguments[COUNT : 2 * COUNT], in_dims[COUNT : 2 * COUNT], strict=True)
        ]
        return _along(arguments[:COUNT], directions, *arguments[2 * COUNT :]), 0


def numbers(values: Trained) -> Numbers:
    """The values of the trained tensors."""
    return Numbers(float(values.contrast.detach()), _list(values.beta, 1.0), _list(values.seen, 1.0))


def _along(values: Any, directions: Any, plan: Plan, engine: ForwardEngine) -> Tensor:
    u, tau, *rest = values
    du, dtau, dcontrast, dbeta, dseen = directions
    moves = [
        Numbers(float(dcontrast[i].detach()), *(_list(None if d is None else d[i], 0.0) for d in (dbeta, dseen)))
        for i in range(len(du))
    ]
    source, tangents = u.detach().contiguous(), du.detach().to(u.dtype).contiguous()
    step, sizes = float(tau.detach()), [float(size) for size in dtau.detach()]
    return engine.push_forward(plan, source, tangents, step, sizes, numbers(Trained(*rest)), moves)


def _list(values: Tensor | None, otherwise: float) -> tuple[float, ...]:
    return (otherwise,) if values is None else tuple(values.detach().tolist())


def _parts(argument: Any, dim: int | None, count: int) -> Any:
    return [argument] * count if dim is None else argument.unbind(dim)
