"""The derivative of one step along several directions, on a strip of rows: forward mode.

A direction moves the image by y and the numbers of the step by ``d_factor`` and ``d_weight``. With D = h(J) it moves

    J by      sum_f  weight_f (K x_f (K y_f)^T + K y_f (K x_f)^T) + d_weight_f K x_f (K x_f)^T,
    the flux  by  factor_f (D K y_f + D' K x_f) + d_factor_f D K x_f,        D' = L_h(J)[J'],

where x_f and y_f are the smoothed fields. A larger contrast acts like smaller weights and is counted there.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, fma, half, one, source_stamp, zero
from whorl.engines.cpu.cells import bilinear, collect, entries, flow, haar, measure, spread
from whorl.engines.cpu.linearised import linearise
from whorl.engines.cpu.rows import divergence_row
from whorl.engines.cpu.strips import reach, smooth_fields, subtract_smoothed

__all__ = ["tangents"]


@cache
def tangents(coupling: int, kind: int) -> Callable[..., int]:
    """The kernel for one coupling and one diffusivity; ``v`` and ``out`` hold one batch of images per direction."""
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, v: Any, out: Any, directions: int, images: int, image: int, C: int, H: int, W: int, r0: int, r1: int,
        channel: Any, scale: Any, seen: Any, moved: Any, weight: Any, factor: Any, ones: Any,
        d_weight: Any, d_factor: Any, taps: Any, start: Any, radius: Any, k: Any, k_seen: Any, rate: float, unit: float,
        x: Any, y: Any, sources: Any, chunk: int,
    ) -> int:  # fmt: skip
        halo = reach(moved, scale, radius)
        low, high = max(0, r0 - halo), min(H, r1 + halo)
        top, bottom = max(0, low - 1), min(H, high + 1)
        smooth_fields(u, image * C, H, W, top, bottom, channel, scale, taps, start, radius, x)
        pitch, height = W + 2, bottom - top
        buffer = chunk + 1
        Ja, Jb, Jc = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        Sa, Sb, Sc = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        E, F, Sr = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.zeros(buffer, u.dtype)
        lane = (W + chunk - 1) // chunk * buffer
        across, down = np.zeros(moved.shape[1] * lane, u.dtype), np.zeros(moved.shape[1] * lane, u.dtype)
        fields = channel.shape[0]
        for d in range(directions):
            here = d * images + image
            smooth_fields(v, here * C, H, W, top, bottom, channel, scale, taps, start, radius, y)
            for g in range(moved.shape[0]):
                for i in range(low, high + 1):
                    above, below = (max(i - 1, 0) - top) * pitch, (min(i, H - 1) - top) * pitch
                    for column in range(0, W, chunk):
                        n = min(chunk, W - column)
                        for m in range(seen.shape[1]):
                            f = seen[g, m]
                            t, b = f * height * pitch + above + column, f * height * pitch + below + column
                            moving_structure(
                                coupling, m == 0, x, y, t, b, n + 1, at(weight, f), at(d_weight, d * fields + f),
                                k_seen, Ja, Jb, Jc, Sa, Sb, Sc,
                            )  # fmt: skip
                        linearise(coupling, kind, n + 1, Ja, Jb, Jc, Sa, Sb, Sc, Sr, rate, unit)
                        for m in range(moved.shape[1]):
                            f = moved[g, m]
                            t, b = f * height * pitch + above + column, f * height * pitch + below + column
                            c = m * lane + column // chunk * buffer
                            moving_flux(
                                coupling, x, y, t, b, n + 1, Ja, Jb, Jc, Sa, Sb, Sc, k,
                                at(factor, f), at(d_factor, d * fields + f), across, down, c, E, F,
                            )  # fmt: skip
                            if i > low:
                                divergence_row(sources, (f * (high - low) + i - 1 - low) * W + column, n, E, F)
            subtract_smoothed(
                v, out, here * C, C, H, W, r0, r1, low, high, channel, scale, moved, ones, taps, start, radius, sources
            )
        return stamp

    return kernel


@compiled()
def moving_structure(
    coupling: int, first: bool, x: Any, y: Any, t: int, b: int, n: int, w: float, dw: float, k: Any,
    Ja: Any, Jb: Any, Jc: Any, Sa: Any, Sb: Any, Sc: Any,
) -> None:  # fmt: skip
    """Add w times the structure of x to J, and to S how it moves when x moves by y and w by dw.

    S counts its off-diagonal entry for both sides, as the derivative of the nonlinearity takes it.
    """
    Y, Z, d, dY = at(k, 0), at(k, 1), at(k, 2), at(k, 3)
    twice = w + w
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        p_, q_, r_ = haar(y, t, b, j)
        xx, xy, yy = measure(coupling, p, q, r, Y, Z, d, dY)
        collect(coupling, first, j, Ja, Jb, Jc, w, xx, xy, yy)
        p_, q_, r_ = fma(twice, p_, dw * p), fma(twice, q_, dw * q), fma(twice, r_, dw * r)
        xx, xy, yy = bilinear(coupling, p, q, r, p_, q_, r_, Y, Z, d, dY)
        collect(coupling, first, j, Sa, Sb, Sc, one(w), xx, xy, yy)


@compiled()
def moving_flux(
    coupling: int, x: Any, y: Any, t: int, b: int, n: int, A: Any, B: Any, C: Any, Sa: Any, Sb: Any, Sc: Any, k: Any,
    factor: float, d_factor: float, across: Any, down: Any, c: int, E: Any, F: Any,
) -> None:  # fmt: skip
    """Spread how the flux of x moves when x moves by y, the tensor by S and the factor by ``d_factor``."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        p_, q_, r_ = haar(y, t, b, j)
        d11, d12, d22 = entries(coupling, j, A, B, C)
        s11, s12, s22 = entries(coupling, j, Sa, Sb, Sc)
        s12 = half(s12) * s12
        # |b| moves by the sign of b times b'.
        bend = -e if d12 > zero(d12) else (e if d12 < zero(d12) else zero(d12))
        # What D acts on, and what its derivative acts on.
        p1, q1, r1 = fma(factor, p_, d_factor * p), fma(factor, q_, d_factor * q), fma(factor, r_, d_factor * r)
        p2, q2, r2 = factor * p, factor * q, factor * r
        P1, Q1, R1 = flow(coupling, d11, d12, d22, p1, q1, r1, Y, Z, d, dY, e)
        P2, Q2, R2 = flow(coupling, s11, s12, s22, p2, q2, r2, Y, Z, d, dY, zero(e))
        spread(P1 + P2, Q1 + Q2, fma(bend * s12, r2, R1 + R2), j, across, down, c, E, F)
