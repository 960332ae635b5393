r"""Sums over orbits of pixels, and their products with matrices.

The taps of a stencil at pixels that a symmetry of the square maps onto each other are equal up to a sign. So pixels of
such an orbit are added first:

    centre          u(0, 0)
    axis, d         u(0, d), u(0, -d), u(d, 0), u(-d, 0)                        d = 1, 2
    corners, d      u(d, d), u(d, -d), u(-d, d), u(-d, -d)                      d = 1, 2
    oblique         u(1, 2), ... and u(2, 1), ... with all signs

Then come the taps, and the responses of the stencils are multiplied by matrices, which mix channels and fields. Sums,
responses and matrices are float16; products with matrices are added in float32. Every sum is made so that a quarter
turn or a mirror image only exchanges its two parts or changes its sign.

Fields have five components, order 0, cosine and sine of order 1, and of 2; component k has the order (k + 1) // 2.
Sizes and stencils are tuples over the orders: ``F`` fields, of which ``S`` are kept for a pixel, and ``T`` the
:class:`Stencils`. Tensors have the pixels of a tile along their first axis, and channels or components of fields along
the second, filled up to a power of two. They are filled up with numbers that happen to lie behind, which meet zeros in
the matrices.
"""

# fmt: off

from typing import NamedTuple

import triton
import triton.language as tl


class Stencils(NamedTuple):
    """The taps by order and stencil. A named part of a tuple: older compilers take no tuples inside nameless ones."""

    taps: tuple[tuple[tuple[float, ...], ...], ...]


USUAL = tl.constexpr(16.0)
"""A bound that a stream keeps for pictures from 0 to 255 that are anything like photographs."""


