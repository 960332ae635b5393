r"""Divergence :math:`K^\top D K s` of every member with the diffusion tensor read from the cells.

A warp owns four neighbouring columns per thread and walks down `ROWS` rows, as in `step`, with D loaded instead of
computed. Programs take ``GROUP`` scales at once, one per warp: they share the tensor of their cells in the cache.

The adjoint pass returns

.. math:: c_m \, K^\top D K \bar s_m + 2 w_m K^\top \bar J K s_m

for the outer weights c and the inner weights w of the members, and the sums over all pixels of
:math:`s_m K^\top D K \bar s_m` and :math:`s_m K^\top \bar J K s_m`, from which all parameter derivatives follow.
"""

# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.rows import apart, metric, pairs, plus, row_of_cells, times, together


@triton.jit
def six(source, at, offset, x, width, CUT: tl.constexpr):
    """Pixels 4j-1 .. 4j+4 in the row `offset` behind the places of the own columns and both neighbours."""
    own, left, right = source + at[0] + offset, source + at[1] + offset, source + at[2] + offset
    values = tl.load(own, mask=x < width, other=0.0) if CUT.ALIGNED and not CUT.EXACT else tl.load(own)
    COUNT: tl.constexpr = CUT.GROUP * CUT.BLOCK
    c1, c2, c3, c4 = apart(values, (COUNT, 2, 2))
    return tl.load(left), c1, c2, c3, c4, tl.load(right)


@triton.jit
def five(own, next, COUNT: tl.constexpr):
    """One entry of the tensor in the cells 4j .. 4j+4."""
    c0, c1, c2, c3 = apart(tl.load(own), (COUNT, 2, 2))
    return c0, c1, c2, c3, tl.load(next)


@triton.jit
def loaded(own, next, plane, LAW: tl.constexpr, COUNT: tl.constexpr):
    """The entries of D from the pointers to the cells 4j .. 4j+3 and 4j+4."""
    a = five(own, next, COUNT)
    b, c = a, a
    if LAW.parts == 3:
        b = five(own + plane, next + plane, COUNT)
        c = five(own + 2 * plane, next + 2 * plane, COUNT)
    elif LAW.parts == 2:
        c = five(own + plane, next + plane, COUNT)
    return a, b, c


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
def places(scale, first, CUT: tl.constexpr):
    """Scale and column of every pixel of a row, scale and first own column of every thread; scale after scale."""
    BLOCK: tl.constexpr = CUT.BLOCK
    fine = tl.arange(0, 4 * CUT.GROUP * BLOCK)
    coarse = tl.arange(0, CUT.GROUP * BLOCK)
    return (
        scale + fine // (4 * BLOCK), 4 * first + fine % (4 * BLOCK),
        scale + coarse // BLOCK, 4 * (first + coarse % BLOCK),
    )


@triton.jit
def below(k, top, picture, CUT: tl.constexpr):
    """Offset of the row k below `top`, at most one row outside the image; a constant if known when compiling."""
    if CUT.WHOLE and k >= 0 and k < CUT.ROWS:
        return k * picture.width
    else:
        return (tl.minimum(tl.maximum(top + k, 0), picture.height - 1) - top) * picture.width


@triton.jit
def divergence_kernel(
    fields, moved, cells, target, sums, coefficients, picture, cell,
    LAW: tl.constexpr, SCALES: tl.constexpr, CHANNELS: tl.constexpr, STEP: tl.constexpr, ADJOINT: tl.constexpr,
    CUT: tl.constexpr,
):
    """Target = K^T D K moved, or moved - tau times that if STEP.

    In the ADJOINT pass, where `moved` are adjoints, c K^T D K moved + 2 w K^T J-bar K fields stands for K^T D K moved;
    `sums` has the shape (2, scales, programs of one group of scales). Grid (strips, images x channels, groups of
    scales).
    """
    GROUP: tl.constexpr = CUT.GROUP
    ROWS: tl.constexpr = CUT.ROWS
    BLOCK: tl.constexpr = CUT.BLOCK
    COUNT: tl.constexpr = GROUP * BLOCK
    height, width, pitch, plane = picture.height, picture.width, picture.pitch, picture.plane
    m = metric(cell, LAW)
    without_gamma = (m[0], m[1], m[2], 0.0)  # J-bar has no share of gamma
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * ROWS
    scale, x, each, j = places(tl.program_id(2) * GROUP, first, CUT)
    start = tl.program_id(1).to(tl.int64) * (height * width)
    held = tl.minimum(each, SCALES - 1)
    lane = held.to(tl.int64) * picture.stride + start
    member = tl.minimum(scale, SCALES - 1).to(tl.int64) * picture.stride + (start + top * width)
    at = (
        member + (x if CUT.ALIGNED else tl.minimum(x, width - 1)),
        lane + (top * width + tl.minimum(tl.maximum(j - 1, 0), width - 1)),
        lane + (top * width + tl.minimum(j + 4, width - 1)),
    )
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

    offset = below(-1, top, picture, CUT)
    row = six(moved, at, offset, x, width, CUT)
    row_pairs = pairs(row)
    zero = tl.zeros_like(row[1])
    carried = (zero, zero, zero, zero)
    if ADJOINT:
        field = six(fields, at, offset, x, width, CUT)
        field_pairs = pairs(field)
        field_carried = carried
        by_outer, by_inner = zero, zero
    for k in tl.static_range(ROWS + 1):
        offset = below(k, top, picture, CUT)
        next_row = six(moved, at, offset, x, width, CUT)
        next_pairs = pairs(next_row)
        shift = k * pitch if CUT.WHOLE else tl.minimum(k, height - top) * pitch
        a, b, c = loaded(here + shift, next + shift, plane, LAW, COUNT)
        above, waiting = row_of_cells(row_pairs, next_pairs, a, b, c, m, LAW)
        if ADJOINT:
            next_field = six(fields, at, offset, x, width, CUT)
            next_field_pairs = pairs(next_field)
            shift += LAW.parts * plane
            a, b, c = loaded(here + shift, next + shift, plane, LAW, COUNT)
            field_above, field_waiting = row_of_cells(field_pairs, next_field_pairs, a, b, c, without_gamma, LAW)
        if k > 0:
            result = plus(carried, above)
            if ADJOINT:
                field_result = plus(field_carried, field_above)
                q = inner_product(result, field[1:5], level, j - width, CUT.EXACT)
                p = inner_product(field_result, field[1:5], level, j - width, CUT.EXACT)
                by_outer += q if CUT.WHOLE else tl.where(top + k <= height, q, 0.0)
                by_inner += p if CUT.WHOLE else tl.where(top + k <= height, p, 0.0)
                result = plus(times(outer, result), times(inner, field_result))
            if STEP:
                result = plus(row[1:5], times(-tau, result))
            stored = seen if CUT.WHOLE else seen & (x < tl.where(top + k <= height, width, 0))
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
