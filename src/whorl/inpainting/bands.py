"""Cycles under a frozen tensor, band by band: what a cycle needs beside the picture is the size of a band.

A band is a range of rows with as many more on either side as a cycle can see; pixels beyond have no effect on its rows,
so that the picture comes out as if it had been taken as a whole, bit by bit.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from typing import NamedTuple

import torch

from whorl import engines
from whorl.foundations.types import Image
from whorl.inpainting.pyramid import Level
from whorl.models import Model
from whorl.steps import Numbers, Step

LARGE = 2**20
"""Pixels of all channels together that a band may have; a smaller picture is one band."""


class Band(NamedTuple):
    """Rows ``low <= y < high`` are looked at for the sake of rows ``first <= y < last``."""

    first: int
    last: int
    low: int
    high: int

    @property
    def inner(self) -> slice:
        """The rows asked for, counted from the first one looked at."""
        return slice(self.first - self.low, self.last - self.low)


def bands(rows: int, per_row: int, halo: int) -> Iterator[Band]:
    """Bands over so many rows; none is thinner than its halo.

    >>> [tuple(band) for band in bands(2000, 1000, 100)]
    [(0, 1000, 0, 1100), (1000, 2000, 900, 2000)]
    """
    count = max(1, min(-(-rows * per_row // LARGE), rows // max(halo, 1)))
    for k in range(count):
        first, last = rows * k // count, rows * (k + 1) // count
        yield Band(first, last, max(0, first - halo), min(rows, last + halo))


class Piece(NamedTuple):
    """A band of some images of a batch, and what makes the step that keeps its known pixels."""

    images: slice
    band: Band
    step: Callable[[], Step]


def pieces(model: Model, level: Level, steps: int) -> list[Piece]:
    """All of the picture, for cycles of so many steps: as one band, or in bands over every image of its own.

    The step of a single band is made once. With several bands, steps are made anew in every cycle, to save memory.
    """
    data, known = level
    rows, halo = data.shape[2], steps * model.operator.reach + model.reach
    found = list(bands(rows, data[:1].numel() // rows, halo))
    batch = [slice(None)] if len(found) == 1 else [slice(n, n + 1) for n in range(len(data))]

    def step(images: slice, band: Band) -> Step:
        around = slice(band.low, band.high)
        here = known[images if len(known) > 1 else slice(None), :, around]
        return (model.inpaint(data[images, :, around], ~here) if bool(here.any()) else model).description

    made = [Piece(images, band, partial(step, images, band)) for images in batch for band in found]
    return made if len(made) > 1 else [each._replace(step=cache(each.step)) for each in made]


def cycle(
    parts: Sequence[Piece],
    u: Image,
    move: Image,
    momentum: float,
    taus: Sequence[float],
    mixes: Sequence[float],
    engine: str,
    own: Image | None = None,
) -> tuple[Image, float]:
    """The picture after a cycle that starts from ``u + momentum move``, and the product of its change with ``move``.

    Where ``own`` is given, it weighs the pixels in that product.
    """
    numbers = [Numbers(tau) for tau in taus]

    def one(part: Piece) -> tuple[Image, float]:
        images, band = part.images, part.band
        around, inner = slice(band.low, band.high), slice(band.first, band.last)
        start = torch.add(u[images, :, around], move[images, :, around], alpha=momentum)
        done = engines.advance(part.step(), start, numbers, engine, mixes=mixes, frozen=True)[:, :, band.inner]
        change = (done - start[:, :, band.inner]).detach()
        weighed = change if own is None else change * own[inner]
        return done, float(torch.dot(weighed.flatten(), move[images, :, inner].detach().flatten()))

    if len(parts) == 1:
        return one(parts[0])
    after, along = torch.empty_like(u), 0.0
    for part in parts:
        done, share = one(part)
        after[part.images, :, part.band.first : part.band.last], along = done, along + share
    return after, along
