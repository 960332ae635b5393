"""The gates of learned blocks, and their kernel for smoothed invariants."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.learned.orbits import matrix, near, planes, put, rows, scale, settled

SIZES = ("unit", "field_unit", "before", "now", "after", "own", "height", "width", "steps")
"""What differs from picture to picture: no kernel is compiled anew for it."""


@triton.jit
def exp2(x, FAST: tl.constexpr):
    """2 to the power x."""
    if FAST:
        return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        return tl.exp2(x)


@triton.jit
def log2(x, FAST: tl.constexpr):
    """The logarithm to the base 2."""
    if FAST:
        return tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        return tl.log2(x)


@triton.jit
def inverse(x, FAST: tl.constexpr):
    """1 / x."""
    if FAST:
        return tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        return 1.0 / x


@triton.jit
def seen(
    i0, i1, i2, numbers, unscaled, small, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr, FAST: tl.constexpr,
):
    """What the gates look at, from fields of order 0 and squared lengths of the others.

    `numbers` holds their factors, and behind them what the gates add; fields are to be multiplied by `unscaled`. All
    is multiplied by `small`, a power of two, so that nothing overflows; it is 1 unless the stream is unusual. FAST
    functions of the device are right to two or three roundings of float32.
    """
    a0 = i0 * (tl.load(numbers + tl.arange(0, F0)) * (unscaled * small))[None, :]
    square = unscaled * unscaled
    a1 = log2(1.0 + i1 * (tl.load(numbers + F0 + tl.arange(0, F1)) * square)[None, :], FAST)
    a2 = log2(1.0 + i2 * (tl.load(numbers + F0 + F1 + tl.arange(0, F2)) * square)[None, :], FAST)
    return a0.to(tl.float16), (a1 * small).to(tl.float16), (a2 * small).to(tl.float16)


@triton.jit
def gates(a, G, offset, small, factor, FAST: tl.constexpr):
    """A factor times the gates of the fields of an order, from what they look at; `factor` is a power of two."""
    z = tl.dot(a[2], G[2], tl.dot(a[1], G[1], tl.dot(a[0], G[0])))
    z = tl.fma(z, 1.0 / small, tl.load(offset + tl.arange(0, z.shape[1]))[None, :])
    return inverse(tl.fma(exp2(z, FAST), 1.0 / factor, 1.0 / factor), FAST)


@triton.jit
def gate_matrix(G, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr):
    """For the gates of each order what they see of the orders 0, 1, 2."""
    ALL: tl.constexpr = F0 + F1 + F2
    return (
        columns(G, F0, F1, F2, F0),
        columns(G + ALL * F0, F0, F1, F2, F1),
        columns(G + ALL * (F0 + F1), F0, F1, F2, F2),
    )


@triton.jit
def columns(G, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr, FIELDS: tl.constexpr):
    """The same for the gates of one order."""
    return matrix(G, F0, FIELDS), matrix(G + F0 * FIELDS, F1, FIELDS), matrix(G + (F0 + F1) * FIELDS, F2, FIELDS)


@triton.jit
def squares(c, s, dy: tl.constexpr, dx: tl.constexpr, STRIDE: tl.constexpr, PAIRS: tl.constexpr):
    """Squared lengths of fields at a distance where they have PAIRS of components, and else the fields."""
    x = near(c, dy, dx, STRIDE).to(tl.float32)
    if PAIRS:
        y = near(s, dy, dx, STRIDE).to(tl.float32)
        return x * x + y * y
    else:
        return x


@triton.jit
def smoothed(c, s, STRIDE: tl.constexpr, PAIRS: tl.constexpr):
    """The same after a binomial filter of radius 1."""
    right, left = squares(c, s, 0, 1, STRIDE, PAIRS), squares(c, s, 0, -1, STRIDE, PAIRS)
    below, above = squares(c, s, 1, 0, STRIDE, PAIRS), squares(c, s, -1, 0, STRIDE, PAIRS)
    pp, pm = squares(c, s, 1, 1, STRIDE, PAIRS), squares(c, s, 1, -1, STRIDE, PAIRS)
    mp, mm = squares(c, s, -1, 1, STRIDE, PAIRS), squares(c, s, -1, -1, STRIDE, PAIRS)
    centre = squares(c, s, 0, 0, STRIDE, PAIRS)
    return 0.25 * centre + 0.125 * ((right + left) + (below + above)) + 0.0625 * ((pp + mm) + (pm + mp))


@triton.jit(do_not_specialize=SIZES)
def gate_kernel(
    raw, v, G, numbers, peaks, field_unit, now, own, height, width, steps,
    F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr, S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr,
    FAST: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Fields times gates that look at smoothed invariants. Grid (strips of tiles, images).

    Height and width are those of `v`; `raw` has a margin of one pixel around it.
    """
    wide, image = width + 2, tl.program_id(1).to(tl.int64)
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    r0, rc1, rs1, rc2, rs2 = planes(raw, image, (height + 2) * wide, S0, S1, S2)
    v0, vc1, vs1, vc2, vs2 = planes(v, image, height * width, S0, S1, S2)
    numbers += image * own * (2 * (F0 + F1 + F2))
    p = tl.arange(0, BY * BX)
    x = strip * BX + p % BX
    matrices = gate_matrix(G, F0, F1, F2)
    unscaled, small = 1.0 / scale(peaks + now + image, field_unit), scale(peaks + now + image, 1.0)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        pixel = (tl.minimum(y, height - 1) + 1) * wide + tl.minimum(x, width - 1) + 1
        z = rows(r0, pixel, wide, F0, S0)
        i0, f0 = smoothed(z, z, S0, False), near(z, 0, 0, S0)
        c, s = rows(rc1, pixel, wide, F1, S1), rows(rs1, pixel, wide, F1, S1)
        i1, c1, s1 = smoothed(c, s, S1, True), near(c, 0, 0, S1), near(s, 0, 0, S1)
        c, s = rows(rc2, pixel, wide, F2, S2), rows(rs2, pixel, wide, F2, S2)
        i2, c2, s2 = smoothed(c, s, S2, True), near(c, 0, 0, S2), near(s, 0, 0, S2)
        a, ALL = seen(i0, i1, i2, numbers, unscaled, small, F0, F1, F2, FAST), F0 + F1 + F2
        a = settled(a[0]), settled(a[1]), settled(a[2])
        pixel, inside = y * width + x, (y < height) & (x < width)
        put(v0, pixel, f0 * gates(a, matrices[0], numbers + ALL, small, 1.0, FAST), inside, S0)
        gate = gates(a, matrices[1], numbers + ALL + F0, small, 1.0, FAST)
        put(vc1, pixel, c1 * gate, inside, S1)
        put(vs1, pixel, s1 * gate, inside, S1)
        gate = gates(a, matrices[2], numbers + ALL + F0 + F1, small, 1.0, FAST)
        put(vc2, pixel, c2 * gate, inside, S2)
        put(vs2, pixel, s2 * gate, inside, S2)
