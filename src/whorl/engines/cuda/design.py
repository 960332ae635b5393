"""What a block computes and how its work is cut into programs."""

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

from .diffusivity import ANISOTROPIC, UNCOUPLED

__all__ = ["Design", "Tiling"]

NEGLIGIBLE = 2.0**-32
"""Taps below this share of the sum lie under the rounding of float32 and are left out (sigma = 0.1 has only such)."""

PADDING = 7
"""Zeros on either side of compiled weights: a thread holds at most eight outputs."""


@dataclass(frozen=True)
class Design:
    """What a block computes: the constants that are compiled in or passed by value.

    `taps` holds the weights w_0 .. w_R of every scale's Gaussian; empty means the cell step on the image itself.
    `structure` holds those of another Gaussian, `structure_alpha` the alpha of the gradient after it, that serve the
    diffusion tensor alone; empty for none.
    `channels` counts the image channels that share one tensor.
    """

    coupling: int
    kind: int
    alpha: float
    gamma: float = 0.0
    spacing: tuple[float, ...] = (1.0, 1.0)
    taps: tuple[tuple[float, ...], ...] = ()
    channels: int = 1
    structure: tuple[float, ...] = ()
    structure_alpha: float | None = None

    @property
    def scales(self) -> int:
        """Number of smoothed copies of the image, 1 for the cell step."""
        return max(len(self.taps), 1)

    @property
    def parts(self) -> int:
        """Entries of the diffusion tensor that are stored."""
        return {UNCOUPLED: 2, ANISOTROPIC: 3}.get(self.coupling, 1)

    @property
    def unit(self) -> float:
        """X = 1/(4 hx^2); tau and 1/contrast^2 carry this factor."""
        return 0.25 / self.spacing[1] ** 2

    @cached_property
    def gaussians(self) -> "Gaussians":
        """The Gaussians of all scales, as kernels take them; of the structure where there are no scales."""
        return Gaussians(self.taps or (self.structure or (1.0,),))


class Gaussians:
    """Weights of several Gaussians: compiled in, and as a table for those too wide for that."""

    def __init__(self, taps: tuple[tuple[float, ...], ...]) -> None:
        kept = [tuple(w for w in weights if w >= NEGLIGIBLE) for weights in taps]
        self.radii = tuple(len(weights) - 1 for weights in kept)
        zeros = (0.0,) * PADDING
        self.weights = tuple(zeros + weights[:0:-1] + weights + zeros for weights in kept)
        self.skip = next((i for i, radius in enumerate(self.radii) if radius), len(self.radii))
        self.taps = max(self.radii) + 1 + PADDING + 1
        self._kept = kept

    def table(self, device: torch.device) -> Tensor:
        """One row per scale, followed by zeros."""
        table = torch.zeros(len(self._kept), self.taps)
        for row, weights in zip(table, self._kept, strict=True):
            row[: len(weights)] = torch.tensor(weights, dtype=torch.float64)
        return table.to(device)


@dataclass(frozen=True)
class Tiling:
    """How the work is cut; none of it changes a result beyond the order of the parameter sums.

    `unroll` is the largest radius of a Gaussian whose taps are compiled in. `fixed` compiles the sizes of images in,
    too: worth its seconds of compiling where many images of one size pass, as in training. The rest was the fastest for
    batches of ten images of 256 x 256 on an H200 (`python -m benchmarks.gpu`).
    """

    down: tuple[int, int, int, int] = (8, 4, 128, 8)  # blocks of rows, rows of a block (4 or 8), columns, warps
    across: tuple[int, int, int] = (8, 64, 4)  # rows, groups of four columns, warps
    gather: tuple[int, int, int, int] = (4, 8, 64, 4)  # as down
    cells: tuple[int, int, int] = (128, 4, 8)  # groups of four cells, warps, unrolled scales
    cells_adjoint: tuple[int, int, int] = (128, 4, 8)
    strips: tuple[int, int, int] = (8, 8, 32)  # scales, rows, groups of four columns
    strips_adjoint: tuple[int, int, int] = (1, 8, 32)
    step: tuple[int, int, int] = (32, 64, 2)  # rows, groups of four columns, warps
    unroll: int = 32
    fixed: bool = False

    @classmethod
    def of(cls, design: Design, *, unroll: int = 32, fixed: bool = False) -> "Tiling":
        """The fastest for this coupling: larger tensors leave less room for what else a thread holds."""
        tiling = cls(unroll=unroll, fixed=fixed)
        if design.coupling == UNCOUPLED:
            return replace(tiling, cells=(32, 1, 8), strips=(8, 4, 32))
        if design.coupling == ANISOTROPIC:
            return replace(tiling, cells_adjoint=(128, 4, 2), strips=(1, 8, 32), strips_adjoint=(8, 4, 32))
        return tiling
