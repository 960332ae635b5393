"""The derivative of one step for rows of cells, transposed and along a direction.

With D = h(J) and w the derivative of the loss with respect to the result, the derivative with respect to the image is

    w - sum_f G_f K^T ( factor_f D K G_f w  +  2 weight_f L[S] K G_f u ),      S = sum_f factor_f (K G_f w) (K G_f u)^T,

where the first sum runs over fields that flow and the second over those that steer. Everything is computed anew from u
and w. Derivatives with respect to numbers come from two sums per field and row of cells, summed pairwise, so that they
do not depend on how the image was split.

A direction moves the image by y and the numbers of the step by ``d_factor`` and ``d_weight``. With D = h(J) it moves

    J by      sum_f  weight_f (K x_f (K y_f)^T + K y_f (K x_f)^T) + d_weight_f K x_f (K x_f)^T,
    the flux  by  factor_f (D K y_f + D' K x_f) + d_factor_f D K x_f,        D' = L_h(J)[J'],

where x_f and y_f are the smoothed fields. A larger contrast acts like smaller weights and is counted there.
"""

from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, fma, half, one, put, zero
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.plane.cells import bilinear, collect, combined, entries, flow, haar, measure, spread


@compiled(inside=True)
def products(law: int, first: bool, x: Any, y: Any, place: Any, n: int, w: float, k: Any, S: Any, Sr: Any) -> None:
    """Add w times the symmetric product of two fields' details to S; the part of gamma stands apart, in Sr."""
    e = w * k[4]
    for j in range(n):
        cell, other = haar(x, place, j), haar(y, place, j)
        collect(law, first, j, S, w, bilinear(law, cell, other, k))
        put(Sr, j, e * cell[2] * other[2] if first else fma(e * cell[2], other[2], at(Sr, j)))


@compiled(inside=True)
def flux_pair(
    law: int, x: Any, y: Any, place: Any, n: int, D: Any, S: Any, k: Any, k_seen: Any, factor: float, weight: float,
    kept: Any, c: int, one_: Any, two_: Any,
) -> None:  # fmt: skip
    """Spread ``factor`` times the flux of y under D and ``weight`` times the derivative of the structure of x along S.

    The products of both with the details of x are left in ``one_`` and ``two_``.
    """
    Y, Z, d, dY, e = k_seen
    k_seen, twice = (Y, half(weight) * Z, d, dY, zero(e)), weight + weight
    for j in range(n):
        cell, other = haar(x, place, j), haar(y, place, j)
        first, second = flow(law, entries(law, j, D), other, k), flow(law, entries(law, j, S), cell, k_seen)
        put(one_, j, _dot(first, cell))
        put(two_, j, _dot(second, cell))
        spread(combined(factor, first, twice, second), j, kept, c)


@compiled(inside=True)
def _dot(flux: Any, cell: Any) -> Any:
    return fma(flux[0], cell[0], fma(flux[1], cell[1], flux[2] * cell[2]))


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


@compiled(inside=True)
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


@compiled(inside=True)
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
