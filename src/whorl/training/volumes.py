"""Training on volumes: scans that are given, or drawn ones where there are none."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.data.leaves import blurred, drawn_volumes
from whorl.data.noise import Split, stream
from whorl.data.photographs import set_aside
from whorl.data.tissue import drawn_tissue
from whorl.networks.trained import TrainedNetwork
from whorl.training.config import TrainingConfig
from whorl.training.pairs import EPOCH, Check, Pairs, held_back_psnr

HELD_BACK = 4  # drawn volumes that are looked at
CORRELATED, FLAT = 0.4, 0.3  # shares of noise that neighbours have in common, and of this in the plane alone


@dataclass(frozen=True)
class Volumes:
    """Noisy cubes of volumes ``(1, z, y, x)`` by name, every 33rd of which is held back; or of drawn volumes."""

    scans: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    steps: int = 4000
    size: int = 32

    @cached_property
    def pictures(self) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
        """The volumes to learn from, and the volumes held back; drawn ones are drawn when they are needed."""
        if self.scans:
            return set_aside(dict(self.scans))
        held = drawn(list(range(HELD_BACK)), self.size, "validation")
        return {}, {f"drawn {number}": volume for number, volume in enumerate(held.numpy())}

    def with_seed(self, seed: int) -> "Volumes":
        """The same: the seed of training draws volumes, places and noise."""
        return self

    def identity(self) -> dict[str, Any]:
        """Plain values that tell training on these data from others."""
        return {"volumes": len(self.pictures[0]), "size": self.size}

    def about(self) -> dict[str, Any]:
        """What a card says of the data."""
        if not self.scans:
            return {"drawn": "whorl.data.drawn_volumes and drawn_tissue, no scan"}
        learned, held = self.pictures
        return {"volumes": len(learned), "held_back": sorted(held)}

    def pairs(self, network: TrainedNetwork, training: TrainingConfig, device: torch.device | str) -> "NoisyCubes":
        """What the network learns from."""
        assert network.noise_range is not None, "a network for volumes knows its levels"
        count, learned = min(EPOCH, self.steps) * training.batch, list(self.pictures[0].values())
        told = network.takes_level and network.spec.correlated
        return NoisyCubes(learned, network.noise_range, self.size, count, training.seed, device, told)

    def check(self, network: TrainedNetwork, device: torch.device | str) -> Check | None:
        """The PSNR on volumes held back, as far as there are."""
        return held_back_psnr(network, self.pictures[1], 48, device)


class NoisyCubes(Pairs):
    """Cubes of volumes with noise of a level drawn for each, as often weak as strong; nothing is clipped.

    Where no volumes are given, some are drawn. The level comes as one more channel, and so does the correlation between
    neighbours for networks that are told it: two fifths of their cubes have correlated noise.
    """

    def __init__(
        self, volumes: list[NDArray[Any]], noise: tuple[float, float], size: int, count: int, seed: int,
        device: torch.device | str = "cpu", correlated: bool = False,
    ) -> None:  # fmt: skip
        self.volumes, self.noise, self.size, self.count, self.seed = volumes, noise, size, count, seed
        self.device, self.correlated = torch.device(device), correlated
        self.told = (noise[0] < noise[1]) + correlated

    def __len__(self) -> int:
        return self.count

    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Noisy and clean cubes; they depend on seed, epoch and indices."""
        numbers = [epoch * self.count + int(index) for index in indices]
        rng = stream("noise", "train", self.seed, numbers[0])
        if self.volumes:
            clean = torch.from_numpy(np.stack([self._cut(rng) for _ in numbers])).to(self.device)
        else:
            clean = drawn(numbers, self.size, "train", self.seed, self.device)
        low, high = self.noise
        level, common, flat, width, white = (
            torch.from_numpy(np.asarray(each, np.float32)).to(self.device)
            for each in (*rng.random((4, len(clean), 1, 1, 1, 1)), rng.standard_normal(clean.shape))
        )
        level = low * (high / low) ** level
        if not self.correlated:
            noise, correlation = white, torch.zeros_like(level)
        else:
            width = (common < CORRELATED) * (0.25 + width)
            noise = blurred(white, (flat >= FLAT) * width, width, width)
            noise = noise / noise.square().mean((1, 2, 3, 4), keepdim=True).sqrt()
            products = [(noise * noise.roll(1, axis)).mean((1, 2, 3, 4), keepdim=True) for axis in (2, 3, 4)]
            correlation = (width > 0) * sum(products, torch.zeros_like(level)) / 3
        told = [level, correlation][: self.told]
        return torch.cat([clean + level * noise, *(each.expand_as(clean) for each in told)], 1), clean

    def _cut(self, rng: np.random.Generator) -> NDArray[Any]:
        """A cube of a volume; large volumes are visited in proportion to their voxels."""
        voxels = np.array([math.prod(volume.shape) for volume in self.volumes], float)
        volume = self.volumes[rng.choice(len(voxels), p=voxels / voxels.sum())]
        begins = [int(rng.integers(side - self.size + 1)) for side in volume.shape[1:]]
        place: tuple[Any, ...] = (..., *(slice(begin, begin + self.size) for begin in begins))
        cube: NDArray[Any] = volume[place]
        return cube


def drawn(numbers: list[int], size: int, split: Split, seed: int = 0, device: torch.device | str = "cpu") -> Tensor:
    """Volumes with these numbers: leaves where they are even, tissue where they are odd."""
    clean = torch.empty(len(numbers), 1, size, size, size, device=device)
    for odd, function in enumerate((drawn_volumes, drawn_tissue)):
        places = [place for place, number in enumerate(numbers) if number % 2 == odd]
        if places:
            clean[places] = function([numbers[place] for place in places], size, split, seed, device)
    return clean
