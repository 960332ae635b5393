r"""Learned blocks on the matrix units: fields from the stream, their gates, and what goes back to the stream.

The taps of a stencil at pixels that a symmetry of the square maps onto each other are equal up to a sign. So pixels of
such an orbit are added first, and each sum is multiplied once by a small matrix, which is the mixing times the tap:

    centre          u(0, 0)
    axis, d         u(0, d), u(0, -d), u(d, 0), u(-d, 0)                        d = 1, 2
    diagonal, d     u(d, d), u(d, -d), u(-d, d), u(-d, -d)                      d = 1, 2
    oblique         u(1, 2), ... and u(2, 1), ... with all signs

Sums and factors are float16 and products are added in float32. Every sum is made so that a quarter turn or a mirror
image only exchanges its two parts or changes its sign.

Tensors have pixels along their first axis, a tile of BY x BX, and channels or components of fields along the second,
filled up with zeros to a power of two. A program goes down a strip of tiles, so that the matrices are loaded once.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
# fmt: off

import triton
import triton.language as tl


@triton.jit
def mirrored(i, size):
    """The index that the half-sample mirror shows at position i, up to one size beyond either end."""
    i = tl.where(i < 0, -1 - i, i)
    return tl.where(i >= size, 2 * size - 1 - i, i)


@triton.jit
def four(pp, pm, mp, mm):
    """Products of even and odd sums along y and along x, of four pixels with these signs of y and x: ee, eo, oe, oo."""
    same, other = pp + mm, pm + mp
    along, across = pp - mm, pm - mp
    return same + other, along - across, along + across, same - other


@triton.jit
def six(place, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The matrices of an order."""
    found = ()
    for q in tl.static_range(6):
        found += (matrix(place + q * ROWS * COLUMNS, ROWS, COLUMNS),)
    return found


