r"""How strong is the noise: measured where the picture itself has least detail.

The second difference along every axis, :math:`r`, does not see planes nor straight edges along the axes; on white noise
of standard deviation :math:`\sigma` it is noise of the same strength. Its root mean square is taken in blocks of the
picture. Blocks with texture show more than the noise, flat ones the noise alone: a low quantile of the blocks, divided
by the value that quantile has for pure noise, is the estimate.

Noise that was cut off at black or white is weaker than it was. Blocks with few such samples are preferred, and those
that have some are corrected: a block whose true mean is :math:`\mu` shows mean and variance of a normal distribution
cut off at both ends, which can be solved for :math:`\sigma`.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from whorl.errors import ShapeError
from whorl.foundations import validation

__all__ = ["noise_level", "noise_present"]

BLOCK = 16
"""Side of the blocks in pixels."""

QUANTILE = 0.1
"""Share of blocks that are taken to show no texture."""

NORMAL_QUANTILE = -1.2815515655446004
"""Where a standard normal variable lies below with probability ``QUANTILE``."""

LEAST_CUT = 0.25
"""Share of the blocks, those with the fewest samples cut off, that are looked at."""

FREE = 0.01
"""A block with at most this share of samples at black or white counts as not cut off."""

ROUNDS = 40

PATCH = 4
"""Side of the patches of which the means are taken, to see how much noise is cut off there."""

BINS = 256
"""Grey values that are told apart in that."""


def noise_level(samples: Sequence[Tensor]) -> float:
    r"""The standard deviation of white noise in images ``(n, c, y, x)`` or volumes ``(n, c, z, y, x)``.

    All samples are taken together; channels too. The smallest and the largest value of all samples are taken for black
    and white. Texture that fills the whole picture is taken for noise; noise that was smoothed or compressed comes out
    too low. Axes of less than three pixels
    are not looked along; where there is no other, nothing is known, and the level is 0.

    >>> noisy = 100 + 7 * torch.randn(1, 1, 200, 300, generator=torch.Generator().manual_seed(0))
    >>> round(noise_level([noisy]), 1)
    7.0
    """
    if any(part.dim() not in (4, 5) for part in samples):
        raise ShapeError("noise_level: expected images (n, c, y, x) or volumes (n, c, z, y, x).")
    for part in samples:
        validation.finite(part, "noise_level")
    parts = [thick for part in samples if (thick := _thick(part.detach().double())).dim() > 2]
    if not parts:
        return 0.0
    black, white = _ends(parts)
    blocks = [_blocks(part, black, white) for part in parts]
    size = [min(BLOCK, side - 2) for side in parts[0].shape[2:]]
    spread, mean, cut = (torch.cat(column) for column in zip(*blocks, strict=True))
    allowed = max(FREE, float(torch.quantile(cut, LEAST_CUT)))
    spread, mean, cut = (column[cut <= allowed] for column in (spread, mean, cut))
    spread = torch.where((cut > FREE / 2) & (spread > 0), _uncut(mean, spread, black, white), spread)
    return float(torch.quantile(spread, QUANTILE)) / _quantile_of_noise(size)


def _thick(u: Tensor) -> Tensor:
    """The images without their axes of space of less than three pixels, whose slices become images of their own."""
    thin = [axis for axis in range(2, u.dim()) if u.shape[axis] < 3]
    return u.movedim(thin, tuple(range(len(thin)))).flatten(0, len(thin)) if thin else u


def noise_present(samples: Sequence[Tensor], level: float) -> float:
    """The root mean square of the noise that is still there, of noise that had this standard deviation.

    Where a picture is nearly black or white, much of its noise was cut off. As in :func:`noise_level` the smallest and
    the largest value of all samples are taken for black and white.

    >>> noisy = 7 * torch.randn(1, 1, 200, 300, generator=torch.Generator().manual_seed(0))
    >>> round(noise_present([100 + noisy], 7.0), 1), round(noise_present([noisy.clamp_min(0)], 7.0), 1)
    (7.0, 4.0)
    """
    parts = [part.detach().double() for part in samples]
    black, white = _ends(parts)
    if black == white:
        return level
    means = torch.cat([_block_means(part, PATCH) for part in parts])
    count = torch.histc(means, BINS, black, white)
    centre = black + (torch.arange(BINS, dtype=torch.float64, device=means.device) + 0.5) * (white - black) / BINS
    sigma, mu = torch.full_like(centre, level), centre.clone()
    for _ in range(ROUNDS):
        cut_mean, variance = _cut_moments(mu, sigma, black, white)
        mu = mu + centre - cut_mean
    return math.sqrt(float((count * variance).sum() / count.sum()))


def _ends(parts: Sequence[Tensor]) -> tuple[float, float]:
    """The smallest and the largest value."""
    return min(float(part.min()) for part in parts), max(float(part.max()) for part in parts)


def _blocks(u: Tensor, black: float, white: float) -> tuple[Tensor, Tensor, Tensor]:
    """Of every block: root mean square of the second difference, mean, and the share of samples cut off."""
    difference = u
    for axis in range(2, u.dim()):
        inner = difference.shape[axis] - 2
        before, here, after = (difference.narrow(axis, start, inner) for start in range(3))
        difference = (before - 2 * here + after) / math.sqrt(6)
    inside: list[Any] = [slice(None), slice(None), *[slice(1, -1)] * (u.dim() - 2)]
    centre = u[tuple(inside)]
    outside = ((centre <= black) | (centre >= white)).double()
    squares, means, shares = (_block_means(values) for values in (difference.square(), centre, outside))
    return squares.sqrt(), means, shares


def _block_means(values: Tensor, block: int = BLOCK) -> Tensor:
    """The means of disjoint blocks; what is left over at the end of an axis is dropped."""
    for axis in range(2, values.dim()):
        side = min(block, values.shape[axis])
        count = values.shape[axis] // side
        values = values.narrow(axis, 0, count * side).unflatten(axis, (count, side)).mean(axis + 1)
    return values.flatten()


def _quantile_of_noise(block: Sequence[int]) -> float:
    r"""What the quantile of the blocks is for white noise of strength 1.

    The mean of :math:`N` squares whose correlations are :math:`\rho` varies like that of
    :math:`\nu = N / \sum \rho^2` independent ones: a chi-squared variable, by the formula of Wilson and Hilferty.
    """
    # Correlations of the second difference (1, -2, 1): 1, -2/3, 1/6 at distances 0, 1, 2, on both sides.
    correlated = (1 + 2 * (4 / 9 + 1 / 36)) ** len(block)
    degrees = max(math.prod(block) / correlated, 1.0)
    cube_root = 1 - 2 / (9 * degrees) + NORMAL_QUANTILE * math.sqrt(2 / (9 * degrees))
    return float(max(cube_root, 0.1) ** 1.5)


def _uncut(mean: Tensor, spread: Tensor, black: float, white: float) -> Tensor:
    """The standard deviation before samples were cut off at black and white, from mean and spread after it."""
    mu, sigma = mean.clone(), spread.clamp_min(1e-12)
    for _ in range(ROUNDS):
        cut_mean, cut_variance = _cut_moments(mu, sigma, black, white)
        ratio = spread / cut_variance.clamp_min(1e-24).sqrt()
        # Where nearly all samples are cut off the equations say little: such a block counts at most fourfold.
        sigma = torch.minimum(sigma * ratio, 4 * spread).clamp_min(1e-12)
        mu = mu + mean - cut_mean
    return sigma


def _cut_moments(mu: Tensor, sigma: Tensor, black: float, white: float) -> tuple[Tensor, Tensor]:
    """Mean and variance of a normal variable that is cut off at both ends."""
    a, b = (black - mu) / sigma, (white - mu) / sigma
    below, above = torch.special.ndtr(a), torch.special.ndtr(-b)
    at_a, at_b = (torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi) for z in (a, b))
    inside = 1 - below - above
    shift = sigma * (a * below + b * above + at_a - at_b)
    # a phi(a) vanishes far outside, where a may be infinite.
    a_part, b_part = (torch.nan_to_num(z * at) for z, at in ((a, at_a), (b, at_b)))
    square = sigma.square() * (a.square() * below + b.square() * above + inside + a_part - b_part)
    return mu + shift, (square - shift.square()).clamp_min(0)