@triton.jit
def nothing(ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A matrix of zeros."""
    return tl.zeros((ROWS, COLUMNS), tl.float32)


@triton.jit
def planes(v, image, pixels, S: tl.constexpr):
    """Where fields of order 0 begin, and the cosines and sines of the orders 1 and 2, each of all pixels together."""
    v += image * pixels * (S[0] + 2 * S[1] + 2 * S[2])
    found = (v,)
    for k in tl.static_range(4):
        v += pixels.to(tl.int64) * S[(k + 1) // 2]
        found += (v,)
    return found


@triton.jit
def rows(u, pixel, width, SIZE: tl.constexpr, STRIDE: tl.constexpr):
    """Places of SIZE components of the pixels in question, and of those one and two rows above and below."""
    place = u + (pixel * STRIDE)[:, None] + tl.arange(0, SIZE)[None, :]
    pitch = width * STRIDE
    return place - 2 * pitch, place - pitch, place, place + pitch, place + 2 * pitch


@triton.jit
def near(row, dy: tl.constexpr, dx: tl.constexpr, STRIDE: tl.constexpr):
    """Components of the pixels at a distance; neighbours are STRIDE numbers apart."""
    return tl.load(row[dy + 2] + dx * STRIDE)


@triton.jit
def axis(row, d: tl.constexpr, STRIDE: tl.constexpr):
    """Of four pixels on the axes all, right - left, below - above, and one axis minus the other."""
    right, left = near(row, 0, d, STRIDE), near(row, 0, -d, STRIDE)
    below, above = near(row, d, 0, STRIDE), near(row, -d, 0, STRIDE)
    across, down = right + left, below + above
    return across + down, right - left, below - above, across - down


@triton.jit
def corners(row, dy: tl.constexpr, dx: tl.constexpr, STRIDE: tl.constexpr):
    """Of the corners of a rectangle all, right - left, below - above, and one diagonal minus the other."""
    pp, pm = near(row, dy, dx, STRIDE), near(row, dy, -dx, STRIDE)
    mp, mm = near(row, -dy, dx, STRIDE), near(row, -dy, -dx, STRIDE)
    same, other = pp + mm, pm + mp
    along, across = pp - mm, pm - mp
    return same + other, along - across, along + across, same - other


@triton.jit
def matrix(place, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """A matrix, row by row."""
    return tl.load(place + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def scale(peak, unit):
    """The power of two by which numbers are multiplied before they are rounded, so that nothing overflows.

    It is `unit` unless the largest number of the stream is above USUAL.
    """
    ratio = tl.load(peak) / USUAL
    power = (ratio.to(tl.int32, bitcast=True) & 0x7F800000).to(tl.float32, bitcast=True)
    return tl.where((ratio > 1.0) & (ratio < float("inf")), unit * (0.5 / power), unit)


@triton.jit
def mirrored(u, y, x, height, width, values, inside, near_border, C: tl.constexpr, MARGIN: tl.constexpr):
    """Store pixels of a picture, and beyond its border up to MARGIN those of its mirror images."""
    wide = width + 2 * MARGIN
    put(u, (y + MARGIN) * wide + x + MARGIN, values, inside, C)
    if near_border:
        for i in tl.static_range(3):
            for j in tl.static_range(3):
                if i + j > 0:
                    Y = y if i == 0 else (-1 - y if i == 1 else 2 * height - 1 - y)
                    X = x if j == 0 else (-1 - x if j == 1 else 2 * width - 1 - x)
                    seen = inside & (Y >= -MARGIN) & (height + MARGIN > Y) & (X >= -MARGIN) & (width + MARGIN > X)
                    put(u, (Y + MARGIN) * wide + X + MARGIN, values, seen, C)


@triton.jit
def response(sums, T: tl.constexpr, k: tl.constexpr, p: tl.constexpr, FIRST: tl.constexpr):
    """The sums times their taps in stencil p of component k, from tap FIRST on."""
    m: tl.constexpr = (k + 1) // 2
    total = sums[0] if T.taps[m][p][FIRST] == 1.0 else sums[0] * T.taps[m][p][FIRST]
    for q in tl.static_range(1, len(sums)):
        if T.taps[m][p][FIRST + q] == 1.0:
            total += sums[q]
        elif T.taps[m][p][FIRST + q] != 0.0:
            total = tl.fma(sums[q], tl.full(sums[q].shape, T.taps[m][p][FIRST + q], tl.float16), total)
    return total


@triton.jit
def settled(a):
    """The same numbers, behind a condition that always holds. Triton does not see that it does, and so rearranges the
    finished numbers for a product instead of everything that they were computed from.
    """
    return tl.where(tl.arange(0, a.shape[1])[None, :] < a.shape[1], a, 0.0)


@triton.jit
def beside(a, b):
    """Two responses in one tensor. Their columns take turns, two by two: so they lie in the registers."""
    P: tl.constexpr = a.shape[0]
    SIZE: tl.constexpr = a.shape[1]
    pairs = tl.join(tl.reshape(a, (P, SIZE // 2, 2)), tl.reshape(b, (P, SIZE // 2, 2)))
    return tl.reshape(tl.permute(pairs, (0, 1, 3, 2)), (P, 2 * SIZE))


@triton.jit
def matrices(place, T: tl.constexpr, m: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The matrices of the stencils of order m, two in one, and the last alone where their number is odd."""
    STENCILS: tl.constexpr = T.taps[m]
    COUNT: tl.constexpr = len(STENCILS)
    found = ()
    for p in tl.static_range(0, COUNT, 2):
        found += (matrix(place + p * ROWS * COLUMNS, ROWS * min(2, COUNT - p), COLUMNS),)
    return found


@triton.jit
def mixed(sums, T: tl.constexpr, k: tl.constexpr, w, total):
    """Add the responses of all stencils of component k, mixed by their matrices."""
    STENCILS: tl.constexpr = T.taps[(k + 1) // 2]
    COUNT: tl.constexpr = len(STENCILS)
    FIRST: tl.constexpr = 3 if k == 4 else 0
    for p in tl.static_range(0, COUNT, 2):
        a = response(sums, T, k, p, FIRST)
        if p + 1 < COUNT:
            a = beside(a, response(sums, T, k, p + 1, FIRST))
        total = tl.dot(settled(a), w[p // 2], total)
    return total


@triton.jit
def all_sums(row, STRIDE: tl.constexpr):
    """The sums over all orbits, in the order of `whorl.operators.orbits`: of order 0, cosine and sine of 1 and of 2."""
    ee1, eo1, oe1, oo1 = axis(row, 1, STRIDE)
    ee2, eo2, oe2, oo2 = axis(row, 2, STRIDE)
    ee3, eo3, oe3, oo3 = corners(row, 1, 1, STRIDE)
    ee4, eo4, oe4, oo4 = corners(row, 2, 2, STRIDE)
    ee5, eo5, oe5, oo5 = corners(row, 1, 2, STRIDE)
    ee6, eo6, oe6, oo6 = corners(row, 2, 1, STRIDE)
    return (
        (near(row, 0, 0, STRIDE), ee3, ee4, ee1, ee2, ee5 + ee6),
        (eo1, eo2, eo3, eo5, eo6, eo4),
        (oe1, oe2, oe3, oe6, oe5, oe4),
        (oo1, oo2, ee5 - ee6),
        (oo3, oo4, oo5 + oo6),
    )


@triton.jit
def put(u, pixel, values, inside, SIZE: tl.constexpr):
    """Store SIZE components of the pixels inside."""
    f = tl.arange(0, values.shape[1])[None, :]
    place = u + (pixel * SIZE)[:, None] + f
    tl.store(place, values.to(u.dtype.element_ty), mask=inside[:, None] & (f < SIZE))
