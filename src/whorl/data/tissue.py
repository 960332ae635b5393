r"""Volumes drawn as level sets of random fields: folded sheets, layers, vessels, fibres and grains, as tissue has them.

Where a smooth random field :math:`f` crosses a level there is a winding surface, and
:math:`d = (f - t) / |\nabla f|` is about the distance to it in voxels. Half-spaces :math:`d > 0`, sheets
:math:`|d| < h`, pairs of sheets, and tubes :math:`d_1^2 + d_2^2 < h^2` about the lines where two fields cross their
levels are laid upon each other, flat or with texture of a spectrum that falls like a power. Shading, blur and sometimes
a wedge of missing waves come last.
"""

from collections.abc import Iterable
from math import pi

import numpy as np
import torch
from torch import Tensor

from whorl.data.leaves import in_grey_values, standardised
from whorl.data.noise import Split, stream
from whorl.errors import ShapeError

LAYERS = 9
_OWN, _EACH, _FIELDS = 24, 20, 6  # numbers of a volume and of a layer, each used once; fields of white noise
_SHEET, _PAIR, _TUBE = 2, 3, 4  # kinds of layers; the other two are half-spaces and grains


def drawn_tissue(
    numbers: Iterable[int], size: int = 32, split: Split = "train", seed: int = 0, device: str | torch.device = "cpu"
) -> Tensor:
    """Volumes with these numbers: ``(n, 1, size, size, size)``, float32, grey values from 0 to 255.

    Each has its own stream of random numbers, which does not depend on the others nor on the device.

    >>> u = drawn_tissue([5], size=8)
    >>> u.shape, bool((drawn_tissue([4, 5], size=8)[1] - u[0]).abs().max() < 1e-2)
    (torch.Size([1, 1, 8, 8, 8]), True)
    """
    chosen = list(numbers)
    if not chosen or size < 8:
        raise ShapeError(f"drawn_tissue({chosen}, size={size}): give a number or more, and at least 8 voxels a side.")
    rngs = [stream("scene", split, seed, number) for number in chosen]
    each = [
        (
            rng.random(_OWN, np.float32),
            rng.random((LAYERS, _EACH), np.float32),
            rng.standard_normal((LAYERS + 2, 2, _FIELDS + 3), np.float32),
            rng.standard_normal((_FIELDS, size, size, size), np.float32),
        )
        for rng in rngs
    ]
    own, layers, mixes, white = (torch.from_numpy(np.stack(part)).to(device) for part in zip(*each, strict=True))
    waves = WhiteWaves(white)
    U = iter(own.T[..., None, None, None])
    contrast, middle = 50 + 205 * next(U) ** 0.7, 255 * next(U)
    texture = waves.field(mixes[:, -1, 0], 0.3 + 0.7 * next(U), 2.2 * next(U))
    coarse = waves.field(mixes[:, -1, 1], size / 6, 0)
    u = middle + (next(U) < 0.5) * 30 * next(U) ** 2 * texture
    for i in range(LAYERS):
        u = _with_layer(u, waves, layers[:, i], mixes[:, i], texture, middle, contrast)
    u = u * (1 + (next(U) < 0.5) * 0.2 * next(U) * coarse)
    u = u + (next(U) < 0.4) * 10 * next(U) ** 2 * waves.field(mixes[:, -2, 0], 0.4, 2 * next(U))
    blur, flat, axis = 2.2 * next(U) ** 1.7, 1 + (next(U) < 0.2) * 2 * next(U), (3 * next(U)).long()
    widths = [torch.where(axis == k, blur * flat, blur) for k in range(3)]
    u = waves.imaged(u, widths, next(U) < 0.15, (6 * next(U)).long(), torch.tan(pi / 180 * (45 + 25 * next(U))))
    return in_grey_values(u, next(U) < 0.5, 0.25 + 0.75 * next(U), next(U))


