"""One compiled step as a function that PyTorch can differentiate, for any engine.

Only the image before the step is kept. Derivatives are evaluated from it anew, so that training needs one field per
step and image instead of all intermediate ones. Backwards they are transposed derivatives; forwards
(``torch.func.jvp``, ``jacfwd``) they go along many directions at once. Derivatives of derivatives are those of the
reference engine.
"""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from whorl.engines.base import Engine, Steps
from whorl.engines.capabilities import VOLUME
from whorl.engines.reference import ReferenceEngine
from whorl.steps import Form, Numbers, Step

COUNT = 5
"""The first five arguments are tensors: image, tau, contrast, and the weights of the scales in flux and structure."""


class CompiledEngine(Engine):
    """Base of engines that compile the form of a step and have its derivatives in closed form."""

    @abstractmethod
    def in_plane(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        """The images after the steps; ``out`` may be used for them."""

    @abstractmethod
    def in_space(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        """The same for volumes."""

    @abstractmethod
    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Numbers) -> tuple[Tensor, Numbers]:
        """The transposed derivative of one step at ``u``, applied to ``w``: by the image, and by the numbers."""

    def advance(self, steps: Steps, u: Tensor, out: Tensor | None = None) -> Tensor:
        done = self.in_space(steps, u, out) if u.dim() == VOLUME else self.in_plane(steps, u, out)
        return done if out is None or done is out else out.copy_(done)

    def chain(self, steps: Steps, u: Tensor) -> Tensor:
        bare = steps.step
        if bare.fidelity is not None or bare.kept is not None:  # the loop has both
            bare = replace(bare, fidelity=None, kept=None)
        return each_known(steps, u, lambda u, known: Explicit.apply(u, *known, bare, self))  # type: ignore[no-untyped-call]


def each_known(steps: Steps, u: Tensor, one: Callable[[Tensor, Numbers], Any]) -> Tensor:
    """The image after steps that ``one`` takes by their numbers; the reference keeps a diffusion tensor."""
    if steps.frozen:
        return ReferenceEngine().chain(steps, u)
    return steps.one_by_one(u, lambda u, k: one(u, steps.step.complete(steps.numbers[k])))


class ForwardEngine(CompiledEngine):
    """Base of compiled engines that have derivatives along directions, too."""

    @abstractmethod
    def push_forward(self, step: Step, u: Tensor, du: Tensor, numbers: Numbers, moves: Sequence[Numbers]) -> Tensor:
        """The derivative of one step at ``u`` along directions: of the image, ``du[i]``, and of its numbers."""


def form_of(step: Step, dimension: int = 2) -> Form:
    """The form of a step that an engine has accepted."""
    form = step.form(dimension)
    assert isinstance(form, Form)
    return form


class Explicit(torch.autograd.Function):
    """``Explicit.apply(u, tau, contrast, beta, seen, step, engine)``: one explicit step."""

    @staticmethod
    def forward(u: Tensor, *rest: Any) -> Tensor:
        """The image after the step."""
        *numbers, step, engine = rest
        result: Tensor = engine.advance(Steps(step, [Numbers(*numbers).detached()]), u.detach().contiguous())
        return result

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Keep the image before the step, and the numbers."""
        ctx.save_for_backward(*inputs[:COUNT])
        ctx.save_for_forward(*inputs[:COUNT])
        ctx.step, ctx.engine = inputs[COUNT:]

    @staticmethod
    def backward(ctx: Any, w: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives with respect to image, tau, contrast and the weights of the scales."""
        wanted = ctx.needs_input_grad[:COUNT]
        if torch.is_grad_enabled():
            return *_recomputed(ctx.step, ctx.saved_tensors, wanted, w), None, None
        u, *numbers = (part.detach() for part in ctx.saved_tensors)
        by_image, by_numbers = ctx.engine.pull_back(ctx.step, u.contiguous(), w.contiguous(), Numbers(*numbers))
        found = (by_image, *by_numbers)
        return *(part if want else None for part, want in zip(found, wanted, strict=True)), None, None

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Tensor:
        """The derivative along a direction; what does not move comes with a tangent of zeros."""
        result: Tensor = Along.apply(*ctx.saved_tensors, *tangents[:COUNT], ctx.step, ctx.engine)  # type: ignore[no-untyped-call]
        return result

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        """Step after step: a batch of images needs no vmap."""
        return _each(Explicit, info.batch_size, in_dims, arguments), 0


class Along(torch.autograd.Function):
    """``Along.apply(u, tau, contrast, beta, seen, du, dtau, dcontrast, dbeta, dseen, step, engine)``."""

    @staticmethod
    def forward(*arguments: Any) -> Tensor:
        """The derivative of a step along one direction."""
        values, directions = arguments[:COUNT], arguments[COUNT : 2 * COUNT]
        return _along(values, [direction[None] for direction in directions], *arguments[2 * COUNT :])[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
        """Nothing is kept: derivatives of derivatives belong to the reference engine."""

    @staticmethod
    def vmap(info: Any, in_dims: tuple[int | None, ...], *arguments: Any) -> tuple[Tensor, int]:
        """Many directions share the fields of the image."""
        if any(dim is not None for dim in in_dims[:COUNT]):
            return _each(Along, info.batch_size, in_dims, arguments), 0
        directions = [
            d.expand(info.batch_size, *d.shape) if dim is None else d.movedim(dim, 0)
            for d, dim in zip(arguments[COUNT : 2 * COUNT], in_dims[COUNT : 2 * COUNT], strict=True)
        ]
        return _along(arguments[:COUNT], directions, *arguments[2 * COUNT :]), 0


def _recomputed(step: Step, saved: Sequence[Tensor], wanted: Sequence[bool], w: Tensor) -> list[Tensor | None]:
    """The transposed derivative by the reference, itself differentiable."""
    with torch.enable_grad():
        parts = [
            part if part.requires_grad else part.detach().requires_grad_(want)
            for part, want in zip(saved, wanted, strict=True)
        ]
        u, *numbers = parts
        after = ReferenceEngine().chain(Steps(step, [Numbers(*numbers)]), u)
        asked = [part for part, want in zip(parts, wanted, strict=True) if want]
        found = iter(torch.autograd.grad(after, asked, w, create_graph=True, allow_unused=True))
        return [next(found) if want else None for want in wanted]


def _along(values: Any, directions: Any, step: Step, engine: ForwardEngine) -> Tensor:
    u, *numbers = values
    du, *rest = directions
    moves = [Numbers(*(part[i] for part in rest)).detached() for i in range(len(du))]
    tangents = du.detach().to(u.dtype).contiguous()
    return engine.push_forward(step, u.detach().contiguous(), tangents, Numbers(*numbers).detached(), moves)


def _each(function: Any, count: int, in_dims: tuple[int | None, ...], arguments: tuple[Any, ...]) -> Tensor:
    """The function for every member of a batch, one after the other."""
    parts = [
        [argument] * count if dim is None else argument.unbind(dim)
        for argument, dim in zip(arguments, in_dims, strict=True)
    ]
    return torch.stack([function.apply(*each) for each in zip(*parts, strict=True)])
