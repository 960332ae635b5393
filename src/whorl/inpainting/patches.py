"""Holes cut out of the picture and laid side by side: the work of filling follows the holes, not the picture.

Known pixels never change. So what a cycle does to a hole depends on the pixels of the hole that its steps can reach,
and on as many known ones around these as one step sees. Patches of that size, packed into a small picture, come out as
they would in the large one. Long scratches are cut into several patches, which overlap by what the steps can reach;
where they overlap, each pixel is taken from the patch in whose middle it lies. Beyond the border of the picture a patch
continues with the mirrored picture, as filters do.
"""

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from whorl.foundations.types import Image
from whorl.inpainting.pyramid import Level

CELL = 32
"""Side of the squares by which holes are cut, in pixels."""

WORTHWHILE = 0.5
"""The share of the picture above which patches are no gain."""

MANY = 1000
"""The number of squares with holes above which patches are no gain."""

GONE = 2**40
"""The place of boxes that are part of another box."""

Array = np.ndarray[Any, Any]


class Patches(NamedTuple):
    """The small picture: each pixel's place in the large one, where it is computed, and whether both agree.

    A pixel of the large picture may stand in several patches, and is computed in one.
    """

    source: Tensor
    home: Tensor
    own: Tensor

    def take(self, level: Level, image: Image) -> tuple[Level, Image]:
        """The patches of a level and of an image of its size."""
        data, known, u = (each.flatten(2)[:, :, self.source] for each in (*level, image))
        return Level(data, known), u

    def agreed(self, packed: Image) -> Image:
        """Every pixel as it was computed at its home."""
        return packed.flatten(2)[:, :, self.home]

    def put(self, packed: Image, image: Image) -> Image:
        """The image with the pixels that were computed in patches."""
        flat = image.flatten(2).clone()
        flat[:, :, self.source[self.own]] = packed[:, :, self.own]
        return flat.view_as(image)


def around(known: Tensor, steps: int, reach: int, radius: int) -> Patches | None:
    """Patches around what is not known, for so many steps of that ``reach`` under a tensor that looks ``radius`` far.

    None where they would be no gain.
    """
    shape, everywhere = tuple(known.shape[2:]), known.all(0)[0]
    holes = torch.nonzero(~everywhere).cpu().numpy()
    if not 0 < len(holes) < WORTHWHILE * everywhere.numel():
        return None
    cells, cell = np.unique(np.ravel_multi_index(tuple((holes // CELL).T), shape), return_inverse=True)
    if len(cells) > MANY:
        return None
    low, high = np.full((len(cells), len(shape)), max(shape)), np.zeros((len(cells), len(shape)), np.int64)
    np.minimum.at(low, cell, holes)
    np.maximum.at(high, cell, holes + 1)
    low, high = _needed(low, high, steps * reach, reach, radius, np.array(shape))
    if (high - low > shape).any():  # a hole from border to border would be mirrored more than once
        return None
    patch, low, high = _merged(low, high)
    corners, total = _packed(high - low)
    if np.prod(total) > WORTHWHILE * everywhere.numel():
        return None
    # Between the patches lies a pixel that is known, or one that has no effect.
    source = np.full(total, int(everywhere.flatten().byte().argmax()))
    for corner, first, last in zip(corners, low, high, strict=True):
        axes = [_mirrored(np.arange(a, b), n) for a, b, n in zip(first, last, shape, strict=True)]
        source[tuple(map(slice, corner, corner + last - first))] = np.ravel_multi_index(np.ix_(*axes), shape)
    at = np.ravel_multi_index(tuple((holes - low[patch[cell]] + corners[patch[cell]]).T), total)
    homes = np.full(shape, -1)
    homes[tuple(holes.T)] = at
    home, own = homes.reshape(-1)[source], np.zeros(total, bool)
    own.reshape(-1)[at] = True
    home = np.where(home < 0, np.arange(home.size).reshape(total), home)
    return Patches(*(torch.from_numpy(each).to(known.device) for each in (source, home, own)))


def _needed(low: Array, high: Array, wide: int, reach: int, radius: int, shape: Array) -> tuple[Array, Array]:
    """The pixels that the holes of each square depend on: holes around it within reach, and known pixels."""
    near = (np.maximum(low - high[:, None], low[:, None] - high) < reach).all(2)
    part, before = np.arange(len(low)), None
    while before is None or (part != before).any():  # squares whose holes hang together get the same number
        before, part = part, np.where(near, part, len(low)).min(1)
        part = part[part]
    first, last = np.maximum(low, low[:, None] - wide), np.minimum(high, high[:, None] + wide)
    met = ((part == part[:, None]) & (first < last).all(2))[:, :, None]
    first, last = np.where(met, first, max(shape)).min(1), np.where(met, last, 0).max(1)
    # Across the border the steps reach the holes of the mirrored picture.
    below, above = np.maximum(-last, first - wide), np.minimum(2 * shape - first, last + wide)
    return np.where(first < reach, below, first) - radius, np.where(last > shape - reach, above, last) + radius


def _merged(low: Array, high: Array) -> tuple[Array, Array, Array]:
    """Boxes, joined where one around two is no larger than both; and for each given box its new number."""
    inside, size, k = np.arange(len(low)), (high - low).prod(1, dtype=float), 0
    while k < len(low):
        more = (np.maximum(high, high[k]) - np.minimum(low, low[k])).prod(1, dtype=float) - size
        more[k] = np.inf
        other = int(more.argmin())
        if 0 < size[k] >= more[other]:
            low[k], high[k] = np.minimum(low[k], low[other]), np.maximum(high[k], high[other])
            low[other] = high[other] = GONE
            inside[inside == other], size[other], size[k] = k, 0, (high[k] - low[k]).prod(dtype=float)
            k = min(k, other)
        else:
            k += 1
    left = size > 0
    return (np.cumsum(left) - 1)[inside], low[left], high[left]


def _packed(sizes: Array) -> tuple[Array, tuple[int, ...]]:
    """Corners of boxes on shelves, the highest first, and the size of it all; along z they all begin at 0."""
    order, corners = np.lexsort((sizes[:, -1], sizes[:, -2]))[::-1], np.zeros_like(sizes)
    width = max(int(sizes[:, -1].max()), int(np.sqrt(sizes[:, -2:].prod(1).sum())))
    x = y = shelf = 0
    for k in order:
        if x + sizes[k, -1] > width:
            x, y, shelf = 0, y + shelf, 0
        corners[k, -2:] = y, x
        x, shelf = x + int(sizes[k, -1]), max(shelf, int(sizes[k, -2]))
    return corners, (*(int(size) for size in sizes[:, :-2].max(0)), y + shelf, width)


def _mirrored(index: Array, size: int) -> Array:
    """Places beyond the border, mirrored back as often as need be."""
    folded = index % (2 * size)
    found: Array = np.minimum(folded, 2 * size - 1 - folded)
    return found
