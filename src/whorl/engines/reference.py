"""The reference engine: the mathematics as it is written, in plain PyTorch."""

from dataclasses import replace

from torch import Tensor

from whorl.engines.base import Engine, Steps


class ReferenceEngine(Engine):
    """Any step on any device, in the words of the theory; what other engines must agree with.

    >>> ReferenceEngine().name
    'reference'
    """

    name = "reference"

    def chain(self, steps: Steps, u: Tensor) -> Tensor:
        step = steps.step
        seen = step.steering(u) if steps.frozen else None

        def one(u: Tensor, k: int) -> Tensor:
            numbers = steps.numbers[k]
            tau = numbers.tau.to(u.dtype) if isinstance(numbers.tau, Tensor) else numbers.tau
            return u - tau * step.at(numbers).gradient(u, seen)

        # The data term is part of the gradient here.
        return replace(steps, step=replace(step, fidelity=None)).one_by_one(u, one)
