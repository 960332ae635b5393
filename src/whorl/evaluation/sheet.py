"""Pictures side by side on one sheet, with a line of text above each: what was there, and what became of it."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

MARGIN, LINE, TEXT = 12, 22, 14
ENDS = (0.002, 0.998)
"""Shares of the samples that are shown black and white."""

Panel = tuple[str, NDArray[np.uint8], tuple[int, int]]
"""A title, pixels ``(y, x)`` or ``(y, x, 3)``, and the height and width at which they are shown."""


def views(before: NDArray[Any], *after: NDArray[Any], eight_bits: bool = False) -> list[NDArray[np.uint8]]:
    """Pictures ``(c, y, x)`` in the same greys, those of the first: three channels as colours, of others the first one.

    8-bit pictures are shown as they are.

    >>> [u.tolist() for u in views(np.array([[[0.0, 2.0]]]), np.array([[[1.0, 9.0]]]))]
    [[[0, 255]], [[127, 255]]]
    """
    shown = slice(None) if len(before) == 3 else slice(1)
    low, high = (0.0, 255.0) if eight_bits else np.quantile(before[shown], ENDS)
    scale = 255 / max(high - low, 1e-12)
    return [grey(np.clip((u[shown] - low) * scale, 0, 255)) for u in (before, *after)]


def grey(values: NDArray[Any]) -> NDArray[np.uint8]:
    """Channels first, from 0 to 255, as pixels to show."""
    pixels = values.astype(np.uint8).transpose(1, 2, 0)
    return pixels[..., 0] if pixels.shape[-1] == 1 else pixels


def sheet(rows: Sequence[Sequence[Panel]], words: Sequence[str] = ()) -> Any:
    """The panels as a picture of Pillow, row by row; ``words`` are lines above all of them."""
    from PIL import Image, ImageDraw, ImageFont

    font = ImageFont.load_default(size=TEXT)
    heights = [max(panel[2][0] for panel in row) for row in rows]
    widths = [sum(panel[2][1] for panel in row) + MARGIN * (len(row) + 1) for row in rows]
    width = max(*widths, *(round(font.getlength(line)) + 2 * MARGIN for line in words), 1)
    top = MARGIN + LINE * len(words)
    page = Image.new("RGB", (width, top + sum(height + LINE + MARGIN for height in heights)), "white")
    draw = ImageDraw.Draw(page)
    for number, line in enumerate(words):
        draw.text((MARGIN, MARGIN // 2 + LINE * number), line, fill="black", font=font)
    for row, height in zip(rows, heights, strict=True):
        left = MARGIN
        for title, pixels, (tall, wide) in row:
            draw.text((left, top), title, fill="black", font=font)
            shown = Image.fromarray(pixels).resize((wide, tall), Image.Resampling.NEAREST)
            page.paste(shown, (left, top + LINE))
            left += wide + MARGIN
        top += height + LINE + MARGIN
    return page
