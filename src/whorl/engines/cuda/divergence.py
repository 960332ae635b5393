r"""Divergence :math:`K^\top D K s` of every member with the diffusion tensor read from the cells.

A warp owns four neighbouring columns per thread and walks down `ROWS` rows, as in `step`, with D loaded instead of
computed. Programs take ``GROUP`` scales at once, one per warp: they share the tensor of their cells in the cache.

The adjoint pass returns

.. math:: c_m \, K^\top D K \bar s_m + 2 w_m K^\top \bar J K s_m

for the outer weights c and the inner weights w of the members, and the sums over all pixels of
:math:`s_m K^\top D K \bar s_m` and :math:`s_m K^\top \bar J K s_m`, from which all parameter derivatives follow.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .rows import apart, flux, pairs, spread, together


@triton.jit
def six(own, left, right, offset, x, width, COUNT: tl.constexpr, ALIGNED: tl.constexpr, EXACT: tl.constexpr):
    """Pixels 4j-1 .. 4j+4 in the row `offset` behind the pointers to the own columns and both neighbours."""
    values = tl.load(own + offset, mask=x < width, other=0.0) if ALIGNED and not EXACT else tl.load(own + offset)
    c1, c2, c3, c4 = apart(values, COUNT)
    return tl.load(left + offset), c1, c2, c3, c4, tl.load(right + offset)


@triton.jit
def row_of_cells(
    own, next, plane, s0, s1, s2, s3, s4, d0, d1, d2, d3, d4, e0, e1, e2, e3, e4, f0, f1, f2, f3, f4,
    Y, Z, kappa, gamma, COUPLING: tl.constexpr, COUNT: tl.constexpr,
):
    """K^T D K on one row of cells between the rows (s, d) and (e, f): shares of the pixels above and below.

    D comes from the pointers to the cells 4j .. 4j+3 and 4j+4.
    """
    a0, a1, a2, a3 = apart(tl.load(own), COUNT)
    a4 = tl.load(next)
    b0, b1, b2, b3, b4 = a0, a1, a2, a3, a4
    c0, c1, c2, c3, c4 = a0, a1, a2, a3, a4
    if COUPLING >= 2:
        b0, b1, b2, b3 = apart(tl.load(own + plane), COUNT)
        b4 = tl.load(next + plane)
        c0, c1, c2, c3 = apart(tl.load(own + 2 * plane), COUNT)
        c4 = tl.load(next + 2 * plane)
    elif COUPLING == 0:
        c0, c1, c2, c3 = apart(tl.load(own + plane), COUNT)
        c4 = tl.load(next + plane)
    p0, q0, r0 = flux(s0, d0, e0, f0, a0, b0, c0, Y, Z, kappa, gamma, COUPLING)
    p1, q1, r1 = flux(s1, d1, e1, f1, a1, b1, c1, Y, Z, kappa, gamma, COUPLING)
    p2, q2, r2 = flux(s2, d2, e2, f2, a2, b2, c2, Y, Z, kappa, gamma, COUPLING)
    p3, q3, r3 = flux(s3, d3, e3, f3, a3, b3, c3, Y, Z, kappa, gamma, COUPLING)
    p4, q4, r4 = flux(s4, d4, e4, f4, a4, b4, c4, Y, Z, kappa, gamma, COUPLING)
    return spread(p0, q0, r0, p1, q1, r1, p2, q2, r2, p3, q3, r3, p4, q4, r4)


@triton.jit
def inner_product(a1, a2, a3, a4, b1, b2, b3, b4, over, EXACT: tl.constexpr):
    """Sum over the own pixels of a thread; the first lies `over` pixels behind the image, where anything may stand."""
    if EXACT:
        return a1 * b1 + a2 * b2 + a3 * b3 + a4 * b4
    else:
        first = tl.where(over < 0, a1 * b1, 0.0) + tl.where(over < -1, a2 * b2, 0.0)
        return first + tl.where(over < -2, a3 * b3, 0.0) + tl.where(over < -3, a4 * b4, 0.0)


@triton.jit
def places(scale, first, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    """Scale and column of every pixel of a row, scale and first own column of every thread; scale after scale."""
    fine = tl.arange(0, 4 * GROUP * BLOCK)
    coarse = tl.arange(0, GROUP * BLOCK)
    return (
        scale + fine // (4 * BLOCK), 4 * first + fine % (4 * BLOCK),
        scale + coarse // BLOCK, 4 * (first + coarse % BLOCK),
    )


@triton.jit
def below(k, top, height, width, ROWS: tl.constexpr, WHOLE: tl.constexpr):
    """Offset of the row k below `top`, at most one row outside the image; a constant where that can be known."""
    if WHOLE and k >= 0 and k < ROWS:
        return k * width
    else:
        return (tl.minimum(tl.maximum(top + k, 0), height - 1) - top) * width


@triton.jit
def divergence_kernel(
    fields, cells, target, coefficients, height, width, pitch, plane, scale_stride,
    Y, Z, kappa, gamma, SCALES: tl.constexpr, CHANNELS: tl.constexpr, COUPLING: tl.constexpr,
    SQUARE: tl.constexpr, STEP: tl.constexpr,
    GROUP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr, EXACT: tl.constexpr,
    WHOLE: tl.constexpr,
):
    """Target = K^T D K fields, or fields - tau K^T D K fields if STEP.

    Grid (strips, images x channels, groups of scales).
    """
    if SQUARE:
        Y = 1.0
        Z = 1.0
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * ROWS
    COUNT: tl.constexpr = GROUP * BLOCK
    scale, x, each, j = places(tl.program_id(2) * GROUP, first, GROUP, BLOCK)
    start = tl.program_id(1).to(tl.int64) * (height * width) + top * width
    member = tl.minimum(scale, SCALES - 1).to(tl.int64) * scale_stride + start
    lane = tl.minimum(each, SCALES - 1).to(tl.int64) * scale_stride + start
    tau = tl.load(coefficients) * tl.load(coefficients + 2)  # for the step of a single scale
    own = fields + member + (x if ALIGNED else tl.minimum(x, width - 1))
    left = fields + lane + tl.minimum(tl.maximum(j - 1, 0), width - 1)
    right = fields + lane + tl.minimum(j + 4, width - 1)
    cells += (tl.program_id(1) // CHANNELS).to(tl.int64) * ((height + 1) * pitch) + top * pitch
    here, next = cells + x, cells + (j + 4)
    out = target + member + x
    seen = (scale < SCALES) & (x < width)

    c0, c1, c2, c3, c4, c5 = six(
        own, left, right, below(-1, top, height, width, ROWS, WHOLE), x, width, COUNT, ALIGNED, EXACT
    )
    s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = pairs(c0, c1, c2, c3, c4, c5)
    zero = tl.zeros_like(c1)
    b1, b2, b3, b4 = zero, zero, zero, zero
    for k in tl.static_range(ROWS + 1):
        n0, n1, n2, n3, n4, n5 = six(
            own, left, right, below(k, top, height, width, ROWS, WHOLE), x, width, COUNT, ALIGNED, EXACT
        )
        e0, e1, e2, e3, e4, f0, f1, f2, f3, f4 = pairs(n0, n1, n2, n3, n4, n5)
        cell = k * pitch if WHOLE else tl.minimum(k, height - top) * pitch
        t1, t2, t3, t4, a1, a2, a3, a4 = row_of_cells(
            here + cell, next + cell, plane, s0, s1, s2, s3, s4, d0, d1, d2, d3, d4,
            e0, e1, e2, e3, e4, f0, f1, f2, f3, f4, Y, Z, kappa, gamma, COUPLING, COUNT,
        )
        if k > 0:
            b1, b2, b3, b4 = b1 + t1, b2 + t2, b3 + t3, b4 + t4
            if STEP:
                b1, b2, b3, b4 = c1 - tau * b1, c2 - tau * b2, c3 - tau * b3, c4 - tau * b4
            result = together(b1, b2, b3, b4, COUNT)
            stored = seen if WHOLE else seen & (x < tl.where(top + k <= height, width, 0))
            tl.store(out + (k - 1) * width, result, mask=stored)
        b1, b2, b3, b4 = a1, a2, a3, a4
        c1, c2, c3, c4 = n1, n2, n3, n4
        s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = e0, e1, e2, e3, e4, f0, f1, f2, f3, f4


@triton.jit
def divergence_adjoint_kernel(
    fields, adjoints, cells, target, sums, coefficients, height, width, pitch, plane, scale_stride,
    Y, Z, kappa, gamma, SCALES: tl.constexpr, CHANNELS: tl.constexpr, COUPLING: tl.constexpr,
    SQUARE: tl.constexpr, STEP: tl.constexpr,
    GROUP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr, EXACT: tl.constexpr,
    WHOLE: tl.constexpr,
):
    """Target = c K^T D K adjoints + 2 w K^T J-bar K fields, or adjoints - tau times that if STEP.

    Grid as above; sums has the shape (2, scales, programs of one group of scales).
    """
    if SQUARE:
        Y = 1.0
        Z = 1.0
    PARTS: tl.constexpr = 3 if COUPLING >= 2 else (2 if COUPLING == 0 else 1)
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * ROWS
    COUNT: tl.constexpr = GROUP * BLOCK
    scale, x, each, j = places(tl.program_id(2) * GROUP, first, GROUP, BLOCK)
    start = tl.program_id(1).to(tl.int64) * (height * width)
    held = tl.minimum(each, SCALES - 1)
    lane = held.to(tl.int64) * scale_stride + start
    # Divergences sum up to zero: any constant may be taken off before rounding does.
    level = tl.load(fields + lane)
    lane += top * width
    member = tl.minimum(scale, SCALES - 1).to(tl.int64) * scale_stride + (start + top * width)
    tau = tl.load(coefficients)
    outer = tl.load(coefficients + 2 + held)
    inner = 2.0 * tl.load(coefficients + 2 + SCALES + held)
    at = member + (x if ALIGNED else tl.minimum(x, width - 1))
    before = lane + tl.minimum(tl.maximum(j - 1, 0), width - 1)
    behind = lane + tl.minimum(j + 4, width - 1)
    own, left, right = fields + at, fields + before, fields + behind
    own_, left_, right_ = adjoints + at, adjoints + before, adjoints + behind
    cells += (tl.program_id(1) // CHANNELS).to(tl.int64) * ((height + 1) * pitch) + top * pitch
    here, next = cells + x, cells + (j + 4)
    out = target + member + x
    seen = (scale < SCALES) & (x < width)

    row = below(-1, top, height, width, ROWS, WHOLE)
    c0, c1, c2, c3, c4, c5 = six(own, left, right, row, x, width, COUNT, ALIGNED, EXACT)
    s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = pairs(c0, c1, c2, c3, c4, c5)
    v0, v1, v2, v3, v4, v5 = six(own_, left_, right_, row, x, width, COUNT, ALIGNED, EXACT)
    z0, z1, z2, z3, z4, g0, g1, g2, g3, g4 = pairs(v0, v1, v2, v3, v4, v5)
    zero = tl.zeros_like(c1)
    b1, b2, b3, b4 = zero, zero, zero, zero
    h1, h2, h3, h4 = zero, zero, zero, zero
    by_outer, by_inner = zero, zero
    for k in tl.static_range(ROWS + 1):
        row = below(k, top, height, width, ROWS, WHOLE)
        n0, n1, n2, n3, n4, n5 = six(own, left, right, row, x, width, COUNT, ALIGNED, EXACT)
        m0, m1, m2, m3, m4, m5 = six(own_, left_, right_, row, x, width, COUNT, ALIGNED, EXACT)
        e0, e1, e2, e3, e4, f0, f1, f2, f3, f4 = pairs(n0, n1, n2, n3, n4, n5)
        k0, k1, k2, k3, k4, l0, l1, l2, l3, l4 = pairs(m0, m1, m2, m3, m4, m5)
        cell = k * pitch if WHOLE else tl.minimum(k, height - top) * pitch
        t1, t2, t3, t4, a1, a2, a3, a4 = row_of_cells(
            here + cell, next + cell, plane, z0, z1, z2, z3, z4, g0, g1, g2, g3, g4,
            k0, k1, k2, k3, k4, l0, l1, l2, l3, l4, Y, Z, kappa, gamma, COUPLING, COUNT,
        )
        u1, u2, u3, u4, o1, o2, o3, o4 = row_of_cells(
            here + (cell + PARTS * plane), next + (cell + PARTS * plane), plane, s0, s1, s2, s3, s4, d0, d1, d2, d3, d4,
            e0, e1, e2, e3, e4, f0, f1, f2, f3, f4, Y, Z, kappa, 0.0, COUPLING, COUNT,
        )
        if k > 0:
            b1, b2, b3, b4 = b1 + t1, b2 + t2, b3 + t3, b4 + t4
            h1, h2, h3, h4 = h1 + u1, h2 + u2, h3 + u3, h4 + u4
            r1, r2, r3, r4 = c1 - level, c2 - level, c3 - level, c4 - level
            q = inner_product(b1, b2, b3, b4, r1, r2, r3, r4, j - width, EXACT)
            p = inner_product(h1, h2, h3, h4, r1, r2, r3, r4, j - width, EXACT)
            by_outer += q if WHOLE else tl.where(top + k <= height, q, 0.0)
            by_inner += p if WHOLE else tl.where(top + k <= height, p, 0.0)
            b1, b2 = outer * b1 + inner * h1, outer * b2 + inner * h2
            b3, b4 = outer * b3 + inner * h3, outer * b4 + inner * h4
            if STEP:
                b1, b2, b3, b4 = v1 - tau * b1, v2 - tau * b2, v3 - tau * b3, v4 - tau * b4
            result = together(b1, b2, b3, b4, COUNT)
            stored = seen if WHOLE else seen & (x < tl.where(top + k <= height, width, 0))
            tl.store(out + (k - 1) * width, result, mask=stored)
        b1, b2, b3, b4 = a1, a2, a3, a4
        h1, h2, h3, h4 = o1, o2, o3, o4
        c1, c2, c3, c4 = n1, n2, n3, n4
        v1, v2, v3, v4 = m1, m2, m3, m4
        s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = e0, e1, e2, e3, e4, f0, f1, f2, f3, f4
        z0, z1, z2, z3, z4, g0, g1, g2, g3, g4 = k0, k1, k2, k3, k4, l0, l1, l2, l3, l4
    program = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    programs = tl.num_programs(0) * tl.num_programs(1)
    scale = tl.program_id(2) * GROUP + tl.arange(0, GROUP)
    sums += scale * programs + program
    tl.store(sums, tl.sum(tl.reshape(by_outer, (GROUP, BLOCK)), 1), mask=scale < SCALES)
    tl.store(sums + SCALES * programs, tl.sum(tl.reshape(by_inner, (GROUP, BLOCK)), 1), mask=scale < SCALES)
