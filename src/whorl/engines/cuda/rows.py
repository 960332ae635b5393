"""Rows of an image in registers: four neighbouring pixels per thread and the cells between two rows.

A thread computes the columns 4j .. 4j+3 and reads one more on either side, so five cells touch its pixels. Its four
columns are one access of 16 bytes, split into four tensors without leaving the thread. A cell needs only the sum and
the difference of its two pixels in either row::

    P = d + d',  Q = s' - s,  R = d' - d        (twice the p, q, r of one cell; primes: the lower row)

All lengths are counted in ``2 hx``: with ``X = 1/(4 hx^2)`` the kernels work on J / X, so that ``i2`` and ``tau`` carry
the factor X and only ``Y = (hx/hy)^2`` and ``Z = hx/hy`` are left; both are 1 on square pixels and then vanish from the
code.
"""

# fmt: off

from typing import NamedTuple

import triton
import triton.language as tl


class Picture(NamedTuple):
    """Sizes: of an image, of a row of its cells in memory, of a field of cells, and of the fields of one scale."""

    height: int
    width: int
    pitch: int = 0
    plane: int = 0
    stride: int = 0


class Cut(NamedTuple):
    """How work is cut: ROWS of pixels, BLOCK groups of four columns, GROUP of either or of scales; and what fits.

    ALIGNED, the width is a multiple of 4; EXACT, of a block; WHOLE, the height is one of the rows; FAR, a Gaussian
    reaches over more than one mirror.
    """

    GROUP: int
    ROWS: int
    BLOCK: int
    ALIGNED: bool = False
    EXACT: bool = False
    WHOLE: bool = False
    FAR: bool = False


class Cell(NamedTuple):
    """The numbers of a cell and its law."""

    Y: float
    Z: float
    kappa: float
    gamma: float
    floor: float


@triton.jit
def apart(block, SHAPE: tl.constexpr):
    """Columns 4j, 4j+1, 4j+2, 4j+3 of rows of pixels; SHAPE is that of the groups of four, which ends in 2, 2."""
    even, odd = tl.split(tl.reshape(block, SHAPE))
    c1, c3 = tl.split(even)
    c2, c4 = tl.split(odd)
    return c1, c2, c3, c4


@triton.jit
def together(c, SHAPE: tl.constexpr):
    """The inverse of `apart`; SHAPE is that of the rows."""
    return tl.reshape(tl.join(tl.join(c[0], c[2]), tl.join(c[1], c[3])), SHAPE)


@triton.jit
def plus(x, y):
    """The sums of some numbers and as many others."""
    found = ()
    for i in tl.static_range(len(x)):
        found += (x[i] + y[i],)
    return found


@triton.jit
def times(factor, x):
    """A multiple of four columns."""
    return factor * x[0], factor * x[1], factor * x[2], factor * x[3]


@triton.jit
def pairs(c):
    """Sums and differences of neighbouring columns 4j-1 .. 4j+4: five of each, one for each cell."""
    s, d = (), ()
    for i in tl.static_range(5):
        s += (c[i] + c[i + 1],)
        d += (c[i + 1] - c[i],)
    return s, d


@triton.jit
def details(row, below, i: tl.constexpr):
    """P, Q and R of cell i between two rows of pairs."""
    return row[1][i] + below[1][i], below[0][i] - row[0][i], below[1][i] - row[1][i]


@triton.jit
def metric(cell, LAW: tl.constexpr):
    """Y, Z, kappa and gamma."""
    if LAW.square:
        return 1.0, 1.0, cell.kappa, cell.gamma
    else:
        return cell.Y, cell.Z, cell.kappa, cell.gamma


@triton.jit
def flux(P, Q, R, a, b, c, m, LAW: tl.constexpr):
    """D K u in a cell; the Haar detail has the weight mu = (1 - 2 alpha)(a + (hx/hy)^2 c - 2 gamma (hx/hy) |b|)."""
    Y, Z, kappa, gamma = m
    if LAW.parts == 3:
        zb = Z * b
        p = a * P + zb * Q
        q = zb * P + Y * c * Q
        r = kappa * (a + Y * c - 2.0 * gamma * tl.abs(zb)) * R
    elif LAW.parts == 1:
        p = a * P
        q = Y * a * Q
        r = kappa * (1.0 + Y) * a * R
    else:
        p = a * P
        q = Y * c * Q
        r = kappa * (a + Y * c) * R
    return p, q, r


@triton.jit
def row_of_cells(row, below_row, a, b, c, m, LAW: tl.constexpr):
    """K^T D K on five cells between two rows of pairs: what the four own pixels above and below receive."""
    p, q, r = (), (), ()
    for i in tl.static_range(5):
        P, Q, R = details(row, below_row, i)
        p_i, q_i, r_i = flux(P, Q, R, a[i], b[i], c[i], m, LAW)
        p += (p_i,)
        q += (q_i,)
        r += (r_i,)
    above, below = (), ()
    for i in tl.static_range(4):
        above += ((p[i] - r[i] - q[i]) - (p[i + 1] - r[i + 1] + q[i + 1]),)
        below += ((p[i] + r[i] + q[i]) - (p[i + 1] + r[i + 1] - q[i + 1]),)
    return above, below
