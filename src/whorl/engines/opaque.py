"""A compiled step as one operator that ``torch.compile`` does not look into.

While ``torch.compile`` traces, the numbers of a step are traced as usual. ``whorl::step`` stands for the step itself.
When the traced program runs, this operator does what the engine does without ``torch.compile``. Its derivative is the
operator ``whorl::step_back``.
"""

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from whorl.engines.base import Engine, Steps
from whorl.engines.differentiable import CompiledEngine, each_known
from whorl.engines.selection import choose
from whorl.steps import STEPS, Numbers


class OpaqueEngine(Engine):
    """Stands for another engine while ``torch.compile`` traces."""

    name = "opaque"

    def __init__(self, engine: str) -> None:
        self.engine = engine

    def chain(self, steps: Steps, u: Tensor) -> Tensor:
        return each_known(steps, u, lambda u, known: take(u, *known, steps.step.key, self.engine))


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def possible(key: int, dimension: int, dtype: torch.dtype, device: torch.device, engine: str, learning: bool) -> bool:
    """Whether a compiled engine takes the step; asked once, while ``torch.compile`` traces."""
    step, probe = STEPS.get(key), torch.empty((1, 1) + (8,) * dimension, dtype=dtype, device=device)
    return step is not None and isinstance(choose(step, probe, engine, learning=learning), CompiledEngine)


@torch.library.custom_op("whorl::step", mutates_args=())
def take(u: Tensor, tau: Tensor, contrast: Tensor, beta: Tensor, seen: Tensor, key: int, engine: str) -> Tensor:
    """The image after one step."""
    step = replace(STEPS[key], fidelity=None, kept=None)  # data and known pixels are traced outside the operator
    return choose(step, u, engine).advance(Steps(step, [Numbers(tau, contrast, beta, seen)]), u.contiguous())


@torch.library.custom_op("whorl::step_back", mutates_args=())
def take_back(
    u: Tensor, tau: Tensor, contrast: Tensor, beta: Tensor, seen: Tensor, w: Tensor, key: int, engine: str
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """The transposed derivative at ``u``, applied to ``w``: by the image and by the four numbers."""
    step, numbers = STEPS[key], Numbers(tau, contrast, beta, seen)
    chosen = choose(step, u, engine, learning=True)
    if not isinstance(chosen, CompiledEngine):
        raise RuntimeError(
            f"whorl::step: {chosen.name!r} is the only engine that differentiates this step on images of the shape "
            f"{tuple(u.shape)}. Train without torch.compile, or set engine = 'reference'."
        )
    by_image, by_numbers = chosen.pull_back(step, u.contiguous(), w.contiguous(), numbers)
    like = zip(by_numbers, numbers, strict=True)
    tau, contrast, beta, seen = (part.to(number.device).reshape(number.shape).clone() for part, number in like)
    return by_image, tau, contrast, beta, seen


@take.register_fake
def _(u: Tensor, *_: Any) -> Tensor:
    return torch.empty_like(u, memory_format=torch.contiguous_format)


@take_back.register_fake
def _(*arguments: Any) -> tuple[Tensor, ...]:
    return tuple(torch.empty_like(part, memory_format=torch.contiguous_format) for part in arguments[:5])


def _keep(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    *tensors, ctx.key, ctx.engine = inputs
    ctx.save_for_backward(*tensors)


def _differentiate(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
    return *take_back(*ctx.saved_tensors, w, ctx.key, ctx.engine), None, None


take.register_autograd(_differentiate, setup_context=_keep)
