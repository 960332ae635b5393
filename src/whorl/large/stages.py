"""A filter as a sequence of stages, each of which looks a known number of pixels around."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.automatic import NoiseModel
from whorl.denoising import Denoising, Remover
from whorl.foundations import validation
from whorl.foundations.arrays import placed
from whorl.models import Model
from whorl.networks import DiffusionNetwork
from whorl.networks.denoiser import Partly
from whorl.schemes import Progress, check_step, equal_steps

FUSED_REACH = 2  # compiled engines take several steps at once where they look no further than this
FUSED_STEPS = 4  # so many at once: nearly as fast as all of them, and progress can be told in between


@dataclass(frozen=True)
class Stage:
    """One step of a filter on images ``(n, c, y, x)`` or volumes ``(n, c, z, y, x)``.

    A pixel of ``apply(u)`` depends on the pixels of ``u`` at most ``reach`` away on every axis, and on nothing else:
    not on the position in the image nor on its size, except that the image is mirrored at its border. ``check`` raises
    for images the filter must not begin with. ``steps`` counts the steps of a model that it takes. A stage that looks
    at the ``whole`` image cannot be cut into windows; it fills gaps, so that NaN may stand there. ``finish`` makes the
    samples of a file, channels first, from those before and after.

    >>> Stage(lambda u: u, reach=2).reach
    2
    """

    apply: Callable[[Tensor], Tensor]
    reach: int
    check: Callable[[Tensor], object] | None = None
    steps: int = 1
    whole: bool = False
    finish: Callable[[NDArray[Any], NDArray[Any]], NDArray[Any]] | None = None

    def watched(self, u: Tensor, tell: Callable[[float], None]) -> Tensor:
        """``apply(u)``, telling the share of the stage that was done since it was told last; 1 in all."""
        watched: Callable[..., Tensor] | None = getattr(self.apply, "watched", None)
        if watched is not None:
            return watched(u, tell)
        result = self.apply(u)
        tell(1.0)
        return result


def stages(
    model: Model,
    time: float,
    *,
    scheme: str = "explicit",
    cycles: int | None = None,
    tau: float | None = None,
    insist: bool = False,
    engine: str = "auto",
    dimension: int = 2,
) -> tuple[Stage, ...]:
    """What ``model(u, time)`` does with the same arguments: explicit steps, or a fast scheme as one stage.

    ``dimension`` is 3 for volumes.

    >>> from whorl.models import build
    >>> [stage.reach for stage in stages(build("eed", contrast=3.0), time=1.0)]
    [5, 5, 5]
    """
    if model.fidelity is not None or model.kept is not None:
        raise ValueError(
            f"{model.name}: a data term and known pixels hold an image of their own and cannot be cut into windows."
        )
    time = validation.number(time, "time", model.name, 0.0)
    if scheme != "explicit":
        run = _Run(model, time, scheme, cycles, tau, insist, engine, dimension)
        count = run.count()
        return (Stage(run, count * model.reach, steps=count),)
    tau = None if tau is None else validation.number(tau, "tau", model.name, 0.0, open_low=True)
    largest = model.automatic_step(dimension) if tau is None else tau
    check_step(min(largest, time), model.step_limit(dimension), model.name, insist=insist)
    check = _Squarable(model.operator.squared_norm_bound(dimension), model.name)
    sizes = equal_steps(time, largest)
    return tuple(Stage(_Steps(model, (size,), engine), model.reach, check) for size in sizes)


def network_stages(network: DiffusionNetwork, factor: float = 1.0) -> tuple[Stage, ...]:
    r"""The blocks of a trained network ``N``, on an image scaled by ``factor`` and scaled back: :math:`N(cu)/c`.

    Taken apart into its blocks, a network needs the halo of one block only if it runs through a scratch file.

    >>> import whorl
    >>> len(network_stages(whorl.load("anisotropic-0.41")))
    12
    """
    steps = network.spec.steps
    blocks = [Stage(_Block(network, number), network.reach // steps) for number in range(steps)]
    return (Stage(_Times(factor), 0), *blocks, Stage(_Times(1 / factor), 0))


def denoising_stages(
    policy: Denoising,
    noise: float | NoiseModel,
    samples: Iterable[Tensor],
    *,
    eight_bits: bool,
    device: str | torch.device = "cpu",
) -> tuple[tuple[Stage, ...], Remover]:
    """What :func:`whorl.denoise` does to a picture with this noise, of which the samples show the range.

    Nothing where the picture is to be copied; the remover says why.

    >>> import torch
    >>> from whorl.denoising import Denoising
    >>> samples = [100 + 12 * torch.randn(1, 1, 32, 32)]
    >>> stages, _ = denoising_stages(Denoising(), 12.0, samples, eight_bits=True)
    >>> len(stages)
    1
    """
    parts, target = list(samples), torch.device(device)
    network = policy.loaded(parts[0].shape[1])
    if isinstance(network, DiffusionNetwork) and noise and not isinstance(noise, NoiseModel):
        here = placed(network, target)
        if policy.strength == 1:
            return network_stages(here, network.factor(noise)), Remover(None)
        part = Partly(_Removed(here, noise), policy.strength, network.reach)  # needs the picture at its end, too
        return (Stage(part, network.reach),), Remover(None)
    remover = policy.remover(noise, parts, eight_bits=eight_bits, device=target)
    return (() if remover.apply is None else (Stage(remover.apply, remover.apply.reach),)), remover


def halo(steps: Sequence[Stage]) -> int:
    """How many pixels around a window the stages together look at.

    >>> from whorl.large import Stage
    >>> halo([Stage(lambda u: u, reach=2)] * 3)
    6
    """
    return sum(stage.reach for stage in steps)


def fused(steps: Sequence[Stage]) -> list[Stage]:
    """The same filter with neighbouring steps of one model taken together, where an engine gains by that.

    >>> from whorl.models import build
    >>> [stage.reach for stage in fused(stages(build("gerig", contrast=3.0), time=4.0))]
    [4, 4, 2]
    """
    result: list[Stage] = []
    for _, group in groupby(steps, key=lambda stage: getattr(stage.apply, "model", None)):
        members = list(group)
        if not isinstance(members[0].apply, _Steps) or members[0].reach > FUSED_REACH:
            result.extend(members)
            continue
        for start in range(0, len(members), FUSED_STEPS):
            some = members[start : start + FUSED_STEPS]
            taus = tuple(tau for member in some for tau in member.apply.taus)  # type: ignore[attr-defined]
            together = _Steps(members[0].apply.model, taus, members[0].apply.engine)
            result.append(Stage(together, halo(some), members[0].check, len(some)))
    return result


# Classes and no closures, so that stages can be sent to other processes.


@dataclass(frozen=True)
class _Steps:
    """Steps of a model of the given sizes."""

    model: Model
    taus: tuple[float, ...]
    engine: str

    def __call__(self, u: Tensor) -> Tensor:
        return self.model.advance(u, self.taus, self.engine)


@dataclass(frozen=True)
class _Run:
    """A model with a fast scheme, all of it: its steps lean on each other and cannot be taken apart."""

    model: Model
    time: float
    scheme: str
    cycles: int | None
    tau: float | None
    insist: bool
    engine: str
    dimension: int

    def __call__(self, u: Tensor) -> Tensor:
        return self.run(u, None)

    def watched(self, u: Tensor, tell: Callable[[float], None]) -> Tensor:
        """The same, telling of every step."""
        told = [0]

        def progress(done: int, total: int) -> None:
            tell((done - told[-1]) / total)
            told.append(done)

        return self.run(u, progress)

    def count(self) -> int:
        """The number of steps, which does not depend on the image: counted on the smallest one."""
        counted = [0]
        own = next((t.device for t in (*self.model.parameters(), *self.model.buffers())), None)
        smallest = torch.zeros(1, 1, *[1] * self.dimension, device=own)
        self.run(smallest, lambda done, total: counted.append(total), "reference")
        return counted[-1]

    def run(self, u: Tensor, progress: Progress | None, engine: str | None = None) -> Tensor:
        """The filtered image; ``progress`` is told of every step."""
        engine = self.engine if engine is None else engine
        with torch.no_grad():
            result: Tensor = self.model(
                u, self.time, scheme=self.scheme, cycles=self.cycles, tau=self.tau, insist=self.insist, engine=engine,
                progress=progress,
            )  # fmt: skip
        return result


@dataclass(frozen=True)
class _Block:
    """Block number ``number`` of a network."""

    network: DiffusionNetwork
    number: int

    def __call__(self, u: Tensor) -> Tensor:
        return self.network.step(u, self.number)


@dataclass(frozen=True)
class _Removed:
    """A whole network on pictures with noise of this level."""

    network: DiffusionNetwork
    noise: float

    def __call__(self, u: Tensor) -> Tensor:
        return self.network.remove(u, self.noise)


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
