"""One explicit step under a structure tensor that is smoothed (rho), on a strip of rows.

As the strips, with one more stage: the entries of J are written to planes, smoothed along x row by row, and smoothed
along y as soon as the rows they need are there. The image is mirrored at its border, which runs through the outermost
cells; so J is mirrored there without repeating them, and its mixed entry changes sign.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, put, source_stamp
from whorl.engines.cpu.gaussian import ONCE, smooth_across, smooth_rows
from whorl.engines.cpu.rows import divergence_row, flux, structure, tensor
from whorl.engines.cpu.strips import reach, smooth_fields, subtract_smoothed

__all__ = ["coherent"]


@cache
def coherent(coupling: int, kind: int) -> Callable[..., int]:
    """The kernel for one law and one diffusivity: as the strip, with the Gaussian of J along y and x behind it.

    ``rho`` holds its taps along y, and those along x from ``x_taps`` on; ``planes`` has room for the entries of J.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, out: Any, image: int, C: int, H: int, W: int, r0: int, r1: int,
        channel: Any, scale: Any, seen: Any, moved: Any, weight: Any, factor: Any,
        taps: Any, start: Any, radius: Any, k: Any, k_seen: Any, rate: float, fields: Any, sources: Any,
        floor: float, rho: Any, x_taps: int, planes: Any,
    ) -> int:  # fmt: skip
        R, R_x = x_taps - 1, rho.shape[0] - x_taps - 1
        halo = reach(moved, scale, radius)
        low, high = max(0, r0 - halo), min(H, r1 + halo)
        top, bottom = max(0, low - 1 - R), min(H, high + 1 + R)
        smooth_fields(u, image * C, H, W, top, bottom, channel, scale, taps, start, radius, fields)
        pitch, height, cells = W + 2, bottom - top, W + 1
        size = (high - low + 1 + 2 * R) * cells
        Ja, Jb, Jc = np.empty(cells, u.dtype), np.empty(cells, u.dtype), np.empty(cells, u.dtype)
        E, F, row = np.empty(cells, u.dtype), np.empty(cells, u.dtype), np.empty(cells + 2 * R_x, u.dtype)
        across, down = np.zeros(moved.shape[1] * cells, u.dtype), np.zeros(moved.shape[1] * cells, u.dtype)
        where = np.empty(2 * R + 1, np.int64)
        for g in range(moved.shape[0]):
            for i in range(low - R, high + R + 1):
                turned = i % (2 * H) > H
                y = min(i % (2 * H), 2 * H - i % (2 * H))
                above, below = (max(y - 1, 0) - top) * pitch, (min(y, H - 1) - top) * pitch
                for m in range(seen.shape[1]):
                    f = seen[g, m]
                    t, b = f * height * pitch + above, f * height * pitch + below
                    structure(coupling, m == 0, fields, t, b, cells, at(weight, f), k_seen, Ja, Jb, Jc)
                here = (i - low + R) * cells
                along_row(Ja, 1, 1, W, rho, x_taps, R_x, row, planes, here)
                along_row(Jb, -1, -1 if turned else 1, W, rho, x_taps, R_x, row, planes, size + here)
                along_row(Jc, 1, 1, W, rho, x_taps, R_x, row, planes, 2 * size + here)
            for y in range(low, high + 1):
                for j in range(2 * R + 1):
                    where[j] = (y - low + j) * cells
                smooth_across(ONCE, planes, where, 0, rho, 0, R, Ja, 0, cells)
                smooth_across(ONCE, planes, where, size, rho, 0, R, Jb, 0, cells)
                smooth_across(ONCE, planes, where, 2 * size, rho, 0, R, Jc, 0, cells)
                tensor(coupling, kind, cells, Ja, Jb, Jc, rate, floor)
                above, below = (max(y - 1, 0) - top) * pitch, (min(y, H - 1) - top) * pitch
                for m in range(moved.shape[1]):
                    f = moved[g, m]
                    t, b = f * height * pitch + above, f * height * pitch + below
                    flux(coupling, fields, t, b, cells, Ja, Jb, Jc, k, across, down, m * cells, E, F)
                    if y > low:
                        divergence_row(sources, (f * (high - low) + y - 1 - low) * W, W, E, F)
        subtract_smoothed(
            u, out, image * C, C, H, W, r0, r1, low, high, channel, scale, moved, factor, taps, start, radius, sources
        )
        return stamp

    return kernel


@compiled()
def along_row(
    J: Any, outside: int, sign: int, W: int, rho: Any, first: int, R: int, row: Any, planes: Any, target: int
) -> None:
    """A row of W + 1 cells smoothed along x; cells beyond the border count ``outside``, all of them ``sign``."""
    for j in range(W + 1):
        put(row, R + j, at(J, j) if sign > 0 else -at(J, j))
    for j in range(1, R + 1):
        left, right = j % (2 * W), (W + j) % (2 * W)
        before = at(row, R + min(left, 2 * W - left))
        behind = at(row, R + min(right, 2 * W - right))
        put(row, R - j, before if outside > 0 or left > W else -before)
        put(row, R + W + j, behind if outside > 0 or right < W else -behind)
    smooth_rows(ONCE, row, R, rho, first, R, planes, target, W + 1)
