r"""Noise that was cut off at black and white: how much of it is left.

A normal variable of mean :math:`\mu` and standard deviation :math:`\sigma`, cut off at both ends, has another mean and
a smaller variance.
"""

import math
from functools import lru_cache

import torch
from torch import Tensor

ROUNDS = 40
"""Steps of the fixed-point iterations."""

GREY_VALUES = 257
"""The means for which the noise that is left is computed."""


def remaining_variance(mean: Tensor, level: float, black: float, white: float) -> Tensor:
    """The variance of noise of that level where it was cut off, for the mean after it.

    It is solved for on a grid of means, and interpolated linearly in between.
    """
    variance = _on_a_grid(level, black, white).to(mean.device)
    place = ((mean - black) * ((GREY_VALUES - 1) / (white - black))).clamp(0, GREY_VALUES - 1)
    low = place.long().clamp_max(GREY_VALUES - 2)
    return torch.lerp(variance[low], variance[low + 1], place - low)


@lru_cache(maxsize=4)  # all channels and samples of a picture ask for the same
def _on_a_grid(level: float, black: float, white: float) -> Tensor:
    seen = torch.linspace(black, white, GREY_VALUES, dtype=torch.float64)
    sigma, mu = torch.full_like(seen, level), seen.clone()
    for _ in range(ROUNDS):
        after, variance = cut_moments(mu, sigma, black, white)
        mu = mu + seen - after
    return variance


def cut_moments(mu: Tensor, sigma: Tensor, black: float | Tensor, white: float | Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of a normal variable that is cut off at both ends."""
    a, b = (black - mu) / sigma, (white - mu) / sigma
    below, above = torch.special.ndtr(a), torch.special.ndtr(-b)
    at_a, at_b = (torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi) for z in (a, b))
    inside = 1 - below - above
    # z and z^2 times a tail or a density vanish far outside, where z may be infinite.
    tails, densities = (
        [torch.nan_to_num(z * other, 0.0, 0.0, 0.0) for z, other in pairs]
        for pairs in (((a, below), (b, above)), ((a, at_a), (b, at_b)))
    )
    squares = [torch.nan_to_num(z.square() * tail, 0.0, 0.0, 0.0) for z, tail in ((a, below), (b, above))]
    shift = sigma * (sum(tails) + at_a - at_b)
    square = sigma.square() * (sum(squares) + inside + densities[0] - densities[1])
    return mu + shift, (square - shift.square()).clamp_min(0)
