"""Pictures with drawn lines, from which networks for lines learn, and the figures that these reach."""

import dataclasses
import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from whorl.data.photographs import photographs
from whorl.errors import FileError
from whorl.networks import LineNetwork, LineSpec, TrainedNetwork, field_of_view, load, named
from whorl.networks.lines import diameter
from whorl.training.config import TrainingConfig
from whorl.training.pairs import NoisyPatches

LINES, VIEW = ("-vessels", "-lines"), "-mask"
"""Endings of names: ``21.png`` comes with ``21-vessels.png`` or ``21-lines.png``, and may come with ``21-mask.png``."""

EPOCH = 100
"""Steps between two looks at the pictures held back."""

SHARE = 5
"""Every fifth picture is held back."""

MARGIN = 8
"""Pixels along the border of a patch that do not count: they do not see what lies around them."""

SIDE = 96
"""Pixels along a side of a patch."""

LINE_TRAINING = TrainingConfig(
    optimiser="whitened",
    batch=3,
    rate=0.006,
    schedule="annealed",
    warmup=40,
    clip=0.5,
    loss="cross-entropy",
    peak=1.0,
    precision="bfloat16",
    checkpoint_seconds=30,
)
"""The settings of ``vessels-5k``, but for the mean of weights over the last steps that it was made with, and for its
rate: that was twice as large, and training on other pictures then broke down in two of four runs."""


def annotated(folder: str | Path, channels: int) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
    """All pictures of a folder that have lines: picture from 0 to 1, lines and field of view, ``(1, c, y, x)``."""
    found = {Path(name).stem: pixels for name, pixels in photographs(folder, channels).items()}
    parts = {stem for stem in found if stem.endswith((*LINES, VIEW))}
    made = {}
    for stem in sorted(set(found) - parts):
        lines = next((stem + end for end in LINES if stem + end in found), None)
        if lines is None:
            raise FileError(f"{folder}: {stem} has no lines. Draw them in white into {stem}{LINES[1]}.png.")
        for other in (lines, stem + VIEW):
            if other in found and found[other].shape != found[stem].shape:
                sizes = [f"{p.shape[2]} x {p.shape[1]}" for p in (found[other], found[stem])]
                raise FileError(f"{folder}: {other} has {sizes[0]} pixels, {stem} {sizes[1]}. Make them equal.")
        u = torch.from_numpy(found[stem])[None].float() / 255
        view = _white(found[stem + VIEW]) if stem + VIEW in found else field_of_view(u)
        if not bool((_white(found[lines]) & view).any()):
            raise FileError(f"{folder}: {lines} has no white pixel in the field of view. Lines are white on black.")
        made[stem] = u, _white(found[lines]), view
    if len(made) < 2:
        raise FileError(f"{folder}: holds {len(made)} picture(s) with lines. Give two at least: one is held back.")
    return made


def _white(pixels: NDArray[np.uint8]) -> Tensor:
    return torch.from_numpy(pixels[:1] > 127)[None]


class AnnotatedPatches(NoisyPatches):
    """Patches of what a network sees, with other gains, offsets and noise every time; the last channel is the view."""

    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Pictures with their field of view as the last channel, and the lines inside."""
        draw = self.drawn(indices, epoch)
        patches = self.clean(len(indices), draw)
        u, lines, inside = patches[:, :-2], patches[:, -2:-1], patches[:, -1:]

        def random(*shape: int) -> Tensor:
            return torch.randn(len(u), *shape, generator=draw, device=self.device)

        noise = 0.1 * torch.rand(len(u), 1, 1, 1, generator=draw, device=self.device)
        varied = torch.exp(0.25 * random(u.shape[1], 1, 1)) * u + 0.15 * random(u.shape[1], 1, 1)
        varied = inside * (varied + noise * random(*u.shape[1:]))
        counted = torch.zeros_like(inside)
        counted[..., MARGIN:-MARGIN, MARGIN:-MARGIN] = inside[..., MARGIN:-MARGIN, MARGIN:-MARGIN]
        return torch.cat([varied, counted], dim=1), counted * lines


class Inside(nn.Module):
    """A network for lines, fed with pictures whose last channel says where its answers count; chances come out."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, u: Tensor) -> Tensor:
        """The chance of a line, 0 where it does not count."""
        chances: Tensor = u[:, -1:] * self.network(u[:, :-1]).sigmoid()
        return chances


