r"""Sampled Gaussians along columns and along rows, for all scales in one launch.

Both directions read 16 bytes at a time, aligned, and use every value for all outputs a thread holds:

- along y a thread holds eight rows and takes one source row after the other;
- along x a thread holds four neighbouring pixels and takes one group of four neighbours after the other. Where the
  width is a multiple of 4 the mirror maps groups to groups, back to front.

Every pixel is the same sum in the same order (from the first tap to the last), so constants stay constant.

Fields of all scales lie as ``(scales, images, rows, columns)``. The ``table`` of weights has one row
:math:`w_0 \dots w_R` per scale, followed by zeros up to ``TAPS``, so that loops may run over the end; ``radii`` holds
every R. The first ``SKIP`` scales have R = 0 and never pass through the intermediate fields.
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
def rows_from(field, weights, radius, first, x, height, width, FAR: tl.constexpr, EXACT: tl.constexpr):
    """The Gaussian along y of eight rows from `first` (blocks, 1) at the columns x (1, columns)."""
    a = tl.zeros_like(first + x).to(tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    # The weight of a source row for the first of the eight rows serves the second one iteration later, and so on.
    v = tl.load(weights) * 0.0
    w1, w2, w3, w4, w5, w6, w7 = v, v, v, v, v, v, v
    for j in range(-radius, radius + 8):
        w0 = tl.load(weights + tl.abs(j))
        row = field + mirror(first + j, height, FAR) * width + x
        value = tl.load(row) if EXACT else tl.load(row, mask=x < width, other=0.0)
        a = tl.fma(value, w0, a)
        b = tl.fma(value, w1, b)
        c = tl.fma(value, w2, c)
        d = tl.fma(value, w3, d)
        e = tl.fma(value, w4, e)
        f = tl.fma(value, w5, f)
        g = tl.fma(value, w6, g)
        h = tl.fma(value, w7, h)
        w1, w2, w3, w4, w5, w6, w7 = w0, w1, w2, w3, w4, w5, w6
    return a, b, c, d, e, f, g, h


@triton.jit
def along_y_kernel(
    source, target, hop, table, radii, height, width, source_stride, target_stride, scales, skip, taps,
    BLOCKS: tl.constexpr, BX: tl.constexpr, FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """Target[l] = G_l source[l] along y (source_stride 0: one source for all scales); `hop` further on if R = 0.

    Grid (tiles, images, scales), the widest Gaussian first.
    """
    scale = scales - 1 - tl.program_id(2)
    across = tl.cdiv(width, BX)
    first = (tl.program_id(0) // across) * (BLOCKS * 8) + 8 * tl.arange(0, BLOCKS)[:, None]
    x = ((tl.program_id(0) % across) * BX + tl.arange(0, BX))[None, :]
    image = tl.program_id(1).to(tl.int64) * height * width
    source += image + scale.to(tl.int64) * source_stride
    image += scale.to(tl.int64) * target_stride
    a, b, c, d, e, f, g, h = rows_from(
        source, table + scale * taps, tl.load(radii + scale), first, x, height, width, FAR, EXACT
    )
    out = target + (image + tl.where(scale < skip, hop, 0)) + first * width + x
    left = tl.where(x < width, height - first, 0)
    tl.store(out, a, mask=left > 0)
    tl.store(out + width, b, mask=left > 1)
    tl.store(out + 2 * width, c, mask=left > 2)
    tl.store(out + 3 * width, d, mask=left > 3)
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
    fields, hop, start, target, table, radii, coefficients, height, width, field_stride, scales, skip, taps,
    WEIGHTED: tl.constexpr, BLOCKS: tl.constexpr, BX: tl.constexpr, FAR: tl.constexpr, EXACT: tl.constexpr,
):
    """Target = start - tau sum_l c_l G_l fields[l] along y; c_l = omega_l beta_l^2 if WEIGHTED, else 1.

    Grid (tiles, images). Scales with R = 0 lie `hop` before the fields.
    """
    across = tl.cdiv(width, BX)
    first = (tl.program_id(0) // across) * (BLOCKS * 8) + 8 * tl.arange(0, BLOCKS)[:, None]
    x = ((tl.program_id(0) % across) * BX + tl.arange(0, BX))[None, :]
    image = tl.program_id(1).to(tl.int64) * height * width
    a = tl.zeros_like(first + x).to(tl.float32)
    b, c, d, e, f, g, h = a, a, a, a, a, a, a
    offset = image
    for scale in range(scales):
        field = fields + (offset - tl.where(scale < skip, hop, 0))
        offset += field_stride
        a_, b_, c_, d_, e_, f_, g_, h_ = rows_from(
            field, table + scale * taps, tl.load(radii + scale), first, x, height, width, FAR, EXACT
        )
        factor = tl.load(coefficients + 2 + scale) if WEIGHTED else 1.0
        a = tl.fma(a_, factor, a)
        b = tl.fma(b_, factor, b)
        c = tl.fma(c_, factor, c)
        d = tl.fma(d_, factor, d)
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
    updated(start, target, here + 4 * width, tau, e, left > 4)
    updated(start, target, here + 5 * width, tau, f, left > 5)
    updated(start, target, here + 6 * width, tau, g, left > 6)
    updated(start, target, here + 7 * width, tau, h, left > 7)
