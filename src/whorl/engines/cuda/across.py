"""Sampled Gaussians along rows; see `smoothing` for the layout and the tables."""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .smoothing import mirror


@triton.jit
def group(rows, first, t, width,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, SIDE: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr,
    EXACT: tl.constexpr,
):
    """Pixels 4g .. 4g+3 of every row, g = first + t + 0 .. BLOCK-1, mirrored at the ends: four tensors (ROWS, BLOCK).

    SIDE is the sign of t where it is known (2: unknown): it says at which end a mirror may be needed.
    """
    if ALIGNED:
        groups = width // 4
        x = 4 * first + tl.arange(0, 4 * BLOCK)
        g = x // 4 + t
        j = first + tl.arange(0, BLOCK) + t
        turned = j < 0
        if FAR:
            inside = mirror(g, groups, FAR)
            turned = (j % (2 * groups) + 2 * groups) % (2 * groups) >= groups
        elif SIDE == -1:
            inside = tl.maximum(g, -1 - g)
            inside = inside if EXACT else tl.minimum(inside, groups - 1)
        elif SIDE == 1:
            inside = tl.minimum(g, 2 * groups - 1 - g)
            inside = inside if EXACT else tl.maximum(inside, 0)
            turned = j >= groups
        elif SIDE == 0:
            inside = g if EXACT else tl.minimum(g, groups - 1)
        else:
            inside = tl.maximum(mirror(g, groups, FAR), 0)
            turned = (j < 0) | (j >= groups)
        here = tl.max_contiguous(tl.multiple_of(4 * inside + x % 4, 4), 4)
        even, odd = tl.split(tl.reshape(tl.load(rows[:, None] + here[None, :]), (ROWS, BLOCK, 2, 2)))
        a, c = tl.split(even)
        b, d = tl.split(odd)
        if SIDE != 0:
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
    rows, table, first, width, WEIGHTS: tl.constexpr, RADII: tl.constexpr, SCALE: tl.constexpr, ROWS: tl.constexpr,
    BLOCK: tl.constexpr, UNROLL: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr, EXACT: tl.constexpr,
):
    """The Gaussian along x of the pixels 4 first .. 4 (first + BLOCK) - 1: one tensor (ROWS, 4 BLOCK)."""
    a = tl.zeros((ROWS, BLOCK), tl.float32)
    b, c, d = a, a, a
    RADIUS: tl.constexpr = RADII[SCALE]
    OWN: tl.constexpr = WEIGHTS[SCALE]
    REACH: tl.constexpr = (RADIUS + 3) // 4
    START: tl.constexpr = RADIUS + 4 - 4 * REACH  # the padding holds 7 zeros, the first distance is -4 REACH - 3
    if RADIUS <= UNROLL:
        for i in tl.static_range(2 * REACH + 1):
            p, q, r, s = group(
                rows, first, i - REACH, width, ROWS, BLOCK, (i > REACH) - (i < REACH), FAR, ALIGNED, EXACT
            )
            # Pixel k of this group lies at the distance 4 (i - REACH) + k - m from the own pixel m.
            if OWN[4 * i + START + 3] != 0.0:
                a = tl.fma(p, OWN[4 * i + START + 3], a)
            if OWN[4 * i + START + 4] != 0.0:
                a = tl.fma(q, OWN[4 * i + START + 4], a)
            if OWN[4 * i + START + 5] != 0.0:
                a = tl.fma(r, OWN[4 * i + START + 5], a)
            if OWN[4 * i + START + 6] != 0.0:
                a = tl.fma(s, OWN[4 * i + START + 6], a)
            if OWN[4 * i + START + 2] != 0.0:
                b = tl.fma(p, OWN[4 * i + START + 2], b)
            if OWN[4 * i + START + 3] != 0.0:
                b = tl.fma(q, OWN[4 * i + START + 3], b)
            if OWN[4 * i + START + 4] != 0.0:
                b = tl.fma(r, OWN[4 * i + START + 4], b)
            if OWN[4 * i + START + 5] != 0.0:
                b = tl.fma(s, OWN[4 * i + START + 5], b)
            if OWN[4 * i + START + 1] != 0.0:
                c = tl.fma(p, OWN[4 * i + START + 1], c)
            if OWN[4 * i + START + 2] != 0.0:
                c = tl.fma(q, OWN[4 * i + START + 2], c)
            if OWN[4 * i + START + 3] != 0.0:
                c = tl.fma(r, OWN[4 * i + START + 3], c)
            if OWN[4 * i + START + 4] != 0.0:
                c = tl.fma(s, OWN[4 * i + START + 4], c)
            if OWN[4 * i + START + 0] != 0.0:
                d = tl.fma(p, OWN[4 * i + START + 0], d)
            if OWN[4 * i + START + 1] != 0.0:
                d = tl.fma(q, OWN[4 * i + START + 1], d)
            if OWN[4 * i + START + 2] != 0.0:
                d = tl.fma(r, OWN[4 * i + START + 2], d)
            if OWN[4 * i + START + 3] != 0.0:
                d = tl.fma(s, OWN[4 * i + START + 3], d)
    else:
        for t in range(-REACH, REACH + 1):
            p, q, r, s = group(rows, first, t, width, ROWS, BLOCK, 2, FAR, ALIGNED, EXACT)
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
    WEIGHTS: tl.constexpr, RADII: tl.constexpr, SCALES: tl.constexpr, SKIP: tl.constexpr, TAPS: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr, FAR: tl.constexpr, ALIGNED: tl.constexpr,
    EXACT: tl.constexpr,
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
                rows, table + known * TAPS, first, width, WEIGHTS, RADII, known, ROWS, BLOCK, UNROLL, FAR,
                ALIGNED, EXACT,
            )
            tl.store(target + y[:, None] * width + x[None, :], out, mask=seen)
