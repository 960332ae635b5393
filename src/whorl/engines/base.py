"""What an engine is: it takes the steps of plans, forwards and backwards."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import NamedTuple

from torch import Tensor

from whorl.engines.plan import Plan

__all__ = ["Engine", "ForwardEngine", "Gradients", "Numbers"]


class Numbers(NamedTuple):
    """The numbers of a step beside its size: contrast, and the weights of the scales in flux and structure."""

    contrast: float
    beta: tuple[float, ...]
    seen: tuple[float, ...]


class Gradients(NamedTuple):
    """Derivatives with respect to the image, the step size and the numbers of a step."""

    u: Tensor
    tau: float
    numbers: Numbers


class Engine(ABC):
    """Base of all engines. Images are contiguous ``(n, c, y, x)`` on the engine's device and are never changed."""

    name: str
    cycles: bool = True
    """Whether ``advance`` takes ``mixes`` and ``frozen``; the reference steps in where it does not."""

    @abstractmethod
    def refusal(self, plan: Plan, u: Tensor, learning: bool) -> str:
        """Why this engine cannot take the step on this image (and its derivative, when learning); empty if it can."""

    @abstractmethod
    def advance(
        self,
        plan: Plan,
        u: Tensor,
        taus: Sequence[float],
        numbers: Numbers,
        mixes: Sequence[float] = (),
        frozen: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        r"""The image after explicit steps of the given sizes.

        With ``mixes`` m, as many as steps and the first of them 1, each step is followed by
        :math:`u^{k+1} \leftarrow m_k u^{k+1} + (1 - m_k) u^{k-1}`. If ``frozen``, the tensor stays that of the
        first image. The result goes to ``out`` where there is one, a contiguous tensor like the image.
        """

    @abstractmethod
    def pull_back(self, plan: Plan, u: Tensor, w: Tensor, tau: float, numbers: Numbers) -> Gradients:
        """The transposed derivative of one step at ``u``, applied to ``w``."""


class ForwardEngine(Engine):
    """Base of engines that also go forwards: derivatives of a step along given directions."""

    @abstractmethod
    def push_forward(
        self,
        plan: Plan,
        u: Tensor,
        du: Tensor,
        tau: float,
        dtau: Sequence[float],
        numbers: Numbers,
        dnumbers: Sequence[Numbers],
    ) -> Tensor:
        """The derivative of one step at ``u`` along directions: of the image, ``du[i]``, and of its numbers."""
