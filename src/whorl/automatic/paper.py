r"""Pages of text and drawings on paper of one tone: how strong noise can be in them at most.

Windows full of letters look as if there were strong noise. The paper around them is white, where noise is cut off, and
has no vote; yet it tells much. Of noise with standard deviation :math:`\sigma` around a grey value
:math:`z \sigma` above white the share :math:`\Phi(z)` becomes white, and the mean lies
:math:`\sigma (\varphi(z) - z (1 - \Phi(z)))` below white: so small patches of which a part is white say how strong it
is. And where blank paper lies in between all that is drawn, there is none.

Black tells nothing: where photons are counted, dark places have no noise, and bright ones have. White letters on black
are another matter: much of what is not dark is as bright as can be there, and nowhere else. What is so written, in
black or in white, may also stand on grey paper, which nothing cuts off: the flattest patches of it tell the noise.
"""

import math
from collections.abc import Sequence

import torch
from torch import Tensor

from whorl.automatic.windows import PATCH, WINDOW, blank, box, ends_of, quantile

SUSPECT = 0.06
"""Noise below this share of the range of the picture is believed: letters look like much stronger noise."""

PARTLY = (0.2, 0.8)
"""Shares of white samples for which a patch tells the noise."""

ENOUGH = 0.01
"""The share of patches that must tell it."""

WEAKEST, WEAKER = 0.1, 2.0
"""In this share of those patches the noise must be so many times weaker than believed; noise has 1.3 there."""

FREE = 0.1
"""The share of windows without blank paper below which it lies in between all that is drawn."""

LEAST_INK, DARKEST, INK = 0.02, 0.15, 0.3
"""The least share of ink, the part of the range that is as dark as it gets, and the share of the ink that lies there:
0.35 and more on drawn pages, 0.28 and less of what is bright in micrographs and in photographs of few photons."""

FLATTEST, USUAL = 0.05, 0.76
"""This quantile of the spread of patches, and what it is for white noise of deviation 1 (24 degrees of freedom)."""


def on_paper(samples: Sequence[Tensor], level: float) -> float:
    """The noise of pictures ``(n, c, y, x)`` that was measured as ``level``, or less, where paper shows less.

    >>> level = torch.randn(200, 200, generator=torch.Generator().manual_seed(0)) * 5
    >>> letters = 255 * (torch.arange(200) % 8 > 1) * torch.ones(200, 1)
    >>> on_paper([(letters + level).clamp(0, 255)[None, None]], 80.0) < 8
    True
    """
    black, white = ends_of(samples)
    if level <= SUSPECT * (white - black) or samples[0].dim() != 4:
        return level
    planes = [plane.detach().double() for part in samples for plane in part.flatten(0, 1)]
    for shown in (planes, [black + white - plane for plane in planes]):
        written = _written(shown, black, white)
        if shown is planes or written:
            found = _shown_by(shown, black, white, level, written)
            if found < level:
                return found
    return level


def _written(planes: Sequence[Tensor], black: float, white: float) -> bool:
    """Whether dark ink lies on bright paper: there is more paper, and much of the ink is as dark as it gets."""
    pixels = sum(plane.numel() for plane in planes)
    dark, ink = (
        sum(int((plane < black + share * (white - black)).sum()) for plane in planes) for share in (0.5, DARKEST)
    )
    return LEAST_INK * pixels <= dark <= pixels / 2 and ink >= INK * dark


def _shown_by(planes: Sequence[Tensor], black: float, white: float, level: float, written: bool) -> float:
    """The level, or less where bright paper shows less."""
    found = [_patches(plane, white) for plane in planes]
    strengths = torch.cat([each for each in found if len(each)] or [torch.empty(0).double()])
    if len(strengths) >= ENOUGH * sum(plane.numel() for plane in planes):
        weak = quantile(strengths, WEAKEST)
        if WEAKER * weak < level:
            return weak
    drawn = free = 0
    for plane in planes:
        paper = blank(plane) & (plane > black)
        counted = box((~paper).double(), [WINDOW] * 2)
        drawn += int((counted >= WINDOW**2 / 2).sum())
        free += int((counted == WINDOW**2).sum())
    if free < FREE * drawn:
        return 0.0
    if written:
        spreads = torch.cat([_spreads(plane, 0.5 * (black + white)) for plane in planes])
        weak = quantile(spreads, FLATTEST) / USUAL if len(spreads) else level
        if WEAKER * weak < level:
            return weak
    return level


def _spreads(u: Tensor, middle: float) -> Tensor:
    """The standard deviations of the patches of paper, which are brighter than the middle."""
    count, sides = PATCH**2, [PATCH] * 2
    mean = box(u, sides) / count
    squares = box((u - middle).square(), sides) / count - (mean - middle).square()
    return (squares[mean > middle] * count / (count - 1)).clamp_min(0).sqrt()


def _patches(u: Tensor, white: float) -> Tensor:
    """The standard deviations that patches tell of which a part is white."""
    sides = [PATCH] * 2
    share = box((u >= white).double(), sides) / PATCH**2
    below = box(white - u, sides) / PATCH**2
    chosen = (share >= PARTLY[0]) & (share <= PARTLY[1])
    z = torch.special.ndtri(share[chosen])
    taken: Tensor = torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi) - z * torch.special.ndtr(-z)
    return below[chosen] / taken
