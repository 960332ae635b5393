"""From a name to a trained network: architecture, data and training settings together."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import nn

from whorl import engines
from whorl.data import RectangleSet
from whorl.data.photographs import photographs, set_aside
from whorl.evaluation.reproduction import PAPER
from whorl.networks import DiffusionNetwork, ModelCard, TrainedNetwork, load, named
from whorl.networks.cards import ENDING, Run
from whorl.networks.photo import PhotoSpec
from whorl.networks.trained import Spec
from whorl.training.annotated import Annotated, Inside, line_settings
from whorl.training.config import PROTOCOLS, TrainingConfig
from whorl.training.distributed import Team
from whorl.training.history import History, Reporter
from whorl.training.loop import train
from whorl.training.pairs import EPOCH, Check, LevelInput, NoisyPatches, Pairs, TensorPairs, held_back_psnr
from whorl.training.volumes import Volumes

PHOTO_TRAINING = TrainingConfig(
    batch=16, rate=2e-3, schedule="annealed", warmup=200, clip=0.1, precision="bfloat16", checkpoint_seconds=30
)
"""The settings of the shipped networks: Adam on gradients of one length; the rate rises for 200 steps, then falls."""

TURN = {"photo-27k-strict": 5000.0}
"""Weight of the term on turns (:mod:`whorl.training.turning`) for networks that are trained with it."""


@dataclass(frozen=True)
class Scenes:
    """Noisy scenes of rectangles that point in one direction."""

    rectangles: RectangleSet = field(default_factory=lambda: RectangleSet(100, "train"))
    angle: int = 30

    def with_seed(self, seed: int) -> "Scenes":
        """Other scenes, with other noise."""
        return dataclasses.replace(self, rectangles=dataclasses.replace(self.rectangles, seed=seed))

    def identity(self) -> dict[str, Any]:
        """Plain values that tell training on these data from others."""
        return {"data": dataclasses.asdict(self.rectangles), "angle": self.angle}

    def about(self) -> dict[str, Any]:
        """What a card says of the data."""
        return {**dataclasses.asdict(self.rectangles), "angle": self.angle}

    def pairs(self, network: TrainedNetwork, training: TrainingConfig, device: torch.device | str) -> TensorPairs:
        """What the network learns from."""
        clean, noisy = self.rectangles.pairs(self.angle)
        return TensorPairs(noisy.to(device), clean.to(device))

    def check(self, network: TrainedNetwork, device: torch.device | str) -> Check | None:
        """A measure on pictures held back: there are none."""
        return None


@dataclass(frozen=True)
class Photographs:
    """Noisy patches of the pictures in a folder, with 1 or 3 channels; every 33rd picture is held back."""

    folder: Path
    channels: int = 1
    steps: int = 4000
    size: int = 64

    @cached_property
    def pictures(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The pictures to learn from, and the pictures held back."""
        return set_aside(photographs(self.folder, self.channels, self.size))

    def with_seed(self, seed: int) -> "Photographs":
        """The same: the seed of training draws patches and noise."""
        return self

    def identity(self) -> dict[str, Any]:
        """Plain values that tell training on these data from others."""
        return {"pictures": len(self.pictures[0]), "size": self.size}

    def about(self) -> dict[str, Any]:
        """What a card says of the data."""
        learned, held = self.pictures
        return {"pictures": len(learned), "held_back": sorted(held), "folder": self.folder.name}

    def pairs(self, network: TrainedNetwork, training: TrainingConfig, device: torch.device | str) -> NoisyPatches:
        """What the network learns from."""
        count, learned = min(EPOCH, self.steps) * training.batch, list(self.pictures[0].values())
        assert network.noise_range is not None, "a network for photographs knows its levels"
        return NoisyPatches(
            learned, network.noise_range, size=self.size, count=count, seed=training.seed, device=device
        )

    def check(self, network: TrainedNetwork, device: torch.device | str) -> Check | None:
        """The PSNR on pictures held back, as far as there are."""
        return held_back_psnr(network, self.pictures[1], 256, device)


