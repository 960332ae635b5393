r"""The noise of a picture as it is: variance over the grey value, and correlation, from the picture alone.

The windows of :mod:`whorl.automatic.noise` are sorted by their mean into bins of equal counts; of each bin the flattest
windows tell the variance. White noise is taken from the narrow filter, noise that is correlated from the ring, anything
in between from both. A line is fitted to the bins, whose errors are proportional to their variances.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import Tensor

from whorl.automatic import rician
from whorl.automatic.between import between
from whorl.automatic.noise import (
    FREE,
    LEAST_CUT,
    QUANTILE,
    RING,
    all_votes,
    colouredness,
    degrees_of_freedom,
    enough,
    quantile_of_noise,
    ratio_of,
    unevenness,
)
from whorl.automatic.noise_model import NoiseModel, gaussian_weights
from whorl.automatic.paper import on_paper
from whorl.automatic.samples import samples_of
from whorl.automatic.windows import binned, ends_of, quantile, thick
from whorl.engines.cpu.threads import alone
from whorl.errors import ShapeError
from whorl.foundations import validation
from whorl.foundations.arrays import to_tensor
from whorl.foundations.other_libraries import opened

BINS = 24
"""Bins of the grey value."""

FEW = 0.05
"""Where fewer windows than this share have no sample at black or white, those with the fewest are taken."""

THIN = 4
"""A first or last axis of at most this many entries may hold channels."""

WIDEST = 1.5
"""The widest Gaussian in pixels that is told from texture."""

Bins = tuple[Tensor, Tensor]
"""The mean grey value of every bin, and the variance of the noise in it."""

InBins = tuple[Bins, float, float]
"""Bins, the width of the correlation, and the error that comes from the number of windows."""


def noise(
    image: Any, *, channel_axis: int | None = None, page_axis: int | None = None, kind: str | None = None
) -> NoiseModel:
    """The noise of an image, a stack or a volume, measured from the image alone.

    Parameters
    ----------
    image : array
        As for :func:`whorl.diffuse`.
    channel_axis : int, optional
        The axis of the channels, which have each their own noise; None for a grey image or volume.
    page_axis : int, optional
        The axis of the pages of a stack or film, which have one noise together.
    kind : "gaussian" or "rician", optional
        Rician noise is that of magnitudes in magnetic resonance, recognised by the air around the body.

    Examples
    --------
    >>> import numpy as np
    >>> ramp = np.linspace(10, 200, 256) + np.zeros((256, 1))
    >>> model = noise(np.random.default_rng(0).normal(ramp, np.sqrt(2 * ramp + 30)))
    >>> 1.8 < model.gain[0] < 2.2, model.correlation
    (True, (0.0,))
    """
    found = opened(image, "noise", [axis for axis in (channel_axis, page_axis) if axis is not None])
    channel_axis = found.channel_axis if channel_axis is None else channel_axis
    u = to_tensor(found.array, channel_axis, "noise", page_axis=page_axis)
    if found.array.ndim == 3 and u.dim() == 5 and min(found.array.shape[0], found.array.shape[-1]) <= THIN:
        raise ShapeError(
            f"noise: shape {tuple(found.array.shape)} may be colour. For colour name the channel_axis, usually -1; for "
            "a stack of pictures, or a volume that is so thin, the page_axis."
        )
    return noise_model(samples_of(u), kind)


@alone()
def noise_model(samples: Sequence[Tensor], kind: str | None = None, bins: Sequence[InBins] | None = None) -> NoiseModel:
    """The noise of images ``(n, c, y, x)`` or volumes ``(n, c, z, y, x)`` that stand for a picture.

    ``bins`` are those of every channel, where they are known.
    """
    for part in samples:
        validation.finite(part, "noise_model")
    black, white = ends_of(samples)
    white = white if white > black else black + 1
    channels = [[part[:, [c]] for part in samples] for c in range(samples[0].shape[1])]
    bins = bins or [noise_bins(channel) for channel in channels]
    if kind is None:
        kind = "rician" if black >= 0 and all(rician.recognised(*_seen(found[0])) for found in bins) else "gaussian"
    if kind == "rician" and black < 0:
        raise ValueError(
            f"noise: the image has the value {black:g}, and magnitudes with Rician noise are not negative."
        )
    found = [(_magnitude if kind == "rician" else _line)(*each) for each in bins]
    found = [_on_paper(channel, *each) for channel, each in zip(channels, found, strict=True)]
    gain, offset, correlation, doubts = zip(*found, strict=True)
    model = NoiseModel(gain, offset, correlation, 0.0 if kind == "rician" else black, white, max(doubts), kind)
    even = [model.stabilise(part.double()) for part in samples]
    return model if len(gain) == 1 else replace(model, between=between(even))


def noise_bins(channel: Sequence[Tensor]) -> InBins:
    """The bins of one channel, the width of the correlation, and the error that comes from the number of windows."""
    parts = [plane.double() for part in channel if (u := thick(part.detach())).dim() > 2 for plane in u.flatten(0, 1)]
    columns, side = all_votes(parts) if parts else ((), 0)
    if not columns or len(columns[0]) == 0:
        return (torch.zeros(1).double(), torch.zeros(1).double()), 0.0, math.inf
    cut = columns[3]
    free = cut <= (FREE if (cut <= FREE).double().mean() >= FEW else quantile(cut, LEAST_CUT))
    narrow, ring, mean = (column[free] for column in columns[:3])
    degrees, dimension = degrees_of_freedom(parts[0].shape, side), parts[0].dim()
    sorted_in = _sorted_in(mean)
    share, ratio = 0.0, 1.0
    if enough(len(columns[0]), parts[0].shape, side) and bool((narrow > 0).all()):
        ratio = ratio_of(ring, narrow, degrees)
        share = colouredness(ratio, sorted(unevenness(ring[order]) for order in sorted_in)[len(sorted_in) // 2])
    pixels = math.prod(min(side, size) for size in parts[0].shape)
    usual = [quantile_of_noise(count) ** 2 for count in (degrees, pixels)]
    flat = [[quantile(each[order], QUANTILE) for order in sorted_in] for each in (narrow, ring)]
    means = torch.stack([mean[order].mean() for order in sorted_in]).cpu()
    white_noise, any_noise = (means.new_tensor(values) / per for values, per in zip(flat, usual, strict=True))
    variance = white_noise ** (1 - share) * any_noise**share
    windows = max(len(narrow) / pixels, 1e-9)
    return (means, variance), _width(ratio**share, dimension), math.sqrt(1 / (2 * degrees * windows * QUANTILE))


def _sorted_in(mean: Tensor) -> list[Tensor]:
    """The windows of each bin. Windows of equal mean share a bin, since their order depends on how the picture lies."""
    bins = binned(mean, BINS)
    return [chosen for k in range(BINS) if len(chosen := (bins == k).nonzero()[:, 0])]


def _seen(bins: Bins) -> Bins:
    """The bins that show any noise."""
    mean, variance = bins
    return mean[variance > 0], variance[variance > 0]


def _on_paper(
    channel: Sequence[Tensor], gain: float, offset: float, width: float, doubt: float
) -> tuple[float, float, float, float]:
    """The line, or where white paper shows that the noise is weaker, one level without correlation."""
    mean = sum(float(part.double().sum()) for part in channel) / sum(part.numel() for part in channel)
    level = math.sqrt(max(gain * mean + offset, 0.0))
    most = on_paper(channel, level)
    return (gain, offset, width, doubt) if most == level else (0.0, most**2, 0.0, doubt)


def _magnitude(bins: Bins, width: float, sampling: float) -> tuple[float, float, float, float]:
    """As :func:`_line` for Rician noise: no gain, and the variance of both parts."""
    seen = _seen(bins)
    if len(seen[0]) == 0:
        return 0.0, 0.0, 0.0, sampling
    offset = rician.level(*seen)
    deviations = 0.5 * (1 - offset / rician.levels(*seen)).clamp(-1, 1)
    return 0.0, offset, width, math.hypot(float(deviations.square().mean().sqrt()), sampling)


def _line(bins: Bins, width: float, sampling: float) -> tuple[float, float, float, float]:
    """Gain and offset of the line through the bins, with the correlation, and the relative error of a deviation."""
    mean, variance = _seen(bins)
    if len(variance) == 0:
        return 0.0, 0.0, 0.0, sampling
    if float(mean.max() - mean.min()) < 2 * float(variance.min().sqrt()):
        # Grey values that differ by no more than the noise tell nothing about a slope.
        return 0.0, float(variance.median()), width, sampling
    scale, unit = float(mean.abs().max()), float(variance.max())  # in any unit both columns are of order 1
    rows = unit * torch.stack([mean / scale, torch.ones_like(mean)], 1) / variance[:, None]
    solution = torch.linalg.lstsq(rows, unit * torch.ones_like(mean)[:, None]).solution[:, 0]
    gain, offset = (solution * torch.tensor([1 / scale, 1.0]).double()).tolist()
    deviations = 0.5 * (1 - (gain * mean + offset) / variance).clamp(-1, 1)
    return gain, offset, width, math.hypot(float(deviations.square().mean().sqrt()), sampling)


def _width(ratio: float, dimension: int) -> float:
    """The width of the Gaussian after which white noise is stronger to the ring by this ratio."""
    if ratio <= 1:
        return 0.0
    low, high = 0.0, WIDEST
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if _strength(middle, dimension) < ratio else (low, middle)
    return low


def _strength(width: float, dimension: int) -> float:
    """The ratio of ring and narrow filter for white noise after a Gaussian of this width."""
    weights = gaussian_weights(width)
    shifted = (weights[shift:] * weights[: max(len(weights) - shift, 0)] for shift in range(RING))
    along = [float(products.sum()) for products in shifted]
    narrow = ((6 * along[0] - 8 * along[1] + 2 * along[2]) / 6) ** dimension
    places = [p for p in product(range(-3, 4), repeat=dimension) if max(map(abs, p)) > 1]
    near = sum(math.prod(along[abs(k)] for k in place) for place in places) / len(places)
    # Sums over pairs of pixels of a full square or cube are powers of sums along an axis.
    sides = (range(7), range(7)), (range(7), range(2, 5)), (range(2, 5), range(2, 5))
    full, mixed, hole = (sum(along[abs(i - j)] for i, j in product(*pair)) ** dimension for pair in sides)
    among = (full - 2 * mixed + hole) / len(places) ** 2
    return math.sqrt((1 - 2 * near + among) / (1 + 1 / len(places)) / narrow)
