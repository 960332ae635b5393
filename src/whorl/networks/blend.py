"""The smallest network there is: a picture, less a trained share of what a Gaussian takes from it."""

from dataclasses import dataclass

import torch
from torch import nn

from whorl.foundations.types import Image
from whorl.networks.trained import STRUCTURES, Spec, TrainedNetwork
from whorl.operators import Smoothing

__all__ = ["BlendNetwork", "BlendSpec"]


@dataclass(frozen=True)
class BlendSpec(Spec, kind="blend"):
    """The width of the Gaussian, and the noise it is trained for."""

    sigma: float = 1.0
    noise: float = 25.0

    def build(self) -> "BlendNetwork":
        return BlendNetwork(self)


STRUCTURES["blend-1"] = BlendSpec()


class BlendNetwork(TrainedNetwork):
    r""":math:`N(f) = f - w\,(f - G_\sigma f)` with one trained number :math:`w`."""

    def __init__(self, spec: BlendSpec) -> None:
        super().__init__()
        self.spec, self.smoothing = spec, Smoothing(spec.sigma)
        self.share = nn.Parameter(torch.tensor(0.5))

    def forward(self, picture: Image, noise: float | None = None) -> Image:
        """The denoised picture."""
        result: Image = picture - self.share * (picture - self.smoothing(picture))
        return result

    @property
    def noise_range(self) -> tuple[float, float]:
        return self.spec.noise, self.spec.noise

    @property
    def reach(self) -> int:
        return self.smoothing.radius
