"""A look before the long run: a block of a volume, three slices through it before and after, and the time for all."""

import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from whorl.files.volume import VolumeFile
from whorl.foundations.atomic import beside
from whorl.large.plan import Plan
from whorl.large.run import check, in_window
from whorl.large.stages import Stage, halo
from whorl.large.windows import Window

PANEL = 320
"""Longest side of a slice in the picture, in pixels."""

MARGIN, LINE = 12, 22


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
    from PIL import Image, ImageDraw, ImageFont

    low, high = np.quantile(before, (0.005, 0.995))
    rows = []
    for values in (before, after):
        grey = np.clip((values - low) / max(high - low, 1e-12), 0, 1)
        rows.append([_panel((255 * grey.take(grey.shape[axis] // 2, axis)).astype(np.uint8), spacing, axis)
                     for axis in range(3)])  # fmt: skip
    widths = [panel.width for panel in rows[0]]
    height = max(panel.height for panel in rows[0])
    size = sum(widths) + 4 * MARGIN, 2 * (height + LINE + MARGIN) + MARGIN
    sheet = Image.new("L", size, 255)
    draw, font = ImageDraw.Draw(sheet), ImageFont.load_default(size=14)
    for row, (word, panels) in enumerate(zip(("before", "after"), rows, strict=True)):
        top, left = MARGIN + row * (height + LINE + MARGIN), MARGIN
        for name, panel in zip(("slice across z", "slice across y", "slice across x"), panels, strict=True):
            draw.text((left, top), f"{word}: {name}" if panel is panels[0] else name, fill=0, font=font)
            sheet.paste(panel, (left, top + LINE))
            left += panel.width + MARGIN
    return sheet


def _panel(pixels: NDArray[Any], spacing: Sequence[float], axis: int) -> Any:
    """A slice with its true proportions, every voxel a rectangle."""
    from PIL import Image

    height, width = (
        size * length for size, length in zip(pixels.shape, np.delete(np.asarray(spacing), axis), strict=True)
    )
    scale = PANEL / max(height, width)
    size = max(round(width * scale), 1), max(round(height * scale), 1)
    return Image.fromarray(pixels).resize(size, Image.Resampling.NEAREST)
