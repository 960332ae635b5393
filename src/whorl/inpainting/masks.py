"""Where to fill: told by masks as people have them, soft or on a transparent layer, or by a colour of the picture."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Gaps = NDArray[np.bool_]
"""True where to fill: ``(y, x)`` or ``(z, y, x)``."""

FULL = (1, 255, 65535)
"""Values that white may have in a mask: it is the first of these that no value of the mask exceeds."""

FARTHEST = 9
"""Pixels beyond which the depth of a gap does not matter."""

MIXED = 0.9
"""Pixels whose distance from a colour is less than this share of that of the surroundings are mixed with it."""

MOST = 0.5
"""The largest share of an image that is filled unless more is allowed: masks are easily inverted by mistake."""


def drawn(values: NDArray[Any], axis: int, alpha: int = 0) -> Gaps:
    """Where a mask is drawn: above half of white in any channel; or, on a transparent layer, above half opaque.

    The last ``alpha`` channels along the ``axis`` are no colours. A layer that is opaque everywhere does not count.

    >>> drawn(np.array([[0, 60, 128, 255]], np.uint8), axis=0)
    array([False, False,  True,  True])
    >>> drawn(np.array([[0, 0, 0], [0, 60, 200]], np.uint8), axis=0, alpha=1)
    array([False, False,  True])
    """
    channels = np.moveaxis(values, axis, 0)
    layer = [] if alpha == 0 else [_above_half(channels[-alpha])]
    if layer and not layer[0].all():
        return layer[0]
    colours = channels[: len(channels) - alpha]
    return np.asarray(_above_half(colours).any(0))


def _above_half(values: NDArray[Any]) -> Gaps:
    largest = values.max(initial=0)
    full = next((full for full in FULL if largest <= full), largest)
    return np.asarray(values > full / 2)


def grown(gaps: Gaps, pixels: int) -> Gaps:
    """All that lies within so many pixels of the gaps, in a disc or ball.

    >>> grown(np.eye(1, 6, 1, dtype=bool), 2)
    array([[ True,  True,  True,  True, False, False]])
    """
    if pixels < 0:
        raise ValueError(f"inpaint: grow = {pixels}: expected a number of pixels, 0 or more.")
    found = gaps
    if pixels and gaps.ndim == 2:
        found = _in_discs(gaps, pixels**2)
    elif pixels:
        found = gaps.copy()
        for step in range(min(pixels, len(gaps) - 1) + 1):
            _join(found, _in_discs(gaps, pixels**2 - step**2), step, 0)
    return found


def depth(gaps: Gaps) -> float:
    """The mean distance of the gaps from what is known, in pixels, each rounded up and at most FARTHEST.

    >>> depth(np.array([[False, True, True, True, False]]))
    1.3333333333333333
    """
    known, left = ~gaps, [int(gaps.sum())]
    while left[-1] and len(left) < FARTHEST:
        left.append(gaps.size - int(grown(known, len(left)).sum()))
    return sum(left) / left[0]


def _in_discs(gaps: Gaps, square: int) -> Gaps:
    """Within discs of this squared radius along the last two axes: lines get longer towards the middle of a disc."""
    found, line, half = gaps.copy(), gaps.copy(), 0
    for step in range(math.isqrt(square), -1, -1):
        while (half + 1) ** 2 + step**2 <= square:
            half += 1
            _join(line, gaps, half, -1)
        _join(found, line, step, -2)
    return found


def _join(into: Gaps, gaps: Gaps, step: int, axis: int) -> None:
    """Add the gaps, moved by so many pixels in both directions."""
    target, source = np.moveaxis(into, axis, 0), np.moveaxis(gaps, axis, 0)
    target[step:] |= source[: len(source) - step]
    target[: len(target) - step] |= source[step:]


def is_colour(word: str) -> bool:
    """Whether a word is a colour, like ``#ff00ff`` or ``red``."""
    from PIL.ImageColor import colormap

    return word.startswith("#") or word.lower() in colormap


class Colour:
    """The samples of a colour in pictures of a type; ``fuzz`` grey values of 255 more or less belong to it, too.

    >>> red = Colour("red", np.dtype("u1"), 3, fuzz=10)
    >>> red(np.array([[255, 250, 200], [0, 9, 0], [0, 0, 0]], np.uint8))
    array([ True,  True, False])
    """

    def __init__(self, word: str, kind: np.dtype[Any], channels: int, fuzz: float = 0.0) -> None:
        from PIL.ImageColor import getrgb

        try:
            values = np.array(getrgb(word))
        except ValueError:
            values = np.zeros(0)
        if len(values) != 3:
            raise ValueError(f"{word}: a colour is written with six digits, like '#ff00ff', or by its name, like red.")
        if kind.kind not in "ui":
            raise ValueError(f"{word}: colours are known for pictures of integers, this one has {kind}. Give a mask.")
        if not 0 <= fuzz < 255:
            raise ValueError(f"fuzz = {fuzz:g}: expected a number of grey values, from 0 to below 255.")
        if channels == 1 and len({*values.tolist()}) == 1:
            values = values[:1]
        if len(values) != channels:
            raise ValueError(f"{word}: the picture has {channels} colour channel(s). Give a mask as a picture.")
        largest = int(np.iinfo(kind).max)
        unit = largest // 255
        self.ends = [np.clip(np.rint((values + by) * unit), 0, largest).astype(kind) for by in (-fuzz, fuzz)]

    def __call__(self, samples: NDArray[Any]) -> Gaps:
        """Where samples, channels first, have the colour."""
        low, high = (end.reshape(-1, *[1] * (samples.ndim - 1)) for end in self.ends)
        return np.asarray(((samples >= low) & (samples <= high)).all(0))

    def rim(self, samples: NDArray[Any], gaps: Gaps) -> int:
        """How many pixels around the gaps are mixed with the colour, as at soft edges; 0 where none are.

        Rings around the gaps are compared with the farthest one, by their mean distance from the colour. The first that
        is hardly mixed with it is counted as well.

        >>> row = np.array([[255, 255, 160, 90, *[60] * 20]], np.uint8)[None]
        >>> white = Colour("white", np.dtype("u1"), 1)
        >>> white.rim(row, white(row))
        3
        """
        colour = self.ends[0].astype(float) / 2 + self.ends[1] / 2.0
        inner, distances = gaps, []
        for pixels in range(1, FARTHEST + 1):
            outer = grown(gaps, pixels)
            ring = samples[:, outer & ~inner]
            distances.append(float(np.abs(ring - colour[:, None]).mean()) if ring.size else 0.0)
            inner = outer
        mixed = (distance < MIXED * distances[-1] for distance in distances)
        found = next((pixels for pixels, one in enumerate(mixed) if not one), 0)
        return found + 1 if found else 0


def check_share(share: float, most: float = MOST) -> None:
    """Refuse to fill nothing, all, or more than is allowed."""
    if share == 1:
        raise ValueError("inpaint: the mask covers every pixel, so nothing is left to fill from. True means: fill.")
    if share == 0:
        raise ValueError(
            "inpaint: the mask covers no pixel, so there is nothing to fill. Filled is what is True, above half of "
            "white (1, 255 or 65535), or opaque on a transparent layer. For labels give mask > 0."
        )
    if share > most:
        raise ValueError(
            f"inpaint: {100 * share:.3g} % of the image would be filled, more than {100 * most:.3g} %. What is white, "
            "or opaque on a transparent layer, is filled. Invert the mask, or allow more with most=1 (--most 1)."
        )
