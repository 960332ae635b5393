r"""The derivative of the nonlinearity, cell by cell.

The derivative :math:`L = L_h(J)` of the matrix function :math:`D = h(J)` is self-adjoint and needs no eigenvectors. In
the coordinates t = (J11 + J22)/2, d = (J11 - J22)/2, e = J12 with eigenvalues :math:`\nu_{1,2} = t \pm \delta`, a
perturbation S has a trace, a part :math:`\kappa` along :math:`(d, e)/\delta` and one across. With the secant s and the
slopes at both eigenvalues, m' their mean and n' half their difference,

    trace  of L S  =  m' trace + n' kappa
    along  of L S  =  n' trace + m' kappa          across of L S  =  s times the part across.

Only the direction is divided by :math:`\delta`, so equal eigenvalues need no special case.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, fma, half, one, put, tiny, zero
from whorl.engines.cpu.compiling import by_literal, compiled
from whorl.engines.cpu.diffusivities import secant, slope, value
from whorl.engines.cpu.plane.cells import entries, store
from whorl.engines.cpu.plane.tensors import parted


@compiled()
def _scalar(kind: int, n: int, J: Any, S: Any, rate: float, unit: float) -> None:
    for j in range(n):
        s2 = at(J, j)
        h = value(kind, s2, rate)
        put(J, j, h)
        put(S, j, at(S, j) * slope(kind, s2, h, unit))


def _linearise_uncoupled(law, kind, n, J, S, Sr, rate, unit):  # type: ignore[no-untyped-def]
    _scalar(kind, n, J[0], S[0], rate, unit)
    _scalar(kind, n, J[2], S[2], rate, unit)


def _linearise_isotropic(law, kind, n, J, S, Sr, rate, unit):  # type: ignore[no-untyped-def]
    _scalar(kind, n, J[0], S[0], rate, unit)


def _linearise_anisotropic(law, kind, n, J, S, Sr, rate, unit):  # type: ignore[no-untyped-def]
    for j in range(n):
        xx, xy, yy = entries(law, j, J)
        centre, split, radius = parted(xx, xy, yy)
        top, low = centre + radius, max(centre - radius, zero(xx))
        h_top, h_low = value(kind, top, rate), value(kind, low, rate)
        slope_top, slope_low = slope(kind, top, h_top, unit), slope(kind, low, h_low, unit)
        s = secant(kind, low, radius + radius, h_low, h_top, unit)
        mean = half(xx) * (h_top + h_low)
        store(law, j, J, (fma(s, split, mean), s * xy, fma(-s, split, mean)))
        _turn(j, split, xy, radius, s, slope_top, slope_low, s * xy, S, Sr)


def _linearise_edges(law, kind, n, J, S, Sr, rate, unit):  # type: ignore[no-untyped-def]
    for j in range(n):
        xx, xy, yy = entries(law, j, J)
        _, split, radius = parted(xx, xy, yy)
        s2 = xx + yy
        h = value(kind, s2, rate)
        s = secant(kind, zero(xx), s2, one(xx), h, unit)
        store(law, j, J, (fma(s, xx, one(xx)), s * xy, fma(s, yy, one(xx))))
        _turn(j, split, xy, radius, s, slope(kind, s2, h, unit), zero(xx), s * xy, S, Sr)


@compiled(inside=True)
def _turn(
    j: int, split: float, xy: float, radius: float, s: float, slope_top: float, slope_low: float, mixed: float, S: Any,
    Sr: Any,
) -> None:  # fmt: skip
    """Replace S by L[S], for the secant s and the slopes at both eigenvalues; ``mixed`` is the tensor's entry xy."""
    Sa, Sb, Sc = S
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
