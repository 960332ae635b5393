"""The gates of learned blocks, and their kernel for smoothed invariants."""

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
def seen(i, numbers, unscaled, small, F: tl.constexpr, FAST: tl.constexpr):
    """What the gates look at, from fields of order 0 and squared lengths of the others.

    `numbers` holds their factors, and behind them what the gates add; fields are to be multiplied by `unscaled`. All
    is multiplied by `small`, a power of two, so that nothing overflows; it is 1 unless the stream is unusual. FAST
    functions of the device are right to two or three roundings of float32.
    """
    a0 = i[0] * (tl.load(numbers + tl.arange(0, F[0])) * (unscaled * small))[None, :]
    square = unscaled * unscaled
    a1 = log2(1.0 + i[1] * (tl.load(numbers + F[0] + tl.arange(0, F[1])) * square)[None, :], FAST)
    a2 = log2(1.0 + i[2] * (tl.load(numbers + F[0] + F[1] + tl.arange(0, F[2])) * square)[None, :], FAST)
    return a0.to(tl.float16), (a1 * small).to(tl.float16), (a2 * small).to(tl.float16)


@triton.jit
def squared(v):
    """Fields of order 0 and squared lengths of the others."""
    return v[0], v[1] * v[1] + v[2] * v[2], v[3] * v[3] + v[4] * v[4]


@triton.jit
def gates(a, G, offset, small, factor, FAST: tl.constexpr):
    """A factor times the gates of the fields of an order, from what they look at; `factor` is a power of two."""
    z = tl.dot(a[2], G[2], tl.dot(a[1], G[1], tl.dot(a[0], G[0])))
    z = tl.fma(z, 1.0 / small, tl.load(offset + tl.arange(0, z.shape[1]))[None, :])
    return inverse(tl.fma(exp2(z, FAST), 1.0 / factor, 1.0 / factor), FAST)


@triton.jit
def gate_matrix(G, F: tl.constexpr):
    """For the gates of each order what they see of the orders 0, 1, 2."""
    found = ()
    for m in tl.static_range(3):
        columns = ()
        for n in tl.static_range(3):
            columns += (matrix(G, F[n], F[m]),)
            G += F[n] * F[m]
        found += (columns,)
    return found


@triton.jit
def put_gated(
    v, pixel, fields, inside, a, G, offset, small, factor,
    F: tl.constexpr, S: tl.constexpr, GATED: tl.constexpr, FAST: tl.constexpr,
):
    """Store fields times a factor, and times their gates where GATED."""
    for m in tl.static_range(3):
        gate = gates(a, G[m], offset, small, factor, FAST) if GATED else factor
        offset += F[m]
        for k in tl.static_range(max(0, 2 * m - 1), 2 * m + 1):
            put(v[k], pixel, fields[k] * gate, inside, S[m])


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
    F: tl.constexpr, S: tl.constexpr, FAST: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Fields times gates that look at smoothed invariants. Grid (strips of tiles, images).

    Height and width are those of `v`; `raw` has a margin of one pixel around it.
    """
    wide, image = width + 2, tl.program_id(1).to(tl.int64)
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    r = planes(raw, image, (height + 2) * wide, S)
    target = planes(v, image, height * width, S)
    numbers += image * own * (2 * (F[0] + F[1] + F[2]))
    p = tl.arange(0, BY * BX)
    x = strip * BX + p % BX
    matrices = gate_matrix(G, F)
    unscaled, small = 1.0 / scale(peaks + now + image, field_unit), scale(peaks + now + image, 1.0)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        pixel = (tl.minimum(y, height - 1) + 1) * wide + tl.minimum(x, width - 1) + 1
        looked, fields = (), ()
        for m in tl.static_range(3):
            c, s = rows(r[max(0, 2 * m - 1)], pixel, wide, F[m], S[m]), rows(r[2 * m], pixel, wide, F[m], S[m])
            looked += (smoothed(c, s, S[m], m > 0),)
            for k in tl.static_range(2 if m > 0 else 1):
                fields += (near(c if k == 0 else s, 0, 0, S[m]),)
        a = seen(looked, numbers, unscaled, small, F, FAST)
        a = settled(a[0]), settled(a[1]), settled(a[2])
        pixel, inside, offset = y * width + x, (y < height) & (x < width), numbers + (F[0] + F[1] + F[2])
        put_gated(target, pixel, fields, inside, a, matrices, offset, small, 1.0, F, S, True, FAST)
