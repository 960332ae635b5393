"""Several explicit steps in one pass over the image.

Rows travel through a pipeline: as soon as two rows of an iterate exist, the row of cells between them is evaluated and
completes a row of the next iterate. Of every iterate only the last few rows and one row of fluxes are kept, in the
caches; the image is read once and written once for all steps together. A step may be pulled towards data, mixed with
the iterate before it, as semi-iterative schemes do, and have its known pixels put back. A step of fourth order is two
halves of second order, and only the second one does that.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from whorl.engines.cpu.arithmetic import at, one, put, zero
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.plane import rows as loops
from whorl.engines.cpu.plane.cells import geometry
from whorl.engines.cpu.rows import copy_row

GIVEN = -1
"""In place of the number of coupled fields: any number, under tensors that are given."""

LINE = 16
"""Rows start at multiples of this many pixels, so that no store straddles two lines of the caches."""


def pitch(width: int) -> int:
    """The length of a row with its mirrored ends, the first pixel on the start of a line."""
    return LINE + -(-(width + 1) // LINE) * LINE


def slots(halves: int) -> int:
    """Rows kept of every iterate: the step after next, of so many halves, looks back from the newest to the oldest."""
    return 2 * halves + 2


@cache
def pipeline(law: int, kind: int, together: int, halves: int) -> Callable[..., int]:
    """The kernel for one law and one diffusivity, for ``together`` coupled fields: 1, 3, 0 (any), or ``GIVEN``.

    It advances rows ``r0 <= y < r1`` and columns ``c0 <= x < c1`` of ``members`` coupled fields, from ``first`` on,
    of the flat array ``u``, by ``len(taus)`` steps, or halves of steps if ``halves`` is 2. It works on columns
    ``left <= x < right``. Their ends are mirrored even where the image goes on; the error made there moves inwards by
    one pixel per step or half, so these columns must reach at least as many pixels beyond those asked for, or to the
    border of the image.

    Where ``mixes`` is not 1, the step is extrapolated from the iterate before, which is ``before`` for the first; if
    ``keep``, the last iterate but one goes to ``out_before``. ``rows``, ``across`` and ``down`` give room for ``slots``
    rows and one of fluxes per step and member, and one more row per member; ``J`` for a tensor, or holds the given ones
    of all cells.

    Where ``data`` is not empty, every step goes by ``pulls[s] * weights`` towards it, a flat batch like ``u``;
    where ``known`` is not empty, pixels with a one in it keep their values. Field f has the plane ``weighed[f]`` of the
    weights and ``masked[f]`` of the mask.
    """
    stamp, SLOTS = source_stamp(), slots(halves)

    @compiled(cache=True)
    def kernel(images: Any, where: Any, numbers: Any, held: Any, room: Any, J: Any) -> int:
        # Plain tuples: a call with named ones would take longer than the work on a small picture.
        u, before, out, out_before = images
        keep, first, members, H, W, r0, r1, c0, c1, left, right, pitch = where
        taus, mixes, pulls, k, rate, more = numbers
        data, weights, weighed, known, masked = held
        rows, across, down = room
        kept, geo, steps, width = (across, down), geometry(k), taus.shape[0], right - left
        for j in range(steps * members * pitch):
            put(across, j, zero(rate))
            put(down, j, zero(rate))
        nowhere = steps * members * SLOTS * pitch + LINE
        last = min(H, r1 + steps)
        for i in range(max(0, r0 - steps), last + steps):
            if i < last:
                for m in range(members):
                    row = (i % SLOTS * members + m) * pitch + LINE
                    copy_row(u, ((first + m) * H + i) * W + left, rows, row, width)
                    loops.mirror_ends(rows, row - 1, width)
            for s in range(steps):
                # The cells between rows i-s-1 and i-s of iterate s complete row i-s-1 of iterate s+1.
                y, spare, tau = i - s, steps - s - 1, at(taus, s)
                top, bottom = max(0, r0 - spare), min(H, r1 + spare)
                if y < top or y > bottom:
                    continue
                # Rows of one iterate follow each other, those of coupled fields side by side.
                size = members * pitch
                t = (SLOTS * s + max(y - 1, 0) % SLOTS) * size + LINE - 1
                b = (SLOTS * s + min(y, H - 1) % SLOTS) * size + LINE - 1
                c, done = s * size + LINE - 1, (y - 1) % SLOTS
                a, z = (0, width) if spare else (c0 - left, c1 - left)
                # The last step writes its pixels to the image; the first row of cells completes no pixels.
                place = (first * H + y - 1) * W + left
                target, ahead, apart = rows, nowhere, pitch
                if y > top and spare > 0:
                    ahead = (SLOTS * (s + 1) + done) * size + LINE
                elif y > top and together != 3:
                    target, ahead, apart = out, place, H * W
                if together == 1:
                    loops.step_alone(law, kind, rows, (t, b), a, z, geo, (rate, more), kept, c, target, ahead, tau)
                elif together == 3:
                    loops.step_three(law, kind, rows, (t, b), a, z, geo, rate, more, kept, c, rows, ahead, tau)
                else:
                    cell = (first // members * (H + 1) + y) * (W + 1) + left if together == GIVEN else 0
                    for m in range(0 if together == GIVEN else members):
                        shift = m * pitch
                        loops.structure(law, m == 0, rows, (t + shift, b + shift), width + 1, one(rate), geo, J)
                    if together != GIVEN:
                        loops.tensor(law, kind, width + 1, J, rate, more)
                    T = J[0][cell:], J[1][cell:], J[2][cell:]
                    for m in range(members):
                        shift, there = m * pitch, ahead + m * apart
                        both = t + shift, b + shift
                        loops.step_under(law, kind, rows, both, a, z, geo, T, kept, c + shift, target, there, tau)
                if y == top:
                    continue
                whole = (s + 1) % halves == 0
                for m in range(members):
                    here, there = ahead + m * apart, place + m * H * W
                    pixel, new, n = (y - 1) * W + left + a, here + a, z - a
                    old = (SLOTS * (s + 1 - halves) + done) * size + m * pitch + LINE + a
                    if whole and data.shape[0] > 0:
                        share = weighed[first + m] * H * W + pixel
                        loops.pull_row(data, there + a, weights, share, rows, old, target, new, n, pulls[s])
                    if whole and at(mixes, s) != 1:
                        if s < halves:
                            loops.mix_row(before, there + a, target, new, n, at(mixes, s))
                        else:
                            last_row = (SLOTS * (s + 1 - 2 * halves) + done) * size + m * pitch + LINE
                            loops.mix_row(rows, last_row + a, target, new, n, at(mixes, s))
                    if whole and known.shape[0] > 0:
                        mark = masked[first + m] * H * W + pixel
                        loops.keep_row(target, new, rows, old, known, mark, n)
                    if spare > 0:
                        loops.mirror_ends(rows, here - 1, width)
                    elif together == 3:
                        copy_row(rows, here + a, out, there + a, z - a)
                    if keep and spare == halves and r0 < y <= r1:
                        copy_row(rows, here + c0 - left, out_before, there + c0 - left, c1 - c0)
        return stamp

    return kernel
