"""Launches for steps in space: buffers, grids, and the Gaussians that steer."""

import torch
import triton
from torch import Tensor

from whorl.engines.capabilities import EDGES, VARIATIONAL
from whorl.engines.cuda.diffusivity import Law
from whorl.engines.cuda.rows import Cut
from whorl.engines.cuda.space.smoothing import gaussian_kernel
from whorl.engines.cuda.space.step import volume_kernel
from whorl.operators.derivative import Taps
from whorl.steps import Form

_TILES = (32, 4, 32, 3, 168), (43, 4, 32, 3, 168), (32, 2, 32, 1, 168), (86, 3, 32, 3, 248)
TILES = dict(zip((*VARIATIONAL, EDGES[0]), _TILES, strict=True))
"""By law: planes of a program, rows of a thread, threads beside each other, stages of loads, registers of a thread.

The fastest of those tried on an H200 (`python -m benchmarks.gpu.volumes`).
"""

GAUSSIAN = {"all": (64, 2, 32, 1, 2), "z": (64, 1, 32, 3, 0), "y": (4, 8, 32, 1, 0), "x": (4, 4, 32, 1, 0)}
"""For the Gaussians along all axes, or one of them: as above, but planes brought into the cache ahead at the end."""

NVIDIA = torch.version.hip is None
"""Only these devices, and not the interpreter, know the instruction that brings planes into the cache."""

NEAR = 4
"""The largest radius of Gaussians that go along all axes in one pass: wider ones have too many sums for registers."""


class VolumeLaunches:
    """Launches for one form of step; ``tile`` as in :data:`TILES`."""

    def __init__(self, form: Form, device: torch.device, tile: tuple[int, ...] | None = None) -> None:
        self.form, self.law = form, Law.of(form)
        self.tile = tile or TILES[form.law]
        h_z, h_y, h_x = form.flux.spacing
        self.cell = h_x / h_y, h_x / h_z, 1 - 2 * form.flux.alpha
        self.unit = 1 / (16 * h_x**2)
        self.passes = [Pass(*each, device) for each in passes(form.steering[:3])]

    def coefficients(self, tau: Tensor, contrast: Tensor) -> Tensor:
        """``(tau X, X / contrast²)``."""
        tau = tau / contrast if self.form.diffusivity == "tv" else tau
        return torch.stack([self.unit * tau, self.unit / contrast**2]).float()

    def step(self, u: Tensor, out: Tensor, coefficients: Tensor, steer: Tensor | None = None) -> None:
        """``out`` = one step of the volumes ``(m, z, y, x)``; ``steer`` are smoothed volumes, made here if missing."""
        if self.passes and steer is None:
            steer = self.smoothed(u)
        m, depth, height, width = u.shape
        planes, rows, block, stages, registers = self.tile
        cut = Cut(planes, rows, block, ALIGNED=width % 4 == 0)
        tiles = triton.cdiv(width, 4 * cut.BLOCK) * triton.cdiv(height, cut.ROWS)
        volume_kernel[tiles, triton.cdiv(depth, cut.GROUP), m](
            u, u if steer is None else steer, out, coefficients, (depth, height, width), self.cell, self.law, cut,
            stages, num_warps=1, maxnreg=registers,
        )  # fmt: skip

    def smoothed(self, u: Tensor) -> Tensor:
        """The volumes that steer, smoothed along z, y and x."""
        for each in self.passes:
            u = each(u)
        return u


class Pass:
    """Gaussians along one axis, or along all."""

    def __init__(self, axis: str, weights: tuple[Taps, ...], device: torch.device) -> None:
        self.radii = tuple(len(taps) - 1 for taps in weights)
        self.table = torch.tensor([w for taps in weights for w in taps], device=device)
        planes, rows, block, self.stages, self.ahead = GAUSSIAN[axis]
        self.reach = triton.cdiv(self.radii[2], 4)  # threads at either end of a program, which only lend columns
        self.cut = Cut(planes, rows, max(block, triton.next_power_of_2(4 * self.reach)))

    def __call__(self, u: Tensor) -> Tensor:
        m, depth, height, width = u.shape
        target = torch.empty_like(u)
        tiles = triton.cdiv(width, 4 * (self.cut.BLOCK - 2 * self.reach)) * triton.cdiv(height, self.cut.ROWS)
        ahead = self.ahead if NVIDIA and u.is_cuda else 0
        gaussian_kernel[tiles, triton.cdiv(depth, self.cut.GROUP), m](
            u, target, self.table, (depth, height, width), self.radii, self.cut._replace(ALIGNED=width % 4 == 0),
            self.stages, ahead, num_warps=1,
        )  # fmt: skip
        return target


def passes(taps: tuple[Taps, ...]) -> list[tuple[str, tuple[Taps, ...]]]:
    """The Gaussians of each pass, along z, y and x."""
    if not taps:
        return []
    if max(map(len, taps)) <= NEAR + 1:
        return [("all", taps)]
    none = (1.0,)
    return [(name, tuple(w if i == axis else none for i, w in enumerate(taps))) for axis, name in enumerate("zyx")]
