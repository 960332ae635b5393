r"""From structure to diffusion tensor in a volume, cell by cell.

The eigenvectors of a symmetric 3x3 matrix come from a fixed number of Jacobi rotations: no branches, so that cells
share vector registers, and orthonormal up to rounding whatever the matrix, so that the eigenvalues of the tensor stay
within those of the law and keep its step limit. At equal eigenvalues any basis of their plane gives the same
:math:`g(J) = \sum_i g(\nu_i) v_i v_i^\top`.
"""

import math
from typing import Any

from whorl.activations.enhancing import TOGETHER
from whorl.engines.cpu.arithmetic import (
    by_literal,
    compiled,
    fma,
    half,
    inverse_power,
    literal,
    one,
    power,
    tiny,
    two,
    zero,
)
from whorl.engines.cpu.diffusivities import value
from whorl.engines.cpu.laws import spectra

__all__ = ["eigen", "respond"]


@compiled(inside=True)
def _rotated(
    app: float, aqq: float, apq: float, arp: float, arq: float, px: float, py: float, pz: float, qx: float, qy: float,
    qz: float,
) -> Any:  # fmt: skip
    """A rotation that makes the entry (p, q) zero; r is the third axis, and the vectors p and q are rotated, too."""
    gap = half(app) * (aqq - app)
    length = math.sqrt(fma(gap, gap, apq * apq))
    far = max(abs(gap) + length, tiny(app))
    tangent = (apq if gap >= 0 else -apq) / far
    c = one(app) / math.sqrt(fma(tangent, tangent, one(app)))
    s, shift = tangent * c, tangent * apq
    return (
        app - shift, aqq + shift, zero(app), fma(c, arp, -(s * arq)), fma(s, arp, c * arq),
        fma(c, px, -(s * qx)), fma(c, py, -(s * qy)), fma(c, pz, -(s * qz)),
        fma(s, px, c * qx), fma(s, py, c * qy), fma(s, pz, c * qz),
    )  # fmt: skip


@compiled(inside=True)
def _sweep(
    xx: float, xy: float, xz: float, yy: float, yz: float, zz: float, ax: float, ay: float, az: float, bx: float,
    by: float, bz: float, cx: float, cy: float, cz: float,
) -> Any:  # fmt: skip
    """Three rotations of the matrix and of the vectors a, b and c."""
    xx, yy, xy, xz, yz, ax, ay, az, bx, by, bz = _rotated(xx, yy, xy, xz, yz, ax, ay, az, bx, by, bz)
    xx, zz, xz, xy, yz, ax, ay, az, cx, cy, cz = _rotated(xx, zz, xz, xy, yz, ax, ay, az, cx, cy, cz)
    yy, zz, yz, xy, xz, bx, by, bz, cx, cy, cz = _rotated(yy, zz, yz, xy, xz, bx, by, bz, cx, cy, cz)
    return xx, xy, xz, yy, yz, zz, ax, ay, az, bx, by, bz, cx, cy, cz


@compiled(inside=True)
def eigen(
    xx: float, xy: float, xz: float, yy: float, yz: float, zz: float,
) -> Any:  # fmt: skip
    """The eigenvalues, in no order and not below zero, and their vectors: (n_a, n_b, n_c, a, b, c).

    Entries are scaled by a power of two before they are squared: volumes of any magnitude will do.
    """
    n, i = zero(xx), one(xx)
    size, scale = power(xx + yy + zz), inverse_power(xx + yy + zz)
    state = scale * xx, scale * xy, scale * xz, scale * yy, scale * yz, scale * zz, i, n, n, n, i, n, n, n, i
    # Written out: a loop inside the loop over cells would stop vectorisation.
    state = _sweep(*_sweep(*_sweep(*_sweep(*state))))
    xx, xy, xz, yy, yz, zz, ax, ay, az, bx, by, bz, cx, cy, cz = state
    return max(size * xx, n), max(size * yy, n), max(size * zz, n), ax, ay, az, bx, by, bz, cx, cy, cz


@compiled(inside=True)
def _compose(
    a: float, b: float, c: float, ax: float, ay: float, az: float, bx: float, by: float, bz: float, cx: float,
    cy: float, cz: float,
) -> Any:  # fmt: skip
    """The matrix with these eigenvalues and vectors."""
    aax, aay, aaz, bbx, bby, bbz, ccx, ccy, ccz = a * ax, a * ay, a * az, b * bx, b * by, b * bz, c * cx, c * cy, c * cz
    return (
        fma(aax, ax, fma(bbx, bx, ccx * cx)), fma(aax, ay, fma(bbx, by, ccx * cy)),
        fma(aax, az, fma(bbx, bz, ccx * cz)), fma(aay, ay, fma(bby, by, ccy * cy)),
        fma(aay, az, fma(bby, bz, ccy * cz)), fma(aaz, az, fma(bbz, bz, ccz * cz)),
    )  # fmt: skip


