"""The reference engine: the mathematics as it is written, in plain PyTorch."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from whorl.engines.base import Engine, Row
from whorl.steps import Step

__all__ = ["ReferenceEngine", "engine"]


def engine() -> Engine:
    """The engine."""
    return ReferenceEngine()


class ReferenceEngine(Engine):
    """Any step on any device, in the words of the theory; what other engines must agree with."""

    name = "reference"

    def advance(
        self,
        step: Step,
        u: Tensor,
        numbers: Sequence[Row],
        *,
        mixes: Sequence[float] = (),
        frozen: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        with torch.no_grad():
            done = self.chain(step, u, numbers, mixes=mixes, frozen=frozen)
        return done.clone() if not numbers and out is None else done if out is None else out.copy_(done)

    def chain(
        self,
        step: Step,
        u: Tensor,
        numbers: Sequence[Row],
        *,
        mixes: Sequence[float] = (),
        frozen: bool = False,
    ) -> Tensor:
        seen = step.steering(u) if frozen else None

        def one(u: Tensor, numbers: Row) -> Tensor:
            tau = numbers.tau.to(u.dtype) if isinstance(numbers.tau, Tensor) else numbers.tau
            return u - tau * step.at(numbers).gradient(u, seen)

        # The data term is part of the gradient here.
        return self.one_by_one(one, replace(step, fidelity=None), u, numbers, mixes)
