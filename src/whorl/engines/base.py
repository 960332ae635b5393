"""What an engine is: it takes the steps of a description, with derivatives and without."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from whorl.engines.capabilities import REGISTRY, Capabilities
from whorl.steps import Known, Numbers, Step

__all__ = ["Engine", "Row"]

Row = Numbers | Known

One = Callable[[Tensor, Row], Tensor]
"""A step without its data term: the image after it."""


class Engine(ABC):
    """Base of all engines. Images ``(n, c, y, x)`` are never changed."""

    name: str

    @property
    def capabilities(self) -> Capabilities:
        """What this engine has; see :mod:`whorl.engines.capabilities`."""
        return REGISTRY[self.name]

    def refusal(self, step: Step, u: Tensor, *, learning: bool = False) -> str:
        """Why this engine cannot take the step on this image (and its derivative, when learning); empty if it can."""
        return self.capabilities.lacks(step.form, u, learning=learning)

    @abstractmethod
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
        r"""The contiguous image after the steps with these numbers, one after the other, without derivatives.

        With ``mixes`` m, as many as steps and the first of them 1, each step is followed by
        :math:`u^{k+1} \leftarrow m_k u^{k+1} + (1 - m_k) u^{k-1}`. If ``frozen``, the diffusion tensor stays that of
        the first image. The result goes to ``out`` where there is one, a contiguous tensor like the image.
        """

    @abstractmethod
    def chain(
        self,
        step: Step,
        u: Tensor,
        numbers: Sequence[Row],
        *,
        mixes: Sequence[float] = (),
        frozen: bool = False,
    ) -> Tensor:
        """The same as :meth:`advance`, differentiable in the image and in all numbers."""

    @staticmethod
    def one_by_one(one: One, step: Step, u: Tensor, numbers: Sequence[Row], mixes: Sequence[float]) -> Tensor:
        """Step after step, each with its data term and mixed with the iterate before."""
        before = u
        for k, each in enumerate(numbers):
            after = one(u, each)
            if step.fidelity is not None:
                after = after - each.tau * step.fidelity.gradient(u)
            before, u = u, torch.lerp(before, after, mixes[k]) if mixes and mixes[k] != 1 else after
        return u
