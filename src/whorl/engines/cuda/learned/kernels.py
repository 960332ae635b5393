"""The two operators of a learned block: one makes fields from the stream, the other changes the stream by them.

A program goes down a strip of tiles of BY x BX pixels, so that it loads the matrices once.
"""

# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.learned.gates import SIZES, gate_matrix, put_gated, seen, squared
from whorl.engines.cuda.learned.orbits import all_sums, matrices, mirrored, mixed, nothing, planes, rows, scale, settled


@triton.jit(do_not_specialize=SIZES)
def analysis_kernel(
    u, v, W, G, numbers, peaks, unit, field_unit, before, now, own, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F: tl.constexpr, S: tl.constexpr, T: tl.constexpr,
    GATED: tl.constexpr, FAST: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Fields, times their gates where GATED. Grid (strips of tiles, images).

    Height and width are those of `v`; the stream `u` has a margin of two pixels around it. `numbers` holds for every
    picture what the gates need, and `peaks` the largest numbers by which `u` and `v` are scaled. Fields lie in `v` by
    their components, and in each pixel by pixel.
    """
    P: tl.constexpr = BY * BX
    wide, image = width + 4, tl.program_id(1).to(tl.int64)
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    u += image * (height + 4) * wide * C
    target = planes(v, image, height * width, S)
    numbers += image * own * (2 * (F[0] + F[1] + F[2]))
    p = tl.arange(0, P)
    x = strip * BX + p % BX
    A = ()
    for m in tl.static_range(3):
        A += (matrices(W[m], T, m, CB, F[m]),)
    unscaled, small = 1.0 / scale(peaks + before + image, unit), scale(peaks + now + image, 1.0)
    factor = unscaled * scale(peaks + now + image, field_unit)
    gating = gate_matrix(G, F) if GATED else A
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        row = rows(u, (tl.minimum(y, height - 1) + 2) * wide + tl.minimum(x, width - 1) + 2, wide, CB, C)
        sums = all_sums(row, C)
        fields = ()
        for k in tl.static_range(5):
            fields += (mixed(sums[k], T, k, A[(k + 1) // 2], nothing(P, F[(k + 1) // 2])),)
        pixel, inside, a = y * width + x, (y < height) & (x < width), fields
        if GATED:
            a = seen(squared(fields), numbers, unscaled, small, F, FAST)
        offset = numbers + (F[0] + F[1] + F[2])
        put_gated(target, pixel, fields, inside, a, gating, offset, small, factor, F, S, GATED, FAST)


@triton.jit
def back(
    fields, k: tl.constexpr, pixel, wide, T: tl.constexpr, A, F: tl.constexpr, S: tl.constexpr, total,
):
    """Add what goes back to the stream from component k of the fields."""
    m: tl.constexpr = (k + 1) // 2
    return mixed(all_sums(rows(fields[k], pixel, wide, F[m], S[m]), S[m])[k], T, k, A[m], total)


@triton.jit(do_not_specialize=SIZES)
def synthesis_kernel(
    v, u, out, rounded, W, tau, peaks, field_unit, unit, now, after, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F: tl.constexpr, S: tl.constexpr, T: tl.constexpr,
    MARGIN: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Out = u - tau K* v, and the same rounded and mirrored at its border. Grid (strips of tiles, images).

    `peaks` holds from `now` on the largest numbers of `u`, by which `v` and the rounded stream are scaled, and from
    `after` on those of `out`, which are found here. Height and width are those of the stream; fields `v` have a margin
    of two pixels around it, `rounded` has MARGIN.
    """
    P: tl.constexpr = BY * BX
    wide = width + 4
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    image = tl.program_id(1).to(tl.int64)
    fields = planes(v, image, (height + 4) * wide, S)
    u += image * height * width * C
    out += image * height * width * C
    rounded += image * (height + 2 * MARGIN) * (width + 2 * MARGIN) * C
    p = tl.arange(0, P)
    c = tl.arange(0, CB)
    left = strip * BX
    x = left + p % BX
    A = ()
    for m in tl.static_range(3):
        A += (matrices(W[m], T, m, F[m], CB),)
    tau = tl.load(tau) / scale(peaks + now + image, field_unit)
    factor = scale(peaks + now + image, unit)
    largest = tl.zeros((P,), tl.float32)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        top = (segment * steps + step) * BY
        y = top + p // BX
        pixel = (tl.minimum(y, height - 1) + 2) * wide + tl.minimum(x, width - 1) + 2
        # A quarter turn exchanges cosines and sines of order 1, so each has a sum of its own.
        cosine = back(fields, 1, pixel, wide, T, A, F, S, tl.zeros((P, CB), tl.float32))
        sine = back(fields, 2, pixel, wide, T, A, F, S, tl.zeros((P, CB), tl.float32))
        total = back(fields, 0, pixel, wide, T, A, F, S, settled(cosine) + settled(sine))
        total = back(fields, 3, pixel, wide, T, A, F, S, total)
        total = back(fields, 4, pixel, wide, T, A, F, S, total)
        here = ((y * width + x) * C)[:, None] + c[None, :]
        inside = (y < height) & (x < width)
        known = inside[:, None] & (c < C)[None, :]
        total = tl.load(u + here, mask=known, other=0.0) - tau * total
        tl.store(out + here, total, mask=known)
        size = tl.abs(total)
        largest = tl.maximum(largest, tl.max(tl.where(known & (size < float("inf")), size, 0.0), 1))
        near_border = (top < MARGIN) | (top + BY > height - MARGIN) | (left < MARGIN) | (left + BX > width - MARGIN)
        mirrored(rounded, y, x, height, width, total * factor, inside, near_border, C, MARGIN)
    tl.atomic_max(peaks + after + image, tl.max(largest, 0))


@triton.jit(do_not_specialize=SIZES)
def copy_kernel(
    u, rounded, peaks, unit, now, height, width,
    C: tl.constexpr, CB: tl.constexpr, MARGIN: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """The stream rounded, and mirrored at its border. Grid (columns of tiles, rows of tiles, images)."""
    left, top, image = tl.program_id(0) * BX, tl.program_id(1) * BY, tl.program_id(2).to(tl.int64)
    u += image * height * width * C
    rounded += image * (height + 2 * MARGIN) * (width + 2 * MARGIN) * C
    p, c = tl.arange(0, BY * BX), tl.arange(0, CB)
    y, x = top + p // BX, left + p % BX
    inside = (y < height) & (x < width)
    here = u + ((y * width + x) * C)[:, None] + c[None, :]
    values = tl.load(here, mask=inside[:, None] & (c < C)[None, :], other=0.0) * scale(peaks + now + image, unit)
    near_border = (top < MARGIN) | (top + BY > height - MARGIN) | (left < MARGIN) | (left + BX > width - MARGIN)
    mirrored(rounded, y, x, height, width, values, inside, near_border, C, MARGIN)
