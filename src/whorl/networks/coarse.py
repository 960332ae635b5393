"""Noise out of a camera, coarser in its colours: the network works on them a second time, at half the scale."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from whorl.automatic.noise_model import NoiseModel
from whorl.networks.common import CommonDenoiser
from whorl.networks.denoiser import Denoiser
from whorl.operators import Smoothing

WIDTH = math.sqrt(0.5)
"""Of the Gaussian before every second pixel is taken: it leaves white noise little more than half of its level."""

LEFT = 0.5
"""The share of the level that is told at half the scale."""

FEWEST = 16
"""Pixels along a side below which there is no half scale."""


@dataclass(frozen=True)
class CoarseDenoiser:
    """The colours of a denoised picture, smoothed, are denoised once more on the four lattices of every second pixel.

    The four lattices are those of the turned picture, too. The brightness stays as the first pass has left it.

    Attributes
    ----------
    fine, coarse : Denoiser
        For the picture, and for its lattices.
    share : float
        The share of the second change that is made.
    """

    fine: Denoiser | CommonDenoiser
    coarse: Denoiser
    share: float

    def __call__(self, u: Tensor) -> Tensor:
        """The denoised picture ``(n, 3, y, x)``."""
        found = self.fine(u)
        if min(u.shape[2:]) < FEWEST:
            return found
        smooth = Smoothing(WIDTH)(found)
        change = torch.empty_like(found)
        for y, x in product(range(2), repeat=2):
            lattice = smooth[..., y::2, x::2].contiguous()
            change[..., y::2, x::2] = self.coarse(lattice) - lattice
        return found + self.share * (change - change.mean(1, keepdim=True))

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the result depends on."""
        return self.fine.reach + Smoothing(WIDTH).radius + 2 * self.coarse.reach

    def bytes_per_pixel(self, channels: int) -> float:
        """About how many bytes the computation holds for a pixel."""
        return self.fine.bytes_per_pixel(channels) + 12.0 * channels


def coarse_denoiser(
    fine: Denoiser | CommonDenoiser, model: NoiseModel, samples: Sequence[Tensor]
) -> Denoiser | CommonDenoiser | CoarseDenoiser:
    """The same with a second pass for colours, as far as the noise is that of a camera."""
    if not model.coarse or samples[0].shape[1] != 3:
        return fine
    one = fine.joint if isinstance(fine, CommonDenoiser) else fine
    return CoarseDenoiser(fine, one.told(LEFT * one.noise), model.coarse)