@triton.jit
def matrix(place, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.load(place + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def product(a, w, total):
    """Add a w to the sum.

    The condition always holds. It keeps Triton from rearranging all that was added up in a, where it can rearrange a.
    """
    known = tl.arange(0, a.shape[1])[None, :] < a.shape[1]
    return tl.dot(tl.where(known, a, 0.0), w, total)


@triton.jit
def pixels(u, y, x, c, dy, dx, height, width, C: tl.constexpr, MASKED: tl.constexpr):
    """Channels of the pixels at a distance, of the mirrored picture."""
    place = u + (mirrored(y + dy, height) * width + mirrored(x + dx, width)) * C
    if MASKED:
        return tl.load(place[:, None] + c[None, :], mask=(c < C)[None, :], other=0.0).to(tl.float16)
    else:
        return tl.load(place[:, None] + c[None, :]).to(tl.float16)


@triton.jit
def exp2(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        return tl.exp2(x)


@triton.jit
def log2(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise("lg2.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        return tl.log2(x)


@triton.jit
def inverse(x, FAST: tl.constexpr):
    if FAST:
        return tl.inline_asm_elementwise("rcp.approx.ftz.f32 $0, $1;", "=f,f", [x], tl.float32, True, 1)
    else:
        return 1.0 / x


@triton.jit
def gates(a0, a1, a2, G, offset, FAST: tl.constexpr):
    """The multipliers of the fields of an order, from what is seen of all fields."""
    z = tl.dot(a2, G[2], tl.dot(a1, G[1], tl.dot(a0, G[0]))) + offset
    return inverse(1.0 + exp2(z, FAST), FAST)


@triton.jit
def columns(G, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr, FIELDS: tl.constexpr):
    """What the gates of an order see of the orders 0, 1, 2."""
    return matrix(G, F0, FIELDS), matrix(G + F0 * FIELDS, F1, FIELDS), matrix(G + (F0 + F1) * FIELDS, F2, FIELDS)


@triton.jit
def analysis_kernel(
    u, v, W0, W1, W2, G, numbers, number_stride, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr,
    S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr,
    MARGIN: tl.constexpr, GATED: tl.constexpr, FAST: tl.constexpr, MASKED: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Fields of a picture and MARGIN pixels beyond its border, times their gates where GATED. Grid (strips, images).

    `numbers` holds for every picture the factors of the invariants and what the gates add. Fields lie in `v`
    pixel by pixel: S0 numbers of order 0, and S1 and S2 cosines and sines of the others.
    """
    STRIDE: tl.constexpr = S0 + 2 * S1 + 2 * S2
    P: tl.constexpr = BY * BX
    high, wide = height + 2 * MARGIN, width + 2 * MARGIN
    across = tl.cdiv(wide, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    image = tl.program_id(1).to(tl.int64)
    u += image * height * width * C
    v += image * high * wide * STRIDE
    numbers += image * number_stride
    p = tl.arange(0, P)
    c = tl.arange(0, CB)
    column = strip * BX + p % BX
    x = tl.minimum(column, wide - 1) - MARGIN
    f0, f1, f2 = tl.arange(0, F0), tl.arange(0, F1), tl.arange(0, F2)
    A0, A1, A2 = six(W0, CB, F0), six(W1, CB, F1), six(W2, CB, F2)
    if GATED:
        ALL: tl.constexpr = F0 + F1 + F2
        G0 = columns(G, F0, F1, F2, F0)
        G1 = columns(G + ALL * F0, F0, F1, F2, F1)
        G2 = columns(G + ALL * (F0 + F1), F0, F1, F2, F2)
    for step in range(tl.minimum(steps, tl.cdiv(high, BY) - segment * steps)):
        row = (segment * steps + step) * BY + p // BX
        y = tl.minimum(row, high - 1) - MARGIN
        # Centre, and orbits on the axes.
        scalar = product(pixels(u, y, x, c, 0, 0, height, width, C, MASKED), A0[0], tl.zeros((P, F0), tl.float32))
        c1, s1 = tl.zeros((P, F1), tl.float32), tl.zeros((P, F1), tl.float32)
        c2, s2 = tl.zeros((P, F2), tl.float32), tl.zeros((P, F2), tl.float32)
        for d in tl.static_range(1, 3):
            right, left = pixels(u, y, x, c, 0, d, height, width, C, MASKED), pixels(u, y, x, c, 0, -d, height, width, C, MASKED)
            below, above = pixels(u, y, x, c, d, 0, height, width, C, MASKED), pixels(u, y, x, c, -d, 0, height, width, C, MASKED)
            scalar = product((right + left) + (below + above), A0[2 + d], scalar)
            w = A1[d - 1]
            c1 = product(right - left, w, c1)
            s1 = product(below - above, w, s1)
            c2 = product((right + left) - (below + above), A2[d - 1], c2)
        # Diagonals.
        for d in tl.static_range(1, 3):
            ee, eo, oe, oo = four(
                pixels(u, y, x, c, d, d, height, width, C, MASKED), pixels(u, y, x, c, d, -d, height, width, C, MASKED),
                pixels(u, y, x, c, -d, d, height, width, C, MASKED), pixels(u, y, x, c, -d, -d, height, width, C, MASKED),
            )
            scalar = product(ee, A0[d], scalar)
            w = A1[3 * d - 1]
            c1 = product(eo, w, c1)
            s1 = product(oe, w, s1)
            s2 = product(oo, A2[2 + d], s2)
        # The eight others.
        ee, eo, oe, oo = four(
            pixels(u, y, x, c, 1, 2, height, width, C, MASKED), pixels(u, y, x, c, 1, -2, height, width, C, MASKED),
            pixels(u, y, x, c, -1, 2, height, width, C, MASKED), pixels(u, y, x, c, -1, -2, height, width, C, MASKED),
        )
        EE, EO, OE, OO = four(
            pixels(u, y, x, c, 2, 1, height, width, C, MASKED), pixels(u, y, x, c, 2, -1, height, width, C, MASKED),
            pixels(u, y, x, c, -2, 1, height, width, C, MASKED), pixels(u, y, x, c, -2, -1, height, width, C, MASKED),
        )
        scalar = product(ee + EE, A0[5], scalar)
        w = A1[3]
        c1, s1 = product(eo, w, c1), product(OE, w, s1)
        w = A1[4]
        c1, s1 = product(EO, w, c1), product(oe, w, s1)
        c2 = product(ee - EE, A2[2], c2)
        s2 = product(oo + OO, A2[5], s2)
        if GATED:
            a0 = (scalar * tl.load(numbers + f0)[None, :]).to(tl.float16)
            a1 = log2(1.0 + (c1 * c1 + s1 * s1) * tl.load(numbers + F0 + f1)[None, :], FAST).to(tl.float16)
            a2 = log2(1.0 + (c2 * c2 + s2 * s2) * tl.load(numbers + F0 + F1 + f2)[None, :], FAST).to(tl.float16)
            scalar *= gates(a0, a1, a2, G0, tl.load(numbers + ALL + f0)[None, :], FAST)
            gate = gates(a0, a1, a2, G1, tl.load(numbers + ALL + F0 + f1)[None, :], FAST)
            c1, s1 = c1 * gate, s1 * gate
            gate = gates(a0, a1, a2, G2, tl.load(numbers + ALL + F0 + F1 + f2)[None, :], FAST)
            c2, s2 = c2 * gate, s2 * gate
        inside = (row < high) & (column < wide)
        place = v + (row * wide + column) * STRIDE
        put(place, scalar, f0, inside, S0)
        put(place + S0, c1, f1, inside, S1)
        put(place + S0 + S1, s1, f1, inside, S1)
        put(place + S0 + 2 * S1, c2, f2, inside, S2)
        put(place + S0 + 2 * S1 + S2, s2, f2, inside, S2)


@triton.jit
def put(place, values, f, inside, SIZE: tl.constexpr):
    """Store the first SIZE components of each pixel."""
    tl.store(place[:, None] + f[None, :], values.to(tl.float16), mask=inside[:, None] & (f < SIZE)[None, :])


@triton.jit
def near(place, dy, dx, pitch, f, STRIDE: tl.constexpr, SIZE: tl.constexpr):
    """Components of fields at a distance. Beyond the first SIZE come others, which meet zeros in the matrices."""
    place += dy * pitch + dx * STRIDE
    if SIZE == 0:
        return tl.load(place[:, None] + f[None, :])
    else:
        return tl.load(place[:, None] + f[None, :], mask=(f < SIZE)[None, :], other=0.0)


@triton.jit
def around(place, dy, dx, pitch, f, STRIDE: tl.constexpr, SIZE: tl.constexpr):
    """The four products of even and odd sums."""
    return four(
        near(place, dy, dx, pitch, f, STRIDE, SIZE), near(place, dy, -dx, pitch, f, STRIDE, SIZE),
        near(place, -dy, dx, pitch, f, STRIDE, SIZE), near(place, -dy, -dx, pitch, f, STRIDE, SIZE),
    )


@triton.jit
def synthesis_kernel(
    v, u, out, W0, W1, W2, tau, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr,
    S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr, MASKED: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """out = u - tau K* v, with fields `v` of the picture and two pixels beyond its border. Grid (strips, images)."""
    STRIDE: tl.constexpr = S0 + 2 * S1 + 2 * S2
    P: tl.constexpr = BY * BX
    M0: tl.constexpr = S0 if MASKED and S0 < F0 else 0
    M1: tl.constexpr = S1 if MASKED and S1 < F1 else 0
    M2: tl.constexpr = S2 if MASKED and S2 < F2 else 0
    pitch = (width + 4) * STRIDE
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    image = tl.program_id(1).to(tl.int64)
    v += image * (height + 4) * pitch
    u += image * height * width * C
    out += image * height * width * C
    p = tl.arange(0, P)
    c = tl.arange(0, CB)
    x = strip * BX + p % BX
    f0, f1, f2 = tl.arange(0, F0), tl.arange(0, F1), tl.arange(0, F2)
    B0, B1, B2 = six(W0, F0, CB), six(W1, F1, CB), six(W2, F2, CB)
    tau = tl.load(tau)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        place = v + (tl.minimum(y, height - 1) + 2) * pitch + (tl.minimum(x, width - 1) + 2) * STRIDE
        # Order 0.
        total = product(near(place, 0, 0, pitch, f0, STRIDE, M0), B0[0], tl.zeros((P, CB), tl.float32))
        for d in tl.static_range(1, 3):
            right, left = near(place, 0, d, pitch, f0, STRIDE, M0), near(place, 0, -d, pitch, f0, STRIDE, M0)
            below, above = near(place, d, 0, pitch, f0, STRIDE, M0), near(place, -d, 0, pitch, f0, STRIDE, M0)
            total = product((right + left) + (below + above), B0[2 + d], total)
            ee, eo, oe, oo = around(place, d, d, pitch, f0, STRIDE, M0)
            total = product(ee, B0[d], total)
        ee, eo, oe, oo = around(place, 1, 2, pitch, f0, STRIDE, M0)
        EE, EO, OE, OO = around(place, 2, 1, pitch, f0, STRIDE, M0)
        total = product(ee + EE, B0[5], total)
        # Order 2.
        place += S0 + 2 * S1
        for d in tl.static_range(1, 3):
            right, left = near(place, 0, d, pitch, f2, STRIDE, M2), near(place, 0, -d, pitch, f2, STRIDE, M2)
            below, above = near(place, d, 0, pitch, f2, STRIDE, M2), near(place, -d, 0, pitch, f2, STRIDE, M2)
            total = product((right + left) - (below + above), B2[d - 1], total)
            ee, eo, oe, oo = around(place + S2, d, d, pitch, f2, STRIDE, M2)
            total = product(oo, B2[2 + d], total)
        ee, eo, oe, oo = around(place, 1, 2, pitch, f2, STRIDE, M2)
        EE, EO, OE, OO = around(place, 2, 1, pitch, f2, STRIDE, M2)
        total = product(ee - EE, B2[2], total)
        ee, eo, oe, oo = around(place + S2, 1, 2, pitch, f2, STRIDE, M2)
        EE, EO, OE, OO = around(place + S2, 2, 1, pitch, f2, STRIDE, M2)
        total = product(oo + OO, B2[5], total)
        # Order 1; a quarter turn exchanges cosines and sines, so each has a sum of its own.
        place -= 2 * S1
        cosine, sine = tl.zeros((P, CB), tl.float32), tl.zeros((P, CB), tl.float32)
        for d in tl.static_range(1, 3):
            w = B1[d - 1]
            right, left = near(place, 0, d, pitch, f1, STRIDE, M1), near(place, 0, -d, pitch, f1, STRIDE, M1)
            cosine = product(right - left, w, cosine)
            below, above = near(place + S1, d, 0, pitch, f1, STRIDE, M1), near(place + S1, -d, 0, pitch, f1, STRIDE, M1)
            sine = product(below - above, w, sine)
            w = B1[3 * d - 1]
            ee, eo, oe, oo = around(place, d, d, pitch, f1, STRIDE, M1)
            cosine = product(eo, w, cosine)
            ee, eo, oe, oo = around(place + S1, d, d, pitch, f1, STRIDE, M1)
            sine = product(oe, w, sine)
        w = B1[3]
        ee, eo, oe, oo = around(place, 1, 2, pitch, f1, STRIDE, M1)
        cosine = product(eo, w, cosine)
        ee, eo, oe, oo = around(place + S1, 2, 1, pitch, f1, STRIDE, M1)
        sine = product(oe, w, sine)
        w = B1[4]
        ee, eo, oe, oo = around(place, 2, 1, pitch, f1, STRIDE, M1)
        cosine = product(eo, w, cosine)
        ee, eo, oe, oo = around(place + S1, 1, 2, pitch, f1, STRIDE, M1)
        sine = product(oe, w, sine)
        total += cosine + sine
        here = ((y * width + x) * C)[:, None] + c[None, :]
        inside = ((y < height) & (x < width))[:, None] & (c < C)[None, :]
        tl.store(out + here, tl.load(u + here, mask=inside, other=0.0) - tau * total, mask=inside)
