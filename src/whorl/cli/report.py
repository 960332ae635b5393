"""A sheet about one result: picture, result, what was removed, the noise, and the numbers in words."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.automatic import NoiseModel
from whorl.evaluation.noise_chart import draw_report
from whorl.files.base import Page
from whorl.files.formats import open_reader
from whorl.foundations.atomic import beside
from whorl.large.pictures import colours_of, sample_blocks
from whorl.large.windows import Window

SIDE = 512
"""Pixels along the sides of the part that is shown, in the middle of the picture."""


def write_report(record: dict[str, Any], target: Path, force: bool = False) -> None:
    """Draw the first page of the file that a record of ``whorl denoise`` is about."""
    page = record["pages"][0]
    with open_reader(Path(record["input"])) as before, open_reader(Path(record["output"])) as after:
        picture, result = (_middle(reader.pages[0]) for reader in (before, after))
        samples = [torch.from_numpy(block)[None] for block in sample_blocks(before.pages)]
    told = page.get("noise_model")
    model = NoiseModel(**told) if told else NoiseModel.constant(max(page["noise"], 1e-6))
    shown = tuple(picture.shape[:0:-1])
    part = "" if shown == (page["width"], page["height"]) else f", its middle {shown[0]} x {shown[1]}"
    title = f"{Path(record['input']).name}{part}: {page['width']} x {page['height']} {page['colour']} {page['dtype']}"
    with beside(target, force) as path:
        words = title, "\n".join(_words(page, model if told else None))
        draw_report(picture, result, samples, model, words, path, format=target.suffix.removeprefix(".") or "png")


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
        told = "after it cannot be told" if page["doubt"] else f"{after:.1f} dB after"
        full = "" if page.get("strength", 1.0) == 1 else " at full strength"
        yield f"Estimated PSNR{full}: {before:.1f} dB before, {told} (for a range of {page['peak']:.4g})."
        fit = page["residual"]
        yield (
            f"What was removed, in standard deviations of the noise: mean {fit['mean']:.2f}, "
            f"variance {fit['variance']:.2f}; neighbours correlated by {fit['neighbours']:.2f}, "
            f"by the model {fit['expected']:.2f}."
        )
        yield page["doubt"] or "It looks like noise of this model."
    else:
        yield "The PSNR is estimated where the noise is measured and the network is left to the picture."
    yield f"Network: {page['network']}."
