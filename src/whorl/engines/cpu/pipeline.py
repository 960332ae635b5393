"""Several explicit steps in one pass over the image.

Rows travel through a pipeline: as soon as two rows of an iterate exist, the row of cells between them is evaluated and
completes a row of the next iterate. Of every iterate only two rows and one row of fluxes are kept, in the caches; the
image is read once and written once for all steps together.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, put, source_stamp
from whorl.engines.cpu.cells import flux, step_row, structure
from whorl.engines.cpu.tensors import tensor

__all__ = ["CHUNK", "pipeline"]

CHUNK = 1023
"""Pixels per chunk of a row; its cells and their buffers fit into the first-level cache."""


@cache
def pipeline(coupling: int, kind: int) -> Callable[..., int]:
    """The kernel for one coupling and one diffusivity.

    ``kernel(u, out, first, members, H, W, r0, r1, taus, k, rate, chunk)`` advances rows ``r0 <= y < r1`` of ``members``
    coupled fields, ``first`` and following of the flat array ``u``, by ``len(taus)`` steps.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, out: Any, first: int, members: int, H: int, W: int, r0: int, r1: int,
        taus: Any, k: Any, rate: float, chunk: int,
    ) -> int:  # fmt: skip
        steps, pitch = taus.shape[0], W + 2
        lane = (W + chunk - 1) // chunk * (chunk + 1)
        rows = np.empty(steps * members * 2 * pitch, u.dtype)
        across, down = np.zeros(steps * members * lane, u.dtype), np.zeros(steps * members * lane, u.dtype)
        Ja, Jb, Jc = np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype)
        E, F = np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype)
        weight = at(k, 6)
        last = min(H, r1 + steps)
        for i in range(max(0, r0 - steps), last + steps):
            if i < last:
                for m in range(members):
                    load_row(u, ((first + m) * H + i) * W, rows, (2 * m + (i & 1)) * pitch, W)
            for s in range(steps):
                # The cells between rows i-s-1 and i-s of iterate s complete row i-s-1 of iterate s+1.
                y, spare = i - s, steps - s - 1
                top, bottom = max(0, r0 - spare), min(H, r1 + spare)
                if y < top or y > bottom:
                    continue
                base = 2 * s * members
                above, below = base + (max(y - 1, 0) & 1), base + (min(y, H - 1) & 1)
                for column in range(0, W, chunk):
                    n = min(chunk, W - column)
                    for m in range(members):
                        t, b = (above + 2 * m) * pitch + column, (below + 2 * m) * pitch + column
                        structure(coupling, m == 0, rows, t, b, n + 1, weight, k, Ja, Jb, Jc)
                    tensor(coupling, kind, n + 1, Ja, Jb, Jc, rate)
                    for m in range(members):
                        t, b = (above + 2 * m) * pitch + column, (below + 2 * m) * pitch + column
                        c = (s * members + m) * lane + column // chunk * (chunk + 1)
                        flux(coupling, rows, t, b, n + 1, Ja, Jb, Jc, k, across, down, c, E, F)
                        if y > top and spare == 0:
                            o = ((first + m) * H + y - 1) * W + column
                            step_row(rows, t + 1, out, o, n, E, F, at(taus, s))
                        elif y > top:
                            o = (base + 2 * (members + m) + ((y - 1) & 1)) * pitch + column + 1
                            step_row(rows, t + 1, rows, o, n, E, F, at(taus, s))
                if y > top and spare > 0:
                    for m in range(members):
                        mirror_ends(rows, (base + 2 * (members + m) + ((y - 1) & 1)) * pitch, W)
        return stamp

    return kernel


@compiled()
def load_row(u: Any, source: int, rows: Any, target: int, W: int) -> None:
    """Copy a row and mirror its ends."""
    for j in range(W):
        put(rows, target + 1 + j, at(u, source + j))
    mirror_ends(rows, target, W)


@compiled()
def mirror_ends(rows: Any, target: int, W: int) -> None:
    """Set the pixel before the first and after the last."""
    put(rows, target, at(rows, target + 1))
    put(rows, target + W + 1, at(rows, target + W))
