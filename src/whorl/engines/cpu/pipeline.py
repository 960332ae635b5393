"""Several explicit steps in one pass over the image.

Rows travel through a pipeline: as soon as two rows of an iterate exist, the row of cells between them is evaluated and
completes a row of the next iterate. Of every iterate only the last few rows and one row of fluxes are kept, in the
caches; the image is read once and written once for all steps together. A step may be mixed with the iterate before it,
as semi-iterative schemes do.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, one, source_stamp
from whorl.engines.cpu.rows import copy_row, flux, fused, load_row, mirror_ends, mix_row, step_row, structure, tensor

__all__ = ["CHUNK", "pipeline"]

CHUNK = 1023
"""Pixels per chunk of a row; its cells and their buffers fit into the first-level cache."""

SLOTS = 4
"""Rows kept of every iterate: the step after next looks back at a row three rows above the newest."""


@cache
def pipeline(coupling: int, kind: int, alone: bool) -> Callable[..., int]:
    """The kernel for one coupling and one diffusivity, for fields that are ``alone`` or coupled with others.

    It advances rows ``r0 <= y < r1`` of ``members`` coupled fields, ``first`` and following of the flat array ``u``, by
    ``len(taus)`` steps. Where ``mixes`` is not 1, the step is extrapolated from the iterate before, which is ``before``
    for the first; if ``keep``, the last iterate but one goes to ``out_before``.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, before: Any, out: Any, out_before: Any, keep: bool, first: int, members: int, H: int, W: int,
        r0: int, r1: int, taus: Any, mixes: Any, k: Any, rate: float, chunk: int,
    ) -> int:  # fmt: skip
        steps, pitch = taus.shape[0], W + 2
        lane = (W + chunk - 1) // chunk * (chunk + 1)
        rows = np.empty(steps * members * SLOTS * pitch, u.dtype)
        across, down = np.zeros(steps * members * lane, u.dtype), np.zeros(steps * members * lane, u.dtype)
        Ja, Jb, Jc = np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype)
        E, F = np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype)
        last = min(H, r1 + steps)
        for i in range(max(0, r0 - steps), last + steps):
            if i < last:
                for m in range(members):
                    load_row(u, ((first + m) * H + i) * W, rows, (SLOTS * m + i % SLOTS) * pitch, W)
            for s in range(steps):
                # The cells between rows i-s-1 and i-s of iterate s complete row i-s-1 of iterate s+1.
                y, spare = i - s, steps - s - 1
                top, bottom = max(0, r0 - spare), min(H, r1 + spare)
                if y < top or y > bottom:
                    continue
                base = SLOTS * s * members
                above, below, done = base + max(y - 1, 0) % SLOTS, base + min(y, H - 1) % SLOTS, (y - 1) % SLOTS
                for column in range(0, W, chunk):
                    n = min(chunk, W - column)
                    if not alone:
                        for m in range(members):
                            t, b = (above + SLOTS * m) * pitch + column, (below + SLOTS * m) * pitch + column
                            structure(coupling, m == 0, rows, t, b, n + 1, one(rate), k, Ja, Jb, Jc)
                        tensor(coupling, kind, n + 1, Ja, Jb, Jc, rate)
                    for m in range(members):
                        t, b = (above + SLOTS * m) * pitch + column, (below + SLOTS * m) * pitch + column
                        c = (s * members + m) * lane + column // chunk * (chunk + 1)
                        if alone:
                            fused(coupling, kind, rows, t, b, n + 1, k, rate, across, down, c, E, F)
                        else:
                            flux(coupling, rows, t, b, n + 1, Ja, Jb, Jc, k, across, down, c, E, F)
                        if y == top:
                            continue
                        place = ((first + m) * H + y - 1) * W + column
                        last_row = (base + SLOTS * (m - members) + done) * pitch + column + 1
                        next_row = (base + SLOTS * (m + members) + done) * pitch + column + 1
                        if spare == 0:
                            step_row(rows, t + 1, out, place, n, E, F, at(taus, s))
                        else:
                            step_row(rows, t + 1, rows, next_row, n, E, F, at(taus, s))
                        if at(mixes, s) != 1:
                            if spare == 0 and s == 0:
                                mix_row(before, place, out, place, n, at(mixes, s))
                            elif spare == 0:
                                mix_row(rows, last_row, out, place, n, at(mixes, s))
                            elif s == 0:
                                mix_row(before, place, rows, next_row, n, at(mixes, s))
                            else:
                                mix_row(rows, last_row, rows, next_row, n, at(mixes, s))
                        if keep and spare == 1 and r0 < y <= r1:
                            copy_row(rows, next_row, out_before, place, n)
                if y > top and spare > 0:
                    for m in range(members):
                        mirror_ends(rows, (base + SLOTS * (m + members) + done) * pitch, W)
        return stamp

    return kernel
