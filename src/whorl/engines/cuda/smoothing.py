r"""Sampled Gaussians along columns and along rows, for all scales in one launch.

Both directions read 16 bytes at a time, aligned, and use every value for all outputs a thread holds:

- along y a thread holds eight rows and takes one source row after the other;
- along x a thread holds four neighbouring pixels and takes one group of four neighbours after the other. Where the
  width is a multiple of 4 the mirror maps groups to groups, back to front.

Every pixel is the same sum in the same order (from the first tap to the last), so constants stay constant.

Fields of all scales lie as ``(scales, images, rows, columns)``. ``RADII`` is a tuple over the scales. The ``table`` has
one row :math:`w_0 \dots w_R` per scale, padded by zeros to ``TAPS`` so that loops may run over the end. The first
``SKIP`` scales have R = 0 and never pass through the intermediate fields.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl


@triton.jit
def mirror(index, size, FAR: tl.constexpr):
    """Half-sample mirror of an index; FAR allows for more than one reflection."""
    if FAR:
        period = 2 * size
        index = (index % period + period) % period
    else:
        index = tl.maximum(index, -1 - index)
    return tl.minimum(index, 2 * size - 1 - index)


@triton.jit
def rows_from(field, table, first, x, height, width,
    RADII: tl.constexpr, SCALE: tl.constexpr, ROWS: tl.constexpr, FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """The Gaussian along y of eight rows from `first` (blocks, 1) at the columns x (1, columns); four if ROWS is 4."""
    a = tl.zeros_like(first + x).to(tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    RADIUS: tl.constexpr = RADII[SCALE]
    for j in range(-RADIUS, RADIUS + ROWS):
        row = field + mirror(first + j, height, FAR) * width + x
        value = tl.load(row) if EXACT else tl.load(row, mask=x < width, other=0.0)
        a = tl.fma(value, tl.load(table + tl.abs(j)), a)
        b = tl.fma(value, tl.load(table + tl.abs(j - 1)), b)
        c = tl.fma(value, tl.load(table + tl.abs(j - 2)), c)
        d = tl.fma(value, tl.load(table + tl.abs(j - 3)), d)
        if ROWS == 8:
            e = tl.fma(value, tl.load(table + tl.abs(j - 4)), e)
            f = tl.fma(value, tl.load(table + tl.abs(j - 5)), f)
            g = tl.fma(value, tl.load(table + tl.abs(j - 6)), g)
            h = tl.fma(value, tl.load(table + tl.abs(j - 7)), h)
    return a, b, c, d, e, f, g, h


@triton.jit
def along_y_kernel(
    source, target, direct, table, height, width, source_stride, target_stride,
    RADII: tl.constexpr, SCALES: tl.constexpr, SKIP: tl.constexpr, TAPS: tl.constexpr,
    BLOCKS: tl.constexpr, ROWS: tl.constexpr, BX: tl.constexpr, FAR: tl.constexpr,
    EXACT: tl.constexpr,
):
    """Target[l] = G_l source[l] along y (source_stride 0: one source for all scales); direct[l] if R = 0.

    Grid (tiles, images, scales), the widest Gaussian first.
    """
    scale = SCALES - 1 - tl.program_id(2)
    across = tl.cdiv(width, BX)
    first = (tl.program_id(0) // across) * (BLOCKS * ROWS) + ROWS * tl.arange(0, BLOCKS)[:, None]
    x = ((tl.program_id(0) % across) * BX + tl.arange(0, BX))[None, :]
    image = tl.program_id(1).to(tl.int64) * height * width
    source += image + scale.to(tl.int64) * source_stride
    image += scale.to(tl.int64) * target_stride
    for known in tl.static_range(SCALES):
        if scale == known:
            a, b, c, d, e, f, g, h = rows_from(
                source, table + known * TAPS, first, x, height, width, RADII, known, ROWS, FAR, EXACT
            )
            out = (direct if known < SKIP else target) + image
            out = out + first * width + x
            left = tl.where(x < width, height - first, 0)
            tl.store(out, a, mask=left > 0)
            tl.store(out + width, b, mask=left > 1)
            tl.store(out + 2 * width, c, mask=left > 2)
            tl.store(out + 3 * width, d, mask=left > 3)
            if ROWS == 8:
                tl.store(out + 4 * width, e, mask=left > 4)
                tl.store(out + 5 * width, f, mask=left > 5)
                tl.store(out + 6 * width, g, mask=left > 6)
                tl.store(out + 7 * width, h, mask=left > 7)


@triton.jit
def updated(start, target, here, tau, sum, seen):
    """Target = start - tau sum in one row."""
    tl.store(target + here, tl.load(start + here, mask=seen, other=0.0) - tau * sum, mask=seen)


@triton.jit
def gather_kernel(
    fields, direct, start, target, table, coefficients, height, width, field_stride,
    RADII: tl.constexpr, SCALES: tl.constexpr, SKIP: tl.constexpr, TAPS: tl.constexpr,
    WEIGHTED: tl.constexpr, BLOCKS: tl.constexpr, ROWS: tl.constexpr, BX: tl.constexpr,
    FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """Target = start - tau sum_l c_l G_l fields[l] along y; c_l = omega_l beta_l^2 if WEIGHTED, else 1.

    Grid (tiles, images). Scales with R = 0 come from `direct`.
    """
    across = tl.cdiv(width, BX)
    first = (tl.program_id(0) // across) * (BLOCKS * ROWS) + ROWS * tl.arange(0, BLOCKS)[:, None]
    x = ((tl.program_id(0) % across) * BX + tl.arange(0, BX))[None, :]
    image = tl.program_id(1).to(tl.int64) * height * width
    a = tl.zeros_like(first + x).to(tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    offset = image
    for scale in tl.static_range(SCALES):
        field = (direct if scale < SKIP else fields) + offset
        offset += field_stride
        a_, b_, c_, d_, e_, f_, g_, h_ = rows_from(
            field, table + scale * TAPS, first, x, height, width, RADII, scale, ROWS, FAR, EXACT
        )
        factor = tl.load(coefficients + 2 + scale) if WEIGHTED else 1.0
        a = tl.fma(a_, factor, a)
        b = tl.fma(b_, factor, b)
        c = tl.fma(c_, factor, c)
        d = tl.fma(d_, factor, d)
        if ROWS == 8:
            e = tl.fma(e_, factor, e)
            f = tl.fma(f_, factor, f)
            g = tl.fma(g_, factor, g)
            h = tl.fma(h_, factor, h)
    here = image + first * width + x
    left = tl.where(x < width, height - first, 0)
    tau = tl.load(coefficients)
    updated(start, target, here, tau, a, left > 0)
    updated(start, target, here + width, tau, b, left > 1)
    updated(start, target, here + 2 * width, tau, c, left > 2)
    updated(start, target, here + 3 * width, tau, d, left > 3)
    if ROWS == 8:
        updated(start, target, here + 4 * width, tau, e, left > 4)
        updated(start, target, here + 5 * width, tau, f, left > 5)
        updated(start, target, here + 6 * width, tau, g, left > 6)
        updated(start, target, here + 7 * width, tau, h, left > 7)
