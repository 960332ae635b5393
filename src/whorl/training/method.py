"""How an epoch changes the parameters: the part of training that differs between optimisers."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from whorl.data.noise import stream


class Scores(NamedTuple):
    """Mean squared error and mean PSNR over the images of an epoch."""

    loss: float
    psnr: float


class Begun(NamedTuple):
    """The steps of an epoch that are done, and the sums of squared error and PSNR over the images seen in them."""

    steps: int = 0
    loss: float = 0.0
    psnr: float = 0.0
    images: int = 0


Watch = Callable[[Callable[[], Begun], int, int], None]
"""Takes a function that gives what is done of an epoch, the steps done, and the steps of the epoch."""


class Method(ABC):
    """An optimiser with its state. Everything the next epoch depends on is in the network and in ``state``."""

    @abstractmethod
    def epoch(self, number: int, begun: Begun | None = None, watch: Watch | None = None) -> Scores:
        """Train for one epoch (or one second-order iteration), or for what is left of one that has ``begun``.

        ``watch`` is called after every step with what is done of the epoch, and with its steps in all.
        """

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


Loss = Literal["mse", "charbonnier", "log", "cross-entropy"]

_CHARBONNIER = 1e-3  # of the peak: differences below this count quadratically
_SUREST = 1e-6  # a chance that is wrong by more is not worse
_FLOOR = 1e-6  # of the squared peak, 60 dB: better images than this are not worth a step


def image_losses(name: Loss, difference: Tensor, peak: float) -> Tensor:
    r"""The loss of each image from the difference :math:`d = N(f) - u`, ``(n, c, y, x) -> (n,)``.

    ========================  =====================================================================================
    ``mse``                   mean of :math:`d^2`
    ``charbonnier``           mean of :math:`\sqrt{d^2 + \varepsilon^2}`, which forgives outliers
    ``log``                   logarithm of the mean of :math:`d^2`: up to its sign and unit the PSNR, so that every
                              image counts alike, however strong its noise
    ``cross-entropy``         mean of :math:`-\log(1 - |d|)`, for chances where the truth is 0 or 1
    ========================  =====================================================================================

    >>> image_losses("mse", torch.full((2, 1, 4, 4), 3.0), 255.0)
    tensor([9., 9.])
    """
    if name == "charbonnier":
        return (difference.square() + (_CHARBONNIER * peak) ** 2).sqrt().flatten(1).mean(1)
    if name == "cross-entropy":
        return -torch.log((1 - difference.abs()).clamp_min(_SUREST)).flatten(1).mean(1)
    squared = difference.square().flatten(1).mean(1)
    return torch.log(squared / peak**2 + _FLOOR) if name == "log" else squared


def sums(difference: Tensor, peak: float) -> Tensor:
    """The sums of squared error and PSNR over the images of a difference ``(n, c, y, x)``."""
    errors = difference.double().square().flatten(1).mean(1)
    return torch.stack([errors.sum(), -10 * torch.log10(errors / peak**2).sum()])
