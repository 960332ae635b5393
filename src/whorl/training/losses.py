"""What training minimises: one number for each image of a batch."""

from typing import Literal

import torch
from torch import Tensor

__all__ = ["Loss", "image_losses"]

Loss = Literal["mse", "charbonnier", "log"]

_CHARBONNIER = 1e-3  # of the peak: differences below this count quadratically
_FLOOR = 1e-6  # of the squared peak, 60 dB: better images than this are not worth a step


def image_losses(name: Loss, difference: Tensor, peak: float) -> Tensor:
    r"""The loss of each image from the difference :math:`d = N(f) - u`, ``(n, c, y, x) -> (n,)``.

    ========================  =====================================================================================
    ``mse``                   mean of :math:`d^2`
    ``charbonnier``           mean of :math:`\sqrt{d^2 + \varepsilon^2}`, which forgives outliers
    ``log``                   logarithm of the mean of :math:`d^2`: up to its sign and unit the PSNR, so that every
                              image counts alike, however strong its noise
    ========================  =====================================================================================

    >>> image_losses("mse", torch.full((2, 1, 4, 4), 3.0), 255.0)
    tensor([9., 9.])
    """
    if name == "charbonnier":
        return (difference.square() + (_CHARBONNIER * peak) ** 2).sqrt().flatten(1).mean(1)
    squared = difference.square().flatten(1).mean(1)
    return torch.log(squared / peak**2 + _FLOOR) if name == "log" else squared
