r"""Divergence :math:`K^\top D K s` of every member with the diffusion tensor read from the cells.

The same walk down the rows as in `step`, with D loaded instead of computed. The adjoint pass returns

.. math:: c_m \, K^\top D K \bar s_m + 2 w_m K^\top \bar J K s_m

for the outer weights c and the inner weights w of the members, and the sums over all pixels of
:math:`s_m K^\top D K \bar s_m` and :math:`s_m K^\top \bar J K s_m`, from which all parameter derivatives follow.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .rows import apart, columns, flux, pairs, spread, together


@triton.jit
def five(row, first, BLOCK: tl.constexpr):
    """Cells 4j .. 4j+4 of the padded cell row at pointer `row`."""
    k1, k2, k3, k4 = apart(tl.load(row + 4 * first + tl.arange(0, 4 * BLOCK)), BLOCK)
    return k1, k2, k3, k4, tl.load(row + 4 * (first + tl.arange(0, BLOCK)) + 4)


@triton.jit
def row_of_cells(
    cells, plane, first, s0, s1, s2, s3, s4, d0, d1, d2, d3, d4, e0, e1, e2, e3, e4, f0, f1, f2, f3, f4,
    Y, Z, kappa, gamma, COUPLING: tl.constexpr, BLOCK: tl.constexpr,
):
    """K^T D K on one row of cells between the rows (s, d) and (e, f): shares of the pixels above and below."""
    a0, a1, a2, a3, a4 = five(cells, first, BLOCK)
    b0, b1, b2, b3, b4 = a0, a1, a2, a3, a4
    c0, c1, c2, c3, c4 = a0, a1, a2, a3, a4
    if COUPLING == 2:
        b0, b1, b2, b3, b4 = five(cells + plane, first, BLOCK)
        c0, c1, c2, c3, c4 = five(cells + plane + plane, first, BLOCK)
    elif COUPLING == 0:
        c0, c1, c2, c3, c4 = five(cells + plane, first, BLOCK)
    p0, q0, r0 = flux(s0, d0, e0, f0, a0, b0, c0, Y, Z, kappa, gamma, COUPLING)
    p1, q1, r1 = flux(s1, d1, e1, f1, a1, b1, c1, Y, Z, kappa, gamma, COUPLING)
    p2, q2, r2 = flux(s2, d2, e2, f2, a2, b2, c2, Y, Z, kappa, gamma, COUPLING)
    p3, q3, r3 = flux(s3, d3, e3, f3, a3, b3, c3, Y, Z, kappa, gamma, COUPLING)
    p4, q4, r4 = flux(s4, d4, e4, f4, a4, b4, c4, Y, Z, kappa, gamma, COUPLING)
    return spread(p0, q0, r0, p1, q1, r1, p2, q2, r2, p3, q3, r3, p4, q4, r4)


@triton.jit
def divergence_kernel(
    fields, cells, target, coefficients, height, width, pitch, plane, scale_stride, Y, Z, kappa, gamma,
    CHANNELS: tl.constexpr, COUPLING: tl.constexpr, SQUARE: tl.constexpr, STEP: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Target = K^T D K fields, or fields - tau K^T D K fields if STEP.

    Grid (strips, images x channels, scales).
    """
    if SQUARE:
        Y = 1.0
        Z = 1.0
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * ROWS
    member = tl.program_id(2) * scale_stride.to(tl.int64) + tl.program_id(1).to(tl.int64) * height * width
    cells += (tl.program_id(1) // CHANNELS).to(tl.int64) * (height + 1) * pitch
    fields += member
    target += member
    tau = tl.load(coefficients)
    x = 4 * first + tl.arange(0, 4 * BLOCK)

    c0, c1, c2, c3, c4, c5 = columns(fields + tl.maximum(top - 1, 0) * width, first, width, BLOCK, ALIGNED)
    s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = pairs(c0, c1, c2, c3, c4, c5)
    b1 = tl.zeros_like(c1)
    b2 = b1
    b3 = b1
    b4 = b1
    for y in range(top - 1, tl.minimum(top + ROWS, height)):
        n0, n1, n2, n3, n4, n5 = columns(
            fields + tl.minimum(y + 1, height - 1) * width, first, width, BLOCK, ALIGNED
        )
        e0, e1, e2, e3, e4, f0, f1, f2, f3, f4 = pairs(n0, n1, n2, n3, n4, n5)
        t1, t2, t3, t4, a1, a2, a3, a4 = row_of_cells(
            cells + (y + 1) * pitch, plane, first, s0, s1, s2, s3, s4, d0, d1, d2, d3, d4,
            e0, e1, e2, e3, e4, f0, f1, f2, f3, f4, Y, Z, kappa, gamma, COUPLING, BLOCK,
        )
        b1, b2, b3, b4 = b1 + t1, b2 + t2, b3 + t3, b4 + t4
        if STEP:
            b1, b2, b3, b4 = c1 - tau * b1, c2 - tau * b2, c3 - tau * b3, c4 - tau * b4
        tl.store(target + y * width + x, together(b1, b2, b3, b4, BLOCK), mask=x < tl.where(y >= top, width, 0))
        b1, b2, b3, b4 = a1, a2, a3, a4
        c1, c2, c3, c4 = n1, n2, n3, n4
        s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = e0, e1, e2, e3, e4, f0, f1, f2, f3, f4


@triton.jit
def divergence_adjoint_kernel(
    fields, adjoints, cells, target, sums, coefficients, height, width, pitch, plane, scale_stride, Y, Z, kappa, gamma,
    SCALES: tl.constexpr, CHANNELS: tl.constexpr, COUPLING: tl.constexpr, SQUARE: tl.constexpr, STEP: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Target = c K^T D K adjoints + 2 w K^T J-bar K fields, or adjoints - tau times that if STEP.

    Grid as above; sums has the shape (2, scales, programs of one scale).
    """
    if SQUARE:
        Y = 1.0
        Z = 1.0
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * ROWS
    scale = tl.program_id(2)
    member = scale * scale_stride.to(tl.int64) + tl.program_id(1).to(tl.int64) * height * width
    cells += (tl.program_id(1) // CHANNELS).to(tl.int64) * (height + 1) * pitch
    PARTS: tl.constexpr = 3 if COUPLING == 2 else (2 if COUPLING == 0 else 1)
    fields += member
    adjoints += member
    target += member
    tau = tl.load(coefficients)
    outer = tl.load(coefficients + 2 + scale)
    inner = 2.0 * tl.load(coefficients + 2 + SCALES + scale)
    x = 4 * first + tl.arange(0, 4 * BLOCK)
    level = tl.load(fields)  # divergences sum up to zero: any constant may be taken off before rounding does
    own = (4 * first + 4 * tl.arange(0, BLOCK)) < width

    row = tl.maximum(top - 1, 0) * width
    c0, c1, c2, c3, c4, c5 = columns(fields + row, first, width, BLOCK, ALIGNED)
    s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = pairs(c0, c1, c2, c3, c4, c5)
    v0, v1, v2, v3, v4, v5 = columns(adjoints + row, first, width, BLOCK, ALIGNED)
    z0, z1, z2, z3, z4, g0, g1, g2, g3, g4 = pairs(v0, v1, v2, v3, v4, v5)
    zero = tl.zeros_like(c1)
    b1, b2, b3, b4 = zero, zero, zero, zero
    h1, h2, h3, h4 = zero, zero, zero, zero
    by_outer = zero
    by_inner = zero
    for y in range(top - 1, tl.minimum(top + ROWS, height)):
        row = tl.minimum(y + 1, height - 1) * width
        n0, n1, n2, n3, n4, n5 = columns(fields + row, first, width, BLOCK, ALIGNED)
        m0, m1, m2, m3, m4, m5 = columns(adjoints + row, first, width, BLOCK, ALIGNED)
        e0, e1, e2, e3, e4, f0, f1, f2, f3, f4 = pairs(n0, n1, n2, n3, n4, n5)
        k0, k1, k2, k3, k4, l0, l1, l2, l3, l4 = pairs(m0, m1, m2, m3, m4, m5)
        here = cells + (y + 1) * pitch
        t1, t2, t3, t4, a1, a2, a3, a4 = row_of_cells(
            here, plane, first, z0, z1, z2, z3, z4, g0, g1, g2, g3, g4,
            k0, k1, k2, k3, k4, l0, l1, l2, l3, l4, Y, Z, kappa, gamma, COUPLING, BLOCK,
        )
        b1, b2, b3, b4 = b1 + t1, b2 + t2, b3 + t3, b4 + t4
        t1, t2, t3, t4, o1, o2, o3, o4 = row_of_cells(
            here + PARTS * plane.to(tl.int64), plane, first, s0, s1, s2, s3, s4, d0, d1, d2, d3, d4,
            e0, e1, e2, e3, e4, f0, f1, f2, f3, f4, Y, Z, kappa, 0.0, COUPLING, BLOCK,
        )
        h1, h2, h3, h4 = h1 + t1, h2 + t2, h3 + t3, h4 + t4
        if y >= top:
            r1, r2, r3, r4 = c1 - level, c2 - level, c3 - level, c4 - level
            if ALIGNED:
                by_outer += tl.where(own, b1 * r1 + b2 * r2 + b3 * r3 + b4 * r4, 0.0)
                by_inner += tl.where(own, h1 * r1 + h2 * r2 + h3 * r3 + h4 * r4, 0.0)
            else:
                j = 4 * first + 4 * tl.arange(0, BLOCK)
                by_outer += tl.where(j < width, b1 * r1, 0.0) + tl.where(j + 1 < width, b2 * r2, 0.0)
                by_outer += tl.where(j + 2 < width, b3 * r3, 0.0) + tl.where(j + 3 < width, b4 * r4, 0.0)
                by_inner += tl.where(j < width, h1 * r1, 0.0) + tl.where(j + 1 < width, h2 * r2, 0.0)
                by_inner += tl.where(j + 2 < width, h3 * r3, 0.0) + tl.where(j + 3 < width, h4 * r4, 0.0)
        b1, b2, b3, b4 = (
            outer * b1 + inner * h1, outer * b2 + inner * h2, outer * b3 + inner * h3, outer * b4 + inner * h4,
        )
        if STEP:
            b1, b2, b3, b4 = v1 - tau * b1, v2 - tau * b2, v3 - tau * b3, v4 - tau * b4
        tl.store(target + y * width + x, together(b1, b2, b3, b4, BLOCK), mask=x < tl.where(y >= top, width, 0))
        b1, b2, b3, b4 = a1, a2, a3, a4
        h1, h2, h3, h4 = o1, o2, o3, o4
        c1, c2, c3, c4 = n1, n2, n3, n4
        v1, v2, v3, v4 = m1, m2, m3, m4
        s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = e0, e1, e2, e3, e4, f0, f1, f2, f3, f4
        z0, z1, z2, z3, z4, g0, g1, g2, g3, g4 = k0, k1, k2, k3, k4, l0, l1, l2, l3, l4
    program = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
    programs = tl.num_programs(0) * tl.num_programs(1)
    tl.store(sums + scale * programs + program, tl.sum(by_outer))
    tl.store(sums + (SCALES + scale) * programs + program, tl.sum(by_inner))
