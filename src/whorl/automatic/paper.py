r"""Pages of text and drawings on white paper: how strong noise can be in them at most.

Windows full of letters look as if there were strong noise. The paper around them is white, where noise is cut off, and
has no vote; yet it tells much. Of noise with standard deviation :math:`\sigma` around a grey value
:math:`z \sigma` above white the share :math:`\Phi(z)` becomes white, and the mean lies
:math:`\sigma (\varphi(z) - z (1 - \Phi(z)))` below white: so small patches of which a part is white say how strong it
is. And where blank paper lies in between all that is drawn, there is none.

Black tells nothing: where photons are counted, dark places have no noise, and bright ones have.
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


def on_paper(samples: Sequence[Tensor], level: float) -> float:
    """The noise of pictures ``(n, c, y, x)`` that was measured as ``level``, or less, where white paper shows less.

    >>> level = torch.randn(200, 200, generator=torch.Generator().manual_seed(0)) * 5
    >>> letters = 255 * (torch.arange(200) % 8 > 1) * torch.ones(200, 1)
    >>> on_paper([(letters + level).clamp(0, 255)[None, None]], 80.0) < 8
    True
    """
    black, white = ends_of(samples)
    if level <= SUSPECT * (white - black) or samples[0].dim() != 4:
        return level
    planes = [plane.detach().double() for part in samples for plane in part.flatten(0, 1)]
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
    return 0.0 if free < FREE * drawn else level


def _patches(u: Tensor, white: float) -> Tensor:
    """The standard deviations that patches tell of which a part is white."""
    sides = [PATCH] * 2
    share = box((u >= white).double(), sides) / PATCH**2
    below = box(white - u, sides) / PATCH**2
    chosen = (share >= PARTLY[0]) & (share <= PARTLY[1])
    z = torch.special.ndtri(share[chosen])
    taken: Tensor = torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi) - z * torch.special.ndtr(-z)
    return below[chosen] / taken
