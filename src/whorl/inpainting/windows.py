"""Cycles under a frozen tensor, window by window: what a cycle needs beside the picture is the size of a window.

A window is a range of rows with as many more on either side as a cycle can see; beyond them nothing has an effect on
its rows, so that the picture comes out as if it had been taken as a whole, bit by bit.
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
"""Pixels of all channels together that a window may have; a smaller picture is one window."""


class Window(NamedTuple):
    """Rows ``low <= y < high`` are looked at for the sake of rows ``first <= y < last``."""

    first: int
    last: int
    low: int
    high: int

    @property
    def inner(self) -> slice:
        """The rows asked for, counted from the first one looked at."""
        return slice(self.first - self.low, self.last - self.low)


def windows(rows: int, per_row: int, halo: int) -> Iterator[Window]:
    """Windows over so many rows; none is thinner than its halo.

    >>> [tuple(window) for window in windows(2000, 1000, 100)]
    [(0, 1000, 0, 1100), (1000, 2000, 900, 2000)]
    """
    count = max(1, min(-(-rows * per_row // LARGE), rows // max(halo, 1)))
    for k in range(count):
        first, last = rows * k // count, rows * (k + 1) // count
        yield Window(first, last, max(0, first - halo), min(rows, last + halo))


class Piece(NamedTuple):
    """A window of some images of a batch, and what makes the step that keeps its known pixels."""

    images: slice
    window: Window
    step: Callable[[], Step]


def pieces(model: Model, level: Level, steps: int) -> list[Piece]:
    """All of the picture, for cycles of so many steps: as one window, or in windows over every image of its own.

    The step of a single window is made once. Those of several are made anew in every cycle: they would take room.
    """
    data, known = level
    rows, halo = data.shape[2], steps * model.operator.reach + model.reach
    found = list(windows(rows, data[:1].numel() // rows, halo))
    batch = [slice(None)] if len(found) == 1 else [slice(n, n + 1) for n in range(len(data))]

    def step(images: slice, window: Window) -> Step:
        seen = slice(window.low, window.high)
        here = known[images if len(known) > 1 else slice(None), :, seen]
        return (model.inpaint(data[images, :, seen], ~here) if bool(here.any()) else model).description

    made = [Piece(images, window, partial(step, images, window)) for images in batch for window in found]
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
        images, window = part.images, part.window
        seen, inner = slice(window.low, window.high), slice(window.first, window.last)
        start = torch.add(u[images, :, seen], move[images, :, seen], alpha=momentum)
        done = engines.advance(part.step(), start, numbers, engine, mixes=mixes, frozen=True)[:, :, window.inner]
        change = (done - start[:, :, window.inner]).detach()
        weighed = change if own is None else change * own[inner]
        return done, float(torch.dot(weighed.flatten(), move[images, :, inner].detach().flatten()))

    if len(parts) == 1:
        return one(parts[0])
    after, along = torch.empty_like(u), 0.0
    for part in parts:
        done, share = one(part)
        after[part.images, :, part.window.first : part.window.last], along = done, along + share
    return after, along
