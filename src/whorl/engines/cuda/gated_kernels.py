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
def matrix(place, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    return tl.load(place + tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :])


@triton.jit
def three(place, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    """The matrices of an order, each for two orbits."""
    SIZE: tl.constexpr = 2 * ROWS * COLUMNS
    return (
        matrix(place, 2 * ROWS, COLUMNS),
        matrix(place + SIZE, 2 * ROWS, COLUMNS),
        matrix(place + 2 * SIZE, 2 * ROWS, COLUMNS),
    )


@triton.jit
def product(a, w, total):
    """Add a w to the sum.

    The condition always holds. It keeps Triton from rearranging all that was added up in a, where it can rearrange a.
    """
    known = tl.arange(0, a.shape[1])[None, :] < a.shape[1]
    return tl.dot(tl.where(known, a, 0.0), w, total)


@triton.jit
def both(a, b, w, total):
    """Add the products of two orbits. Their columns take turns, two by two: so they lie in the registers."""
    P: tl.constexpr = a.shape[0]
    SIZE: tl.constexpr = a.shape[1]
    pairs = tl.join(tl.reshape(a, (P, SIZE // 2, 2)), tl.reshape(b, (P, SIZE // 2, 2)))
    return product(tl.reshape(tl.permute(pairs, (0, 1, 3, 2)), (P, 2 * SIZE)), w, total)


@triton.jit
def pixels(u, y, x, c, dy, dx, height, width, C: tl.constexpr, MASKED: tl.constexpr):
    """Channels of the pixels at a distance, of the mirrored picture."""
    place = u + (mirrored(y + dy, height) * width + mirrored(x + dx, width)) * C
    if MASKED:
        return tl.load(place[:, None] + c[None, :], mask=(c < C)[None, :], other=0.0).to(tl.float16)
    else:
        return tl.load(place[:, None] + c[None, :]).to(tl.float16)


@triton.jit
def axis(u, y, x, c, d, height, width, C: tl.constexpr, MASKED: tl.constexpr):
    """Sums over the four pixels on the axes: of all, right - left, below - above, and one axis minus the other."""
    right, left = pixels(u, y, x, c, 0, d, height, width, C, MASKED), pixels(u, y, x, c, 0, -d, height, width, C, MASKED)
    below, above = pixels(u, y, x, c, d, 0, height, width, C, MASKED), pixels(u, y, x, c, -d, 0, height, width, C, MASKED)
    across, down = right + left, below + above
    return across + down, right - left, below - above, across - down


@triton.jit
def corners(u, y, x, c, dy, dx, height, width, C: tl.constexpr, MASKED: tl.constexpr):
    return four(
        pixels(u, y, x, c, dy, dx, height, width, C, MASKED), pixels(u, y, x, c, dy, -dx, height, width, C, MASKED),
        pixels(u, y, x, c, -dy, dx, height, width, C, MASKED), pixels(u, y, x, c, -dy, -dx, height, width, C, MASKED),
    )


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
def multiplier(a0, a1, a2, G, offset, FAST: tl.constexpr):
    """The gates of the fields of an order."""
    z = tl.dot(a2, G[2], tl.dot(a1, G[1], tl.dot(a0, G[0]))) + tl.load(offset)[None, :]
    return inverse(1.0 + exp2(z, FAST), FAST)


@triton.jit
def gates(i0, i1, i2, G, numbers, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr, FAST: tl.constexpr):
    """The gates of all fields, from fields of order 0 and squared lengths of the others."""
    ALL: tl.constexpr = F0 + F1 + F2
    n0, n1, n2 = numbers + tl.arange(0, F0), numbers + F0 + tl.arange(0, F1), numbers + F0 + F1 + tl.arange(0, F2)
    a0 = (i0 * tl.load(n0)[None, :]).to(tl.float16)
    a1 = log2(1.0 + i1 * tl.load(n1)[None, :], FAST).to(tl.float16)
    a2 = log2(1.0 + i2 * tl.load(n2)[None, :], FAST).to(tl.float16)
    g0 = multiplier(a0, a1, a2, G[0], n0 + ALL, FAST)
    g1 = multiplier(a0, a1, a2, G[1], n1 + ALL, FAST)
    g2 = multiplier(a0, a1, a2, G[2], n2 + ALL, FAST)
    return g0, g1, g2


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
    A0, A1 = three(W0, CB, F0), three(W1, CB, F1)
    C2, S2W = matrix(W2, 2 * CB, F2), matrix(W2 + 2 * CB * F2, 2 * CB, F2)
    C2O, S2O = matrix(W2 + 4 * CB * F2, CB, F2), matrix(W2 + 5 * CB * F2, CB, F2)
    if GATED:
        matrices = gate_matrix(G, F0, F1, F2)
    for step in range(tl.minimum(steps, tl.cdiv(high, BY) - segment * steps)):
        row = (segment * steps + step) * BY + p // BX
        y = tl.minimum(row, high - 1) - MARGIN
        scalar = tl.zeros((P, F0), tl.float32)
        c1, s1 = tl.zeros((P, F1), tl.float32), tl.zeros((P, F1), tl.float32)
        c2, s2 = tl.zeros((P, F2), tl.float32), tl.zeros((P, F2), tl.float32)
        ee, eo, oe, oo = axis(u, y, x, c, 1, height, width, C, MASKED)
        EE, EO, OE, OO = axis(u, y, x, c, 2, height, width, C, MASKED)
        scalar = both(ee, EE, A0[0], scalar)
        c1, s1 = both(eo, EO, A1[0], c1), both(oe, OE, A1[0], s1)
        c2 = both(oo, OO, C2, c2)
        ee, eo, oe, oo = corners(u, y, x, c, 1, 1, height, width, C, MASKED)
        EE, EO, OE, OO = corners(u, y, x, c, 2, 2, height, width, C, MASKED)
        scalar = both(ee, EE, A0[1], scalar)
        c1, s1 = both(eo, EO, A1[1], c1), both(oe, OE, A1[1], s1)
        s2 = both(oo, OO, S2W, s2)
        ee, eo, oe, oo = corners(u, y, x, c, 1, 2, height, width, C, MASKED)
        EE, EO, OE, OO = corners(u, y, x, c, 2, 1, height, width, C, MASKED)
        scalar = both(pixels(u, y, x, c, 0, 0, height, width, C, MASKED), ee + EE, A0[2], scalar)
        c1, s1 = both(eo, EO, A1[2], c1), both(OE, oe, A1[2], s1)
        c2, s2 = product(ee - EE, C2O, c2), product(oo + OO, S2O, s2)
        if GATED:
            g0, g1, g2 = gates(scalar, c1 * c1 + s1 * s1, c2 * c2 + s2 * s2, matrices, numbers, F0, F1, F2, FAST)
            scalar, c1, s1, c2, s2 = scalar * g0, c1 * g1, s1 * g1, c2 * g2, s2 * g2
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
def cross(place, d, pitch, f, STRIDE: tl.constexpr, SIZE: tl.constexpr, SIGN: tl.constexpr):
    """Both pixels along x, plus or minus both along y."""
    across = near(place, 0, d, pitch, f, STRIDE, SIZE) + near(place, 0, -d, pitch, f, STRIDE, SIZE)
    down = near(place, d, 0, pitch, f, STRIDE, SIZE) + near(place, -d, 0, pitch, f, STRIDE, SIZE)
    if SIGN == 1:
        return across + down
    else:
        return across - down


@triton.jit
def around(place, dy, dx, pitch, f, STRIDE: tl.constexpr, SIZE: tl.constexpr):
    """The four products of even and odd sums."""
    return four(
        near(place, dy, dx, pitch, f, STRIDE, SIZE), near(place, dy, -dx, pitch, f, STRIDE, SIZE),
        near(place, -dy, dx, pitch, f, STRIDE, SIZE), near(place, -dy, -dx, pitch, f, STRIDE, SIZE),
    )


@triton.jit
def binomial(centre, right, left, below, above, pp, pm, mp, mm):
    """The binomial filter of radius 1 along both axes."""
    return 0.25 * centre + 0.125 * ((right + left) + (below + above)) + 0.0625 * ((pp + mm) + (pm + mp))


@triton.jit
def length(place, dy, dx, pitch, f, STRIDE: tl.constexpr, SIZE: tl.constexpr):
    """Squared lengths of fields at a distance."""
    c = near(place, dy, dx, pitch, f, STRIDE, 0).to(tl.float32)
    s = near(place + SIZE, dy, dx, pitch, f, STRIDE, 0).to(tl.float32)
    return c * c + s * s


@triton.jit
def smoothed_length(place, pitch, f, STRIDE: tl.constexpr, SIZE: tl.constexpr):
    return binomial(
        length(place, 0, 0, pitch, f, STRIDE, SIZE),
        length(place, 0, 1, pitch, f, STRIDE, SIZE), length(place, 0, -1, pitch, f, STRIDE, SIZE),
        length(place, 1, 0, pitch, f, STRIDE, SIZE), length(place, -1, 0, pitch, f, STRIDE, SIZE),
        length(place, 1, 1, pitch, f, STRIDE, SIZE), length(place, 1, -1, pitch, f, STRIDE, SIZE),
        length(place, -1, 1, pitch, f, STRIDE, SIZE), length(place, -1, -1, pitch, f, STRIDE, SIZE),
    )


@triton.jit
def single(place, dy, dx, pitch, f, STRIDE: tl.constexpr):
    return near(place, dy, dx, pitch, f, STRIDE, 0).to(tl.float32)


@triton.jit
def gate_kernel(
    raw, v, G, numbers, number_stride, height, width, steps,
    F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr, S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr,
    FAST: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Fields times gates that look at smoothed invariants; `raw` has a margin of one more pixel. Grid (strips, images).

    Here height and width are those of `v`.
    """
    STRIDE: tl.constexpr = S0 + 2 * S1 + 2 * S2
    P: tl.constexpr = BY * BX
    pitch = (width + 2) * STRIDE
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    image = tl.program_id(1).to(tl.int64)
    raw += image * (height + 2) * pitch
    v += image * height * width * STRIDE
    numbers += image * number_stride
    p = tl.arange(0, P)
    x = strip * BX + p % BX
    f0, f1, f2 = tl.arange(0, F0), tl.arange(0, F1), tl.arange(0, F2)
    matrices = gate_matrix(G, F0, F1, F2)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        place = raw + (tl.minimum(y, height - 1) + 1) * pitch + (tl.minimum(x, width - 1) + 1) * STRIDE
        scalar = single(place, 0, 0, pitch, f0, STRIDE)
        i0 = binomial(
            scalar, single(place, 0, 1, pitch, f0, STRIDE), single(place, 0, -1, pitch, f0, STRIDE),
            single(place, 1, 0, pitch, f0, STRIDE), single(place, -1, 0, pitch, f0, STRIDE),
            single(place, 1, 1, pitch, f0, STRIDE), single(place, 1, -1, pitch, f0, STRIDE),
            single(place, -1, 1, pitch, f0, STRIDE), single(place, -1, -1, pitch, f0, STRIDE),
        )
        i1 = smoothed_length(place + S0, pitch, f1, STRIDE, S1)
        i2 = smoothed_length(place + S0 + 2 * S1, pitch, f2, STRIDE, S2)
        g0, g1, g2 = gates(i0, i1, i2, matrices, numbers, F0, F1, F2, FAST)
        inside = (y < height) & (x < width)
        target = v + (y * width + x) * STRIDE
        put(target, scalar * g0, f0, inside, S0)
        put(target + S0, single(place + S0, 0, 0, pitch, f1, STRIDE) * g1, f1, inside, S1)
        put(target + S0 + S1, single(place + S0 + S1, 0, 0, pitch, f1, STRIDE) * g1, f1, inside, S1)
        place, target = place + S0 + 2 * S1, target + S0 + 2 * S1
        put(target, single(place, 0, 0, pitch, f2, STRIDE) * g2, f2, inside, S2)
        put(target + S2, single(place + S2, 0, 0, pitch, f2, STRIDE) * g2, f2, inside, S2)


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
    B0, B1, B2 = three(W0, F0, CB), three(W1, F1, CB), three(W2, F2, CB)
    tau = tl.load(tau)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        place = v + (tl.minimum(y, height - 1) + 2) * pitch + (tl.minimum(x, width - 1) + 2) * STRIDE
        # Order 0.
        total = tl.zeros((P, CB), tl.float32)
        total = both(cross(place, 1, pitch, f0, STRIDE, M0, 1), cross(place, 2, pitch, f0, STRIDE, M0, 1), B0[0], total)
        ee, eo, oe, oo = around(place, 1, 1, pitch, f0, STRIDE, M0)
        EE, EO, OE, OO = around(place, 2, 2, pitch, f0, STRIDE, M0)
        total = both(ee, EE, B0[1], total)
        ee, eo, oe, oo = around(place, 1, 2, pitch, f0, STRIDE, M0)
        EE, EO, OE, OO = around(place, 2, 1, pitch, f0, STRIDE, M0)
        total = both(near(place, 0, 0, pitch, f0, STRIDE, M0), ee + EE, B0[2], total)
        # Order 2.
        place += S0 + 2 * S1
        total = both(cross(place, 1, pitch, f2, STRIDE, M2, -1), cross(place, 2, pitch, f2, STRIDE, M2, -1), B2[0], total)
        ee, eo, oe, oo = around(place + S2, 1, 1, pitch, f2, STRIDE, M2)
        EE, EO, OE, OO = around(place + S2, 2, 2, pitch, f2, STRIDE, M2)
        total = both(oo, OO, B2[1], total)
        ee, eo, oe, oo = around(place, 1, 2, pitch, f2, STRIDE, M2)
        EE, EO, OE, OO = around(place, 2, 1, pitch, f2, STRIDE, M2)
        cosine = ee - EE
        ee, eo, oe, oo = around(place + S2, 1, 2, pitch, f2, STRIDE, M2)
        EE, EO, OE, OO = around(place + S2, 2, 1, pitch, f2, STRIDE, M2)
        total = both(cosine, oo + OO, B2[2], total)
        # Order 1; a quarter turn exchanges cosines and sines, so each has a sum of its own.
        place -= 2 * S1
        cosine, sine = tl.zeros((P, CB), tl.float32), tl.zeros((P, CB), tl.float32)
        eo = near(place, 0, 1, pitch, f1, STRIDE, M1) - near(place, 0, -1, pitch, f1, STRIDE, M1)
        EO = near(place, 0, 2, pitch, f1, STRIDE, M1) - near(place, 0, -2, pitch, f1, STRIDE, M1)
        cosine = both(eo, EO, B1[0], cosine)
        ee, eo, oe, oo = around(place, 1, 1, pitch, f1, STRIDE, M1)
        EE, EO, OE, OO = around(place, 2, 2, pitch, f1, STRIDE, M1)
        cosine = both(eo, EO, B1[1], cosine)
        ee, eo, oe, oo = around(place, 1, 2, pitch, f1, STRIDE, M1)
        EE, EO, OE, OO = around(place, 2, 1, pitch, f1, STRIDE, M1)
        cosine = both(eo, EO, B1[2], cosine)
        place += S1
        oe = near(place, 1, 0, pitch, f1, STRIDE, M1) - near(place, -1, 0, pitch, f1, STRIDE, M1)
        OE = near(place, 2, 0, pitch, f1, STRIDE, M1) - near(place, -2, 0, pitch, f1, STRIDE, M1)
        sine = both(oe, OE, B1[0], sine)
        ee, eo, oe, oo = around(place, 1, 1, pitch, f1, STRIDE, M1)
        EE, EO, OE, OO = around(place, 2, 2, pitch, f1, STRIDE, M1)
        sine = both(oe, OE, B1[1], sine)
        ee, eo, oe, oo = around(place, 1, 2, pitch, f1, STRIDE, M1)
        EE, EO, OE, OO = around(place, 2, 1, pitch, f1, STRIDE, M1)
        sine = both(OE, oe, B1[2], sine)
        total += cosine + sine
        here = ((y * width + x) * C)[:, None] + c[None, :]
        inside = ((y < height) & (x < width))[:, None] & (c < C)[None, :]
        tl.store(out + here, tl.load(u + here, mask=inside, other=0.0) - tau * total, mask=inside)
