"""A filter as a sequence of stages, each of which looks a known number of pixels around."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor

from whorl import validation
from whorl.models import Model
from whorl.networks import DiffusionNetwork
from whorl.schemes import check_step, equal_steps

__all__ = ["Stage", "halo", "network_stages", "stages"]


@dataclass(frozen=True)
class Stage:
    """One step of a filter on images ``(n, c, y, x)``.

    A pixel of ``apply(u)`` depends on the pixels of ``u`` at most ``reach`` away on either axis, and on nothing else:
    not on the position in the image nor on its size, except that the image is mirrored at its border.
    """

    apply: Callable[[Tensor], Tensor]
    reach: int


def stages(model: Model, time: float, tau: float | None = None, insist: bool = False) -> tuple[Stage, ...]:
    """The explicit steps that ``model(u, time)`` takes.

    >>> from whorl.models import build
    >>> [stage.reach for stage in stages(build("eed", contrast=3.0), time=1.0)]
    [5, 5, 5]
    """
    if model.fidelity is not None:
        raise ValueError(f"{model.name}: a data term holds an image of its own and cannot be cut into windows.")
    time = validation.number(time, "time", model.name, 0.0)
    largest = model.automatic_step() if tau is None else validation.number(tau, "tau", model.name, 0.0, open_low=True)
    check_step(min(largest, time), model.step_limit(), model.name, insist=insist)
    return tuple(Stage(_Step(model, size), model.reach) for size in equal_steps(time, largest))


def network_stages(network: DiffusionNetwork, factor: float = 1.0) -> tuple[Stage, ...]:
    r"""The blocks of a trained network ``N``, on an image scaled by ``factor`` and scaled back: :math:`N(cu)/c`.

    Taken apart into its blocks, a network needs the halo of one block only if it runs through a scratch file.
    """
    steps = network.spec.steps
    blocks = [Stage(_Block(network, number), network.reach // steps) for number in range(steps)]
    return (Stage(_Times(factor), 0), *blocks, Stage(_Times(1 / factor), 0))


def halo(steps: Sequence[Stage]) -> int:
    """How many pixels around a window the stages together look at."""
    return sum(stage.reach for stage in steps)


@dataclass(frozen=True)
class _Block:
    network: DiffusionNetwork
    number: int

    def __call__(self, u: Tensor) -> Tensor:
        return self.network.step(u, self.number)


@dataclass(frozen=True)
class _Times:
    factor: float

    def __call__(self, u: Tensor) -> Tensor:
        return self.factor * u


@dataclass(frozen=True)
class _Step:
    """A step of a model with its size; a class and no closure, so that it can be sent to another process."""

    model: Model
    tau: float

    def __call__(self, u: Tensor) -> Tensor:
        return self.model._step(u, self.tau)
