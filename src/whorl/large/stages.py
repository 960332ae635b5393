"""A filter as a sequence of stages, each of which looks a known number of pixels around."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby

from torch import Tensor

from whorl import validation
from whorl.models import Model
from whorl.networks import DiffusionNetwork
from whorl.schemes import check_step, equal_steps

__all__ = ["Stage", "fused", "halo", "network_stages", "stages"]

FUSED_REACH = 2  # compiled engines take several steps at once where they look no further than this


@dataclass(frozen=True)
class Stage:
    """One step of a filter on images ``(n, c, y, x)``.

    A pixel of ``apply(u)`` depends on the pixels of ``u`` at most ``reach`` away on either axis, and on nothing else:
    not on the position in the image nor on its size, except that the image is mirrored at its border. ``check`` raises
    for images the filter must not begin with.
    """

    apply: Callable[[Tensor], Tensor]
    reach: int
    check: Callable[[Tensor], object] | None = None


def stages(
    model: Model, time: float, tau: float | None = None, *, insist: bool = False, engine: str = "auto"
) -> tuple[Stage, ...]:
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
    check = _Squarable(model.operator.squared_norm_bound(), model.name)
    sizes = equal_steps(time, largest)
    return tuple(Stage(_Steps(model, (size,), engine), model.reach, check) for size in sizes)


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


def fused(steps: Sequence[Stage]) -> list[Stage]:
    """The same filter with neighbouring steps of one model taken together, where an engine gains by that.

    >>> from whorl.models import build
    >>> [stage.reach for stage in fused(stages(build("gerig", contrast=3.0), time=4.0))]
    [10]
    """
    result: list[Stage] = []
    for model, group in groupby(steps, key=lambda stage: getattr(stage.apply, "model", None)):
        members = list(group)
        if model is None or members[0].reach > FUSED_REACH:
            result.extend(members)
            continue
        taus = tuple(tau for member in members for tau in member.apply.taus)  # type: ignore[attr-defined]
        together = _Steps(model, taus, members[0].apply.engine)  # type: ignore[attr-defined]
        result.append(Stage(together, halo(members), members[0].check))
    return result


# Classes and no closures, so that stages can be sent to other processes.


@dataclass(frozen=True)
class _Steps:
    """Steps of a model of the given sizes."""

    model: Model
    taus: tuple[float, ...]
    engine: str

    def __call__(self, u: Tensor) -> Tensor:
        return self.model._advance(u, list(self.taus), self.engine)


@dataclass(frozen=True)
class _Block:
    """Block number ``number`` of a network."""

    network: DiffusionNetwork
    number: int

    def __call__(self, u: Tensor) -> Tensor:
        return self.network.step(u, self.number)


@dataclass(frozen=True)
class _Times:
    """Multiplication by a number."""

    factor: float

    def __call__(self, u: Tensor) -> Tensor:
        return self.factor * u


@dataclass(frozen=True)
class _Squarable:
    """The model's own check of its image, with the bound computed once."""

    squared_norm: float
    name: str

    def __call__(self, u: Tensor) -> object:
        return validation.squarable(u, self.squared_norm, self.name)
