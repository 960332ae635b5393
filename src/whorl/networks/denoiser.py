"""A network for photographs at work on pictures of any range and any noise level."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from whorl.errors import ShapeError

if TYPE_CHECKING:
    from whorl.networks.photo import PhotoNetwork

__all__ = ["Denoiser", "value_range"]

MIDDLE = 127.5
_TAIL = 0.002  # share of the darkest and of the brightest samples that a range leaves out


@dataclass(frozen=True)
class Denoiser:
    r"""Removes noise of one level: :math:`u \mapsto m + (N(c\,(u - m) + 127.5;\, c\,\sigma) - 127.5) / c`.

    The factor :math:`c` takes the range of the picture to that of 8 bits. Where the noise then lies outside the levels
    that the network is trained for, c is chosen so that it has the nearest one. A network for grey pictures takes the
    channels of a colour picture one by one; one for colour takes pictures with three channels alone.

    Attributes
    ----------
    network : PhotoNetwork
        The trained network.
    noise : float
        Standard deviation of the noise in the picture's own units.
    low, high : float
        The range of the picture; 0 and 255 for 8 bits.
    """

    network: "PhotoNetwork"
    noise: float
    low: float = 0.0
    high: float = 255.0

    @property
    def factor(self) -> float:
        """What the picture is multiplied with."""
        factor = 255 / (self.high - self.low)
        smallest, largest = self.network.spec.noise
        return factor * min(max(self.noise * factor, smallest), largest) / (self.noise * factor)

    def __call__(self, u: Tensor) -> Tensor:
        """The denoised picture ``(n, c, y, x)``."""
        middle, factor = 0.5 * (self.low + self.high), self.factor
        channels = self.network.spec.channels
        if channels > 1 and u.shape[1] != channels:
            raise ShapeError(
                f"denoise: this network takes pictures with {channels} channels, got {u.shape[1]}. Use one for grey "
                "pictures, such as photo-grey."
            )
        v = factor * (u - middle) + MIDDLE
        single = v if v.shape[1] == channels else v.flatten(0, 1)[:, None]
        with torch.no_grad():
            result: Tensor = self.network(single.float(), self.noise * factor).to(u.dtype)
        if v.shape[1] != channels:
            result = result.reshape(v.shape)
        return middle + (result - MIDDLE) / factor

    @property
    def reach(self) -> int:
        """How many pixels around a pixel the result depends on."""
        return self.network.reach

    def bytes_per_pixel(self, channels: int) -> float:
        """What the computation takes for a pixel, about."""
        alone = 1 if channels == self.network.spec.channels else channels
        return 4.0 * alone * self.network.floats_per_pixel


def value_range(samples: Tensor, eight_bits: bool) -> tuple[float, float]:
    """The darkest and the brightest value that a picture makes use of; 0 and 255 where it has 8 bits.

    >>> value_range(torch.linspace(0, 1, 1001), False)  # doctest: +ELLIPSIS
    (0.002..., 0.998...)
    """
    if eight_bits:
        return 0.0, 255.0
    flat = samples.flatten().float()
    flat = flat[:: max(1, len(flat) // 1_000_000)].sort().values
    cut = int(_TAIL * (len(flat) - 1))
    low, high = float(flat[cut]), float(flat[len(flat) - 1 - cut])
    return (low, high) if high > low else (low - 127.5, low + 127.5)
