"""How an epoch changes the parameters: the part of training that differs between optimisers."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor, nn

from whorl.data.seeds import stream

__all__ = ["Method", "Seen", "image_order", "trainable"]


class Seen(NamedTuple):
    """Mean squared error and mean PSNR over the images of an epoch."""

    loss: float
    psnr: float


class Method(ABC):
    """An optimiser with its state. Everything the next epoch depends on is in the network and in ``state``."""

    @abstractmethod
    def epoch(self, number: int) -> Seen:
        """Train for one epoch (or one second-order iteration)."""

    @abstractmethod
    def state(self) -> dict[str, Tensor]:
        """The optimiser's own tensors by name."""

    @abstractmethod
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Go on from ``state``."""

    @property
    @abstractmethod
    def converged(self) -> bool:
        """Whether further epochs would change nothing."""


def trainable(network: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters to be trained, by name."""
    found = {name: p for name, p in network.named_parameters() if p.requires_grad}
    if not found:
        raise ValueError(f"{type(network).__name__} has no trainable parameter. Build it with trainable=True.")
    return found


def image_order(count: int, seed: int, epoch: int) -> Tensor:
    """The order in which an epoch visits the images: a permutation fixed by seed and epoch alone."""
    return torch.from_numpy(stream("order", "train", seed, epoch).permutation(count))
