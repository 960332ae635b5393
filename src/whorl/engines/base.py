"""What an engine is: it takes the steps of a description, with derivatives and without."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.energies.learned import EnergyAt, Regulariser
from whorl.engines.capabilities import REGISTRY, Capabilities
from whorl.steps import Form, GatedForm, GatedNumbers, GatedStep, Numbers, Step


@dataclass(frozen=True)
class Steps:
    r"""Steps that follow one another: one for each of the ``numbers``.

    With ``mixes`` m, as many as steps and the first of them 1, each step is followed by
    :math:`u^{k+1} \leftarrow m_k u^{k+1} + (1 - m_k) u^{k-1}`. If ``frozen``, the diffusion tensor stays that of the
    first image.
    """

    step: Step
    numbers: Sequence[Numbers]
    mixes: Sequence[float] = ()
    frozen: bool = False

    def one_by_one(self, u: Tensor, one: Callable[[Tensor, int], Tensor]) -> Tensor:
        """The last image. ``one`` takes step k without the data term, which is added here, before the mixing.

        Known pixels, which ``u`` has already, are put back after every step.
        """
        before, data, kept = u, self.step.fidelity, self.step.kept
        for k, each in enumerate(self.numbers):
            after = one(u, k)
            if data is not None:
                after = after - each.tau * data.gradient(u)
            if kept is not None:
                after = kept(after)
            before, u = u, torch.lerp(before, after, self.mixes[k]) if self.mixes and self.mixes[k] != 1 else after
        return u


class Engine(ABC):
    """Base of all engines. Images ``(n, c, y, x)`` are never changed.

    >>> import whorl
    >>> isinstance(whorl.engines.ReferenceEngine(), whorl.engines.Engine)
    True
    """

    name: str

    @property
    def capabilities(self) -> Capabilities:
        """What this engine has; see :mod:`whorl.engines.capabilities`."""
        return REGISTRY[self.name]

    def refusal(self, step: Step | GatedStep | EnergyAt, u: Tensor, *, learning: bool = False) -> str:
        """Why this engine cannot take the step on this image (and its derivative, when learning); empty if it can."""
        return self.capabilities.lacks(known_by(step, u), u, learning=learning)

    def apply(self, step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
        """The stream after one application of a learned block: in plain PyTorch, unless an engine has loops for it."""
        change = step.gradient(u, numbers.bias)
        return u - (change if numbers.tau is None else numbers.tau.to(u.dtype) * change)

    def energy(self, term: EnergyAt) -> Regulariser:
        """A learned energy at one level of noise: in plain PyTorch, unless an engine has loops for it."""
        return term

    def undisturbed(self) -> AbstractContextManager[None]:
        """Keep PyTorch's threads from competing with the engine's threads while short calls of both take turns."""
        return nullcontext()

    @abstractmethod
    def chain(self, steps: Steps, u: Tensor) -> Tensor:
        """The image after the steps, differentiable in the first image and in all numbers."""

    def advance(self, steps: Steps, u: Tensor, out: Tensor | None = None) -> Tensor:
        """The same without derivatives, contiguous, and never the first image itself.

        It is written to ``out`` where there is one, a contiguous tensor like the image.
        """
        with torch.no_grad():
            done = self.chain(steps, u)
        return done.clone() if not steps.numbers and out is None else done if out is None else out.copy_(done)


def known_by(step: Step | GatedStep | EnergyAt, u: Tensor) -> Form | GatedForm | EnergyAt | str:
    """What engines know a step by, or why it has no such form."""
    return step if isinstance(step, EnergyAt) else step.form if isinstance(step, GatedStep) else step.form(u.dim() - 2)
