r"""Whether an answer can be trusted: the error before and after denoising, estimated from the noisy picture alone.

For noise with covariance :math:`\Sigma` the mean squared error of a denoiser :math:`D` on a noisy picture :math:`f` of
:math:`N` pixels is, up to chance (Stein's estimate),

.. math:: \frac1N \Big( \|D(f) - f\|^2 - \operatorname{tr} \Sigma
          + 2\, n^\top \frac{D(f + \varepsilon n) - D(f)}{\varepsilon} \Big)

with noise :math:`n` drawn from the model of the noise. Drawn once, as a pattern that all turns and mirrors of the
window leave as it is, it gives turned pictures the same answer. Rician noise has a mean, which stays in the result
here: errors are taken from that mean.

A level that is wrong by a little spoils this difference of large numbers. The best denoiser of all leaves the share
:math:`\delta = n^\top (D(f + \varepsilon n) - D(f)) / (\varepsilon \|n\|^2)` of the noise, and removes
:math:`1 - \delta` of its variance. So the noise is taken to be no stronger than what was removed shows, and
:math:`\delta` is the estimate, unless Stein's estimate says that the result is worse than the picture. Networks are
nearly as good: their errors are larger by a share :math:`0.06\,(1 - \delta)`, found on photographs of CTrain400.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from whorl.automatic.fit import Fit, fit
from whorl.automatic.noise_model import NoiseModel, neighbours, smoothed

LEAST_SIDE, LARGEST = 160, 320
"""Sides of the smallest and the largest window in the middle of each quarter of a sample; in between it has half of the
quarter's. Samples of up to twice the smallest are looked at as a whole: a network smooths less near borders, and detail
is seldom spread evenly."""

STEP = 0.1
"""The share of the noise that is added once more."""

LEAST = 1e-3
"""The least share of the noise that is left."""

EXCESS = 0.06
"""By this share errors of networks are larger than those of the best denoiser that leaves as much of the noise."""

MOST = 12.0
"""Decibels up to which a gain is told; in flat pictures it is more than can be estimated."""


@dataclass(frozen=True)
class Answer:
    """Mean squared errors before and after, the variance of what was removed over that of the noise, and its fit."""

    before: float
    after: float
    removed: float
    fit: Fit | None = None

    @property
    def gain(self) -> float:
        """Decibels gained.

        >>> round(Answer(100.0, 10.0, 0.9).gain, 1)
        10.0
        """
        return 10 * math.log10(self.before / max(self.after, 1e-3 * self.before)) if self.before > 0 else 0.0

    @property
    def told(self) -> float:
        """The gain, or the largest one that is told.

        >>> Answer(100.0, 0.1, 0.9).told
        12.0
        """
        return min(self.gain, MOST)

    def psnr(self, peak: float) -> tuple[float, float]:
        """The PSNR before and after in decibels, for pictures with this range.

        >>> Answer(100.0, 10.0, 0.9).psnr(100.0)
        (20.0, 30.0)
        """
        before = 10 * math.log10(peak**2 / self.before) if self.before > 0 else math.inf
        return before, before + self.told


@torch.no_grad()
def answer(denoise: Callable[[Tensor], Tensor], model: NoiseModel, samples: Sequence[Tensor]) -> Answer:
    """What the denoiser is expected to do to pictures of which these are samples ``(n, c, y, x)``."""
    count = before = left = removed = 0.0
    looked_at = []
    for f in (window for sample in samples for window in _windows(sample)):
        found = denoise(f)
        n = model.standard_deviation_at(found) * _pattern(f, model)
        again = denoise(f + STEP * n)
        divergence = n * (model.mean_at(again) - model.mean_at(found)) / STEP
        change = (model.mean_at(found) - f).double().square().sum()
        variance = model.standard_deviation_at(found).double().square().sum()
        before += float(variance)
        left += float(divergence.double().sum())
        removed += float(change)
        count += f.numel()
        looked_at.append((f, found, divergence))
    expected = sum(map(neighbours, model.correlation)) / len(model.correlation)
    fitted = fit(model, looked_at, expected)
    share = min(max(left / max(before, 1e-30), LEAST), 1 - LEAST)
    level = min(before, removed / (1 - share))
    stein = removed - level + 2 * share * level
    after = stein if stein > level else share * (1 + EXCESS * (1 - share)) * level
    return Answer(level / count, after / count, removed / max(before, 1e-30), fitted)


def _windows(sample: Tensor) -> list[Tensor]:
    """The sample, or windows in the middles of its four quarters."""
    rows, columns = sample.shape[-2:]
    if max(rows, columns) <= 2 * LEAST_SIDE:
        return [sample]
    above, left = (slice(0, size // 2) for size in (rows, columns))
    below, right = (slice(size - size // 2, size) for size in (rows, columns))
    return [_middle(sample[..., y, x]) for y in (above, below) for x in (left, right)]


def _middle(sample: Tensor) -> Tensor:
    """The window in the middle: as far from one border as from the opposite one."""
    for axis in (-2, -1):
        size = sample.shape[axis]
        start = (size - min(size, max(size // 2, LEAST_SIDE), LARGEST)) // 2
        sample = sample.narrow(axis, start, size - 2 * start)
    return sample.contiguous()


def _pattern(like: Tensor, model: NoiseModel) -> Tensor:
    """Noise of variance 1 with the model's correlation, the same for all turns and mirrors of the window."""
    rows, columns = like.shape[-2:]
    half = (max(rows, columns) + 1) // 2
    drawn = torch.randn(like.shape[1], half, half, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    drawn = drawn.triu() + drawn.triu(1).mT
    y, x = ((2 * torch.arange(side) - side + 1).abs() // 2 for side in (rows, columns))
    pattern = drawn[:, y][:, :, x]
    widths = model.correlation * (like.shape[1] if len(model.correlation) == 1 else 1)
    planes = torch.stack([smoothed(plane, width) for plane, width in zip(pattern, widths, strict=True)])
    return model.mixed(planes[None])[0].to(like)
