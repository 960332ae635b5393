"""Launches for steps in space: buffers, grids, and the Gaussians that steer."""

import torch
import triton
from torch import Tensor

from whorl.steps import SpaceForm

from .volume import gaussian_kernel, volume_kernel

__all__ = ["VolumeLaunches", "lacks"]

LAWS = {"uncoupled": 0, "isotropic": 1, "anisotropic": 2, "edge-enhancing": 3}

TILES = {0: (2, 32, 32, 64, 2), 1: (2, 32, 32, 64, 2), 2: (1, 32, 32, 64, 2), 3: (2, 32, 32, 64, 2)}
"""By law: rows of a thread, planes of a program, groups of four columns beside each other, threads, warps.

The fastest of those tried on an H200 (`python -m benchmarks.gpu.volumes`).
"""

GAUSSIAN = ((4, 512, 4), (4, 512, 4), (4, 256, 4))
"""For the Gaussians along z, y and x: rows of a program, voxels of a row, warps.

Near the fastest of those tried on an H200; larger blocks would be half empty where rows are short.
"""


def lacks(form: SpaceForm, u: Tensor) -> str:
    """What is missing for a step on these volumes; empty if nothing is."""
    if form.law not in LAWS or (form.keep and not form.rank_one):
        return f"the law {form.law!r} has no compiled form in space on CUDA devices"
    if (form.couple_channels and u.shape[1] > 1) or any(len(weights) > 1 for weights in form.taps[3:]):
        return "coupled channels have no compiled form in space on CUDA devices"
    if any(len(weights) > length for weights, length in zip(form.taps, u.shape[2:], strict=False)):
        return "a Gaussian wider than the volume has no compiled form in space on CUDA devices"
    if form.taps and not form.keep:
        return "a smoothed structure has no compiled form in space on CUDA devices"
    return ""


class VolumeLaunches:
    """Launches for one form of step; ``tile`` as in :data:`TILES`."""

    def __init__(self, form: SpaceForm, device: torch.device, tile: tuple[int, ...] | None = None) -> None:
        self.form, self.law = form, LAWS[form.law]
        self.tile = tile or TILES[self.law]
        h_z, h_y, h_x = form.spacing
        self.k_y, self.k_z, self.kappa = h_x / h_y, h_x / h_z, 1 - 2 * form.alpha
        self.unit = 1 / (16 * h_x**2)
        self.taps = [torch.tensor(weights, device=device) for weights in form.taps[:3]]

    def coefficients(self, tau: Tensor, contrast: Tensor) -> Tensor:
        """``(tau X, X / contrast²)``."""
        tau = tau / contrast if self.form.diffusivity == "tv" else tau
        return torch.stack([self.unit * tau, self.unit / contrast**2]).float()

    def step(self, u: Tensor, out: Tensor, coefficients: Tensor, steer: Tensor | None = None) -> None:
        """``out`` = one step of the volumes ``(m, z, y, x)``; ``steer`` are smoothed volumes, made here if missing."""
        if self.taps and steer is None:
            steer = self.smoothed(u)
        m, depth, height, width = u.shape
        rows, planes, across, block, warps = self.tile
        grid = (
            triton.cdiv(width, 4 * across) * triton.cdiv(height, rows * (block // across)),
            triton.cdiv(depth, planes),
            m,
        )
        volume_kernel[grid](
            u, u if steer is None else steer, out, coefficients, depth, height, width, self.k_y, self.k_z, self.kappa,
            KIND=self.form.diffusivity, LAW=self.law, CUBIC=self.k_y == self.k_z == 1.0, ROWS=rows,
            DEPTH=planes, ACROSS=across, BLOCK=block, ALIGNED=width % 4 == 0, num_warps=warps,
        )  # fmt: skip

    def smoothed(self, u: Tensor) -> Tensor:
        """The volumes that steer, smoothed along z, y and x."""
        m, depth, height, width = u.shape
        pair = [torch.empty_like(u), torch.empty_like(u)]
        # Of each axis: its length, how far its voxels are apart; rows beside each other, how many of what, how far
        # images are apart and how many there are.
        axes = (
            (depth, height * width, 1, height * width, depth * height * width, m),
            (height, width, 1, width, height * width, m * depth),
            (width, 1, width, m * depth * height, 0, 1),
        )
        source = u
        for axis, (taps, (length, apart, beside, size, stride, images)) in enumerate(zip(self.taps, axes, strict=True)):
            rows, block, warps = GAUSSIAN[axis]
            across, along = (length, size) if axis == 2 else (size, length)
            gaussian_kernel[(triton.cdiv(across, block) * triton.cdiv(along, rows), images)](
                source, pair[axis % 2], taps, length, apart, beside, size, stride,
                RADIUS=len(taps) - 1, LAST=axis == 2, ROWS=rows, BLOCK=block, num_warps=warps,
            )  # fmt: skip
            source = pair[axis % 2]
        return source
