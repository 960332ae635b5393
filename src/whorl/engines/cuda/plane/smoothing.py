r"""Sampled Gaussians along columns and along rows, for all scales in one launch.

Both directions read 16 bytes at a time, aligned, and use every value for all outputs a thread holds:

- along y a thread holds eight rows and takes one source row after the other;
- along x a thread holds four neighbouring pixels and takes one group of four neighbours after the other. Where the
  width is a multiple of 4 the mirror maps groups to groups, back to front.

Every pixel is the same sum in the same order (from the first tap to the last), so constants stay constant.

Fields of all scales lie as ``(scales, images, rows, columns)``. The constants ``G`` and the ``table`` are those of
`gaussians`; the scales that it skips never pass through the intermediate fields.
"""

# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.rows import apart, together


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
def rows_from(field, table, first, x, picture, G: tl.constexpr, SCALE: tl.constexpr, CUT: tl.constexpr):
    """The Gaussian along y of ROWS rows from `first` (blocks, 1) at the columns x (1, columns)."""
    RADIUS: tl.constexpr = G.radii[SCALE]
    ROWS: tl.constexpr = CUT.ROWS
    width, table = picture.width, table + SCALE * G.taps
    sums = nothing(first, x, ROWS)
    for j in range(-RADIUS, RADIUS + ROWS):
        row = field + mirror(first + j, picture.height, CUT.FAR) * width + x
        value = tl.load(row) if CUT.EXACT else tl.load(row, mask=x < width, other=0.0)
        more = ()
        for i in tl.static_range(ROWS):
            more += (tl.fma(value, tl.load(table + tl.abs(j - i)), sums[i]),)
        sums = more
    return sums


