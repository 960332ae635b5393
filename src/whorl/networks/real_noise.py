"""Noise as it is, removed by networks that know noise of one level: transform, network, and the way back."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whorl.automatic.between import colourless
from whorl.automatic.noise_model import NoiseModel, neighbours
from whorl.automatic.windows import blank, box
from whorl.networks.coarse import CoarseDenoiser, coarse_denoiser
from whorl.networks.common import CommonDenoiser, common_denoiser
from whorl.networks.denoiser import Denoiser, value_range

if TYPE_CHECKING:
    from whorl.networks.trained import TrainedNetwork

KEPT = 63
"""Side of the squares over which the mean of what is removed is put back: intensities are measurements."""

KEPT_IN_SPACE = 15
"""The same of cubes."""


@dataclass(frozen=True)
class RealDenoiser:
    r"""Removes noise of any model: :math:`v = T^{-1}(D(T(u)))` with the unbiased inverse, then :math:`v + B(u - E(v))`.

    :math:`E(v)` is the mean of noisy pictures whose clean one is v: v itself, but for Rician noise. :math:`B` is the
    mean over a square of 63 pixels. What is left of the bias in transform and network is taken away by it, so that the
    mean of every channel is that of the picture; of the noise it brings back less than a thousandth.
    Blank parts, such as the paper around a section, have no noise and stay as they are.

    Attributes
    ----------
    model : NoiseModel
        Its transform :math:`T` gives the noise a standard deviation of 1.
    denoisers : tuple of Denoiser
        :math:`D` for noise of standard deviation 1: one for all channels, or one for each channel.
    """

    model: NoiseModel
    denoisers: tuple[Denoiser | CommonDenoiser | CoarseDenoiser, ...]

    def __call__(self, u: Tensor) -> Tensor:
        """The denoised picture ``(n, c, y, x)``."""
        t = self.model.stabilise(u)
        each = t.split(1, 1) if len(self.denoisers) > 1 else (t,)
        denoised = torch.cat([denoiser(part) for denoiser, part in zip(self.denoisers, each, strict=True)], 1)
        found = self.model.restore(denoised)
        sides = [KEPT] * 2 if u.dim() == 4 else [KEPT_IN_SPACE] * 3
        mean = box((u - self.model.mean_at(found)).double(), (1, 1, *sides)) / math.prod(sides)
        empty = torch.stack([blank(plane) for plane in u.flatten(0, 1)]).view(u.shape)
        return torch.where(empty, u, found + mean.to(u.dtype))

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the result depends on."""
        space = isinstance(first := self.denoisers[0], Denoiser) and first.network.dimension == 3
        kept = KEPT_IN_SPACE if space else KEPT
        return max(denoiser.reach for denoiser in self.denoisers) + kept // 2

    def bytes_per_pixel(self, channels: int) -> float:
        """About how many bytes the computation holds for a pixel."""
        return self.denoisers[0].bytes_per_pixel(channels if len(self.denoisers) == 1 else 1) + 24.0 * channels


def real_denoiser(
    network: "TrainedNetwork",
    second: "TrainedNetwork | None",
    model: NoiseModel,
    samples: Sequence[Tensor],
    *,
    eight_bits: bool,
    separate: bool,
    grey: Callable[[], tuple["TrainedNetwork", "TrainedNetwork | None"]] | None = None,
    spacing: tuple[float, ...] = (),
) -> RealDenoiser:
    """What removes the noise of this model from pictures ``(n, c, y, x)`` of which the samples show the range.

    ``separate`` treats channels one by one, each with its own range; ``eight_bits`` says that black is 0 and white 255.
    ``grey`` gives the networks for noise that three colours have in common; ``spacing`` are sides of unequal voxels.
    """
    ends = [torch.tensor([0.0, 255.0]).view(1, 1, 1, 2).expand(1, samples[0].shape[1], 1, 2)] if eight_bits else samples
    stabilised = [model.stabilise(part) for part in ends]
    groups = [[part[:, [k]] for part in stabilised] for k in range(samples[0].shape[1])] if separate else [stabilised]
    found: list[Denoiser | CommonDenoiser | CoarseDenoiser] = []
    for k, group in enumerate(groups):
        values = torch.cat([part.flatten() for part in group])
        low, high = (float(values.min()), float(values.max())) if eight_bits else value_range(values, False)
        widths = model.correlation[k : k + 1] if separate and len(model.correlation) > 1 else model.correlation
        one = Denoiser(network, 1.0, low, high, sum(map(neighbours, widths)) / len(widths), second, spacing)
        # Noise of cameras, which is correlated in the plane, too, is left to the network that was trained for it.
        share = max(1 - one.coloured, colourless(model.common))
        found.append(
            one
            if separate or grey is None
            else coarse_denoiser(common_denoiser(one, grey, share * model.common), model, samples)
        )
    return RealDenoiser(model, tuple(found))
