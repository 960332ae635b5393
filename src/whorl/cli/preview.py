"""A look before the long run: a block of a volume, three slices through it before and after, and the time for all."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.evaluation.sheet import sheet, views
from whorl.files.volume import VolumeFile
from whorl.foundations.atomic import beside
from whorl.large.plan import Plan
from whorl.large.run import check, in_window
from whorl.large.stages import Stage, halo
from whorl.large.windows import Window

PANEL = 320
"""Longest side of a slice in the picture, in pixels."""


def preview(
    file: VolumeFile, target: Path, stages: Sequence[Stage], plan: Plan, side: int, device: str | torch.device
) -> tuple[Path, float]:
    """Write ``NAME.preview.png`` beside the target, and tell the seconds that all volumes of the file will take.

    The block lies in the middle and has the voxels it would have in the whole result: its halo is read too.
    """
    picture = target.with_name(target.name.split(".")[0] + ".preview.png")
    sides = [min(side, size) for size in file.shape]
    starts = [(size - length) // 2 for size, length in zip(file.shape, sides, strict=True)]
    window = Window(*(n for start, length in zip(starts, sides, strict=True) for n in (start, start + length)))
    grown = window.grown(halo(stages), *file.shape)
    u = torch.from_numpy(file.values(file.read(0, grown.slices)))[None].to(device)
    check(u, stages)
    with torch.no_grad():
        in_window(u, stages, grown, window, file.shape)  # kernels are compiled, once
        start = time.perf_counter()
        after = in_window(u, stages, grown, window, file.shape)
        if after.is_cuda:
            torch.cuda.synchronize(after.device)
        seconds = time.perf_counter() - start
    block = Plan(file.shape, window.shape, (tuple(stages),))
    work = block.work * math.prod(window.shape) / math.prod(file.shape)
    before = u[window.inside(grown)][0, 0].cpu().numpy()
    with beside(picture, force=True) as part:
        _drawn(before, after[0, 0].cpu().numpy(), file.spacing or (1.0, 1.0, 1.0)).save(part, "PNG")
    return picture, seconds * file.count * plan.work / max(work, 1.0)


def _drawn(before: NDArray[Any], after: NDArray[Any], spacing: Sequence[float]) -> Any:
    """Slices across z, y and x through the middle, side by side; before above after, in the same greys."""
    rows = []
    for word, pixels in zip(
        ("before: ", "after: "), views(before.reshape(1, 1, -1), after.reshape(1, 1, -1)), strict=True
    ):
        block = pixels.reshape(before.shape)
        slices = [np.asarray(block.take(block.shape[axis] // 2, axis)) for axis in range(3)]
        rows.append([
            (f"{word if axis == 0 else ''}slice across {'zyx'[axis]}", one, _size(one.shape, spacing, axis))
            for axis, one in enumerate(slices)
        ])  # fmt: skip
    return sheet(rows)


def _size(shape: Sequence[int], spacing: Sequence[float], axis: int) -> tuple[int, int]:
    """Height and width of a slice in its true proportions, every voxel a rectangle."""
    sides = np.multiply(shape, np.delete(np.asarray(spacing), axis))
    height, width = np.maximum(np.rint(sides * (PANEL / sides.max())), 1).astype(int).tolist()
    return height, width
