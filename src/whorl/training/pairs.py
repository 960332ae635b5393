"""What a network is trained on: pairs of a noisy and a clean image."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from whorl.errors import ShapeError

__all__ = ["Pairs", "TensorPairs"]


class Pairs(ABC):
    """Numbered pairs of images. A batch must depend on its arguments alone, or runs cannot be repeated and resumed."""

    @abstractmethod
    def __len__(self) -> int:
        """How many pairs one epoch visits."""

    @abstractmethod
    def batch(self, indices: Tensor, epoch: int) -> tuple[Tensor, Tensor]:
        """Noisy and clean images ``(n, c, y, x)`` on the training device, for numbers ``indices`` of this epoch."""


class TensorPairs(Pairs):
    """Pairs held in memory, the same in every epoch: two tensors ``(n, c, y, x)``."""

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
        """The chosen pairs."""
        indices = indices.to(self.noisy.device)
        return self.noisy[indices], self.clean[indices]

    def to(self, device: torch.device | str) -> "TensorPairs":
        """The same pairs on another device."""
        return TensorPairs(self.noisy.to(device), self.clean.to(device))
