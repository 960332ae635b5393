"""How well a network denoises photographs."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.data.noise import gaussian_noise
from whorl.metrics import psnr

__all__ = ["denoised_psnr", "noisy_picture"]


def noisy_picture(picture: NDArray[np.uint8], number: int, noise: float, seed: int = 0) -> Tensor:
    """Picture ``number`` of a test with white Gaussian noise, not clipped: ``(1, c, y, x)``, float32."""
    shape = (1, *picture.shape)
    drawn = gaussian_noise(1, shape[1:], noise, "test", seed * 100_003 + number)
    return torch.from_numpy(picture.astype(np.float32))[None] + drawn


def denoised_psnr(
    denoise: Callable[[Tensor], Tensor],
    pictures: Mapping[str, NDArray[np.uint8]],
    noise: float,
    seed: int = 0,
    *,
    device: str | torch.device = "cpu",
    advance: Callable[[int], None] | None = None,
) -> dict[str, float]:
    """PSNR in dB of each picture, by name: the noise is not clipped, the result is clipped to [0, 255].

    The noise of a picture depends on its position in the list, its size and the seed.
    """
    found = {}
    for number, (name, picture) in enumerate(pictures.items()):
        noisy = noisy_picture(picture, number, noise, seed).to(device)
        with torch.no_grad():
            result = denoise(noisy).float().cpu().clamp(0, 255)
        clean = torch.from_numpy(picture.astype(np.float32))[None]
        found[name] = float(psnr(result, clean, value_range=255))
        if advance is not None:
            advance(1)
    return found
