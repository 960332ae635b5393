r"""Sampled Gaussians along columns and along rows, for all scales in one launch.

Both directions read 16 bytes at a time, aligned, and use every value for all outputs a thread holds:

- along y a tile of ``ROWS`` output rows takes one source row after the other, each with its weights for all of them;
- along x a thread holds four neighbouring pixels and takes one group of four neighbours after the other. Where the
  width is a multiple of 4 the mirror maps groups to groups, back to front.

Every pixel is the same sum in the same order (from the first tap to the last), so constants stay constant.

Fields of all scales lie as ``(scales, images, rows, columns)``. The table of weights has one row :math:`w_0 \dots w_R`
per scale, padded by zeros to ``TAPS``, so that tiles may run over the end of the Gaussian.
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
        index = tl.where(index < 0, -1 - index, index)
    return tl.where(index >= size, 2 * size - 1 - index, index)


@triton.jit
def column_sums(
    total, field, table, factor, radius, first, x, height, width,
    ROWS: tl.constexpr, UNROLL: tl.constexpr, FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """Total (ROWS, columns) plus factor times the Gaussian along y of the rows first .. first + ROWS - 1."""
    m = tl.arange(0, ROWS)[:, None]
    x = x[None, :]
    for start in range(-radius, radius + ROWS, UNROLL):
        for i in tl.static_range(UNROLL):
            j = start + i
            row = field + mirror(first + j, height, FAR) * width + x
            value = tl.load(row) if EXACT else tl.load(row, mask=x < width, other=0.0)
            w = factor * tl.load(table + tl.abs(j - m))
            total += w * value
    return total


@triton.jit
def along_y_kernel(
    source, target, table, radii, height, width, source_stride, target_stride,
    SCALES: tl.constexpr, TAPS: tl.constexpr, ROWS: tl.constexpr, BX: tl.constexpr, UNROLL: tl.constexpr,
    FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """Target[l] = G_l source[l] along y (source_stride 0: one source for all scales).

    Grid (tiles, images, scales), the widest Gaussian first.
    """
    scale = SCALES - 1 - tl.program_id(2)
    across = tl.cdiv(width, BX)
    first = (tl.program_id(0) // across) * ROWS
    x = (tl.program_id(0) % across) * BX + tl.arange(0, BX)
    image = tl.program_id(1).to(tl.int64) * height * width
    source += image + scale * source_stride.to(tl.int64)
    target += image + scale * target_stride.to(tl.int64)
    total = tl.zeros((ROWS, BX), tl.float32)
    total = column_sums(
        total, source, table + scale * TAPS, 1.0, tl.load(radii + scale), first, x, height, width,
        ROWS, UNROLL, FAR, EXACT,
    )
    y = first + tl.arange(0, ROWS)
    tl.store(target + y[:, None] * width + x[None, :], total, mask=(y < height)[:, None] & (x < width)[None, :])


@triton.jit
def gather_kernel(
    fields, start, target, table, radii, coefficients, height, width, field_stride,
    SCALES: tl.constexpr, TAPS: tl.constexpr, WEIGHTED: tl.constexpr, ROWS: tl.constexpr, BX: tl.constexpr,
    UNROLL: tl.constexpr, FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """Target = start - tau sum_l c_l G_l fields[l] along y; c_l = omega_l beta_l^2 if WEIGHTED, else 1.

    Grid (tiles, images).
    """
    across = tl.cdiv(width, BX)
    first = (tl.program_id(0) // across) * ROWS
    x = (tl.program_id(0) % across) * BX + tl.arange(0, BX)
    image = tl.program_id(1).to(tl.int64) * height * width
    fields += image
    total = tl.zeros((ROWS, BX), tl.float32)
    for scale in range(SCALES):
        factor = tl.load(coefficients + 2 + scale) if WEIGHTED else 1.0
        total = column_sums(
            total, fields, table + scale * TAPS, factor, tl.load(radii + scale), first, x, height, width,
            ROWS, UNROLL, FAR, EXACT,
        )
        fields += field_stride
    y = first + tl.arange(0, ROWS)
    seen = (y < height)[:, None] & (x < width)[None, :]
    here = image + y[:, None] * width + x[None, :]
    before = tl.load(start + here, mask=seen, other=0.0)
    tl.store(target + here, before - tl.load(coefficients) * total, mask=seen)


@triton.jit
def group(rows, g, width, ROWS: tl.constexpr, BLOCK: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr):
    """Pixels 4g .. 4g+3 of every row, mirrored at the ends: four tensors (ROWS, BLOCK)."""
    if ALIGNED:
        groups = width // 4
        inside = mirror(g, groups, FAR)
        if FAR:
            turned = ((g % (2 * groups) + 2 * groups) % (2 * groups) >= groups)[None, :]
        else:
            turned = ((g < 0) | (g >= groups))[None, :]
        x = 4 * inside[:, None] + tl.arange(0, 4)[None, :]
        values = tl.load(rows[:, None, None] + tl.multiple_of(x, (1, 4))[None, :, :])
        even, odd = tl.split(tl.reshape(values, (ROWS, BLOCK, 2, 2)))
        a, c = tl.split(even)
        b, d = tl.split(odd)
        return tl.where(turned, d, a), tl.where(turned, c, b), tl.where(turned, b, c), tl.where(turned, a, d)
    else:
        a = tl.load(rows[:, None] + mirror(4 * g, width, FAR)[None, :])
        b = tl.load(rows[:, None] + mirror(4 * g + 1, width, FAR)[None, :])
        c = tl.load(rows[:, None] + mirror(4 * g + 2, width, FAR)[None, :])
        d = tl.load(rows[:, None] + mirror(4 * g + 3, width, FAR)[None, :])
        return a, b, c, d


@triton.jit
def along_x_kernel(
    source, target, table, radii, height, width, source_stride, target_stride,
    SCALES: tl.constexpr, TAPS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr, FAR: tl.constexpr,
    ALIGNED: tl.constexpr,
):
    """Target[l] = G_l source[l] along x; grid (tiles, images, scales), the widest Gaussian first."""
    scale = SCALES - 1 - tl.program_id(2)
    across = tl.cdiv(width, 4 * BLOCK)
    y = (tl.program_id(0) // across) * ROWS + tl.arange(0, ROWS)
    j = (tl.program_id(0) % across) * BLOCK + tl.arange(0, BLOCK)
    image = tl.program_id(1).to(tl.int64) * height * width
    rows = source + image + scale * source_stride.to(tl.int64) + tl.minimum(y, height - 1) * width
    target += image + scale * target_stride.to(tl.int64)
    table += scale * TAPS
    reach = (tl.load(radii + scale) + 3) // 4
    a = tl.zeros((ROWS, BLOCK), tl.float32)
    b = tl.zeros((ROWS, BLOCK), tl.float32)
    c = tl.zeros((ROWS, BLOCK), tl.float32)
    d = tl.zeros((ROWS, BLOCK), tl.float32)
    for t in range(-reach, reach + 1):
        p, q, r, s = group(rows, j + t, width, ROWS, BLOCK, FAR, ALIGNED)
        # Pixel k of this group lies at the distance 4t + k - i from the own pixel i.
        w3 = tl.load(table + tl.abs(4 * t - 3))
        w2 = tl.load(table + tl.abs(4 * t - 2))
        w1 = tl.load(table + tl.abs(4 * t - 1))
        v0 = tl.load(table + tl.abs(4 * t))
        v1 = tl.load(table + tl.abs(4 * t + 1))
        v2 = tl.load(table + tl.abs(4 * t + 2))
        v3 = tl.load(table + tl.abs(4 * t + 3))
        a = tl.fma(v3, s, tl.fma(v2, r, tl.fma(v1, q, tl.fma(v0, p, a))))
        b = tl.fma(v2, s, tl.fma(v1, r, tl.fma(v0, q, tl.fma(w1, p, b))))
        c = tl.fma(v1, s, tl.fma(v0, r, tl.fma(w1, q, tl.fma(w2, p, c))))
        d = tl.fma(v0, s, tl.fma(w1, r, tl.fma(w2, q, tl.fma(w3, p, d))))
    out = tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (ROWS, 4 * BLOCK))
    x = 4 * (tl.program_id(0) % across) * BLOCK + tl.arange(0, 4 * BLOCK)
    tl.store(target + y[:, None] * width + x[None, :], out, mask=(y < height)[:, None] & (x < width)[None, :])
