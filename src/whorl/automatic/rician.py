r"""Rician noise: the magnitude of a complex signal, as magnetic resonance images have it.

Noise of standard deviation :math:`\sigma` in both parts makes of a signal :math:`a \ge 0` the magnitude
:math:`m = |a + \sigma (n_1 + i n_2)|`. In units of :math:`\sigma` its mean and its variance are

.. math:: \mu(a) = \sqrt{\tfrac{\pi}{2}} \big( (1 + \tfrac{a^2}{2})\, \tilde I_0(\tfrac{a^2}{4})
          + \tfrac{a^2}{2}\, \tilde I_1(\tfrac{a^2}{4}) \big), \qquad v(a) = 2 + a^2 - \mu(a)^2

with the Bessel functions :math:`\tilde I_k(x) = e^{-x} I_k(x)`. Without a signal the mean is not 0 but
:math:`\sqrt{\pi/2}`. The transform :math:`T` with :math:`T'(\mu(a)) = v(a)^{-1/2}` makes noise of variance about 1 of
it; its unbiased inverse maps the mean of :math:`T(m)` to :math:`a` (Foi 2011). Both are tables, as is the correction of
Koay and Basser (2006), which finds :math:`\sigma` from a mean and a variance.
"""

import math
from functools import cache

import torch
from torch import Tensor

STRONGEST = 12.0
"""In units of the noise: magnitudes of stronger signals are Gaussian."""

KNOTS = 601

BACKGROUND = math.sqrt(math.pi / (4 - math.pi))
"""Mean over standard deviation where there is no signal."""

AIR = 1.06
"""Bins whose ratio is below this multiple of it are taken for air: their signal is no stronger than the noise."""

SAME_AIR, SAME_TISSUE = 0.05, 0.3
"""How much the ratio in air, and the variance in tissue, may differ from those of magnitudes."""


def mean_of(a: Tensor) -> Tensor:
    """The mean of magnitudes."""
    half = a.square() / 2
    i0, i1 = torch.special.i0e(half / 2), torch.special.i1e(half / 2)
    result: Tensor = math.sqrt(math.pi / 2) * ((1 + half) * i0 + half * i1)
    return result


def variance_of(a: Tensor) -> Tensor:
    """The variance of magnitudes."""
    near = a.clamp_max(STRONGEST)  # beyond, the difference has lost its digits, and is 1 - 1 / (2 a^2)
    return torch.where(a > STRONGEST, 1 - 0.5 / a.square(), 2 + near.square() - mean_of(near).square())


def stabilised(m: Tensor) -> Tensor:
    """The transform T of magnitudes; 0 stays 0."""
    _, means, transform, _, _ = _tables()
    return interpolated(m, means, transform)


def restored(t: Tensor) -> Tensor:
    """The signal for which T of the magnitude has this mean; 0 where it is less than without a signal."""
    signals, _, _, expected, _ = _tables()
    return interpolated(t, expected, signals).clamp_min(0)


def levels(mean: Tensor, variance: Tensor) -> Tensor:
    r"""The variance :math:`\sigma^2` of noise that gives magnitudes these means and variances.

    Without a signal :math:`\mu^2 + v = 2`; near that, where the ratio of mean and deviation tells a signal badly, there
    is taken to be none.
    """
    signals, _, _, _, ratios = _tables()
    ratio = mean / variance.sqrt()
    signal = interpolated(ratio, ratios, signals).clamp_min(0)
    return torch.where(ratio < AIR * BACKGROUND, (mean.square() + variance) / 2, variance / variance_of(signal))


def level(mean: Tensor, variance: Tensor) -> float:
    """The variance of the noise from all bins of a picture: from those of air, where there are some."""
    every, air = levels(mean, variance), mean < AIR * BACKGROUND * variance.sqrt()
    return float(every[air].median() if int(air.sum()) >= 2 else every.median())


def recognised(mean: Tensor, variance: Tensor) -> bool:
    """Whether bins of grey values have the means and the variances of magnitudes: with and without a signal."""
    ratio = mean / variance.sqrt()
    air, tissue = ratio < AIR * BACKGROUND, ratio > 2 * BACKGROUND
    if min(int(air.sum()), int(tissue.sum())) < 2:
        return False
    # Texture adds to the variance of some bins.
    bright = float(variance[tissue].quantile(0.25)) / level(mean, variance)
    return abs(float(ratio[air].median()) / BACKGROUND - 1) < SAME_AIR and abs(bright - 1) < SAME_TISSUE


def interpolated(x: Tensor, knots: Tensor, values: Tensor) -> Tensor:
    """The function with these values at these knots: linear in between, and continued beyond the outer ones."""
    at = torch.searchsorted(knots.to(x.device), x.double().contiguous()).clamp(1, len(knots) - 1).cpu()
    low, high = at - 1, at
    slope = (values[high] - values[low]) / (knots[high] - knots[low])
    return (values[low] + slope * (x.double().cpu() - knots[low])).to(x)


@cache
def _tables() -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Signals, and for them: means, T of the means, means of T, and means over standard deviations."""
    a = torch.linspace(0, STRONGEST, KNOTS, dtype=torch.float64)
    means, deviations = mean_of(a), variance_of(a).sqrt()
    slopes = 2 / (deviations[1:] + deviations[:-1])
    transform = torch.cat([torch.zeros(1).double(), (means.diff() * slopes).cumsum(0)])
    # Below the mean without a signal T goes on along a straight line, so that 0 stays 0.
    first = means[0] / deviations[0]
    knots, values = (torch.cat([torch.zeros(1).double(), line]) for line in (means, transform + first))
    m = torch.linspace(-8, 8, 641, dtype=torch.float64) + a[:, None]
    inside = m.clamp_min(0)
    density = inside * torch.exp(-(m - a[:, None]).square() / 2) * torch.special.i0e(inside * a[:, None])
    expected = (density * interpolated(m, knots, values)).sum(1) / density.sum(1)
    return a, knots, values, expected, means / deviations
