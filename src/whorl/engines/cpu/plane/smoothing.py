"""Gaussian smoothing of whole images with the bits of the plain operator.

The plain operator multiplies, adds, and rounds after either; so do these loops, in the same order of taps. So
both give the same bits.
"""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.gaussian import TWICE, smooth_columns, smooth_rows
from whorl.engines.cpu.threads import batches, run
from whorl.engines.cpu.workspace import flat, fresh, room


def smoothed(u: Tensor, weights: Sequence[float], across: Sequence[float] | None = None) -> Tensor:
    """The image ``(n, c, y, x)`` smoothed with ``w_0 .. w_R`` along y, then along x, there with others if given."""
    u = u.detach().contiguous()
    n, C, H, W = u.shape
    out = fresh(u)
    source, result = flat(u), flat(out)
    taps, other = (np.array(some, source.dtype) for some in (weights, weights if across is None else across))
    pad = -(-(len(other) - 1) // LINE) * LINE
    kernel = rows()

    def work(planes: range, r0: int, r1: int) -> None:
        (row,) = room((W + 2 * pad,), source.dtype)
        kernel(source, result, (planes.start, planes.stop, H, W, r0, r1), taps, other, row, pad)

    run(work, batches(H, n * C, 8, W))
    return out


LINE = 16
"""The row starts at a multiple of this many pixels."""


@cache
def rows() -> Callable[..., int]:
    """The kernel: rows ``r0 <= y < r1`` of some planes; ``row`` has room for ``pad`` pixels on each side."""
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(u: Any, out: Any, window: Any, taps: Any, other: Any, row: Any, pad: int) -> int:
        first, last, H, W, r0, r1 = window
        R, S = taps.shape[0] - 1, other.shape[0] - 1
        for plane in range(first, last):
            base = plane * H * W
            for y in range(r0, r1):
                smooth_columns(TWICE, u, base, 0, W, y, H, W, taps, 0, R, row, pad, S)
                smooth_rows(TWICE, row, pad, other, 0, S, out, base + y * W, W)
        return stamp

    return kernel
