"""Tables of the weights of Gaussians, as the kernels read them."""

from functools import lru_cache

import torch

__all__ = ["Gaussians", "Taps", "gaussians"]

NEGLIGIBLE = 2.0**-32
"""Taps below this share of the sum lie under the rounding of float32 and are left out (sigma = 0.1 has only such)."""

PADDING = 8
"""Zeros behind the weights of a table: a thread holds at most eight outputs, and looks past the end for the others."""

Taps = tuple[tuple[tuple[float, ...], ...], ...]
"""For every scale and axis the weights from the middle on."""


class Gaussians:
    """Tables of the weights of several Gaussians along one axis."""

    def __init__(self, taps: Taps, axis: int, device: torch.device) -> None:
        kept = [[tuple(w for w in weights if w >= NEGLIGIBLE) for weights in scale] for scale in taps]
        # The first scales have no Gaussian along either axis.
        self.skip = next((i for i, scale in enumerate(kept) if max(map(len, scale)) > 1), len(taps))
        own = [scale[axis] for scale in kept]
        self.radii = tuple(len(weights) - 1 for weights in own)
        self.taps = max(self.radii) + 1 + PADDING
        table = torch.zeros(len(own), self.taps)
        for row, weights in zip(table, own, strict=True):
            row[: len(weights)] = torch.tensor(weights, dtype=torch.float64)
        self.table = table.to(device)


@lru_cache(maxsize=32)
def gaussians(taps: Taps, axis: int, device: torch.device) -> Gaussians:
    """The tables, on the device once and for all."""
    return Gaussians(taps, axis, device)
