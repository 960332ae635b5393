"""The networks of the study: coupled fields, coupled scalars, and plain 3x3 convolutions of the same size and plan."""

from pathlib import Path

import numpy as np
import torch
from PIL import Image
from safetensors.torch import load_file
from torch import Tensor, nn

from whorl.networks import LineNetwork, LineSpec, named
from whorl.operators import coarser, finer

WEIGHTS = Path(__file__).parent / "results" / "weights.safetensors"
SPECS = {
    "vessels": named("vessels-5k"),
    "fields": LineSpec(sigma=20.0),
    "scalar": LineSpec(stream=(10,), fields=(11, 10, 5), sigma=20.0),
}
"""What is shipped, and two that were tried beside it; all but the plain networks."""

DIGITS = LineSpec(
    channels=1, stream=(20, 10, 6), fields=(28, 20, 10), levels=3, shared=False, head="picture", outputs=10
)
FOLDS = [[k for k in range(20) if k % 5 == fold] for fold in range(5)]
"""Pictures held back in each fold, counted from 0; the first is 21 in DRIVE."""


class Plain(nn.Module):
    """3x3 convolutions and ReLU on the same levels, the same two blocks on every one of them."""

    def __init__(self, c: int = 11, levels: int = 4, repetitions: int = 2) -> None:
        super().__init__()
        self.lift = nn.Conv2d(3, c, 3, padding=1)
        self.down, self.up = (
            nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1)) for _ in range(2)
        )
        self.levels, self.repetitions = levels, repetitions
        self.mix = nn.ModuleList(nn.Conv2d(c, c, 1, bias=False) for _ in range(levels - 1))
        self.head = nn.Conv2d(c, 1, 3, padding=1)

    def forward(self, picture: Tensor) -> Tensor:
        u, kept = self.lift(picture), []
        for level in range(self.levels):
            u = coarser(u) if level else u
            for _ in range(self.repetitions):
                u = u + self.down(u)
            kept.append(u)
        for level in reversed(range(self.levels)):
            if level + 1 < self.levels:
                u = kept[level] + self.mix[level](finer(u, kept[level].shape[2:]))
            for _ in range(self.repetitions):
                u = u + self.up(u)
        return self.head(u)


def made(kind: str) -> nn.Module:
    """A network with random weights, of the kind that a run's name begins with, or as ``vessels-5k``."""
    kind = kind.split("-")[0]
    return Plain() if kind == "plain" else LineNetwork(SPECS.get(kind, SPECS["vessels"]))


def trained(name: str) -> nn.Module:
    """A network of the study with the weights of its run; stencils are computed anew."""
    found = {
        key.removeprefix(f"{name}/"): value for key, value in load_file(WEIGHTS).items() if key.startswith(f"{name}/")
    }
    network = made(name)
    network.load_state_dict(found, strict=False)
    assert set(found) == set(dict(network.named_parameters()))
    return network.eval()


def drive(folder: Path, k: int) -> tuple[Tensor, Tensor, Tensor]:
    """Picture ``(1, 3, y, x)`` from 0 to 1, vessels and field of view ``(1, 1, y, x)`` of DRIVE."""

    def read(name: str, mode: str) -> Tensor:
        with Image.open(folder / f"{21 + k}{name}.png") as picture:
            return torch.from_numpy(np.array(picture.convert(mode)))

    colours = read("", "RGB").permute(2, 0, 1)[None] / 255
    return colours, read("-vessels", "L")[None, None] > 127, read("-mask", "L")[None, None] > 127
