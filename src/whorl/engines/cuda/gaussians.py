"""Tables of the weights of Gaussians, as the kernels read them."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

NEGLIGIBLE = 2.0**-32
"""Taps below this share of the sum lie under the rounding of float32 and are left out (sigma = 0.1 has only such)."""

PADDING = 8
"""Zeros behind the weights of a table: a thread holds at most eight outputs, and looks past the end for the others."""

GaussiansByScale = tuple[tuple[tuple[float, ...], ...], ...]
"""For every scale and axis the weights from the middle on."""


class Gaussians(NamedTuple):
    """What kernels are compiled for: a radius for every scale, how many scales at first have none, taps of a row."""

    radii: tuple[int, ...]
    skip: int
    taps: int


@lru_cache(maxsize=32)
def gaussians(taps: GaussiansByScale, axis: int, device: torch.device) -> tuple[Gaussians, Tensor]:
    """The constants of several Gaussians along one axis, and the table of their weights, copied to the device once."""
    kept = [[tuple(w for w in weights if w >= NEGLIGIBLE) for weights in scale] for scale in taps]
    skip = next((i for i, scale in enumerate(kept) if max(map(len, scale)) > 1), len(taps))  # along both axes
    own = [scale[axis] for scale in kept]
    radii = tuple(len(weights) - 1 for weights in own)
    table = torch.zeros(len(own), max(radii) + 1 + PADDING)
    for row, weights in zip(table, own, strict=True):
        row[: len(weights)] = torch.tensor(weights, dtype=torch.float64)
    return Gaussians(radii, skip, table.shape[1]), table.to(device)
