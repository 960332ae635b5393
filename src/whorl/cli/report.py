"""A sheet about one result: picture, result, what was removed, the noise, and the numbers in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.automatic import NoiseModel
from whorl.automatic.answer import MOST
from whorl.evaluation.noise_chart import draw_report
from whorl.files.base import Page
from whorl.files.formats import open_reader
from whorl.files.volume import open_volume
from whorl.foundations.atomic import beside
from whorl.large.pictures import colours_of, sample_blocks
from whorl.large.volumes import sample_boxes
from whorl.large.windows import Window

SIDE = 512
"""Pixels along the sides of the part that is shown, in the middle of the picture."""


def write_report(record: dict[str, Any], target: Path, force: bool = False, stack: bool = False) -> None:
    """Draw the first page, or a slice of the first volume, of the file that a record of ``whorl denoise`` is about."""
    page, source = record["pages"][0], Path(record["input"])
    picture, result, samples = (_slice if "depth" in page else _pages)(source, Path(record["output"]), stack)
    told = page.get("noise_model")
    model = NoiseModel(**told) if told else NoiseModel.constant(max(page["noise"], 1e-6))
    shown = tuple(picture.shape[:0:-1])
    part = "" if shown == (page["width"], page["height"]) else f", its middle {shown[0]} x {shown[1]}"
    part, size = (f", slice {page['depth'] // 2}{part}", f" x {page['depth']}") if "depth" in page else (part, "")
    title = f"{source.name}{part}: {page['width']} x {page['height']}{size} {page['colour']} {page['dtype']}"
    with beside(target, force) as path:
        words = title, "\n".join(_words(page, model if told else None))
        draw_report(picture, result, samples, model, words, path, format=target.suffix.removeprefix(".") or "png")


Shown = tuple[Tensor, Tensor, list[Tensor]]
"""Picture and result, ``(c, y, x)``, and samples of the picture, ``(1, c, y, x)``."""


def _pages(source: Path, target: Path, stack: bool) -> Shown:
    """The middles of the first pages; samples of all pages."""
    with open_reader(source) as before, open_reader(target) as after:
        samples = [torch.from_numpy(block)[None] for block in sample_blocks(before.pages)]
        return _middle(before.pages[0]), _middle(after.pages[0]), samples


def _slice(source: Path, target: Path, stack: bool) -> Shown:
    """The middles of the slices across z in the middle; samples of all volumes, slice by slice."""
    shown: list[Tensor] = []
    samples: list[Tensor] = []
    for path in (source, target):
        file = open_volume(path, stack)
        assert file is not None
        with file:
            depth, *plane = file.shape
            box = (
                slice(depth // 2, depth // 2 + 1),
                *(slice(max(n - SIDE, 0) // 2, min((n + SIDE) // 2, n)) for n in plane),
            )
            shown.append(torch.from_numpy(file.values(file.read(0, box))[:, 0]))
            if path is source:
                for block in map(torch.from_numpy, sample_boxes(file)):
                    samples += [across[None] for across in block.unbind(1)]
    return shown[0], shown[1], samples


def _middle(page: Page) -> Tensor:
    """The part of a page that is shown, ``(c, y, x)``."""
    ends = []
    for size in (page.layout.height, page.layout.width):
        start = max(size - SIDE, 0) // 2
        ends += [start, min(start + SIDE, size)]
    return torch.from_numpy(colours_of(page)(Window(*ends)))


def _words(page: dict[str, Any], model: NoiseModel | None) -> Iterator[str]:
    if model is None:
        yield f"Noise: standard deviation {page['noise']:.4g}{', measured' if page['noise_measured'] else ', as told'}."
    else:
        yield "Noise:"
        yield str(model)
        yield ""
    if page.get("copied"):
        why = "it would not be better than the picture" if page.get("returned") else "no noise was found"
        yield f"There is no result: {why}. The picture was copied."
        return
    if "psnr_expected" in page:
        before, after = page["psnr_expected"]
        more = " or more" if page["gain_expected"] >= MOST else ""
        told = "after it cannot be told" if page["doubt"] else f"{after:.1f} dB{more} after"
        full = "" if page.get("strength", 1.0) == 1 else " at full strength"
        yield f"Estimated PSNR{full}: {before:.1f} dB before, {told} (for a range of {page['peak']:.4g})."
        fit = page["residual"]
        yield (
            f"What was removed, in standard deviations of the noise: mean {fit['mean']:.2f}, "
            f"variance {fit['variance']:.2f}; neighbours correlated by {fit['neighbours']:.2f}, "
            f"by the model {fit['expected']:.2f}."
        )
        yield page["doubt"] or "It looks like noise of this model."
    elif "depth" in page:
        yield "The PSNR is estimated for pictures, not for volumes."
    else:
        yield "The PSNR is estimated where the noise is measured and the network is left to the picture."
    yield f"Network: {page['network']}."
