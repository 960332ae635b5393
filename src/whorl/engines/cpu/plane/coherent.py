"""A structure tensor that is smoothed (rho), for a strip of rows.

The entries of J are written to planes, smoothed along x row by row, and smoothed along y as soon as the rows they need
are there. The image is mirrored at its border, which runs through the outermost cells; so J is mirrored there without
repeating them, and its mixed entry changes sign.
"""

from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, put
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.gaussian import ONCE, smooth_across, smooth_rows
from whorl.engines.cpu.plane.rows import structure


@compiled()
def structure_planes(
    law: int, fields: Any, seen: Any, weight: Any, k: Any, H: int, W: int, top: int, height: int, low: int, high: int,
    rho: Any, x_taps: int, J: Any, planes: Any,
) -> None:  # fmt: skip
    """The structure of a group of fields, smoothed along x: all rows of cells that ``low <= y <= high`` need along y.

    ``fields`` has the rows of the image from ``top`` on, so many as its ``height``.
    """
    R, R_x, pitch, cells = x_taps - 1, rho.shape[0] - x_taps - 1, W + 2, W + 1
    size, row = (high - low + 1 + 2 * R) * cells, np.empty(cells + 2 * R_x, fields.dtype)
    for i in range(low - R, high + R + 1):
        turned = i % (2 * H) > H
        y = min(i % (2 * H), 2 * H - i % (2 * H))
        above, below = (max(y - 1, 0) - top) * pitch, (min(y, H - 1) - top) * pitch
        for m in range(seen.shape[0]):
            f, first = seen[m], seen[m] * height * pitch
            structure(law, m == 0, fields, (first + above, first + below), cells, at(weight, f), k, J)
        here = (i - low + R) * cells
        along_row(J[0], 1, 1, W, rho, x_taps, R_x, row, planes, here)
        along_row(J[1], -1, -1 if turned else 1, W, rho, x_taps, R_x, row, planes, size + here)
        along_row(J[2], 1, 1, W, rho, x_taps, R_x, row, planes, 2 * size + here)


@compiled()
def smoothed_row(planes: Any, y: int, rows: int, rho: Any, R: int, J: Any, cells: int) -> None:
    """Row y of the smoothed structure, of the ``rows + 1`` that the planes were made for."""
    size, where = (rows + 1 + 2 * R) * cells, np.empty(2 * R + 1, np.int64)
    for j in range(2 * R + 1):
        where[j] = (y + j) * cells
    for e in range(3):
        smooth_across(ONCE, planes, where, e * size, rho, 0, R, J[e], 0, cells)


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