@triton.jit
def tile(width, CUT: tl.constexpr):
    """The first rows of the GROUP blocks of a program, and its columns."""
    across = tl.cdiv(width, 4 * CUT.BLOCK)
    first = (tl.program_id(0) // across) * (CUT.GROUP * CUT.ROWS) + CUT.ROWS * tl.arange(0, CUT.GROUP)[:, None]
    return first, ((tl.program_id(0) % across) * (4 * CUT.BLOCK) + tl.arange(0, 4 * CUT.BLOCK))[None, :]


@triton.jit
def nothing(first, x, ROWS: tl.constexpr):
    """Zeros for ROWS rows."""
    sums = ()
    for _ in tl.static_range(ROWS):
        sums += (tl.zeros_like(first + x).to(tl.float32),)
    return sums


@triton.jit
def along_y_kernel(
    source, target, direct, table, picture, G: tl.constexpr, SCALES: tl.constexpr, CUT: tl.constexpr
):
    """Target[l] = G_l source along y; direct[l] if R = 0.

    Grid (tiles, images, scales), the widest Gaussian first.
    """
    ROWS: tl.constexpr = CUT.ROWS
    height, width = picture.height, picture.width
    scale = SCALES - 1 - tl.program_id(2)
    first, x = tile(width, CUT)
    image = tl.program_id(1).to(tl.int64) * height * width
    source += image
    image += scale.to(tl.int64) * picture.stride
    for known in tl.static_range(SCALES):
        if scale == known:
            rows = rows_from(source, table, first, x, picture, G, known, CUT)
            out = (direct if known < G.skip else target) + image
            out = out + first * width + x
            left = tl.where(x < width, height - first, 0)
            for i in tl.static_range(ROWS):
                tl.store(out + i * width, rows[i], mask=left > i)


@triton.jit
def gather_kernel(
    fields, direct, start, target, table, coefficients, picture,
    G: tl.constexpr, SCALES: tl.constexpr, WEIGHTED: tl.constexpr, CUT: tl.constexpr,
):
    """Target = start - tau sum_l c_l G_l fields[l] along y; c_l = omega_l beta_l^2 if WEIGHTED, else 1.

    Grid (tiles, images). Scales with R = 0 come from `direct`.
    """
    ROWS: tl.constexpr = CUT.ROWS
    height, width = picture.height, picture.width
    first, x = tile(width, CUT)
    image = tl.program_id(1).to(tl.int64) * height * width
    sums = nothing(first, x, ROWS)
    offset = image
    for scale in tl.static_range(SCALES):
        field = (direct if scale < G.skip else fields) + offset
        offset += picture.stride
        rows = rows_from(field, table, first, x, picture, G, scale, CUT)
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


@triton.jit
def group(rows, first, t, width, CUT: tl.constexpr):
    """Pixels 4g .. 4g+3 of every row, g = first + t + 0 .. BLOCK-1, mirrored at the ends: 4 tensors (ROWS, BLOCK)."""
    ROWS: tl.constexpr = CUT.ROWS
    BLOCK: tl.constexpr = CUT.BLOCK
    if CUT.ALIGNED:
        groups = width // 4
        x = 4 * first + tl.arange(0, 4 * BLOCK)
        g = x // 4 + t
        j = first + tl.arange(0, BLOCK) + t
        if CUT.FAR:
            inside = mirror(g, groups, CUT.FAR)
            turned = (j % (2 * groups) + 2 * groups) % (2 * groups) >= groups
        else:
            inside = tl.maximum(mirror(g, groups, CUT.FAR), 0)
            turned = (j < 0) | (j >= groups)
        here = tl.max_contiguous(tl.multiple_of(4 * inside + x % 4, 4), 4)
        a, b, c, d = apart(tl.load(rows[:, None] + here[None, :]), (ROWS, BLOCK, 2, 2))
        back = turned[None, :]
        found = (tl.where(back, d, a), tl.where(back, c, b), tl.where(back, b, c), tl.where(back, a, d))
    else:
        found = ()
        for k in tl.static_range(4):
            x = 4 * (first + t + tl.arange(0, BLOCK)) + k
            found += (tl.load(rows[:, None] + mirror(x, width, CUT.FAR)[None, :]),)
    return found


@triton.jit
def smoothed(rows, table, first, width, RADIUS: tl.constexpr, CUT: tl.constexpr):
    """The Gaussian along x of the pixels 4 first .. 4 (first + BLOCK) - 1: one tensor (ROWS, 4 BLOCK)."""
    ROWS: tl.constexpr = CUT.ROWS
    BLOCK: tl.constexpr = CUT.BLOCK
    zero = tl.zeros((ROWS, BLOCK), tl.float32)
    sums = (zero, zero, zero, zero)
    REACH: tl.constexpr = (RADIUS + 3) // 4
    for t in range(-REACH, REACH + 1):
        pixels = group(rows, first, t, width, CUT)
        weights, more = (), ()
        for i in tl.static_range(7):
            weights += (tl.load(table + tl.abs(4 * t + (i - 3))),)
        for i in tl.static_range(4):
            total = sums[i]
            for k in tl.static_range(4):
                total = tl.fma(weights[3 + k - i], pixels[k], total)
            more += (total,)
        sums = more
    return together(sums, (ROWS, 4 * BLOCK))


@triton.jit
def along_x_kernel(
    source, target, table, picture, G: tl.constexpr, SCALES: tl.constexpr, CUT: tl.constexpr
):
    """Target[l] = G_l source[l] along x for all scales but those that are skipped.

    Grid (tiles, images, scales), the widest Gaussian first.
    """
    BLOCK: tl.constexpr = CUT.BLOCK
    SKIP: tl.constexpr = G.skip
    height, width, stride = picture.height, picture.width, picture.stride
    scale = SCALES - 1 - tl.program_id(2)
    across = tl.cdiv(width, 4 * BLOCK)
    y = (tl.program_id(0) // across) * CUT.ROWS + tl.arange(0, CUT.ROWS)
    first = (tl.program_id(0) % across) * BLOCK
    image = tl.program_id(1).to(tl.int64) * height * width
    rows = source + (image + scale.to(tl.int64) * stride) + tl.minimum(y, height - 1) * width
    target += image + scale.to(tl.int64) * stride
    x = 4 * first + tl.arange(0, 4 * BLOCK)
    seen = (y < height)[:, None] & (x < width)[None, :]
    for known in tl.static_range(SKIP, SCALES):
        if scale == known:
            out = smoothed(rows, table + known * G.taps, first, width, G.radii[known], CUT)
            tl.store(target + y[:, None] * width + x[None, :], out, mask=seen)