@dataclass(frozen=True)
class Annotated:
    """Patches of the pictures in a folder with drawn lines; every fifth picture is held back."""

    folder: Path
    channels: int = 3
    steps: int = 4000
    size: int = SIDE

    @cached_property
    def pictures(self) -> dict[str, tuple[Tensor, Tensor, Tensor]]:
        """All annotated pictures by name."""
        return annotated(self.folder, self.channels)

    @property
    def held(self) -> list[str]:
        """The names of the pictures held back."""
        return list(self.pictures)[::SHARE]

    def with_seed(self, seed: int) -> "Annotated":
        """The same: the seed of training draws the patches."""
        return self

    def identity(self) -> dict[str, Any]:
        """Plain values that tell training on these data from others."""
        return {"pictures": len(self.pictures) - len(self.held), "size": self.size}

    def about(self) -> dict[str, Any]:
        """The card's words about the data; the diameter tells later how large pictures may be."""
        wide = [diameter(view) for _, _, view in self.pictures.values()]
        return {
            **self.identity(),
            "held_back": self.held,
            "folder": self.folder.name,
            "diameter": sum(wide) / len(wide),
        }

    def pairs(self, network: TrainedNetwork, training: TrainingConfig, device: torch.device | str) -> AnnotatedPatches:
        """What the network learns from."""
        assert isinstance(network, LineNetwork)
        learned = [
            torch.cat([network.cpu().prepared(u, view), lines, view], dim=1)[0].numpy()
            for name, (u, lines, view) in self.pictures.items()
            if name not in self.held
        ]
        network.to(device)
        count = min(EPOCH, self.steps) * training.batch
        return AnnotatedPatches(learned, (0.0, 0.0), size=self.size, count=count, seed=training.seed, device=device)

    def check(self, network: TrainedNetwork, device: torch.device | str) -> Any:
        """The PSNR of chances on pictures held back, inside their fields of view."""
        assert isinstance(network, LineNetwork)

        def measured() -> float:
            found = [float((p - y.float())[view].square().mean()) for p, y, view in self._answers(network, device)]
            return sum(-10 * math.log10(error) for error in found) / len(found)

        return measured

    def dice(self, network: LineNetwork, device: torch.device | str, threshold: float = 0.45) -> float:
        """Dice's coefficient, twice the common pixels over the sum of both, in the mean over pictures held back."""
        found = [(view & (p >= threshold), view & y) for p, y, view in self._answers(network, device)]
        return sum(2 * float((p & y).sum()) / float(p.sum() + y.sum()) for p, y in found) / len(found)

    @torch.no_grad()
    def _answers(self, network: LineNetwork, device: torch.device | str) -> list[tuple[Tensor, Tensor, Tensor]]:
        network.eval()
        held = [self.pictures[name] for name in self.held]
        return [(network.probabilities(u.to(device), view.to(device)).cpu(), y, view) for u, y, view in held]


def line_settings(
    name: str, folder: Path, steps: int, start: str | Path | None, settings: dict[str, Any]
) -> tuple[LineSpec, Annotated, TrainingConfig, LineNetwork | None]:
    """The parts of a recipe for lines; a trained network goes on at a tenth of the rate."""
    network = None if start is None else load(start)
    spec = named(name) if network is None else network.spec
    if not isinstance(spec, LineSpec):
        raise ValueError(f"{name}: not a network for lines.")
    tenth = {} if network is None else {"rate": 0.1 * LINE_TRAINING.rate, "warmup": 20}
    data = Annotated(folder, spec.channels, steps, settings.pop("size", None) or SIDE)
    given = {"epochs": math.ceil(steps / EPOCH), **tenth, **settings}
    assert network is None or isinstance(network, LineNetwork)
    return spec, data, dataclasses.replace(LINE_TRAINING, **given), network
