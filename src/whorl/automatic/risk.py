r"""Contrast and stopping time in space: those with the least estimated error.

For white noise of standard deviation :math:`\sigma` the mean squared error of a filter :math:`F` on noisy samples
:math:`f` can be estimated without the clean ones (Stein's unbiased risk estimate):

.. math:: \frac1N \|F(f) - f\|^2 - \sigma^2
          + \frac{2\sigma^2}{N} \, b^\top \frac{F(f + \varepsilon b) - F(f)}{\varepsilon}

with one pattern :math:`b` of signs, whose average stands for the divergence of :math:`F`. These signs are as good as
random, but follow from the values of the samples and from distances to their borders: the signs of a turned volume are
those of the volume, turned, and all numbers found here are the same. Blank voxels have sign 0 and do not count. The
flow runs on :math:`f` and :math:`f + \varepsilon b` side by side, so every step yields the estimate for its time.
"""

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import torch
from torch import Tensor

from whorl.automatic.samples import blocks_along
from whorl.automatic.windows import blank, slack_of
from whorl.engines.cpu.threads import alone
from whorl.models import Model, build
from whorl.schemes import equal_steps

MOST = 2**20
"""Voxels on which the risk is estimated; enough for three digits of it."""

BLOCK = 48
"""Side of the blocks into which larger samples are cut."""

RATIO = 1.4
"""The factor from one contrast that is tried to the next."""

PATIENCE = 2
"""How many contrasts in a row may be worse before the search turns back: errors have small side valleys."""

STEPS = 6
"""The most contrasts that are tried on either side of the first."""

RISING = 1.05
"""A flow is over when its risk is this many times the least one it had."""


@alone()
def least_risk(
    name: str,
    samples: Sequence[Tensor],
    noise: float,
    first: float,
    *,
    time: float | None = None,
    longest: float = 20.0,
    engine: str = "auto",
    **options: Any,
) -> tuple[float, float]:
    """The contrast and the time at which the model has the least estimated error on the samples.

    The search begins with the contrast ``first`` and goes on to smaller or larger ones as long as that helps. In the
    end it looks half a step to either side, in contrast and in time. With a ``time`` only the contrast is searched for.
    """
    parts = thinned(samples)
    slack = slack_of([volume for part in parts for volume in part.flatten(0, 1)])
    signs = [signs_of(part, slack) for part in parts]

    def tried(contrast: float, near: float | None = time) -> tuple[float, float, float]:
        risk, at = _risk(build(name, contrast=contrast, **options), parts, signs, noise, near, longest, engine)
        return risk, contrast, at

    best = tried(first)
    for factor in (1 / RATIO, RATIO):
        worse = 0
        for number in range(1, STEPS + 1):
            other = tried(first * factor**number)
            worse = 0 if other < best else worse + 1
            best = min(best, other)
            if worse == PATIENCE:
                break
    coarse = best[1]
    best = min(best, *(tried(coarse * factor) for factor in (RATIO**-0.5, RATIO**0.5)))
    if time is None:
        half = build(name, contrast=best[1], **options).automatic_step(parts[0].dim() - 2) / 2
        best = min([best, *(tried(best[1], at) for at in (best[2] - half, best[2] + half) if at > 0)])
    return best[1], best[2]


def _risk(
    model: Model,
    parts: Sequence[Tensor],
    signs: Sequence[Tensor],
    noise: float,
    time: float | None,
    longest: float,
    engine: str,
) -> tuple[float, float]:
    """The least risk over all times, and its time; at ``time`` if that is given.

    The risk is that of the very steps the filter will take.
    """
    tau = model.automatic_step(parts[0].dim() - 2)
    flow = partial(curve, model, parts, signs, noise, engine=engine)
    if time is not None:
        return list(flow(equal_steps(time, tau)))[-1] if time > 0 else (noise**2, 0.0)
    best = noise**2, 0.0
    for risk, now in flow(itertools.repeat(tau, math.ceil(longest / tau))):
        if risk < best[0]:
            best = risk, now
        elif risen(risk, best[0], noise):
            break
    return best


def risen(risk: float, least: float, noise: float) -> bool:
    """Whether a flow is over. Where the noise was measured too strong, the least risk is below zero."""
    return risk > least + (RISING - 1) * abs(least) + 1e-4 * noise**2


@torch.no_grad()
def curve(
    model: Model, parts: Sequence[Tensor], signs: Sequence[Tensor], noise: float, steps: Iterable[float], engine: str
) -> Iterator[tuple[float, float]]:
    """Risk and time after each of the steps."""
    small, now, count = noise / 10, 0.0, sum(int(sign.count_nonzero()) for sign in signs)
    pairs = [torch.cat((part, part + small * sign)) for part, sign in zip(parts, signs, strict=True)]
    for step in steps:
        pairs = [model.step(pair, step, engine=engine) for pair in pairs]
        now += step
        removed = divergence = 0.0
        for part, sign, pair in zip(parts, signs, pairs, strict=True):
            half = len(part)
            removed += float((pair[:half] - part).double().square().sum())
            divergence += float(((pair[half:] - pair[:half]) * sign).double().sum()) / small
        yield removed / count - noise**2 + 2 * noise**2 * divergence / count, now


def thinned(samples: Sequence[Tensor], most: int = MOST, side: int = BLOCK) -> list[Tensor]:
    """Blocks of the samples that are not blank, of so many voxels a side and ``most`` voxels together.

    They are taken in the order of their values, evenly from dark to bright, wherever they lie.
    """
    if sum(part.numel() for part in samples) <= most:
        return list(samples)
    blocks = []
    for part in samples:
        for place in itertools.product(*(blocks_along(size, side) for size in part.shape[2:])):
            blocks.append(part[(slice(None), slice(None), *place)].contiguous())
    # The sums tell apart whole values whose medians and ends are equal; in float64 they are exact, however it lies.
    keys = [
        (*map(float, (block.median(), block.max(), block.min())), float(v.sum()), float(v.square().sum()))
        for block in blocks
        for v in [block.double()]
    ]
    seen = sorted((key, number) for number, key in enumerate(keys) if key[1] > key[2])
    blocks = [blocks[number] for _, number in seen] or blocks[:1]
    return blocks[:: math.ceil(sum(block.numel() for block in blocks) / most)]


def signs_of(part: Tensor, slack: float = 0.0) -> Tensor:
    """The pattern of signs, and 0 where all is blank."""
    still = torch.stack([blank(volume, slack) for volume in part.flatten(0, 1)]).view(part.shape)
    return signs_everywhere(part) * ~still


def signs_everywhere(part: Tensor) -> Tensor:
    """About as many voxels with + 1 as with - 1, as good as random.

    They depend on how many voxels are darker and on the distance from the border: the same in every unit, and turned.
    """
    key = _scrambled(torch.searchsorted(part.flatten().sort().values, part.contiguous()))
    for axis in range(2, part.dim()):
        place = torch.arange(part.shape[axis], device=part.device)
        nearer = _scrambled(torch.minimum(place, part.shape[axis] - 1 - place) + 1)
        key = key + nearer.view(-1, *[1] * (part.dim() - 1 - axis))
    return (2 * (_scrambled(key) & 1) - 1).to(part)


def _scrambled(key: Tensor) -> Tensor:
    """Whole numbers of which every bit depends on every bit of the key; the products overflow on purpose."""
    for factor in (-0x61C8864680B583EB, -0x40A7B892E31B1A47):
        key = (key ^ (key >> 29)) * factor
    return key ^ (key >> 32)
