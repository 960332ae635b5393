"""Sampled Gaussians along rows; see `smoothing` for the layout and the tables."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.plane.smoothing import mirror
from whorl.engines.cuda.rows import apart, together


@triton.jit
def group(rows, first, t, width,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Pixels 4g .. 4g+3 of every row, g = first + t + 0 .. BLOCK-1, mirrored at the ends: 4 tensors (ROWS, BLOCK)."""
    if ALIGNED:
        groups = width // 4
        x = 4 * first + tl.arange(0, 4 * BLOCK)
        g = x // 4 + t
        j = first + tl.arange(0, BLOCK) + t
        if FAR:
            inside = mirror(g, groups, FAR)
            turned = (j % (2 * groups) + 2 * groups) % (2 * groups) >= groups
        else:
            inside = tl.maximum(mirror(g, groups, FAR), 0)
            turned = (j < 0) | (j >= groups)
        here = tl.max_contiguous(tl.multiple_of(4 * inside + x % 4, 4), 4)
        a, b, c, d = apart(tl.load(rows[:, None] + here[None, :]), (ROWS, BLOCK, 2, 2))
        back = turned[None, :]
        found = (tl.where(back, d, a), tl.where(back, c, b), tl.where(back, b, c), tl.where(back, a, d))
    else:
        found = ()
        for k in tl.static_range(4):
            x = 4 * (first + t + tl.arange(0, BLOCK)) + k
            found += (tl.load(rows[:, None] + mirror(x, width, FAR)[None, :]),)
    return found


@triton.jit
def smoothed(
    rows, table, first, width, RADII: tl.constexpr, SCALE: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr,
):
    """The Gaussian along x of the pixels 4 first .. 4 (first + BLOCK) - 1: one tensor (ROWS, 4 BLOCK)."""
    zero = tl.zeros((ROWS, BLOCK), tl.float32)
    sums = (zero, zero, zero, zero)
    RADIUS: tl.constexpr = RADII[SCALE]
    REACH: tl.constexpr = (RADIUS + 3) // 4
    for t in range(-REACH, REACH + 1):
        pixels = group(rows, first, t, width, ROWS, BLOCK, FAR, ALIGNED)
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
    source, target, table, height, width, stride,
    RADII: tl.constexpr, SCALES: tl.constexpr, SKIP: tl.constexpr, TAPS: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Target[l] = G_l source[l] along x for all scales but the first SKIP.

    Grid (tiles, images, scales), the widest Gaussian first.
    """
    scale = SCALES - 1 - tl.program_id(2)
    across = tl.cdiv(width, 4 * BLOCK)
    y = (tl.program_id(0) // across) * ROWS + tl.arange(0, ROWS)
    first = (tl.program_id(0) % across) * BLOCK
    image = tl.program_id(1).to(tl.int64) * height * width
    rows = source + (image + scale.to(tl.int64) * stride) + tl.minimum(y, height - 1) * width
    target += image + scale.to(tl.int64) * stride
    x = 4 * first + tl.arange(0, 4 * BLOCK)
    seen = (y < height)[:, None] & (x < width)[None, :]
    for known in tl.static_range(SKIP, SCALES):
        if scale == known:
            out = smoothed(
                rows, table + known * TAPS, first, width, RADII, known, ROWS, BLOCK, FAR, ALIGNED
            )
            tl.store(target + y[:, None] * width + x[None, :], out, mask=seen)
