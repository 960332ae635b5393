"""``--compare``: before, after and difference on one sheet.

Of large pictures it also shows a part at full size, of volumes slices through the middle.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.evaluation.sheet import ENDS, Panel, grey, sheet, views
from whorl.files.base import Page
from whorl.files.formats import open_reader
from whorl.files.volume import open_volume
from whorl.foundations.atomic import beside
from whorl.large.pictures import colours_of
from whorl.large.windows import Window

SIDE = 512
"""Longest side of a panel, in pixels; small pictures are enlarged to about half of it."""

GAINS = (32, 16, 8, 4, 2)
"""How many times differences are made larger, so that the largest of them can be seen and are not cut off."""


def write_compare(record: dict[str, Any], words: str, target: Path, force: bool = False, stack: bool = False) -> None:
    """Draw the first page or volume of the file that a record is about; ``words`` say what was done."""
    source, result = Path(record["input"]), Path(record["output"])
    if record["pages"][0]["colour"] == "volume":
        drawn = _slices(source, result, stack)
    else:
        with open_reader(source) as before, open_reader(result) as after:
            drawn = _rows(before.pages[0], after.pages[0])
    with beside(target, force) as part:
        sheet(drawn, (f"{source.name}: {words}",)).save(
            part, "JPEG" if target.suffix.lower() in (".jpg", ".jpeg") else "PNG"
        )


def _slices(source: Path, result: Path, stack: bool) -> list[list[Panel]]:
    """Slices across z, y and x through the middle of a volume, of up to ``SIDE`` voxels a side."""
    rows = []
    with ExitStack() as held:
        files = [held.enter_context(file) for path in (source, result) if (file := open_volume(path, stack))]
        shape, spacing = files[0].shape, np.asarray(files[0].spacing or (1.0, 1.0, 1.0))
        for axis, name in enumerate("zyx"):
            sides = [1 if other == axis else min(size, SIDE) for other, size in enumerate(shape)]
            starts = [(size - side) // 2 for size, side in zip(shape, sides, strict=True)]
            box = tuple(slice(start, start + side) for start, side in zip(starts, sides, strict=True))
            pair = [file.values(file.read(0, box)).take(0, axis + 1) for file in files]
            size = np.delete(sides * spacing, axis)
            aspect = tuple(size / size.max() * SIDE / np.array(pair[0].shape[1:]))
            rows.append(_row(pair, False, 1, _gain(pair, False), f": slice across {name}", aspect))
    return rows


def _rows(before: Page, after: Page) -> list[list[Panel]]:
    height, width = before.layout.height, before.layout.width
    factor, aspect, plain = -(-max(height, width) // SIDE), before.metadata.aspect, before.layout.dtype == np.uint8
    if factor == 1:
        whole = [colours_of(page)(Window(0, height, 0, width)) for page in (before, after)]
        return [_row(whole, plain, max(1, SIDE // 2 // max(height, width)), _gain(whole, plain), "", aspect)]
    small, change = _reduced(before, after, factor)
    top, left = (factor * place for place in _busiest(change, SIDE // factor))
    window = Window(top, min(top + SIDE, height), left, min(left + SIDE, width))
    part = [colours_of(page)(window) for page in (before, after)]
    gain = _gain(part, plain)
    return [
        _row(small, plain, 1, gain, f", {factor} times smaller", aspect),
        _row(part, plain, 1, gain, f", full size at x, y = {left}, {top}", aspect),
    ]


def _reduced(before: Page, after: Page, factor: int) -> tuple[list[NDArray[Any]], NDArray[Any]]:
    """Both pages as means over squares of pixels, and the mean size of their difference; read strip by strip."""
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
    """The place of the square of that side with most change in it; the middle where nothing changed."""
    sides = [min(side, size) for size in change.shape]
    sums = np.pad(change.astype(np.float64), ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    boxes = sums[sides[0] :, sides[1] :] - sums[: -sides[0], sides[1] :]
    boxes = boxes - (sums[sides[0] :, : -sides[1]] - sums[: -sides[0], : -sides[1]])
    if not change.any():
        return boxes.shape[0] // 2, boxes.shape[1] // 2
    row, column = np.unravel_index(boxes.argmax(), boxes.shape)
    return int(row), int(column)


def _gain(pair: Sequence[NDArray[Any]], plain: bool) -> int:
    """How many times to enlarge the difference in grey values of the panels."""
    largest = float(np.quantile(np.abs(_difference(pair, plain)), 0.999))
    return next((gain for gain in GAINS if gain * largest <= 127), 1)


def _difference(pair: Sequence[NDArray[Any]], plain: bool) -> NDArray[Any]:
    """After minus before, in the grey values of the panels; those of ``plain`` pictures are shown as they are."""
    shown = slice(None) if len(pair[0]) == 3 else slice(1)
    spread = 255.0 if plain else float(np.ptp(np.quantile(pair[0][shown], ENDS)))
    change: NDArray[Any] = (pair[1][shown] - pair[0][shown]) * (255 / max(spread, 1e-12))
    return change


def _row(
    pair: Sequence[NDArray[Any]], plain: bool, zoom: int, gain: int, where: str, aspect: Sequence[float]
) -> list[Panel]:
    change = _difference(pair, plain)
    pixels = [*views(*pair, eight_bits=plain), grey(np.clip(127.5 + gain * change, 0, 255))]
    tall, wide = (round(zoom * size * side) for size, side in zip(pair[0].shape[1:], aspect, strict=True))
    last = f"difference x {gain}; grey: none" if change.any() else "no difference"
    titles = (f"before{where}", "after", last)
    return [(title, one, (max(tall, 1), max(wide, 1))) for title, one in zip(titles, pixels, strict=True)]
