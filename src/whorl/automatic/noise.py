r"""How strong is the noise: measured in every window of the picture, and believed where there is least detail.

Two filters look at every pixel, and the mean of their squares is taken in the window around it; the borders of the
picture are mirrors. No window is preferred by its place: the number is the same for a picture that was turned or
mirrored.

- The *narrow* one, the second difference along every axis, does not see planes nor straight edges along the axes; on
  white noise of standard deviation :math:`\sigma` it is noise of the same strength. Windows with texture show more than
  the noise, flat ones the noise alone: a low quantile over the windows, divided by the value that quantile has for pure
  noise, is the level.
- The *ring*, the difference of a pixel from the mean of the pixels around its direct neighbours, does not care whether
  neighbours are correlated, but sees more of the texture. White noise is equally strong to both in some window of
  nearly every picture. Noise that is stronger to the ring in *every* window, by a factor of 2, lacks high frequencies,
  and the narrow filter has missed the rest of it: the level is multiplied by that factor. Texture may look the same,
  but is not as even: the ring must find the same strength in all of the flattest windows.

Noise that was cut off at black or white is weaker than it was. Windows with few such samples are preferred, and those
that have some are corrected (:mod:`whorl.automatic.cut`). Where the picture is blank, it tells nothing; but white
paper between letters says how strong the noise is at most (:mod:`whorl.automatic.paper`).
"""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from whorl.automatic.cut import remaining_variance
from whorl.automatic.labels import drawn
from whorl.automatic.paper import on_paper
from whorl.automatic.windows import PATCH, WINDOW, blank, box, ends_of, quantile, slack_of, thick
from whorl.engines.cpu.threads import alone
from whorl.errors import ShapeError
from whorl.foundations import validation

RING = 7
"""Side of the square, or cube, of which the ring is what lies outside the 3 pixels around its centre."""

QUANTILE = 0.1
"""Share of windows that are taken to show no texture."""

NORMAL_QUANTILE = -1.2815515655446004
"""The number below which a standard normal variable lies with probability ``QUANTILE``."""

LEAST_CUT = 0.25
"""Share of the windows, those with the fewest samples cut off, that are looked at."""

FREE = 0.01
"""A window with at most this share of samples at black or white counts as not cut off."""

ROUNDS = 8
"""Steps towards the level that explains the noise that is left where it was cut off."""

LARGEST = 4.0
"""Windows of which nearly all samples are cut off say little: their noise is corrected by a factor of 4 at most."""

LEAST = 0.01
"""Share of the windows in which texture may be as even as noise, or noise that is not white look white, by chance."""

SPREAD_OF_RATIO = -2.3263478740408408 * 0.82 * math.sqrt(2)
"""The logarithm of that quantile of ring over narrow, both squared, times the root of the degrees of freedom; 0.82 is
the share of the fluctuations that both do not have in common, found on white noise in the plane and in space."""

WHITE, COLOURED = 1.4, 2.0
"""Up to the first ratio of ring and narrow noise counts as white, from the second one on the ring is believed."""

EVEN, UNEVEN = 1.15, 1.45
"""Differences of the ring among the flattest windows up to which it is believed, and from which on it is texture."""

LARGEST_RATIO = 16.0

SMALLER = (9, 5)
"""Sides of windows that are tried where too little of a volume is not blank: even small ones have enough voxels."""

DRAWN = 0.3
"""The share of pixels near edges, with as many neighbours of their value as axes, from which on it is a drawing."""

NEAR = 0.1
"""The share of a window that may be nearly, not exactly, blank."""


def noise_level(samples: Sequence[Tensor]) -> float:
    r"""The standard deviation of the noise in images ``(n, c, y, x)`` or volumes ``(n, c, z, y, x)``.

    All samples are taken together; channels too. The smallest and the largest value of all samples are taken for black
    and white. Texture that fills the whole picture is taken for noise; noise that was smoothed over more than a pixel
    comes out too low. Axes of less than three pixels
    are not looked along; where there is no other, nothing is known, and the level is 0.

    >>> noisy = 100 + 7 * torch.randn(1, 1, 200, 300, generator=torch.Generator().manual_seed(0))
    >>> round(noise_level([noisy]), 1)
    7.0
    """
    return levels(samples)[1]