def _uncoupled(law, kind, xx, xy, xz, yy, yz, zz, rate, floor):  # type: ignore[no-untyped-def]
    n = zero(xx)
    return value(kind, xx, rate), n, n, value(kind, yy, rate), n, value(kind, zz, rate)


def _isotropic(law, kind, xx, xy, xz, yy, yz, zz, rate, floor):  # type: ignore[no-untyped-def]
    g, n = value(kind, xx, rate), zero(xx)
    return g, n, n, g, n, g


def _anisotropic(law, kind, xx, xy, xz, yy, yz, zz, rate, floor):  # type: ignore[no-untyped-def]
    a, b, c, ax, ay, az, bx, by, bz, cx, cy, cz = eigen(xx, xy, xz, yy, yz, zz)
    a, b, c = value(kind, a, rate), value(kind, b, rate), value(kind, c, rate)
    return _compose(a, b, c, ax, ay, az, bx, by, bz, cx, cy, cz)


def _rank_one(law, kind, xx, xy, xz, yy, yz, zz, rate, floor):  # type: ignore[no-untyped-def]
    s2, i = xx + yy + zz, one(xx)
    q = (value(kind, s2, rate) - i) / max(s2, tiny(xx))
    return fma(q, xx, i), q * xy, q * xz, fma(q, yy, i), q * yz, fma(q, zz, i)


def _spectral(eigenvalues: Any) -> Any:
    """A law of eigenvalues."""

    def spectral(law, kind, xx, xy, xz, yy, yz, zz, rate, floor):  # type: ignore[no-untyped-def]
        a, b, c, ax, ay, az, bx, by, bz, cx, cy, cz = sorted_eigen(xx, xy, xz, yy, yz, zz)
        first, second, third = eigenvalues(kind, a, b, c, a - c, floor, rate)
        first, second, third = _together(a, b, c, first, second, third)
        return _compose(first, second, third, ax, ay, az, bx, by, bz, cx, cy, cz)

    return spectral


_share = literal(TOGETHER)


@compiled(inside=True)
def _together(
    a: float, b: float, c: float, first: float, second: float, third: float,
) -> Any:  # fmt: skip
    """The eigenvalues of a tensor, evened out where those of the structure, a >= b >= c, are nearly equal; see the law.

    There the directions have no meaning. Equal eigenvalues of the structure get equal ones, and the trace stays.
    """
    least = max(_share(a) * a, tiny(a))
    near, far = one(a) - (a - b) / max(a - b, least), one(a) - (b - c) / max(b - c, least)
    ends = one(a) - (a - c) / max(a - c, least)
    weight = one(a) / (two(a) + ends)
    ends = ends / (two(a) + min(near, far))
    upper, lower, across = near * weight * (second - first), far * weight * (third - second), ends * (third - first)
    return first + upper + across, second - upper + lower, third - lower - across


@compiled(inside=True)
def sorted_eigen(
    xx: float, xy: float, xz: float, yy: float, yz: float, zz: float,
) -> Any:  # fmt: skip
    """The same as :func:`eigen`, from the largest eigenvalue to the smallest."""
    a, b, c, ax, ay, az, bx, by, bz, cx, cy, cz = eigen(xx, xy, xz, yy, yz, zz)
    a, b, ax, ay, az, bx, by, bz = _descending(a, b, ax, ay, az, bx, by, bz)
    b, c, bx, by, bz, cx, cy, cz = _descending(b, c, bx, by, bz, cx, cy, cz)
    a, b, ax, ay, az, bx, by, bz = _descending(a, b, ax, ay, az, bx, by, bz)
    return a, b, c, ax, ay, az, bx, by, bz, cx, cy, cz


@compiled(inside=True)
def _descending(
    a: float, b: float, ax: float, ay: float, az: float, bx: float, by: float, bz: float,
) -> Any:  # fmt: skip
    right = a >= b
    return (
        a if right else b, b if right else a, ax if right else bx, ay if right else by, az if right else bz,
        bx if right else ax, by if right else ay, bz if right else az,
    )  # fmt: skip


respond = by_literal(
    _uncoupled, _isotropic, _anisotropic, _rank_one, *(_spectral(each) for each in spectra(3).values()), inside=True
)
"""The tensor (xx, xy, xz, yy, yz, zz) of one cell from its structure, under the law of that number.

``floor`` is a further number of the law: of the coherence-enhancing one, the diffusivity across lines.
"""
