"""The derivative of one step along a direction, for rows of cells: forward mode.

A direction moves the image by y and the numbers of the step by ``d_factor`` and ``d_weight``. With D = h(J) it moves

    J by      sum_f  weight_f (K x_f (K y_f)^T + K y_f (K x_f)^T) + d_weight_f K x_f (K x_f)^T,
    the flux  by  factor_f (D K y_f + D' K x_f) + d_factor_f D K x_f,        D' = L_h(J)[J'],

where x_f and y_f are the smoothed fields. A larger contrast acts like smaller weights and is counted there.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import compiled, fma, half, one, zero
from whorl.engines.cpu.plane.cells import bilinear, collect, combined, entries, flow, haar, measure, spread


@compiled()
def moving_structure(
    law: int, first: bool, x: Any, y: Any, place: Any, n: int, w: float, dw: float, k: Any, J: Any, S: Any
) -> None:  # fmt: skip
    """Add w times the structure of x to J, and to S how it moves when x moves by y and w by dw.

    S counts its off-diagonal entry for both sides, as the derivative of the nonlinearity takes it.
    """
    for j in range(n):
        cell, other = haar(x, place, j), haar(y, place, j)
        collect(law, first, j, J, w, measure(law, cell, k))
        collect(law, first, j, S, one(w), bilinear(law, cell, combined(w + w, other, dw, cell), k))


@compiled()
def moving_flux(
    law: int, x: Any, y: Any, place: Any, n: int, D: Any, S: Any, k: Any, factor: float, d_factor: float, kept: Any,
    c: int,
) -> None:  # fmt: skip
    """Spread how the flux of x moves when x moves by y, the tensor by S and the factor by ``d_factor``."""
    Y, Z, d, dY, e = k
    for j in range(n):
        (p, q, r), other, tensor = haar(x, place, j), haar(y, place, j), entries(law, j, D)
        s11, s12, s22 = entries(law, j, S)
        s12, d12 = half(s12) * s12, tensor[1]
        # |b| moves by the sign of b times b'.
        bend = -e if d12 > zero(d12) else (e if d12 < zero(d12) else zero(d12))
        # What D acts on, and what its derivative acts on.
        P1, Q1, R1 = flow(law, tensor, combined(factor, other, d_factor, (p, q, r)), k)
        P2, Q2, R2 = flow(law, (s11, s12, s22), (factor * p, factor * q, factor * r), (Y, Z, d, dY, zero(e)))
        spread((P1 + P2, Q1 + Q2, fma(bend * s12, factor * r, R1 + R2)), j, kept, c)
