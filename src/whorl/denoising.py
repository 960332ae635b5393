"""Denoising for people: an array in, the same kind of array out."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch

from whorl.automatic.policy import Samples, noise_to_remove
from whorl.networks.cards import shared
from whorl.networks.trained import TrainedNetwork

__all__ = ["COLOUR", "GREY", "Denoising", "denoise"]

GREY, COLOUR = "photo-grey", "photo-colour"
"""The networks for pictures with one channel and with three."""

Array = TypeVar("Array", bound=Any)


@dataclass(frozen=True)
class Denoising:
    """What was told of denoising by a network: None follows from the picture, as in ``whorl.automatic.Filtering``.

    >>> told = Denoising(noise=15.0)
    >>> told.name(channels=3), told.level(lambda: [])
    ('photo-colour', 15.0)
    """

    network: str | Path | TrainedNetwork | None = None
    noise: float | None = None
    caller: str = "denoise"

    def __post_init__(self) -> None:
        if self.noise is not None:
            self.level(list)

    def level(self, samples: Samples) -> float:
        """The noise to remove, measured on the samples where it was not told; 0 where the picture is to be copied."""
        return noise_to_remove(self.noise, samples, self.caller)

    def name(self, channels: int) -> str | Path | TrainedNetwork:
        """The network told, or the one for colour or for grey photographs, as the picture asks for."""
        return (COLOUR if channels == 3 else GREY) if self.network is None else self.network

    def loaded(self, channels: int) -> TrainedNetwork:
        """That network itself."""
        name = self.name(channels)
        return name if isinstance(name, TrainedNetwork) else shared(name)


def denoise(
    image: Array,
    noise: float | None = None,
    *,
    channel_axis: int | None = None,
    network: str | Path | TrainedNetwork | None = None,
    device: str | torch.device | None = None,
) -> Array:
    """Remove white Gaussian noise from a photograph with a trained network.

    Parameters
    ----------
    image : numpy.ndarray or torch.Tensor
        ``(y, x)``, or colour with a ``channel_axis``. Integers come back rounded, in the type of the image.
    noise : float, optional
        Standard deviation of the noise in the image's own units; measured where the image has least detail by default.
    channel_axis : int, optional
        The axis of the channels; None for a grey image.
    network : str, Path or network, optional
        The name of a network of the package, a file, or a network of ``whorl.load``; by default ``photo-grey`` or
        ``photo-colour``.
    device : optional
        Where to compute; the result comes back to where the image was.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = np.random.default_rng(0).normal(100, 25, (32, 32))
    >>> bool(denoise(noisy, noise=25).std() < 5)
    True
    """
    policy = Denoising(network, noise)
    # A wrong axis has no channels here, and is refused with everything else that is wrong with the image.
    channels = [] if channel_axis is None else [*getattr(image, "shape", ())][channel_axis:][:1]
    found = policy.loaded(*channels or [1])
    result: Array = found.denoise(image, noise, channel_axis=channel_axis, device=device)
    return result
