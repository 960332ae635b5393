r"""Turn errors on noisy photographs, free of interpolation: band-limited pictures are functions of the plane.

A photograph with noise is made a sum of waves by its discrete Fourier transform, of which those above a stated
frequency are left out. This sum has a value at every point, so it can be sampled on the pixel lattice and on a turned
one; both are denoised, and what was removed must agree at the pixels that the lattices share.
"""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor

from whorl.data.synthetic import Turn
from whorl.errors import ShapeError
from whorl.invariance.coincidence import TurnError, turned_changes
from whorl.invariance.filters import Filter

__all__ = ["PHOTO_TURNS", "band_limited", "noisy_turn_error"]

PHOTO_TURNS = (Turn(4, 3, 5), Turn(12, 5, 13))
"""Turns by 36.9 and 22.6 degrees, which carry every fifth and every 13th pixel onto a pixel."""


def band_limited(picture: Tensor, size: int, turn: Turn | None = None, frequency: float = 0.35) -> Tensor:
    """A square picture ``(c, y, x)`` without its waves above ``frequency``, on a (turned) lattice about its middle.

    >>> u = torch.rand(1, 64, 64, dtype=torch.float64)
    >>> band_limited(u, 33).shape
    torch.Size([1, 33, 33])
    """
    rows, columns = picture.shape[1:]
    if rows != columns:
        raise ShapeError(f"band_limited: expected a square picture, got {rows} x {columns}. Cut it.")
    waves = torch.fft.fft2(picture.double()) / (rows * columns)
    k = torch.fft.fftfreq(rows, dtype=torch.float64)
    ky, kx = (part.flatten() for part in torch.meshgrid(k, k, indexing="ij"))
    kept = ky.square() + kx.square() <= frequency**2
    ky, kx, waves = ky[kept], kx[kept], waves.flatten(1)[:, kept]
    cosine, sine = (1.0, 0.0) if turn is None else (turn.cosine / turn.norm, turn.sine / turn.norm)
    # A turned lattice is an upright one for waves turned backwards, and then rows and columns factorise.
    turned_y, turned_x = cosine * ky - sine * kx, cosine * kx + sine * ky
    steps = torch.arange(size, dtype=torch.float64) - size // 2
    middle = waves * torch.exp(2j * torch.pi * (ky + kx) * (rows // 2))
    across = torch.exp(2j * torch.pi * turned_x[:, None] * steps)
    down = torch.exp(2j * torch.pi * turned_y[:, None] * steps)
    return torch.stack([((part[:, None] * down).mT @ across).real for part in middle])


def noisy_turn_error(
    filter: Filter,
    pictures: Sequence[Tensor],
    *,
    turns: Sequence[Turn] = PHOTO_TURNS,
    frequency: float = 0.35,
    size: int = 129,
    margin: int = 20,
    dtype: torch.dtype = torch.float32,
    device: str | torch.device = "cpu",
) -> tuple[TurnError, ...]:
    """Denoise pictures upright and turned and compare what was removed: one result for each turn, over all pictures.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``.
    pictures : sequence of Tensor
        Noisy, square, ``(c, y, x)``, at least 1.42 times ``size`` along a side. Waves above ``frequency`` are left out.
    turns : sequence of Turn
        With integer coefficients.
    frequency : float
        In cycles per pixel.
    size, margin : int
        Of the frame that is filtered (odd), and how far from its inscribed circle pixels are left out.
    dtype, device
        How pictures are handed to the filter.
    """
    if size % 2 == 0 or any(min(picture.shape[1:]) < 1.42 * size for picture in pictures):
        raise ShapeError(f"noisy_turn_error(size={size}): needs an odd size and pictures of {1.42 * size:.0f} pixels.")
    found = []
    for picture in pictures:
        draw = partial(_drawn, picture, size, frequency)
        found.append(turned_changes("noisy_turn_error", filter, draw, turns, size, margin, dtype, device))
    errors = []
    for turn, parts in zip(turns, zip(*found, strict=True), strict=True):
        upright, turned = (torch.cat([part[i].flatten() for part in parts]) for i in (0, 1))
        errors.append(TurnError.of(turn.angle, upright, turned))
    return tuple(errors)


def _drawn(picture: Tensor, size: int, frequency: float, turn: Turn | None) -> Tensor:
    return band_limited(picture, size, turn, frequency)[None]
