r"""From structure to diffusion tensor in a volume, cell by cell.

Of the three eigenvalues of a symmetric matrix, the largest or the smallest lies apart from both others: it is found
from the cubic equation, and its vector v as a column of an adjugate, well-conditioned both. With two vectors s and t
across v a matrix of 2x2 entries is left, of which functions are taken as in the plane. There are no branches, so that
cells share vector registers, and no iteration. The vectors are orthonormal up to rounding whatever the matrix, so that
the eigenvalues of the tensor stay within those of the law and keep its step limit. All entries are taken from the
matrix itself, between the vectors: an edge along an axis costs the weak directions no digits, however strong it is.
"""

import math
from typing import Any

from whorl.activations.enhancing import TOGETHER
from whorl.engines.cpu.arithmetic import farthest_root, fma, half, inverse_power, literal, one, tiny, two, zero
from whorl.engines.cpu.compiling import by_literal, compiled
from whorl.engines.cpu.diffusivities import value
from whorl.engines.cpu.laws import spectra
from whorl.engines.cpu.plane.tensors import parted as plane_parted

_third, _sixth, _least = literal(1 / 3), literal(1 / 6), literal(1e-36)


@compiled(inside=True)
def _dot(ax: float, ay: float, az: float, bx: float, by: float, bz: float) -> Any:
    return fma(ax, bx, fma(ay, by, az * bz))


@compiled(inside=True)
def axis(xx: float, xy: float, xz: float, yy: float, yz: float, zz: float) -> Any:
    """The eigenvector v of the eigenvalue that lies apart."""
    scale = inverse_power(xx + yy + zz)
    # Less its mean and over its size the matrix has eigenvalues between -2 and 2, and half its determinant is r.
    mean = _third(xx) * (xx + yy + zz)
    a, b, c, d, e, f = scale * (xx - mean), scale * (yy - mean), scale * (zz - mean), scale * xy, scale * xz, scale * yz
    unit = one(xx) / math.sqrt(fma(_sixth(xx), _dot(a, b, c, a, b, c) + two(xx) * _dot(d, e, f, d, e, f), _least(xx)))
    a, b, c, d, e, f = unit * a, unit * b, unit * c, unit * d, unit * e, unit * f
    r = half(xx) * _dot(a, d, e, fma(b, c, -(f * f)), fma(f, e, -(d * c)), fma(d, f, -(b * e)))
    # The largest is the one apart where r >= 0; else it is the smallest, the largest of the opposite matrix.
    x = farthest_root(min(abs(r), one(r)))
    x = x if r >= zero(r) else -x
    a, b, c = a - x, b - x, c - x
    # Columns of the adjugate are multiples of v: the one with the largest entry on the diagonal has the most digits.
    ax, by, cz = fma(b, c, -(f * f)), fma(a, c, -(e * e)), fma(a, b, -(d * d))
    ay, az, bz = fma(f, e, -(d * c)), fma(d, f, -(b * e)), fma(d, e, -(a * f))
    first = ax >= by
    vx, vy, vz, most = ax if first else ay, ay if first else by, az if first else bz, ax if first else by
    last = cz > most
    vx, vy, vz = az if last else vx, bz if last else vy, cz if last else vz
    length = one(x) / math.sqrt(_dot(vx, vy, vz, vx, vy, vz))
    return length * vx, length * vy, length * vz


@compiled(inside=True)
def parted(xx: float, xy: float, xz: float, yy: float, yz: float, zz: float, vx: float, vy: float, vz: float) -> Any:
    """The entries of the matrix between v and two vectors s and t across it, and these: ``(vv, ss, st, tt, s, t)``.

    s and t are columns of the reflection that carries v to the z axis, or to its opposite. No number in them cancels:
    an entry of s or t is as small as v demands, so that strong entries of the matrix do not round weak ones.
    """
    side, height = one(vz) if vz >= zero(vz) else -one(vz), abs(vz)
    share = one(vz) / (one(vz) + height)
    sx, ty, sy = fma(vy, vy * share, height), fma(vx, vx * share, height), -(vx * vy * share)
    tx, sz, tz = sy, -side * vx, -side * vy
    ax, ay, az = _dot(xx, xy, xz, sx, sy, sz), _dot(xy, yy, yz, sx, sy, sz), _dot(xz, yz, zz, sx, sy, sz)
    bx, by, bz = _dot(xx, xy, xz, tx, ty, tz), _dot(xy, yy, yz, tx, ty, tz), _dot(xz, yz, zz, tx, ty, tz)
    cx, cy, cz = _dot(xx, xy, xz, vx, vy, vz), _dot(xy, yy, yz, vx, vy, vz), _dot(xz, yz, zz, vx, vy, vz)
    ss, st, tt = _dot(ax, ay, az, sx, sy, sz), _dot(ax, ay, az, tx, ty, tz), _dot(bx, by, bz, tx, ty, tz)
    return _dot(cx, cy, cz, vx, vy, vz), ss, st, tt, sx, sy, sz, tx, ty, tz


