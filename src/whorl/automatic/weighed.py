r"""Presmoothing, contrast and time of a flow in the plane, weighed by their estimated errors on the picture itself.

Drawings want more presmoothing and a smaller contrast for a longer time than photographs. A few pairs of presmoothing
and contrast are tried on samples of the picture. Stein's estimate (:mod:`whorl.automatic.risk`) tells the error of each
at every time. The settings taken are means of all pairs and times, which weigh

.. math:: \exp\Big(-\frac{R - R_{\min}}{T\, \sigma^2}\Big)

for the error :math:`R`: first all times of one pair, then all pairs, at their least error. Late times and presmoothing
have a small bonus: with them pictures turn better. Errors hardly change around the best time, so a picture that is
sampled a little differently may have another best time, but has settings that are a little different.
"""

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from whorl.automatic.between import COMMON
from whorl.automatic.noise import noise_present
from whorl.automatic.noise_model import width_of
from whorl.automatic.risk import curve, signs_of, thinned
from whorl.automatic.windows import slack_of
from whorl.engines.cpu.threads import alone
from whorl.models import Model, build
from whorl.operators import Smoothing

CHOICE = {"diffusivity": "rational", "cell": "wide"}
"""Law and cell: a well-posed flow with small errors under turns."""

PAIRS = ((0.3, 0.6), (0.5, 0.4), (0.6, 0.3), (0.8, 0.25), (1.0, 0.2))
"""Presmoothing in pixels, and contrast in multiples of the noise."""

TEMPERATURE = 0.0025
"""T: pairs and times whose errors differ by this share of the noise's variance weigh nearly alike."""

OVER = 3.0
"""A flow is over when its error is so many times T above the least one it had: such times weigh next to nothing."""

TURNING, SHARED = 0.015, 3.0
"""What one pixel less of presmoothing must gain, in shares of the noise's variance: with less, pictures turn worse.
Where neighbours share noise with correlation r it is 1 + 3 r times as much: such errors are estimated less well, and
differ more between lattices."""

LATER = 0.6
"""Times with equal errors weigh like this power of them: pictures turn better the longer they are smoothed. Together
with the bonus this costs 0.01 dB in the mean of 24 crops of Train400 and CTrain400 with noise 10, 25 and 50."""

MOST, BLOCK = 2**16, 24
"""Values on which errors are estimated, and the side of the blocks into which larger pictures are cut.

Many small blocks stand for a picture better than few large ones: with blocks of 48 some photographs lost 2 dB.
"""

LONGEST = 1.0
"""The largest width of a correlation, in pixels."""


@alone()
def weighed(
    name: str,
    samples: Sequence[Tensor],
    noise: float,
    *,
    neighbours: float = 0.0,
    shared: float = 0.0,
    steepness: float = 1.0,
    pixel: float = 1.0,
    time: float | None = None,
    longest: float = 20.0,
    engine: str = "auto",
    **options: Any,
) -> tuple[dict[str, Any], float, float]:
    """Options of the model, contrast and time; with a ``time`` only the others are chosen.

    ``neighbours`` is the correlation of the noise, ``shared`` that between colours. Contrasts are multiples of the
    noise times the ``steepness``, presmoothing is in units of a ``pixel``.
    """
    parts = _batches(thinned(samples, MOST, BLOCK))
    blur = Smoothing(min(width_of(neighbours), LONGEST))
    slack = slack_of([plane for part in parts for plane in part.flatten(0, 1)])
    signs = [_coloured(_mixed(part, shared, slack), blur) for part in parts]
    # Noise that was cut off at black and white cannot be removed; blank parts count neither here nor in errors.
    share = sum(int(sign.count_nonzero()) for sign in signs) / sum(sign.numel() for sign in signs)
    present = noise_present(parts, noise) / math.sqrt(max(share, 1e-9))
    bonus = TURNING * (1 + SHARED * max(neighbours, 0.0)) * present**2
    found = []
    for sigma, factor in PAIRS if any(bool(sign.any()) for sign in signs) else ():
        setting = CHOICE | options | {"sigma": sigma * pixel, "contrast": factor * noise * steepness}
        risk, at = _least(build(name, **setting), parts, signs, present, time, longest, engine)
        if at > 0:
            found.append((risk - bonus * sigma, sigma * pixel, factor * noise * steepness, at))
    if not found:  # all is blank, or any smoothing does harm
        return CHOICE | {"sigma": PAIRS[0][0] * pixel}, PAIRS[0][1] * noise * steepness, time or 0.0
    least = min(found)[0]
    weights = [math.exp((least - risk) / (TEMPERATURE * present**2)) for risk, *_ in found]
    sigma, contrast, at = (
        math.exp(math.fsum(w * math.log(row[k]) for w, row in zip(weights, found, strict=True)) / math.fsum(weights))
        for k in (1, 2, 3)
    )
    return CHOICE | {"sigma": sigma}, contrast, at if time is None else time


def _batches(parts: Sequence[Tensor]) -> list[Tensor]:
    """Parts of the same shape as one batch: their steps are taken together."""
    shapes = dict.fromkeys(tuple(part.shape[1:]) for part in parts)
    return [torch.cat([part for part in parts if tuple(part.shape[1:]) == shape]) for shape in shapes]


def _mixed(part: Tensor, shared: float, slack: float) -> Tensor:
    """Signs that all channels share, where they share more than half of their noise; 0 where all is blank."""
    signs = signs_of(part, slack)
    if shared <= COMMON[1]:
        return signs
    return math.sqrt(shared) * signs_of(part.mean(1, keepdim=True), slack) + math.sqrt(1 - shared) * signs


def _coloured(signs: Tensor, blur: Smoothing) -> Tensor:
    """Signs with the correlations of the noise, and as many of strength 1; 0 where all is blank."""
    if not blur.radius:
        return signs
    gain = math.sqrt(math.fsum(w * w for w in (*blur.weights[:0:-1], *blur.weights)))
    smooth: Tensor = blur(signs)
    return smooth / gain**2 * (signs != 0)


def _least(
    model: Model,
    parts: Sequence[Tensor],
    signs: Sequence[Tensor],
    noise: float,
    time: float | None,
    longest: float,
    engine: str,
) -> tuple[float, float]:
    """The least risk, and the mean of the times that have nearly so little, of their logarithms; or those at a time."""
    tau, unit = model.automatic_step(), TEMPERATURE * noise**2
    count = math.ceil((longest if time is None else time) / tau)
    steps = itertools.repeat(tau, count) if time is None else itertools.repeat(time / max(count, 1), count)
    rows = [(noise**2, 0.0)]
    for row in curve(model, parts, signs, noise, steps, engine):
        rows.append(row)
        if time is None and row[0] > min(rows)[0] + OVER * unit:
            break
    if time is not None:
        return rows[-1]
    least, at = min(rows)
    if at == 0:
        return least, at
    weights = [math.exp((least - risk) / unit) * now**LATER for risk, now in rows[1:]]
    logarithms = (w * math.log(now) for w, (_, now) in zip(weights, rows[1:], strict=True))
    return least, math.exp(math.fsum(logarithms) / math.fsum(weights))