@alone()
def levels(samples: Sequence[Tensor]) -> tuple[float, float]:
    """The level of white noise that would show the narrow filter as much, and the level of all the noise."""
    if any(part.dim() not in (4, 5) for part in samples):
        raise ShapeError("noise_level: expected images (n, c, y, x) or volumes (n, c, z, y, x).")
    for part in samples:
        validation.finite(part, "noise_level")
    parts = [u for part in samples if (u := thick(part.detach())).dim() > 2]
    if not parts:
        return 0.0, 0.0
    black, white = ends_of(parts)
    (narrow, ring, mean, cut), side = all_votes([plane for part in parts for plane in part.flatten(0, 1)])
    if len(narrow) == 0:
        return 0.0, 0.0
    many = enough(len(narrow), parts[0].shape[2:], side)
    believed = cut <= max(FREE, quantile(cut, LEAST_CUT))
    narrow, ring, mean, cut = (column[believed] for column in (narrow, ring, mean, cut))
    degrees = degrees_of_freedom(parts[0].shape[2:], side)
    spread, usual = narrow.sqrt(), quantile_of_noise(degrees)
    level = first = quantile(spread, QUANTILE) / usual
    # In a flat picture or a plane only rounding is left.
    if level <= 1e-9 * max(abs(black), abs(white)):
        return 0.0, 0.0
    touched = cut > FREE / 2
    for _ in range(ROUNDS if touched.any() else 0):
        left = torch.where(touched, remaining_variance(mean, level, black, white).sqrt(), level)
        level = min(level * (quantile(spread / left, QUANTILE) / usual) ** 1.5, LARGEST * first)
    every = level
    if many:
        ratio = ratio_of(ring, narrow, degrees)
        every = level * float(ratio ** colouredness(ratio, unevenness(ring)))
    most = on_paper(parts, every)
    return min(level, most), most


@alone()
def noise_present(samples: Sequence[Tensor], level: float) -> float:
    """The root mean square of what is left of noise that had this standard deviation.

    Where a picture is nearly black or white, much of its noise was cut off; where it is blank, there is none. As in
    :func:`noise_level` the smallest and the largest value of all samples are taken for black and white.

    >>> noisy = 7 * torch.randn(1, 1, 200, 300, generator=torch.Generator().manual_seed(0))
    >>> round(noise_present([100 + noisy], 7.0), 1), round(noise_present([noisy.clamp_min(0)], 7.0), 1)
    (7.0, 4.0)
    """
    black, white = ends_of(samples)
    if black == white:
        return level
    total = count = 0.0
    planes = [plane.detach().double() for part in samples for plane in part.flatten(0, 1)]
    slack = slack_of(planes)
    for plane in planes:
        mean = box(plane, [PATCH] * plane.dim()) / PATCH ** plane.dim()
        total += float((remaining_variance(mean, level, black, white) * ~blank(plane, slack)).sum())
        count += plane.numel()
    return math.sqrt(total / count)


def degrees_of_freedom(shape: Sequence[int], window: int = WINDOW) -> float:
    r"""How many independent squares vary like the mean of those of the narrow filter in a window of white noise.

    The mean of :math:`N` squares whose correlations are :math:`\rho` varies like that of
    :math:`N^2 / \sum_{ij} \rho_{ij}^2` independent ones.
    """
    # Correlations of the second difference (1, -2, 1): 1, -2/3, 1/6 at distances 0, 1, 2, on both sides.
    correlated = ((side, side + 2 * ((side - 1) * 4 / 9 + max(side - 2, 0) / 36)) for side in _sides(shape, window))
    return max(math.prod(side**2 / sums for side, sums in correlated), 1.0)


def quantile_of_noise(degrees: float) -> float:
    """What ``QUANTILE`` of the windows is for white noise of strength 1, by the formula of Wilson and Hilferty."""
    cube_root = 1 - 2 / (9 * degrees) + NORMAL_QUANTILE * math.sqrt(2 / (9 * degrees))
    return float(max(cube_root, 0.1) ** 1.5)


def _sides(shape: Sequence[int], window: int) -> list[int]:
    """The sides of a window: odd, and no longer than the picture without its border."""
    return [min(window, size - 2 - (size + 1) % 2) for size in shape]


def enough(votes: int, shape: Sequence[int], window: int) -> bool:
    """Whether so many windows tell narrow filter from ring: in a picture of few they may differ by chance."""
    return min(shape) >= window + 2 and votes >= (window + 2) ** len(shape)


Votes = tuple[Tensor, Tensor, Tensor, Tensor]
"""For every window the squares of narrow filter and ring, the mean, and the share of samples that are cut off."""


