"""The embedded picture: a round plate with a whorl, bars, discs and spirals, in colour, drawn from formulas alone."""

from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.data.synthetic import Bars, Discs, Turn, Waves, Whorl, render, rise

GROUND = (244.0, 240.0, 232.0)
PAIRS = {  # dark and light colour of each part
    "core": ((22.0, 46.0, 84.0), (246.0, 236.0, 214.0)),
    "bars": ((166.0, 54.0, 46.0), (250.0, 226.0, 204.0)),
    "discs": ((24.0, 92.0, 92.0), (250.0, 196.0, 88.0)),
    "planks": ((70.0, 50.0, 96.0), (226.0, 216.0, 240.0)),
    "spirals": ((44.0, 84.0, 54.0), (214.0, 232.0, 196.0)),
}


@dataclass(frozen=True)
class Plate:
    """One colour channel of the plate (0 red, 1 green, 2 blue), or its brightness for ``channel=None``.

    A fingerprint whorl in the middle and four sectors around it: narrow bars, discs, broad planks and a three-armed
    spiral. Edges are ``soft`` pixels wide.
    """

    channel: int | None = None
    radius: float = 116.0
    soft: float = 1.6

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        right, below = rise(x + 0 * y, self.soft), rise(y + 0 * x, self.soft)
        r = (x * x + y * y).sqrt()
        inside, plate = rise(0.5 * self.radius - r, self.soft), rise(self.radius - r, self.soft)
        ring = (
            right * (1 - below) * self._paint("bars", Bars(period=17.0)(x, y))
            + (1 - right) * (1 - below) * self._paint("discs", Discs(60, spacing=15.0, radius=8.5, width=1.6)(x, y))
            + (1 - right) * below * self._paint("planks", Bars(period=36.0, hardness=4.0)(y, x))
            + right * below * self._paint("spirals", Whorl(period=12.5, arms=3)(x, y))
        )
        picture = inside * self._paint("core", Whorl(period=15.0)(x, y)) + (1 - inside) * ring
        return plate * picture + (1 - plate) * self._value(GROUND)

    def _paint(self, part: str, grey: Tensor) -> Tensor:
        dark, light = (self._value(colour) for colour in PAIRS[part])
        return dark + (light - dark) * grey / 255

    def _value(self, colour: tuple[float, float, float]) -> float:
        return sum(colour) / 3 if self.channel is None else colour[self.channel]


def plate_picture(size: int = 257, *, turn: Turn | float = 0.0, noise: float = 0.0) -> Tensor:
    """The plate in colour, ``(1, 3, size, size)``, with analytic noise of this standard deviation on every channel.

    Picture and noise turn together, from their formulas: no value is interpolated. Without noise values lie in
    [0, 255]; with noise they are not clipped.

    Examples
    --------
    >>> plate_picture(65, turn=30.0).shape
    torch.Size([1, 3, 65, 65])
    """
    layers = []
    for k in range(3):
        layer = render(Plate(k), size, turn=turn)
        if noise:
            layer = layer + render(Waves(noise, seed=k), size, turn=turn)
        layers.append(layer)
    return torch.cat(layers, dim=1)
