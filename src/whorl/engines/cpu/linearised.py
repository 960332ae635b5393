r"""The derivative of the nonlinearity, cell by cell.

The derivative :math:`L = L_h(J)` of the matrix function :math:`D = h(J)` is self-adjoint and needs no eigenvectors. In
the coordinates t = (J11 + J22)/2, d = (J11 - J22)/2, e = J12 with eigenvalues :math:`\nu_{1,2} = t \pm \delta`, a
perturbation S has a trace, a part :math:`\kappa` along :math:`(d, e)/\delta` and one across. With the secant s and the
slopes at both eigenvalues, m' their mean and n' half their difference,

    trace  of L S  =  m' trace + n' kappa
    along  of L S  =  n' trace + m' kappa          across of L S  =  s times the part across.

Only the direction is divided by :math:`\delta`, so equal eigenvalues are no exception.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, by_literal, compiled, fma, half, one, put, tiny, zero
from whorl.engines.cpu.cells import bilinear, collect, entries, flow, haar, spread
from whorl.engines.cpu.diffusivities import secant, slope, value
from whorl.engines.cpu.tensors import parted

__all__ = ["flux_pair", "linearise", "products"]


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
def _scalar(kind: int, n: int, J: Any, S: Any, rate: float, unit: float) -> None:
    for j in range(n):
        s2 = at(J, j)
        h = value(kind, s2, rate)
        put(J, j, h)
        put(S, j, at(S, j) * slope(kind, s2, h, rate, unit))


def _linearise_uncoupled(coupling, kind, n, Ja, Jb, Jc, Sa, Sb, Sc, Sr, rate, unit):  # type: ignore[no-untyped-def]
    _scalar(kind, n, Ja, Sa, rate, unit)
    _scalar(kind, n, Jc, Sc, rate, unit)


def _linearise_isotropic(coupling, kind, n, Ja, Jb, Jc, Sa, Sb, Sc, Sr, rate, unit):  # type: ignore[no-untyped-def]
    _scalar(kind, n, Ja, Sa, rate, unit)


def _linearise_anisotropic(coupling, kind, n, Ja, Jb, Jc, Sa, Sb, Sc, Sr, rate, unit):  # type: ignore[no-untyped-def]
    for j in range(n):
        xx, xy, yy = at(Ja, j), at(Jb, j), at(Jc, j)
        centre, split, radius = parted(xx, xy, yy)
        top, low = centre + radius, max(centre - radius, zero(xx))
        h_top, h_low = value(kind, top, rate), value(kind, low, rate)
        slope_top, slope_low = slope(kind, top, h_top, rate, unit), slope(kind, low, h_low, rate, unit)
        s = secant(kind, low, radius + radius, h_low, h_top, rate, unit)
        mean = half(xx) * (h_top + h_low)
        put(Ja, j, fma(s, split, mean))
        put(Jb, j, s * xy)
        put(Jc, j, fma(-s, split, mean))
        _turn(j, split, xy, radius, s, slope_top, slope_low, s * xy, Sa, Sb, Sc, Sr)


def _linearise_edges(coupling, kind, n, Ja, Jb, Jc, Sa, Sb, Sc, Sr, rate, unit):  # type: ignore[no-untyped-def]
    for j in range(n):
        xx, xy, yy = at(Ja, j), at(Jb, j), at(Jc, j)
        _, split, radius = parted(xx, xy, yy)
        s2 = xx + yy
        h = value(kind, s2, rate)
        s = secant(kind, zero(xx), s2, one(xx), h, rate, unit)
        put(Ja, j, fma(s, xx, one(xx)))
        put(Jb, j, s * xy)
        put(Jc, j, fma(s, yy, one(xx)))
        _turn(j, split, xy, radius, s, slope(kind, s2, h, rate, unit), zero(xx), s * xy, Sa, Sb, Sc, Sr)


@compiled(inside=True)
def _turn(
    j: int, split: float, xy: float, radius: float, s: float, slope_top: float, slope_low: float, mixed: float,
    Sa: Any, Sb: Any, Sc: Any, Sr: Any,
) -> None:  # fmt: skip
    """Replace S by L[S], for the secant s and the slopes at both eigenvalues; ``mixed`` is the tensor's entry xy."""
    m, n_ = half(xy) * (slope_top + slope_low), half(xy) * (slope_top - slope_low)
    sign = one(xy) if mixed > zero(xy) else (-one(xy) if mixed < zero(xy) else zero(xy))
    trace, dd, ee = at(Sa, j) + at(Sc, j), at(Sa, j) - at(Sc, j), at(Sb, j) - sign * at(Sr, j)
    inverse = one(xy) / max(radius, tiny(xy))
    cos, sin = split * inverse, xy * inverse
    kappa = fma(cos, dd, sin * ee)
    whole, along = fma(m, trace, n_ * kappa), fma(n_, trace, (m - s) * kappa)
    apart = fma(s, dd, along * cos)
    put(Sa, j, half(xy) * (whole + apart))
    put(Sb, j, fma(s, ee, along * sin))
    put(Sc, j, half(xy) * (whole - apart))


linearise = by_literal(_linearise_uncoupled, _linearise_isotropic, _linearise_anisotropic, _linearise_edges)
"""Replace J by the tensor D = h(J), and S by L_h(J)[S]."""


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
