r"""Gaussians in space: along z, y and x in one pass over memory where they are short, otherwise one axis at a time.

A thread owns four columns and ``ROWS`` rows and walks through planes. It smooths its rows of each plane along y and
adds them to the sums of all planes within reach, of which one is complete. Along x it takes the columns beside its own
from its neighbours among the threads of a program, whose outermost ones only lend theirs. Planes to come
are copied into shared memory (``STAGES``) or brought into the cache (``AHEAD``) meanwhile. A radius of 0 leaves an axis
as it is.

Every voxel is the same sum in the same order (from the first tap to the last), so constants stay constant.
"""

# fmt: off
# ruff: noqa: B007

import triton
import triton.language as tl

from whorl.engines.cuda.plane.smoothing import mirror
from whorl.engines.cuda.rows import apart, together


@triton.jit
def weights_of(taps, RADIUS: tl.constexpr):
    """All weights of one Gaussian from those in the middle and on one side of it."""
    half, both = (), ()
    for k in tl.static_range(RADIUS + 1):
        half += (tl.load(taps + k),)
    for k in tl.static_range(2 * RADIUS + 1):
        both += (half[RADIUS - k if k < RADIUS else k - RADIUS],)
    return both


@triton.jit
def added(sums, factor, values):
    """Four sums with a multiple of four values."""
    return (
        tl.fma(factor, values[0], sums[0]), tl.fma(factor, values[1], sums[1]),
        tl.fma(factor, values[2], sums[2]), tl.fma(factor, values[3], sums[3]),
    )


@triton.jit
def along_x(values, weights, RADIUS: tl.constexpr, REACH: tl.constexpr, BLOCK: tl.constexpr):
    """Four columns smoothed with those of the REACH threads on either side."""
    nothing = tl.zeros((BLOCK,), tl.float32)
    sums = (nothing, nothing, nothing, nothing)
    for g in tl.static_range(-REACH, REACH + 1):
        thread = tl.minimum(tl.maximum(tl.arange(0, BLOCK) + g, 0), BLOCK - 1)
        for i in tl.static_range(4):
            if 4 * g + i >= -RADIUS and 4 * g + i - 3 <= RADIUS:
                value = values[i]
                if g != 0:
                    value = tl.gather(value, thread, 0)
                more = ()
                for j in tl.static_range(4):
                    if RADIUS + 4 * g + i - j >= 0 and 4 * g + i - j <= RADIUS:
                        more += (tl.fma(weights[RADIUS + 4 * g + i - j], value, sums[j]),)
                    else:
                        more += (sums[j],)
                sums = more
    return sums


@triton.jit
def fetch(places):
    """Have the numbers at these places brought from memory into the cache."""
    tl.inline_asm_elementwise(
        "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [places], dtype=tl.int32, is_pure=False, pack=1
    )


@triton.jit
def gaussian_kernel(
    source, target, taps, volume,
    RADII: tl.constexpr, CUT: tl.constexpr, STAGES: tl.constexpr, AHEAD: tl.constexpr,
):
    """Target = the Gaussians of source; grid (tiles of a plane, chunks of planes, volumes).

    The weights of z, y and x follow each other in `taps`.
    """
    RZ: tl.constexpr = RADII[0]
    RY: tl.constexpr = RADII[1]
    RX: tl.constexpr = RADII[2]
    ROWS: tl.constexpr = CUT.ROWS
    DEPTH: tl.constexpr = CUT.GROUP
    BLOCK: tl.constexpr = CUT.BLOCK
    depth, height, width = volume
    if CUT.ALIGNED:
        width = width // 4 * 4  # lets the compiler know
    REACH: tl.constexpr = (RX + 3) // 4
    OWN: tl.constexpr = BLOCK - 2 * REACH
    thread = tl.arange(0, BLOCK)
    tiles = tl.cdiv(width, 4 * OWN)
    x = 4 * ((tl.program_id(0) % tiles) * OWN + thread - REACH)
    y = tl.program_id(0) // tiles * ROWS
    columns = x[:, None] + tl.arange(0, 4)[None, :]
    turned = (x < 0) | (x > width - 4)
    if CUT.ALIGNED:  # the mirror maps groups to groups, back to front
        first = tl.where(turned, tl.where(x < 0, -4 - x, tl.maximum(2 * width - 4 - x, 0)), x)
        seen = tl.multiple_of(first, 4)[:, None] + tl.arange(0, 4)[None, :]
    else:
        seen = tl.maximum(mirror(columns, width, False), 0)
    near = tl.minimum(tl.maximum(x, 0), width - 1)
    lent = (thread < REACH) | (thread >= BLOCK - REACH)
    stop = tl.where(lent, -4 * BLOCK, width)  # before all columns, of which a few lie left of the volume
    size = tl.full((), 0, tl.int64) + height * width
    source += tl.program_id(2) * depth * size
    target += tl.program_id(2) * depth * size
    z_weights = weights_of(taps, RZ)
    y_weights = weights_of(taps + (RZ + 1), RY)
    x_weights = weights_of(taps + (RZ + RY + 2), RX)
    nothing = tl.zeros((BLOCK,), tl.float32)
    empty = (nothing, nothing, nothing, nothing)
    waiting = ()  # for every own row the sums of the planes within reach
    for r in tl.static_range(ROWS):
        planes = ()
        for k in tl.static_range(2 * RZ):
            planes += (empty,)
        waiting += (planes,)
    begin = tl.program_id(1) * DEPTH
    for z in tl.range(begin - RZ, tl.minimum(begin + DEPTH, depth) + RZ, num_stages=STAGES):
        plane = source + mirror(z, depth, False) * size
        if AHEAD > 0:
            later = source + mirror(z + AHEAD, depth, False) * size + near
            for r in tl.static_range(ROWS):
                fetch(later + tl.minimum(y + r, height - 1) * width)
        rows = ()
        for r in tl.static_range(ROWS):
            rows += (empty,)
        for k in tl.static_range(ROWS + 2 * RY):
            row = plane + tl.maximum(mirror(y + (k - RY), height, False), 0) * width
            values = apart(tl.load(row + seen), (BLOCK, 2, 2))
            more = ()
            for r in tl.static_range(ROWS):
                if k >= r and k - r <= 2 * RY:
                    more += (added(rows[r], y_weights[k - r], values),)
                else:
                    more += (rows[r],)
            rows = more
        out = target + (z - RZ) * size
        still = ()
        for r in tl.static_range(ROWS):
            a, b, c, d = added(empty if RZ == 0 else waiting[r][0], z_weights[0], rows[r])
            if RX > 0:
                if CUT.ALIGNED:
                    a, b, c, d = (
                        tl.where(turned, d, a), tl.where(turned, c, b), tl.where(turned, b, c), tl.where(turned, a, d)
                    )
                a, b, c, d = along_x((a, b, c, d), x_weights, RX, REACH, BLOCK)
            end = tl.where(z - RZ >= begin, tl.where(y + r < height, stop, -4 * BLOCK), -4 * BLOCK)
            tl.store(out + (y + r) * width + columns, together((a, b, c, d), (BLOCK, 4)), mask=columns < end[:, None])
            planes = ()
            for k in tl.static_range(2 * RZ):
                further = empty if k == 2 * RZ - 1 else waiting[r][k + 1]
                planes += (added(further, z_weights[k + 1], rows[r]),)
            still += (planes,)
        waiting = still
