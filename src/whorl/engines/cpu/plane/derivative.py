"""The transposed derivative of one step, for rows of cells.

With D = h(J) and w the derivative of the loss with respect to the result, the derivative with respect to the image is

    w - sum_f G_f K^T ( factor_f D K G_f w  +  2 weight_f L[S] K G_f u ),      S = sum_f factor_f (K G_f w) (K G_f u)^T,

where the first sum runs over fields that flow and the second over those that steer. Everything is computed anew from u
and w. Derivatives with respect to numbers come from two sums per field and row of cells, summed pairwise, so that they
do not depend on how the image was split.
"""

from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, fma, half, put, zero
from whorl.engines.cpu.plane.cells import bilinear, collect, entries, flow, haar, spread


@compiled()
def products(
    coupling: int, first: bool, x: Any, y: Any, t: int, b: int, n: int, w: float, k: Any,
    Sa: Any, Sb: Any, Sc: Any, Sr: Any,
) -> None:  # fmt: skip
    """Add w times the symmetric product of two fields' details to S; the part of gamma stands apart, in Sr."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), w * at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        p_, q_, r_ = haar(y, t, b, j)
        xx, xy, yy = bilinear(coupling, p, q, r, p_, q_, r_, Y, Z, d, dY)
        collect(coupling, first, j, Sa, Sb, Sc, w, xx, xy, yy)
        put(Sr, j, e * r * r_ if first else fma(e * r, r_, at(Sr, j)))


@compiled()
def flux_pair(
    coupling: int, x: Any, y: Any, t: int, b: int, n: int, A: Any, B: Any, C: Any, Sa: Any, Sb: Any, Sc: Any,
    k: Any, k_seen: Any, factor: float, weight: float, across: Any, down: Any, c: int, E: Any, F: Any,
    one_: Any, two_: Any,
) -> None:  # fmt: skip
    """Spread ``factor`` times the flux of y under D and ``weight`` times the derivative of the structure of x along S.

    The products of both with the details of x are left in ``one_`` and ``two_``.
    """
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    Y_, Z_, d_, dY_ = at(k_seen, 0), half(weight) * at(k_seen, 1), at(k_seen, 2), at(k_seen, 3)
    twice = weight + weight
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        p_, q_, r_ = haar(y, t, b, j)
        d11, d12, d22 = entries(coupling, j, A, B, C)
        s11, s12, s22 = entries(coupling, j, Sa, Sb, Sc)
        P1, Q1, R1 = flow(coupling, d11, d12, d22, p_, q_, r_, Y, Z, d, dY, e)
        P2, Q2, R2 = flow(coupling, s11, s12, s22, p, q, r, Y_, Z_, d_, dY_, zero(e))
        put(one_, j, fma(P1, p, fma(Q1, q, R1 * r)))
        put(two_, j, fma(P2, p, fma(Q2, q, R2 * r)))
        P, Q, R = fma(factor, P1, twice * P2), fma(factor, Q1, twice * Q2), fma(factor, R1, twice * R2)
        spread(P, Q, R, j, across, down, c, E, F)


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
