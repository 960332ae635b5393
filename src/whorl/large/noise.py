"""How strong is the noise: a robust estimate from the finest details."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["noise_level"]

MEDIAN_OF_NORMAL = 0.6744897501960817  # the median of |x| for a standard normal x


def noise_level(blocks: Iterable[NDArray[Any]]) -> float:
    r"""The standard deviation of white Gaussian noise, from the median of the Haar detail of disjoint 2x2 cells.

    Measured over blocks ``(c, y, x)`` of samples.

    .. math:: \hat\sigma = \frac{\mathrm{median}\,|r|}{0.6745}, \qquad
              r = \tfrac12 (u_{11} - u_{10} - u_{01} + u_{00})

    Smooth shading and straight edges along the axes have no such detail, and the few cells on other edges do not move
    a median (Donoho and Johnstone 1994). Fine texture is taken for noise, noise that was smoothed or compressed is
    underestimated, and a noise of less than about a grey value is lost in rounding: then the estimate is 0. Channels
    are pooled.

    >>> noisy = np.random.default_rng(0).normal(100, 7, (1, 200, 300))
    >>> round(noise_level([noisy]), 1)
    7.0
    """
    details = []
    for block in blocks:
        u = block.astype(np.float64)
        u = u[:, : u.shape[1] // 2 * 2, : u.shape[2] // 2 * 2]
        u00, u10, u01, u11 = u[:, ::2, ::2], u[:, ::2, 1::2], u[:, 1::2, ::2], u[:, 1::2, 1::2]
        details.append(np.abs(0.5 * (u11 - u10 - u01 + u00)).ravel())
    found = np.concatenate(details or [np.empty(0)])
    return float(np.median(found)) / MEDIAN_OF_NORMAL if found.size else 0.0
