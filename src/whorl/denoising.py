"""Denoising for people: an array in, the same kind of array out."""

from pathlib import Path
from typing import Any, TypeVar

import torch

from whorl.automatic import noise_level
from whorl.images import from_tensor, to_tensor
from whorl.networks.denoiser import Denoiser, value_range
from whorl.networks.photo_cards import load_photo_card

__all__ = ["COLOUR", "GREY", "denoise"]

GREY, COLOUR = "photo-grey", "photo-colour"
"""The networks for pictures with one channel and with three."""

Array = TypeVar("Array", bound=Any)


def denoise(
    image: Array,
    noise: float | None = None,
    *,
    channel_axis: int | None = None,
    network: str | Path | None = None,
    device: str | torch.device | None = None,
) -> Array:
    """Remove white Gaussian noise from a photograph with a trained network.

    Parameters
    ----------
    image : numpy.ndarray or torch.Tensor
        ``(y, x)``, or colour with a ``channel_axis``. Integers come back rounded, in the type of the image.
    noise : float, optional
        Standard deviation of the noise in the image's own units; estimated from the finest details by default.
    channel_axis : int, optional
        The axis of the channels; None for a grey image.
    network : str or Path, optional
        A network of the package or a file; by default ``photo-grey`` or ``photo-colour``.
    device : optional
        Where to compute; the result comes back to where the image was.

    Examples
    --------
    >>> import numpy as np
    >>> noisy = np.random.default_rng(0).normal(100, 25, (32, 32))
    >>> bool(denoise(noisy, noise=25).std() < 5)
    True
    """
    u = to_tensor(image, channel_axis)
    if u.dim() != 4:
        raise ValueError(f"denoise: expected a picture (y, x) or colour with a channel_axis, got {tuple(image.shape)}.")
    if noise is None:
        noise = noise_level([u])
        if noise == 0:
            return image.clone() if isinstance(image, torch.Tensor) else image.copy()  # type: ignore[return-value]
    if not 0 < noise < float("inf"):
        raise ValueError(f"denoise(noise={noise}): expected a positive standard deviation in the image's own units.")
    card = load_photo_card(network or (COLOUR if u.shape[1] == 3 else GREY))
    target = u.device if device is None else torch.device(device)
    eight_bits = str(image.dtype).removeprefix("torch.") == "uint8"
    remover = Denoiser(card.build().to(target), float(noise), *value_range(u, eight_bits))
    return from_tensor(remover(u.to(target)), image, channel_axis)
