r"""Divergence :math:`K^\top D K s` of every member with the diffusion tensor read from the cells.

A warp owns four neighbouring columns per thread and walks down `ROWS` rows, as in `step`, with D loaded instead of
computed. Programs take ``GROUP`` scales at once, one per warp: they share the tensor of their cells in the cache.

The adjoint pass returns

.. math:: c_m \, K^\top D K \bar s_m + 2 w_m K^\top \bar J K s_m

for the outer weights c and the inner weights w of the members, and the sums over all pixels of
:math:`s_m K^\top D K \bar s_m` and :math:`s_m K^\top \bar J K s_m`, from which all parameter derivatives follow.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.rows import apart, details, flux, pairs, plus, spread, times, together


@triton.jit
def six(own, left, right, offset, x, width, COUNT: tl.constexpr, ALIGNED: tl.constexpr, EXACT: tl.constexpr):
    """Pixels 4j-1 .. 4j+4 in the row `offset` behind the pointers to the own columns and both neighbours."""
    values = tl.load(own + offset, mask=x < width, other=0.0) if ALIGNED and not EXACT else tl.load(own + offset)
    c1, c2, c3, c4 = apart(values, (COUNT, 2, 2))
    return tl.load(left + offset), c1, c2, c3, c4, tl.load(right + offset)


@triton.jit
def five(own, next, COUNT: tl.constexpr):
    """One entry of the tensor in the cells 4j .. 4j+4."""
    c0, c1, c2, c3 = apart(tl.load(own), (COUNT, 2, 2))
    return c0, c1, c2, c3, tl.load(next)


@triton.jit
def row_of_cells(own, next, plane, row, below, Y, Z, kappa, gamma, COUPLING: tl.constexpr, COUNT: tl.constexpr):
    """K^T D K on one row of cells between two rows of pairs: shares of the pixels above and below.

    D comes from the pointers to the cells 4j .. 4j+3 and 4j+4.
    """
    a = five(own, next, COUNT)
    b, c = a, a
    if COUPLING >= 2:
        b = five(own + plane, next + plane, COUNT)
        c = five(own + 2 * plane, next + 2 * plane, COUNT)
    elif COUPLING == 0:
        c = five(own + plane, next + plane, COUNT)
    p, q, r = (), (), ()
    for i in tl.static_range(5):
        P, Q, R = details(row, below, i)
        p_i, q_i, r_i = flux(P, Q, R, a[i], b[i], c[i], Y, Z, kappa, gamma, COUPLING)
        p += (p_i,)
        q += (q_i,)
        r += (r_i,)
    return spread(p, q, r)


@triton.jit
def inner_product(a, b, level, over, EXACT: tl.constexpr):
    """Sum of a (b - level) over the own pixels of a thread; the first lies `over` pixels behind the image."""
    if EXACT:
        return a[0] * (b[0] - level) + a[1] * (b[1] - level) + a[2] * (b[2] - level) + a[3] * (b[3] - level)
    else:  # anything may stand behind the image
        first = tl.where(over < 0, a[0] * (b[0] - level), 0.0) + tl.where(over < -1, a[1] * (b[1] - level), 0.0)
        second = first + tl.where(over < -2, a[2] * (b[2] - level), 0.0)
        return second + tl.where(over < -3, a[3] * (b[3] - level), 0.0)


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
    fields, moved, cells, target, sums, coefficients, height, width, pitch, plane, scale_stride,
    Y, Z, kappa, gamma, SCALES: tl.constexpr, CHANNELS: tl.constexpr, COUPLING: tl.constexpr,
    SQUARE: tl.constexpr, STEP: tl.constexpr, ADJOINT: tl.constexpr,
    GROUP: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr, EXACT: tl.constexpr,
    WHOLE: tl.constexpr,
):
    """Target = K^T D K moved, or moved - tau times that if STEP.

    In the ADJOINT pass, where `moved` are adjoints, c K^T D K moved + 2 w K^T J-bar K fields stands for K^T D K moved;
    `sums` has the shape (2, scales, programs of one group of scales). Grid (strips, images x channels, groups of
    scales).
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
    member = tl.minimum(scale, SCALES - 1).to(tl.int64) * scale_stride + (start + top * width)
    at = member + (x if ALIGNED else tl.minimum(x, width - 1))
    before = lane + (top * width + tl.minimum(tl.maximum(j - 1, 0), width - 1))
    behind = lane + (top * width + tl.minimum(j + 4, width - 1))
    cells += (tl.program_id(1) // CHANNELS).to(tl.int64) * ((height + 1) * pitch) + top * pitch
    here, next = cells + x, cells + (j + 4)
    out = target + member + x
    seen = (scale < SCALES) & (x < width)
    tau = tl.load(coefficients)
    if ADJOINT:
        outer = tl.load(coefficients + 2 + held)
        inner = 2.0 * tl.load(coefficients + 2 + SCALES + held)
        # Divergences sum up to zero: any constant may be taken off before rounding does.
        level = tl.load(fields + lane)
    else:
        tau *= tl.load(coefficients + 2)  # for the step of a single scale

    offset = below(-1, top, height, width, ROWS, WHOLE)
    row = six(moved + at, moved + before, moved + behind, offset, x, width, COUNT, ALIGNED, EXACT)
    row_pairs = pairs(row)
    zero = tl.zeros_like(row[1])
    carried = (zero, zero, zero, zero)
    if ADJOINT:
        field = six(fields + at, fields + before, fields + behind, offset, x, width, COUNT, ALIGNED, EXACT)
        field_pairs = pairs(field)
        field_carried = carried
        by_outer, by_inner = zero, zero
    for k in tl.static_range(ROWS + 1):
        offset = below(k, top, height, width, ROWS, WHOLE)
        next_row = six(moved + at, moved + before, moved + behind, offset, x, width, COUNT, ALIGNED, EXACT)
        next_pairs = pairs(next_row)
        cell = k * pitch if WHOLE else tl.minimum(k, height - top) * pitch
        above, waiting = row_of_cells(
            here + cell, next + cell, plane, row_pairs, next_pairs, Y, Z, kappa, gamma, COUPLING, COUNT
        )
        if ADJOINT:
            next_field = six(fields + at, fields + before, fields + behind, offset, x, width, COUNT, ALIGNED, EXACT)
            next_field_pairs = pairs(next_field)
            field_above, field_waiting = row_of_cells(
                here + (cell + PARTS * plane), next + (cell + PARTS * plane), plane, field_pairs, next_field_pairs,
                Y, Z, kappa, 0.0, COUPLING, COUNT,
            )
        if k > 0:
            result = plus(carried, above)
            if ADJOINT:
                field_result = plus(field_carried, field_above)
                q = inner_product(result, field[1:5], level, j - width, EXACT)
                p = inner_product(field_result, field[1:5], level, j - width, EXACT)
                by_outer += q if WHOLE else tl.where(top + k <= height, q, 0.0)
                by_inner += p if WHOLE else tl.where(top + k <= height, p, 0.0)
                result = plus(times(outer, result), times(inner, field_result))
            if STEP:
                result = plus(row[1:5], times(-tau, result))
            stored = seen if WHOLE else seen & (x < tl.where(top + k <= height, width, 0))
            tl.store(out + (k - 1) * width, together(result, (4 * COUNT,)), mask=stored)
        row, row_pairs, carried = next_row, next_pairs, waiting
        if ADJOINT:
            field, field_pairs, field_carried = next_field, next_field_pairs, field_waiting
    if ADJOINT:
        program = tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)
        programs = tl.num_programs(0) * tl.num_programs(1)
        scale = tl.program_id(2) * GROUP + tl.arange(0, GROUP)
        sums += scale * programs + program
        tl.store(sums, tl.sum(tl.reshape(by_outer, (GROUP, BLOCK)), 1), mask=scale < SCALES)
        tl.store(sums + SCALES * programs, tl.sum(tl.reshape(by_inner, (GROUP, BLOCK)), 1), mask=scale < SCALES)