@compiled(inside=True)
def _composed(
    n: float, ss: float, st: float, tt: float, sx: float, sy: float, sz: float, tx: float, ty: float, tz: float,
    vx: float, vy: float, vz: float,
) -> Any:  # fmt: skip
    """The matrix with these entries between the vectors."""
    ax, ay, az = fma(ss, sx, st * tx), fma(ss, sy, st * ty), fma(ss, sz, st * tz)
    bx, by, bz = fma(st, sx, tt * tx), fma(st, sy, tt * ty), fma(st, sz, tt * tz)
    vn, wn = n * vx, n * vy
    return (
        _dot(vn, ax, bx, vx, sx, tx), _dot(vn, ax, bx, vy, sy, ty), _dot(vn, ax, bx, vz, sz, tz),
        _dot(wn, ay, by, vy, sy, ty), _dot(wn, ay, by, vz, sz, tz), _dot(n * vz, az, bz, vz, sz, tz),
    )  # fmt: skip


def _uncoupled(law, kind, J, v, rate, floor):  # type: ignore[no-untyped-def]
    n = zero(rate)
    return value(kind, J[0], rate), n, n, value(kind, J[3], rate), n, value(kind, J[5], rate)


def _isotropic(law, kind, J, v, rate, floor):  # type: ignore[no-untyped-def]
    g, n = value(kind, J[0], rate), zero(rate)
    return g, n, n, g, n, g


def _rank_one(law, kind, J, v, rate, floor):  # type: ignore[no-untyped-def]
    xx, xy, xz, yy, yz, zz = J
    s2, i = xx + yy + zz, one(xx)
    q = (value(kind, s2, rate) - i) / max(s2, tiny(xx))
    return fma(q, xx, i), q * xy, q * xz, fma(q, yy, i), q * yz, fma(q, zz, i)


def _of_eigenvalues(tensor_values: Any) -> Any:
    """A law that gives the eigenvalues of the tensor by those of the structure, the largest first."""

    def law_of_eigenvalues(law, kind, J, v, rate, floor):  # type: ignore[no-untyped-def]
        n, ss, st, tt, sx, sy, sz, tx, ty, tz = parted(*J, *v)
        mean, split, radius = plane_parted(ss, st, tt)
        large, small, n, top = mean + radius, max(mean - radius, zero(n)), max(n, zero(n)), n >= mean
        first, second, third = tensor_values(
            kind, n if top else large, large if top else small, small if top else n, floor, rate
        )
        n, large, small = first if top else third, second if top else first, third if top else second
        mean, rise = half(n) * (large + small), half(n) * (large - small) / max(radius, tiny(n))
        ss, st, tt = fma(rise, split, mean), rise * st, fma(-rise, split, mean)
        return _composed(n, ss, st, tt, sx, sy, sz, tx, ty, tz, *v)

    return law_of_eigenvalues


@compiled(inside=True)
def _each(kind: int, a: float, b: float, c: float, floor: float, rate: float) -> Any:
    return value(kind, a, rate), value(kind, b, rate), value(kind, c, rate)


def _spectral(eigenvalues: Any) -> Any:
    """A law that sees all three at once."""

    @compiled(inside=True)
    def values(kind: int, a: float, b: float, c: float, floor: float, rate: float) -> Any:
        return _together(a, b, c, *eigenvalues(kind, a, b, c, a - c, floor, rate))

    return _of_eigenvalues(values)


_share = literal(TOGETHER)


@compiled(inside=True)
def _together(a: float, b: float, c: float, first: float, second: float, third: float) -> Any:
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


respond = by_literal(
    _uncoupled, _isotropic, _of_eigenvalues(_each), _rank_one, *map(_spectral, spectra(3).values()), inside=True
)
"""The tensor (xx, xy, xz, yy, yz, zz) of one cell from its structure, under the law of that number.

``floor`` is a further number of the law: of the coherence-enhancing one, the diffusivity across lines.
"""
