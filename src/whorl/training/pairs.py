"""Training data: pairs of a noisy and a clean image, such as patches of photographs."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from whorl.data.noise import stream
from whorl.errors import ShapeError
from whorl.evaluation.angles import denoised_psnr
from whorl.networks.denoiser import REFERENCE_LEVEL
from whorl.networks.trained import TrainedNetwork

EPOCH = 250
"""Steps between two looks at the pictures held back."""

CHECKED = 4  # pictures held back that are looked at

Check = Callable[[], float]


class Pairs(ABC):
    """Numbered pairs of images. A batch must depend on its arguments alone, or runs cannot be repeated and resumed.

    >>> import torch, whorl
    >>> u = torch.zeros(2, 1, 4, 4)
    >>> isinstance(whorl.training.TensorPairs(u + 1, u), whorl.training.Pairs)
    True
    """

    told = 1
    """Channels behind those of the noisy pictures that tell of the noise, for networks that are told."""

    @abstractmethod
    def __len__(self) -> int:
        """How many pairs one epoch visits."""

    @abstractmethod
    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Noisy and clean images ``(n, c, y, x)`` on the training device, for numbers ``indices`` of this epoch."""


class TensorPairs(Pairs):
    """Pairs held in memory, the same in every epoch: two tensors ``(n, c, y, x)``.

    >>> import torch
    >>> u = torch.zeros(2, 1, 4, 4)
    >>> len(TensorPairs(u + 1, u))
    2
    """

    def __init__(self, noisy: Tensor, clean: Tensor) -> None:
        if noisy.shape != clean.shape or noisy.dim() != 4 or not len(noisy):
            raise ShapeError(
                f"TensorPairs: expected two equal, non-empty shapes (n, c, y, x), got {tuple(noisy.shape)} "
                f"and {tuple(clean.shape)}."
            )
        self.noisy, self.clean = noisy, clean

    def __len__(self) -> int:
        return len(self.noisy)

    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        indices = indices.to(self.noisy.device)
        return self.noisy[indices], self.clean[indices]

    def to(self, device: torch.device | str) -> "TensorPairs":
        """The same pairs on another device."""
        return TensorPairs(self.noisy.to(device), self.clean.to(device))


class NoisyPatches(Pairs):
    """Square patches from pictures, with white Gaussian noise of a level drawn for each patch; nothing is clipped.

    Where the level varies it comes as one more channel behind those of the picture, for :class:`LevelInput`. Turned
    and mirrored copies are left out: a rotationally invariant network learns nothing from them.

    Parameters
    ----------
    pictures : sequence of arrays
        ``(c, y, x)``, uint8, each at least ``size`` pixels along a side.
    noise : (float, float)
        Smallest and largest standard deviation.
    size : int
        Pixels along a side of a patch.
    count : int
        Patches per epoch.
    seed : int
        Fixes places and noise.
    device : str or torch.device
        Where pictures are held and patches are made.
    """

    def __init__(
        self,
        pictures: Sequence[NDArray[np.uint8]],
        noise: tuple[float, float],
        *,
        size: int = 64,
        count: int = 16000,
        seed: int = 0,
        device: str | torch.device = "cpu",
    ) -> None:
        if not pictures:
            raise ShapeError("NoisyPatches: there are no pictures to train with. Give at least two.")
        smallest = min(min(picture.shape[1:]) for picture in pictures)
        if smallest < size:
            raise ShapeError(
                f"NoisyPatches(size={size}): the smallest picture has {smallest} pixels along a side. Take a smaller "
                "size, or leave that picture out."
            )
        self.noise, self.size, self.count, self.seed = noise, size, count, seed
        self.device = torch.device(device)
        flat: NDArray[Any] = np.concatenate([picture.reshape(len(picture), -1) for picture in pictures], axis=1)
        self.pixels = torch.from_numpy(flat).to(self.device)
        heights, widths = ([picture.shape[axis] for picture in pictures] for axis in (1, 2))
        areas = np.multiply(heights, widths)
        starts = np.concatenate([[0], np.cumsum(areas)[:-1]])
        self.places = torch.from_numpy(np.stack([starts, heights, widths]).astype(np.int64)).to(self.device)
        # Large pictures are visited in proportion to their pixels.
        self.shares = torch.from_numpy(np.cumsum(areas) / areas.sum()).to(self.device)

    def __len__(self) -> int:
        return self.count

    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Noisy and clean patches; they depend on seed, epoch and the first index."""
        draw = self.drawn(indices, epoch)
        clean = self.clean(len(indices), draw)
        low, high = self.noise
        level = low + (high - low) * torch.rand(len(clean), 1, 1, 1, generator=draw, device=self.device)
        noisy = clean + level * torch.randn(clean.shape, generator=draw, device=self.device)
        if low < high:
            noisy = torch.cat([noisy, level.expand(-1, 1, self.size, self.size)], dim=1)
        return noisy, clean

    def drawn(self, indices: Tensor, epoch: int) -> torch.Generator:
        """Random numbers that depend on seed, epoch and the first index."""
        first = int(indices[0]) if len(indices) else 0
        seed = int(stream("noise", "train", self.seed, epoch * self.count + first).integers(2**62))
        return torch.Generator(self.device).manual_seed(seed)

    def clean(self, count: int, draw: torch.Generator) -> Tensor:
        """Patches without noise, from places that are drawn."""
        at = torch.rand(3, count, generator=draw, device=self.device, dtype=torch.float64)
        start, height, width = self.places[:, torch.searchsorted(self.shares, at[2], right=True)]
        top, left = (at[0] * (height - self.size + 1)).long(), (at[1] * (width - self.size + 1)).long()
        steps = torch.arange(self.size, device=self.device)
        rows = (top[:, None] + steps)[:, :, None] * width[:, None, None]
        index = start[:, None, None] + rows + (left[:, None] + steps)[:, None, :]
        return self.pixels[:, index].movedim(0, 1).float()


class LevelInput(nn.Module):
    """A network that is told of the noise, fed with pictures whose last ``told`` channels hold it."""

    def __init__(self, network: nn.Module, told: int = 1) -> None:
        super().__init__()
        self.network, self.told = network, told

    def forward(self, u: Tensor) -> Tensor:
        """``network(picture, level)``, and the correlation where there is one; a patch has one of each."""
        told = u[(slice(None), slice(-self.told, None), *[slice(1)] * (u.dim() - 2))]
        result: Tensor = self.network(u[:, : -self.told], *told.split(1, dim=1))
        return result


def held_back_psnr(
    network: TrainedNetwork, pictures: Mapping[str, Any], side: int, device: torch.device | str
) -> Check | None:
    """The mean PSNR on a few pictures or volumes held back, cut to so many pixels a side; None where there are none."""
    assert network.noise_range is not None, "a network that is trained on pictures knows its levels"
    low, high = network.noise_range
    level = REFERENCE_LEVEL if low < high else low
    few = {name: pictures[name][(slice(None), *[slice(side)] * network.dimension)] for name in list(pictures)[:CHECKED]}

    def measured() -> float:
        network.eval()
        found = denoised_psnr(lambda u: network(u, level), few, level, device=device)
        return sum(found.values()) / len(found)

    return measured if few else None
