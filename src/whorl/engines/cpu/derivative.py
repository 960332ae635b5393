"""The transposed derivative of one step, on a strip of rows: the same passes as the step itself, on two fields.

With D = h(J) and w the derivative of the loss with respect to the result, the derivative with respect to the image is

    w - sum_f G_f K^T ( factor_f D K G_f w  +  2 weight_f L[S] K G_f u ),      S = sum_f factor_f (K G_f w) (K G_f u)^T,

where the first sum runs over fields that flow and the second over those that steer. Everything is computed anew from u
and w. Derivatives with respect to numbers come from two sums per field and row of cells, summed pairwise, so that they
do not depend on how the image was split.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, half, put, source_stamp, zero
from whorl.engines.cpu.linearised import flux_pair, linearise, products
from whorl.engines.cpu.rows import divergence_row, structure
from whorl.engines.cpu.strips import reach, smooth_fields, subtract_smoothed

__all__ = ["derivative"]


@cache
def derivative(coupling: int, kind: int) -> Callable[..., int]:
    """The kernel for one coupling and one diffusivity.

    As the strip, with ``w`` beside ``u``, ``both[g]`` the fields of a group of either kind, and ``sums[y, f]`` for the
    two sums of every row of cells and field.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, w: Any, out: Any, sums: Any, image: int, C: int, H: int, W: int, r0: int, r1: int,
        channel: Any, scale: Any, seen: Any, moved: Any, both: Any, weight: Any, factor: Any, ones: Any,
        taps: Any, start: Any, radius: Any, k: Any, k_seen: Any, rate: float, unit: float,
        x: Any, y: Any, sources: Any, chunk: int,
    ) -> int:  # fmt: skip
        halo = reach(both, scale, radius)
        low, high = max(0, r0 - halo), min(H, r1 + halo)
        top, bottom = max(0, low - 1), min(H, high + 1)
        smooth_fields(u, image * C, H, W, top, bottom, channel, scale, taps, start, radius, x)
        smooth_fields(w, image * C, H, W, top, bottom, channel, scale, taps, start, radius, y)
        pitch, height = W + 2, bottom - top
        buffer = chunk + 1
        Ja, Jb, Jc = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        Sa, Sb, Sc = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        E, F, Sr = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        one, two = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        lane = (W + chunk - 1) // chunk * buffer
        across, down = np.zeros(both.shape[1] * lane, u.dtype), np.zeros(both.shape[1] * lane, u.dtype)
        for g in range(both.shape[0]):
            for i in range(low, high + 1):
                above, below = (max(i - 1, 0) - top) * pitch, (min(i, H - 1) - top) * pitch
                counted = r0 <= i < r1 or i == H == r1
                for column in range(0, W, chunk):
                    n = min(chunk, W - column)
                    for m in range(seen.shape[1]):
                        f = seen[g, m]
                        t, b = f * height * pitch + above + column, f * height * pitch + below + column
                        structure(coupling, m == 0, x, t, b, n + 1, at(weight, f), k_seen, Ja, Jb, Jc)
                    for m in range(moved.shape[1]):
                        f = moved[g, m]
                        t, b = f * height * pitch + above + column, f * height * pitch + below + column
                        products(coupling, m == 0, x, y, t, b, n + 1, at(factor, f), k, Sa, Sb, Sc, Sr)
                    linearise(coupling, kind, n + 1, Ja, Jb, Jc, Sa, Sb, Sc, Sr, rate, unit)
                    for m in range(both.shape[1]):
                        f = both[g, m]
                        t, b = f * height * pitch + above + column, f * height * pitch + below + column
                        c = m * lane + column // chunk * buffer
                        flux_pair(
                            coupling, x, y, t, b, n + 1, Ja, Jb, Jc, Sa, Sb, Sc, k, k_seen,
                            at(factor, f), at(weight, f), across, down, c, E, F, one, two,
                        )  # fmt: skip
                        if i > low:
                            divergence_row(sources, (f * (high - low) + i - 1 - low) * W + column, n, E, F)
                        if counted:
                            border = 0.5 if i == 0 or i == H else 1.0
                            sums[i, f, 0] += border * total(one, n, column == 0, column + n == W)
                            sums[i, f, 1] += border * total(two, n, column == 0, column + n == W)
        subtract_smoothed(
            w, out, image * C, C, H, W, r0, r1, low, high, channel, scale, both, ones, taps, start, radius, sources
        )
        return stamp

    return kernel


@compiled()
def total(v: Any, n: int, first: bool, last: bool) -> float:
    """The sum of the cells of a chunk, by halves; the cell shared with the next chunk counts there.

    Border cells count half. A sum by halves is the same for every split of the image into strips, and accurate.
    """
    if first:
        put(v, 0, half(at(v, 0)) * at(v, 0))
    put(v, n, half(at(v, n)) * at(v, n) if last else zero(at(v, n)))
    size = n + 1
    while size > 1:
        rest = size // 2
        keep = size - rest
        for j in range(rest):
            put(v, j, at(v, j) + at(v, keep + j))
        size = keep
    return np.float64(at(v, 0))
