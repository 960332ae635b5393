"""Rows of an image in registers: four neighbouring pixels per thread and the cells between two rows.

A thread owns the columns 4j .. 4j+3 and sees one neighbour on either side, so five cells touch its pixels. The four own
columns travel as one 16-byte access and come apart into four tensors without leaving the thread. A cell needs only the
sum and the difference of its two pixels in either row::

    P = d + d',  Q = s' - s,  R = d' - d        (twice the p, q, r of one cell; primes: the lower row)

All lengths are counted in ``2 hx``: with ``X = 1/(4 hx^2)`` the kernels work on J / X, so that ``i2`` and ``tau`` carry
the factor X and only ``Y = (hx/hy)^2`` and ``Z = hx/hy`` are left; both are 1 on square pixels and then vanish from the
code.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl


@triton.jit
def apart(block, BLOCK: tl.constexpr):
    """Columns 4j, 4j+1, 4j+2, 4j+3 of a row of 4 BLOCK values."""
    even, odd = tl.split(tl.reshape(block, (BLOCK, 2, 2)))
    c1, c3 = tl.split(even)
    c2, c4 = tl.split(odd)
    return c1, c2, c3, c4


@triton.jit
def together(c1, c2, c3, c4, BLOCK: tl.constexpr):
    """The inverse of `apart`."""
    return tl.reshape(tl.join(tl.join(c1, c3), tl.join(c2, c4)), (4 * BLOCK,))


@triton.jit
def columns(row, first, width, BLOCK: tl.constexpr, ALIGNED: tl.constexpr):
    """Pixels 4j-1 .. 4j+4 of the row at pointer `row`, mirrored at both ends; j = first + 0 .. BLOCK-1."""
    j = first + tl.arange(0, BLOCK)
    x = 4 * first + tl.arange(0, 4 * BLOCK)
    inside = 4 * j < width
    # ALIGNED, the width is a multiple of 4: a thread's own columns all exist or all do not.
    own = tl.load(row + x, mask=x < width, other=0.0) if ALIGNED else tl.load(row + tl.minimum(x, width - 1))
    c1, c2, c3, c4 = apart(own, BLOCK)
    c0 = tl.load(row + tl.maximum(4 * j - 1, 0), mask=inside, other=0.0)
    c5 = tl.load(row + tl.minimum(4 * j + 4, width - 1), mask=inside, other=0.0)
    return c0, c1, c2, c3, c4, c5


@triton.jit
def pairs(c0, c1, c2, c3, c4, c5):
    """Sums and differences of neighbouring columns: s0 .. s4, d0 .. d4."""
    return c0 + c1, c1 + c2, c2 + c3, c3 + c4, c4 + c5, c1 - c0, c2 - c1, c3 - c2, c4 - c3, c5 - c4


@triton.jit
def structure(s, d, s_, d_, Y, Z, kappa):
    """Entries of J in a cell from its upper row (s, d) and lower row (s_, d_)."""
    P = d + d_
    Q = s_ - s
    R = d_ - d
    r2 = kappa * R * R
    return P * P + r2, Z * (P * Q), Y * (Q * Q + r2)


@triton.jit
def flux(s, d, s_, d_, a, b, c, Y, Z, kappa, gamma, COUPLING: tl.constexpr):
    """D K u in a cell; the Haar detail has the weight mu = (1 - 2 alpha)(a + (hx/hy)^2 c - 2 gamma (hx/hy) |b|)."""
    P = d + d_
    Q = s_ - s
    R = d_ - d
    if COUPLING >= 2:
        zb = Z * b
        p = a * P + zb * Q
        q = zb * P + Y * c * Q
        r = kappa * (a + Y * c - 2.0 * gamma * tl.abs(zb)) * R
    elif COUPLING == 1:
        p = a * P
        q = Y * a * Q
        r = kappa * (1.0 + Y) * a * R
    else:
        p = a * P
        q = Y * c * Q
        r = kappa * (a + Y * c) * R
    return p, q, r


@triton.jit
def spread(p0, q0, r0, p1, q1, r1, p2, q2, r2, p3, q3, r3, p4, q4, r4):
    """K^T on one row of cells: what the four own pixels above (t) and below (b) receive."""
    t1 = (p0 - r0 - q0) - (p1 - r1 + q1)
    t2 = (p1 - r1 - q1) - (p2 - r2 + q2)
    t3 = (p2 - r2 - q2) - (p3 - r3 + q3)
    t4 = (p3 - r3 - q3) - (p4 - r4 + q4)
    b1 = (p0 + r0 + q0) - (p1 + r1 - q1)
    b2 = (p1 + r1 + q1) - (p2 + r2 - q2)
    b3 = (p2 + r2 + q2) - (p3 + r3 - q3)
    b4 = (p3 + r3 + q3) - (p4 + r4 - q4)
    return t1, t2, t3, t4, b1, b2, b3, b4