class WhiteWaves:
    """The waves of white noise, from which random fields with the same spectrum are mixed; all is periodic."""

    def __init__(self, white: Tensor) -> None:
        self.white, size = torch.fft.rfftn(white, dim=(-3, -2, -1)), white.shape[-1]
        whole, half = (2 * pi * f(size, device=white.device) for f in (torch.fft.fftfreq, torch.fft.rfftfreq))
        self.size, self.k = size, (whole[:, None, None], whole[:, None], half)
        self.square: Tensor = self.k[0].square() + self.k[1].square() + self.k[2].square()

    def field(self, mix: Tensor, width: Tensor | float, slope: Tensor | float, stretch: Tensor | float = 1.0) -> Tensor:
        """A field with deviation 1: a power law with a Gaussian cut-off, drawn out along a direction."""
        mixed = torch.einsum("nf,nfzyx->nzyx", mix[:, :_FIELDS].to(self.white.dtype), self.white)
        direction = torch.nn.functional.normalize(mix[:, _FIELDS:], dim=1)[..., None, None, None]
        along = sum(direction[:, i] * k for i, k in enumerate(self.k))
        square = self.square + (stretch**2 - 1) * along.square()
        weight = (square + (2 * pi / self.size) ** 2) ** (-0.5 * slope) * torch.exp(-0.5 * width**2 * square)
        return standardised(self._back(mixed * weight))

    def imaged(self, u: Tensor, widths: list[Tensor], wedge: Tensor, axes: Tensor, tangent: Tensor) -> Tensor:
        """Volumes after Gaussians of three widths; those with a wedge lose the waves steeper than a tangent."""
        factor = torch.exp(-0.5 * sum((width * k).square() for width, k in zip(widths, self.k, strict=True)))
        for number, (i, j) in enumerate(((0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1))):
            missing = self.k[i].abs() > self.k[j].abs() * tangent
            factor = factor * ~(wedge & (axes == number) & missing)
        return self._back(torch.fft.rfftn(u, dim=(-3, -2, -1)) * factor)

    def _back(self, waves: Tensor) -> Tensor:
        u: Tensor = torch.fft.irfftn(waves, s=(self.size,) * 3, dim=(-3, -2, -1))
        return u


def _distance(f: Tensor, level: Tensor) -> Tensor:
    """About how many voxels away a level is; where the field is flat, no further than its mean slope says."""
    slopes = torch.stack([f.roll(-1, axis) - f.roll(1, axis) for axis in (1, 2, 3)]).norm(dim=0) / 2
    distance: Tensor = (f - level) / (slopes + 0.3 * slopes.mean((1, 2, 3), keepdim=True)).clamp(min=1e-6)
    return distance


def _with_layer(
    u: Tensor, waves: WhiteWaves, numbers: Tensor, mixes: Tensor, texture: Tensor, middle: Tensor, contrast: Tensor
) -> Tensor:
    """Volumes with one layer more, which hides what lies below."""
    U = iter(numbers.T[..., None, None, None])
    kind = (6 * next(U)).long() % 5  # half-spaces twice as often as the others
    width = 1.5 * (waves.size / 9) ** next(U)
    stretch = 1 + (next(U) < 0.3) * 4 * next(U)
    f = waves.field(mixes[:, 0], width, 0.5 * next(U), stretch)
    g = waves.field(mixes[:, 1], width.clamp(min=2.5), 0.0)
    thick = 0.6 * 5 ** next(U)
    grains = kind == 1
    level = torch.where(grains, 1.0 + next(U), 1.6 * (next(U) - 0.5))
    d, e = _distance(f, level), _distance(g, 1.6 * (next(U) - 0.5))
    inside = torch.where(kind == _SHEET, thick - d.abs(), d)
    inside = torch.where(kind == _PAIR, 1.3 - (d.abs() - 1.5 - 0.5 * thick).abs(), inside)
    inside = torch.where(kind == _TUBE, thick - (d.square() + e.square()).sqrt(), inside)
    grey = middle + contrast * (next(U) - 0.5)
    grey = grey + (next(U) < 0.4) * 40 * next(U) ** 2 * texture + (next(U) < 0.3) * 20 * (next(U) - 0.5) * g
    covered: Tensor = u + (inside + 0.5).clamp(0, 1) * (0.5 + 0.5 * next(U)) * (grey - u)
    return covered
