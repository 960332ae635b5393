"""Denoising for people: an array in, the same kind of array out."""

from pathlib import Path
from typing import Any, TypeVar

import torch

from whorl.foundations.arrays import to_tensor
from whorl.networks.cards import load
from whorl.networks.trained import TrainedNetwork

__all__ = ["COLOUR", "GREY", "denoise"]

GREY, COLOUR = "photo-grey", "photo-colour"
"""The networks for pictures with one channel and with three."""

Array = TypeVar("Array", bound=Any)


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
    if network is None:
        colour = channel_axis is not None and to_tensor(image, channel_axis, "denoise").shape[1] == 3
        network = COLOUR if colour else GREY
    found = network if isinstance(network, TrainedNetwork) else load(network)
    result: Array = found.denoise(image, noise, channel_axis=channel_axis, device=device)
    return result
