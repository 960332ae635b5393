"""Sampled Gaussians along rows; see `smoothing` for the layout and the tables."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .smoothing import mirror


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
        even, odd = tl.split(tl.reshape(tl.load(rows[:, None] + here[None, :]), (ROWS, BLOCK, 2, 2)))
        a, c = tl.split(even)
        b, d = tl.split(odd)
        back = turned[None, :]
        a, b, c, d = tl.where(back, d, a), tl.where(back, c, b), tl.where(back, b, c), tl.where(back, a, d)
    else:
        x = 4 * (first + t + tl.arange(0, BLOCK))
        a = tl.load(rows[:, None] + mirror(x, width, FAR)[None, :])
        b = tl.load(rows[:, None] + mirror(x + 1, width, FAR)[None, :])
        c = tl.load(rows[:, None] + mirror(x + 2, width, FAR)[None, :])
        d = tl.load(rows[:, None] + mirror(x + 3, width, FAR)[None, :])
    return a, b, c, d


@triton.jit
def smoothed(
    rows, table, first, width, RADII: tl.constexpr, SCALE: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr,
):
    """The Gaussian along x of the pixels 4 first .. 4 (first + BLOCK) - 1: one tensor (ROWS, 4 BLOCK)."""
    a = tl.zeros((ROWS, BLOCK), tl.float32)
    b, c, d = a, a, a
    RADIUS: tl.constexpr = RADII[SCALE]
    REACH: tl.constexpr = (RADIUS + 3) // 4
    for t in range(-REACH, REACH + 1):
        p, q, r, s = group(rows, first, t, width, ROWS, BLOCK, FAR, ALIGNED)
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
    return tl.reshape(tl.join(tl.join(a, c), tl.join(b, d)), (ROWS, 4 * BLOCK))


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