@dataclass(frozen=True)
class Recipe:
    """Everything that determines a trained network.

    Equal recipes give equal parameters: bit for bit on a CPU with the same number of threads; on a GPU sums may be
    taken in another order, which changes parameters by about 1e-4 after 250 epochs.
    """

    network: Spec
    data: Scenes | Photographs | Volumes | Annotated = field(default_factory=Scenes)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    start: TrainedNetwork | None = None
    """The network to go on from, as fine-tuning does; starting values otherwise."""

    def with_seed(self, seed: int) -> "Recipe":
        """The same with other pictures, noise and order of images."""
        training = dataclasses.replace(self.training, seed=seed)
        return dataclasses.replace(self, data=self.data.with_seed(seed), training=training)

    def identity(self) -> dict[str, Any]:
        """Plain values that tell this recipe's runs from those of others."""
        begun = {} if self.start is None else {"from": _digest(self.start)}
        return {"network": self.network.as_dict(), **self.data.identity(), **begun}

    def pairs(self, device: torch.device | str = "cpu") -> Pairs:
        """What the network learns from."""
        return self.data.pairs(self.network.build(), self.training, device)

    def train(
        self,
        *,
        device: torch.device | str = "cpu",
        checkpoint: Path | None = None,
        pairs: Pairs | None = None,
        team: Team | None = None,
        capture: bool | None = None,
        progress: Reporter | None = None,
    ) -> tuple[Any, History]:
        """Train from the starting values, or go on from the checkpoint.

        ``capture`` records a step of Adam as a CUDA graph; by itself where the compiled engine takes the steps on a
        CUDA device, with one process.
        """
        torch.manual_seed(self.training.seed)
        network = self.network.build().to(device)
        if self.start is not None:
            network.load_state_dict(self.start.state_dict())
        pairs = self.data.pairs(network, self.training, device) if pairs is None else pairs
        if capture is None and isinstance(network, DiffusionNetwork):
            engine = engines.select(network.description, pairs.batch(torch.tensor([0]), 0)[0], learning=True).name
            alone = team is None or team.size == 1
            capture = engine == "triton" and self.training.optimiser == "adam" and alone
        network.low_precision = self.training.precision == "bfloat16" and torch.device(device).type == "cuda"
        history = train(
            self._fed(network, pairs),
            pairs,
            self.training,
            checkpoint=checkpoint,
            identity=self.identity(),
            team=team,
            capture=bool(capture),
            progress=progress,
            check=self.data.check(network, device),
        )
        network.low_precision = False
        return network.eval(), history

    def _fed(self, network: TrainedNetwork, pairs: Pairs) -> nn.Module:
        """The network, for data that come in one tensor."""
        if isinstance(self.data, Annotated):
            return Inside(network)
        return LevelInput(network, pairs.told) if network.takes_level else network

    def card(self, name: str, runs: Mapping[int, tuple[TrainedNetwork, History]], about: str = "") -> ModelCard:
        """The model card of runs with one or several seeds; the chosen one has the median loss."""
        order = sorted(runs, key=lambda seed: runs[seed][1].last.loss)
        more = {"steps": self.data.steps, "size": self.data.size} if not isinstance(self.data, Scenes) else {}
        return ModelCard(
            name=name,
            network=self.network,
            runs=tuple(Run(seed, made.saved(), _figures(history)) for seed, (made, history) in sorted(runs.items())),
            chosen=order[(len(order) - 1) // 2],
            training={**self.training.as_dict(), **more},
            data=self.data.about(),
            about=about,
        )


def photo_recipe(
    name: str,
    folder: Path | None,
    noise: float | None = None,
    steps: int = 4000,
    start: str | Path | None = None,
    scans: Mapping[str, Any] | None = None,
    **settings: Any,
) -> Recipe:
    """The recipe of a named architecture for photographs or volumes; ``noise`` replaces the levels it is made for.

    Networks for volumes learn from ``scans`` in the place of a folder, or from drawn volumes.

    With ``start``, the name or the file of a trained network, that one is fine-tuned: at a tenth of the rate.
    """
    network = None if start is None else load(start)
    spec = named(name) if network is None else network.spec
    if not isinstance(spec, PhotoSpec):
        raise ValueError(f"{name}: not a network for photographs. Leave --data out.")
    if noise is not None:
        if not 0 < noise < math.inf:
            raise ValueError(f"--noise {noise}: expected a positive standard deviation in grey values.")
        spec = dataclasses.replace(spec, noise=(noise, noise), correlated=False)
    data: Photographs | Volumes
    if spec.dimension == 3:
        data, settings = Volumes(scans or {}, steps, settings.pop("size", 32)), {"batch": 8} | settings
    elif folder is None:
        raise ValueError(f"{name}: a network for photographs. Say with --data which folder of pictures to take.")
    else:
        data = Photographs(folder, spec.channels, steps, settings.pop("size", 64))
    if network is not None:
        settings = {"rate": 0.1 * PHOTO_TRAINING.rate, "warmup": 20} | settings
    given = {"turn": TURN.get(name, 0.0), "loss": "log" if spec.blind else "mse", "epochs": math.ceil(steps / EPOCH)}
    return Recipe(spec, data, dataclasses.replace(PHOTO_TRAINING, **{**given, **settings}), network)


def line_recipe(name: str, folder: Path, steps: int = 4000, start: str | Path | None = None, **settings: Any) -> Recipe:
    """The recipe of a named architecture for lines, learned from annotated pictures."""
    return Recipe(*line_settings(name, folder, steps, start, settings))


def gains(
    recipe: Recipe, trained: TrainedNetwork, old: str | Path, device: torch.device | str
) -> list[tuple[str, float, float]]:
    """The PSNR before and after fine-tuning: on pictures held back, and on ``old`` ones where a folder is given."""
    if recipe.start is None or not isinstance(recipe.data, Photographs | Volumes):
        return []
    places: list[tuple[str, Callable[..., Check | None]]] = [("pictures held back", recipe.data.check)]
    if old:
        if isinstance(recipe.data, Volumes):
            raise ValueError("--old: for networks for photographs. Leave it out.")
        everything = photographs(old, recipe.data.channels)
        places.append(("the old pictures", lambda network, device: held_back_psnr(network, everything, 256, device)))
    found = []
    for words, check in places:
        before, after = (check(network, device) for network in (recipe.start.to(device), trained))
        if before is not None and after is not None:
            found.append((words, before(), after()))
    return found


def _digest(network: TrainedNetwork) -> str:
    """A hash that tells the weights of a network from others."""
    sums = [float(tensor.double().square().sum()) for tensor in network.state_dict().values()]
    return f"{sum(sums):.12g}"


def trained_cards(
    out: Path,
    protocol: str,
    seeds: int,
    device: torch.device | str = "cpu",
    reporter: Callable[[str], Reporter | None] = lambda title: None,
) -> list[ModelCard]:
    """The paper's five networks, trained here; runs and cards are kept below ``out``.

    ``reporter`` gives for the title of a run what is told of its epochs.
    """
    if protocol not in PROTOCOLS:
        raise ValueError(f"--protocol {protocol}: choose one of {', '.join(PROTOCOLS)}.")
    cards = []
    for name in PAPER:
        recipe, runs = Recipe(named(name), training=PROTOCOLS[protocol]), {}
        for seed in range(seeds):
            runs[seed] = recipe.with_seed(seed).train(
                device=device,
                checkpoint=out / "runs" / protocol / f"{name}-{seed}{ENDING}",
                progress=reporter(f"{name}, seed {seed}"),
            )
        cards.append(recipe.card(name, runs))
        cards[-1].write(out / "cards" / f"{name}{ENDING}")
    return cards


def _figures(history: History) -> dict[str, float]:
    last = history.last
    found = {"loss": last.loss, "psnr": last.psnr, "held_back_psnr": last.held_back}
    return {name: value for name, value in found.items() if value is not None}
