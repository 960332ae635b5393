"""Cycles under a frozen tensor, window by window: what a cycle needs beside the picture is the size of a window.

A window is a range of rows with as many more on either side as a cycle can see; beyond them nothing has an effect on
its rows, so that the picture comes out as if it had been taken as a whole, bit by bit.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import torch

from whorl import engines
from whorl.foundations.types import Image
from whorl.inpainting.pyramid import Level
from whorl.models import Model
from whorl.steps import Numbers

__all__ = ["LARGE", "Window", "cycle", "windows"]

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


def cycle(
    model: Model,
    level: Level,
    u: Image,
    move: Image,
    momentum: float,
    taus: Sequence[float],
    mixes: Sequence[float],
    engine: str,
) -> tuple[Image, float]:
    """The picture after a cycle that starts from ``u + momentum move``, and the product of its change with ``move``."""
    numbers, rows = [Numbers(tau) for tau in taus], u.shape[2]
    halo = len(taus) * model.operator.reach + model.reach

    def part(image: slice, window: Window) -> tuple[Image, float]:
        seen, inner = slice(window.low, window.high), slice(window.first, window.last)
        start = torch.add(u[image, :, seen], move[image, :, seen], alpha=momentum)
        known = level.known[image if len(level.known) > 1 else slice(None), :, seen]
        held = model.inpaint(level.data[image, :, seen], ~known) if bool(known.any()) else model
        done = engines.advance(held.description, start, numbers, engine, mixes=mixes, frozen=True)[:, :, window.inner]
        change = (done - start[:, :, window.inner]).detach().flatten()
        return done, float(torch.dot(change, move[image, :, inner].detach().flatten()))

    parts = list(windows(rows, u[:1].numel() // rows, halo))
    if len(parts) == 1:
        return part(slice(None), parts[0])
    after, along = torch.empty_like(u), 0.0
    for image in range(len(u)):
        for window in parts:
            done, share = part(slice(image, image + 1), window)
            after[image, :, window.first : window.last], along = done[0], along + share
    return after, along
