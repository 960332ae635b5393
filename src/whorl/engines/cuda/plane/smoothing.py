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

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
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
    """The Gaussian along y of ROWS rows from `first` (blocks, 1) at the columns x (1, columns)."""
    sums = nothing(first, x, ROWS)
    RADIUS: tl.constexpr = RADII[SCALE]
    for j in range(-RADIUS, RADIUS + ROWS):
        row = field + mirror(first + j, height, FAR) * width + x
        value = tl.load(row) if EXACT else tl.load(row, mask=x < width, other=0.0)
        more = ()
        for i in tl.static_range(ROWS):
            more += (tl.fma(value, tl.load(table + tl.abs(j - i)), sums[i]),)
        sums = more
    return sums


@triton.jit
def nothing(first, x, ROWS: tl.constexpr):
    """Zeros for ROWS rows."""
    sums = ()
    for _ in tl.static_range(ROWS):
        sums += (tl.zeros_like(first + x).to(tl.float32),)
    return sums


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
            rows = rows_from(source, table + known * TAPS, first, x, height, width, RADII, known, ROWS, FAR, EXACT)
            out = (direct if known < SKIP else target) + image
            out = out + first * width + x
            left = tl.where(x < width, height - first, 0)
            for i in tl.static_range(ROWS):
                tl.store(out + i * width, rows[i], mask=left > i)


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
    sums = nothing(first, x, ROWS)
    offset = image
    for scale in tl.static_range(SCALES):
        field = (direct if scale < SKIP else fields) + offset
        offset += field_stride
        rows = rows_from(field, table + scale * TAPS, first, x, height, width, RADII, scale, ROWS, FAR, EXACT)
        factor = tl.load(coefficients + 2 + scale) if WEIGHTED else 1.0
        more = ()
        for i in tl.static_range(ROWS):
            more += (tl.fma(rows[i], factor, sums[i]),)
        sums = more
    here = image + first * width + x
    left = tl.where(x < width, height - first, 0)
    tau = tl.load(coefficients)
    for i in tl.static_range(ROWS):
        seen = left > i
        before = tl.load(start + here + i * width, mask=seen, other=0.0)
        tl.store(target + here + i * width, before - tau * sums[i], mask=seen)