def all_votes(planes: Sequence[Tensor]) -> tuple[Votes, int]:
    """The windows of pictures or volumes that are not half blank, and their side.

    Parts that are nearly blank count as blank ones, unless nothing is left then. Where little of a volume is not blank,
    and that is no drawing, the windows get smaller: they have enough voxels even so.
    """
    planes = [plane.double() for plane in planes]
    black, white = ends_of(planes)
    slack = slack_of(planes)
    for side, allowed in _tries(planes, slack):
        found = [votes(plane, black, white, side, allowed) for plane in planes]
        columns = [torch.cat(column) for column in zip(*found, strict=True)]
        if len(columns[0]):
            break
    return (columns[0], columns[1], columns[2], columns[3]), side


def _tries(planes: Sequence[Tensor], slack: float) -> Iterator[tuple[int, float]]:
    """Sides of windows, and by how much blank parts may differ."""
    yield WINDOW, slack
    if planes[0].dim() == 3 and drawn(planes, slack) < DRAWN:
        yield from ((side, slack) for side in SMALLER)
    if slack > 0:
        yield WINDOW, 0.0


def votes(u: Tensor, black: float, white: float, window: int = WINDOW, slack: float = 0.0) -> Votes:
    """What the windows show that are not half blank, and of which next to nothing is only nearly blank."""
    sides, inside = _sides(u.shape, window), (slice(1, -1),) * u.dim()
    shown, near = ~blank(u), None
    if slack > 0:
        near = blank(u, slack) & shown
        shown &= ~near
    # The narrow filter looks one pixel far, and must not look at blank ones.
    counted = box(shown.double(), [3] * u.dim()) == 3 ** u.dim()
    # Counts are whole numbers, and sums of them exact: which windows vote does not depend on the order of summation.
    count, count_inside = box(counted.double(), sides), box(counted[inside].double(), sides, margin=1)
    chosen = torch.minimum(count, count_inside) >= math.prod(sides) / 2
    if near is not None and near.any():
        # Next to edges that are smooth a picture without noise is neither blank nor busy.
        chosen &= box(near.double(), sides) <= NEAR * math.prod(sides)
    count, count_inside = count[chosen], count_inside[chosen]
    squares = box(narrow(u).square_().mul_(counted[inside]), sides, margin=1)[chosen] / count_inside
    ring = box(_ring(u, shown).mul_(counted), sides)[chosen] / count
    mean = box(u * counted, sides)[chosen] / count
    cut = box((((u <= black) | (u >= white)) & counted).double(), sides)[chosen] / count
    return squares.clamp_min(0), ring.clamp_min(0), mean, cut


def narrow(u: Tensor) -> Tensor:
    """The second difference along every axis, where both neighbours exist; of white noise it has the same strength."""
    for axis in range(u.dim()):
        before, here, after = (u.narrow(axis, start, u.shape[axis] - 2) for start in range(3))
        u = (before - 2 * here + after) / math.sqrt(6)
    return u


def _ring(u: Tensor, shown: Tensor) -> Tensor:
    """The squared difference of every pixel from the mean of the ring around it, without the ring's own noise."""
    count, total = (box(v, [RING] * u.dim()) - box(v, [3] * u.dim()) for v in (shown.double(), u * shown))
    count.clamp_min_(1)
    return (u - total / count).square_() / (1 + 1 / count)


def ratio_of(ring: Tensor, narrow: Tensor, degrees: float) -> float:
    """How many times stronger the noise is to the ring than to the narrow filter, in every window."""
    seen = narrow > 0
    ratio = quantile(ring[seen] / narrow[seen], LEAST) / math.exp(SPREAD_OF_RATIO / degrees**0.5)
    return min(max(math.sqrt(ratio), 1.0), LARGEST_RATIO)


def unevenness(ring: Tensor) -> float:
    """By how much the ring differs among the flattest windows."""
    least = quantile(ring, LEAST)
    return math.sqrt(quantile(ring, QUANTILE) / least) if least > 0 else UNEVEN


def colouredness(ratio: float, unevenness: float) -> float:
    """From 0, for white noise and for texture, to 1, for noise of which the narrow filter sees a part only."""
    coloured = math.log(ratio / WHITE) / math.log(COLOURED / WHITE)
    even = math.log(UNEVEN / unevenness) / math.log(UNEVEN / EVEN)
    return min(max(coloured, 0.0), 1.0) * min(max(even, 0.0), 1.0)
