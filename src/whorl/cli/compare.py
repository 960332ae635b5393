"""``--compare``: a picture, its result and their difference on one sheet; of large ones also a part at full size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.evaluation.sheet import Panel, grey, sheet, views
from whorl.files.base import Page
from whorl.files.formats import open_reader
from whorl.foundations.atomic import beside
from whorl.large.pictures import colours_of
from whorl.large.windows import Window

SIDE = 512
"""Longest side of a panel, in pixels; small pictures are enlarged to about half of it."""

GAINS = (32, 16, 8, 4, 2)
"""How many times differences are made larger, so that the largest of them can be seen and are not cut off."""


def write_compare(record: dict[str, Any], words: str, target: Path, force: bool = False) -> None:
    """Draw the first page of the file that a record is about; ``words`` say what was done."""
    with open_reader(Path(record["input"])) as before, open_reader(Path(record["output"])) as after:
        drawn = _rows(before.pages[0], after.pages[0])
    with beside(target, force) as part:
        sheet(drawn, (f"{Path(record['input']).name}: {words}",)).save(
            part, "JPEG" if target.suffix.lower() in (".jpg", ".jpeg") else "PNG"
        )


def _rows(before: Page, after: Page) -> list[list[Panel]]:
    height, width = before.layout.height, before.layout.width
    factor = -(-max(height, width) // SIDE)
    if factor == 1:
        whole = [colours_of(page)(Window(0, height, 0, width)) for page in (before, after)]
        return [_row(before, whole, max(1, SIDE // 2 // max(height, width)), _gain(before, whole), "")]
    small, change = _reduced(before, after, factor)
    top, left = (factor * place for place in _busiest(change, SIDE // factor))
    window = Window(top, min(top + SIDE, height), left, min(left + SIDE, width))
    part = [colours_of(page)(window) for page in (before, after)]
    gain = _gain(before, part)
    return [
        _row(before, small, 1, gain, f", {factor} times smaller"),
        _row(before, part, 1, gain, f", full size at x, y = {left}, {top}"),
    ]


def _reduced(before: Page, after: Page, factor: int) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Both pages in means of so many pixels a side, and the mean size of their difference; read strip by strip."""
    rows, columns = before.layout.height // factor, max(before.layout.width // factor, 1)
    strips: list[list[NDArray[Any]]] = [[], [], []]
    step = max(1, 256 // factor)
    for row in range(0, max(rows, 1), step):
        end = min((row + step) * factor, max(rows, 1) * factor, before.layout.height)
        window = Window(row * factor, end, 0, min(columns * factor, before.layout.width))
        u, v = (colours_of(page)(window) for page in (before, after))
        for strip, values in zip(strips, (u, v, np.abs(u - v)), strict=True):
            blocks = values.reshape(len(values), -(-values.shape[1] // factor), -1, columns, values.shape[2] // columns)
            strip.append(blocks.mean((2, 4)))
    u, v, change = (np.concatenate(strip, 1) for strip in strips)
    return [u, v], change.mean(0)


def _busiest(change: NDArray[Any], side: int) -> tuple[int, int]:
    """Where a square of that side has most change in it; in the middle where nothing has."""
    sides = [min(side, size) for size in change.shape]
    sums = np.pad(change.astype(np.float64), ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    boxes = sums[sides[0] :, sides[1] :] - sums[: -sides[0], sides[1] :]
    boxes = boxes - (sums[sides[0] :, : -sides[1]] - sums[: -sides[0], : -sides[1]])
    if not change.any():
        return boxes.shape[0] // 2, boxes.shape[1] // 2
    row, column = np.unravel_index(boxes.argmax(), boxes.shape)
    return int(row), int(column)


def _gain(page: Page, pair: Sequence[NDArray[Any]]) -> int:
    """How many times to enlarge the difference in grey values of the panels."""
    largest = float(np.quantile(np.abs(_difference(page, pair)), 0.999))
    return next((gain for gain in GAINS if gain * largest <= 127), 1)


def _difference(page: Page, pair: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """After minus before, in the grey values of the panels."""
    shown = slice(None) if len(pair[0]) == 3 else slice(1)
    spread = 255.0 if page.layout.dtype == np.uint8 else float(np.ptp(np.quantile(pair[0][shown], (0.002, 0.998))))
    change: NDArray[Any] = (pair[1][shown] - pair[0][shown]) * (255 / max(spread, 1e-12))
    return change


def _row(page: Page, pair: Sequence[NDArray[Any]], zoom: int, gain: int, where: str) -> list[Panel]:
    change = _difference(page, pair)
    pixels = [*views(*pair, eight_bits=page.layout.dtype == np.uint8), grey(np.clip(127.5 + gain * change, 0, 255))]
    tall, wide = (round(zoom * size * side) for size, side in zip(pair[0].shape[1:], page.metadata.aspect, strict=True))
    last = f"difference x {gain}; grey: none" if change.any() else "no difference"
    titles = (f"before{where}", "after", last)
    return [(title, one, (max(tall, 1), max(wide, 1))) for title, one in zip(titles, pixels, strict=True)]
