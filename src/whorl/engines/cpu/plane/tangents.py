"""The derivative of one step along a direction, for rows of cells: forward mode.

A direction moves the image by y and the numbers of the step by ``d_factor`` and ``d_weight``. With D = h(J) it moves

    J by      sum_f  weight_f (K x_f (K y_f)^T + K y_f (K x_f)^T) + d_weight_f K x_f (K x_f)^T,
    the flux  by  factor_f (D K y_f + D' K x_f) + d_factor_f D K x_f,        D' = L_h(J)[J'],

where x_f and y_f are the smoothed fields. A larger contrast acts like smaller weights and is counted there.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, fma, half, one, zero
from whorl.engines.cpu.plane.cells import bilinear, collect, entries, flow, haar, measure, spread


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
