"""Noise that the colours of a picture have in common, removed by networks trained on channels with separate noise."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whorl.automatic.between import COMMON, colourless, rising
from whorl.networks.denoiser import Denoiser

if TYPE_CHECKING:
    from whorl.networks.trained import TrainedNetwork


@dataclass(frozen=True)
class CommonDenoiser:
    """Removes noise that three channels have in common: from their mean first, then from their colours.

    The mean is denoised as a grey picture and put back; what a network for colour pictures makes of that gives the
    colours. Where channels have little noise in common, it does all; in between both ways have a share.

    Attributes
    ----------
    mean, colours, joint : Denoiser
        For the mean of the channels, for the picture whose mean has no noise, and for noise of each channel alone.
    share : float
        The share of the result that does not come from ``joint``.
    kept : float
        The share of the colours that is kept: all of them where the noise has no colour.
    """

    mean: Denoiser
    colours: Denoiser
    joint: Denoiser
    share: float
    kept: float

    def __call__(self, u: Tensor) -> Tensor:
        """The denoised picture ``(n, 3, y, x)``."""
        grey = u.mean(1, keepdim=True)
        smooth = self.mean(grey)
        found = u - grey + smooth
        if self.kept < 1:
            colours = self.colours(found)
            found = torch.lerp(colours - colours.mean(1, keepdim=True) + smooth, found, self.kept)
        return found if self.share == 1 else torch.lerp(self.joint(u), found, self.share)

    def told(self, level: "float | Tensor") -> "CommonDenoiser":
        """The same for noise of another level, or of one for each pixel."""
        factor = level / self.joint.noise
        mean, colours, joint = (one.told(factor * one.noise) for one in (self.mean, self.colours, self.joint))
        return replace(self, mean=mean, colours=colours, joint=joint)

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the result depends on."""
        return self.mean.reach + self.colours.reach

    def bytes_per_pixel(self, channels: int) -> float:
        """About how many bytes the computation holds for a pixel."""
        return self.joint.bytes_per_pixel(channels) + 12.0 * channels


def common_denoiser(
    joint: Denoiser, grey: "Callable[[], tuple[TrainedNetwork, TrainedNetwork | None]]", correlation: float
) -> Denoiser | CommonDenoiser:
    """What removes the noise of three colours with this correlation between any two.

    ``grey`` gives the networks for the mean, where they are needed: not where there is hardly any correlation.
    """
    if correlation <= COMMON[0]:
        return joint
    network, second = grey()
    mean = replace(joint, network=network, second=second, noise=joint.noise * math.sqrt((1 + 2 * correlation) / 3))
    colours = replace(joint, noise=joint.noise * math.sqrt(max(1 - correlation, 1e-6)))
    return CommonDenoiser(mean, colours, joint, rising(correlation, *COMMON), colourless(correlation))
