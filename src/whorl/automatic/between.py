r"""Noise that the channels of a picture have in common: grain of film, grey pictures in files of three equal channels.

The noise of sums and of differences of two channels tells its correlation :math:`\rho` between them. Channels with
noise of standard deviation :math:`\sigma` have a mean with noise :math:`\sigma \sqrt{(1 + 2\rho)/3}`, and colours
(what is left without that mean) as if every channel had noise of its own, of :math:`\sigma \sqrt{1 - \rho}`.
"""

import math
from collections.abc import Sequence
from itertools import combinations

import torch
from torch import Tensor

from whorl.automatic.noise import levels, narrow
from whorl.automatic.traces import Measured, measure
from whorl.automatic.windows import WINDOW, box, quantile

PAIRS = ((0, 1), (0, 2), (1, 2))
"""The pairs of three colours."""

LARGEST = 512
"""Side of the square in the middle of a sample that is looked at."""

FLAT = 0.25
"""The share of windows that are looked at: the flattest."""

POSSIBLE = 0.01
"""The least eigenvalue of a matrix of correlations."""

COMMON = (0.25, 0.5)
"""Correlations from which on the mean of the channels is denoised by itself, more and more."""

COLOURLESS = (0.88, 0.97)
"""Correlations from which on colours tell less and less of the noise, and nothing: the picture counts as grey."""

EQUAL = 1 - 1e-6
"""Channels with at least this correlation are equal up to rounding."""

COLOURED = (0.15, 0.3)
"""Correlations of neighbours up to which noise counts as white, and from which on it does not."""


def between(parts: Sequence[Tensor]) -> tuple[tuple[float, ...], ...]:
    """The correlations of the noise between channels of pictures ``(n, c, ...)`` whose noise is equally strong."""
    count = parts[0].shape[1]
    matrix = torch.eye(count, dtype=torch.float64)
    for i, j in combinations(range(count), 2):
        plus, minus = (levels([part[:, [i]] + sign * part[:, [j]] for part in parts])[0] ** 2 for sign in (1, -1))
        matrix[i, j] = matrix[j, i] = (plus - minus) / (plus + minus) if plus + minus > 0 else 0.0
    # Each number was measured by itself; together they must be possible, too.
    least = float(torch.linalg.eigvalsh(matrix)[0])
    shrunk = matrix * min(1.0, (1 - POSSIBLE) / (1 - least)) if least < POSSIBLE else matrix
    shrunk.fill_diagonal_(1.0)
    return tuple(tuple(row) for row in shrunk.tolist())


def common(parts: Sequence[Tensor], level: float | None = None) -> float:
    """The correlation of the noise between any two of three colours, in the mean; 0 for other channels.

    It is measured on second differences in the flattest windows, whatever the strength of the noise in each channel.
    Differences beyond the ``level`` of the noise, where it is given, are texture that colours share, and do not count.

    >>> noise = torch.randn(1, 4, 64, 64, generator=torch.Generator().manual_seed(0))
    >>> [round(common([noise[:, :1] + k * noise[:, 1:]]), 1) for k in (0, 1, 9)]
    [1.0, 0.5, 0.0]
    """
    if {part.shape[1] for part in parts} != {3} or min(min(part.shape[2:]) for part in parts) < 3:
        return 0.0
    windows = [_products(image.double()) for part in parts for image in part.detach()]
    squares, products = (torch.cat(each, 1) for each in zip(*windows, strict=True))
    shown = squares.amin(0) > 1e-9 * squares.mean()
    squares, products = squares[:, shown], products[:, shown]
    if squares.shape[1] == 0:
        return 0.0
    strength = (squares / squares.mean(1, keepdim=True)).sum(0)
    flat = strength <= quantile(strength, FLAT)
    own, shared = squares[:, flat].mean(1), products[:, flat].mean(1)
    found = sum(float(shared[k] / (own[i] * own[j]).sqrt()) for k, (i, j) in enumerate(PAIRS)) / 3
    if level is not None:
        found = min(found, 1 - float(own.mean() - shared.mean()) / level**2)
    return min(max(found, 0.0), 1.0)


def _products(image: Tensor) -> tuple[Tensor, Tensor]:
    """Mean squares of second differences in the windows around all pixels in the middle, and mean products."""
    for axis in (1, 2):
        cut = max(image.shape[axis] - LARGEST, 0) // 2
        image = image.narrow(axis, cut, image.shape[axis] - 2 * cut)
    seen = torch.stack([narrow(plane) for plane in image])
    both = [seen[i] * seen[j] for i, j in ((0, 0), (1, 1), (2, 2), *PAIRS)]
    sides = [min(WINDOW, size - 1 + size % 2) for size in seen.shape[1:]]
    sums = torch.stack([box(plane, sides).flatten() for plane in both]) / math.prod(sides)
    return sums[:3], sums[3:]


def rising(value: float, begin: float, end: float) -> float:
    """0 up to the beginning, 1 from the end on, and a straight line between."""
    return min(max((value - begin) / (end - begin), 0.0), 1.0)


def falling(value: float, begin: float, end: float) -> float:
    """1 up to the beginning, 0 from the end on, and a straight line between."""
    return min(max((end - value) / (end - begin), 0.0), 1.0)


def colourless(correlation: float) -> float:
    """From 0 to 1, where the noise has no colour at all."""
    return rising(correlation, *COLOURLESS)


def measure_colours(parts: Sequence[Tensor], correlation: float) -> tuple[Measured | None, float]:
    """As :func:`whorl.automatic.traces.measure` for channels with noise so correlated, and the share of grey in it.

    White noise without colour is told from texture as in grey pictures. Noise of cameras, which is correlated in the
    plane, is left to colours, unless all channels are equal.
    """
    grey = colourless(correlation)
    alone = measure([part.mean(1, keepdim=True) for part in parts]) if grey else None
    if alone is not None and correlation < EQUAL:
        grey *= white(alone.correlation)
    if alone is not None and grey == 1:
        return alone, grey
    found = measure(parts)
    if alone is None or found is None or not (found.level and alone.level):
        return found, 0.0
    pairs = zip(found.levels, alone.levels, strict=True)
    levels = tuple(math.exp((1 - grey) * math.log(colour) + grey * math.log(own)) for colour, own in pairs)
    return Measured(levels, (1 - grey) * found.correlation + grey * alone.correlation, found.softness), grey


def white(neighbours: float) -> float:
    """From 1, for white noise, to 0 for noise with this correlation of neighbours."""
    return falling(neighbours, *COLOURED)
