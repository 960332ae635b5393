"""The two operators of a learned block: fields from the stream, and what goes back to the stream.

A program goes down a strip of tiles of BY x BX pixels, so that it loads the matrices once.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.learned.gates import SIZES, gate_matrix, gates, seen
from whorl.engines.cuda.learned.orbits import all_sums, matrices, mirrored, mixed, planes, put, rows, scale, settled


@triton.jit(do_not_specialize=SIZES)
def analysis_kernel(
    u, v, W0, W1, W2, G, numbers, peaks, unit, field_unit, before, now, own, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr,
    S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr, T0: tl.constexpr, T1: tl.constexpr, T2: tl.constexpr,
    GATED: tl.constexpr, FAST: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Fields, times their gates where GATED. Grid (strips of tiles, images).

    Height and width are those of `v`; the stream `u` has a margin of two pixels around it. `numbers` holds for every
    picture what the gates need, and `peaks` the largest numbers by which `u` and `v` are scaled. Fields lie in `v` by
    their orders, and in each pixel by pixel: S0 of order 0, and S1 and S2 cosines and sines of the others.
    """
    P: tl.constexpr = BY * BX
    wide, image = width + 4, tl.program_id(1).to(tl.int64)
    across = tl.cdiv(width, BX)
    strip, segment = tl.program_id(0) % across, tl.program_id(0) // across
    u += image * (height + 4) * wide * C
    v0, vc1, vs1, vc2, vs2 = planes(v, image, height * width, S0, S1, S2)
    numbers += image * own * (2 * (F0 + F1 + F2))
    p = tl.arange(0, P)
    x = strip * BX + p % BX
    A0, A1, A2 = matrices(W0, len(T0), CB, F0), matrices(W1, len(T1), CB, F1), matrices(W2, len(T2), CB, F2)
    unscaled, small = 1.0 / scale(peaks + before + image, unit), scale(peaks + now + image, 1.0)
    factor = unscaled * scale(peaks + now + image, field_unit)
    if GATED:
        gating = gate_matrix(G, F0, F1, F2)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        y = (segment * steps + step) * BY + p // BX
        row = rows(u, (tl.minimum(y, height - 1) + 2) * wide + tl.minimum(x, width - 1) + 2, wide, CB, C)
        sums = all_sums(row, C)
        c0 = mixed(sums[0], T0, 0, A0, tl.zeros((P, F0), tl.float32))
        c1 = mixed(sums[1], T1, 0, A1, tl.zeros((P, F1), tl.float32))
        s1 = mixed(sums[2], T1, 0, A1, tl.zeros((P, F1), tl.float32))
        c2 = mixed(sums[3], T2, 0, A2, tl.zeros((P, F2), tl.float32))
        s2 = mixed(sums[4], T2, 3, A2, tl.zeros((P, F2), tl.float32))
        pixel, inside = y * width + x, (y < height) & (x < width)
        if GATED:
            i1, i2, ALL = c1 * c1 + s1 * s1, c2 * c2 + s2 * s2, F0 + F1 + F2
            a = seen(c0, i1, i2, numbers, unscaled, small, F0, F1, F2, FAST)
        gate = gates(a, gating[0], numbers + ALL, small, factor, FAST) if GATED else factor
        put(v0, pixel, c0 * gate, inside, S0)
        gate = gates(a, gating[1], numbers + ALL + F0, small, factor, FAST) if GATED else factor
        put(vc1, pixel, c1 * gate, inside, S1)
        put(vs1, pixel, s1 * gate, inside, S1)
        gate = gates(a, gating[2], numbers + ALL + F0 + F1, small, factor, FAST) if GATED else factor
        put(vc2, pixel, c2 * gate, inside, S2)
        put(vs2, pixel, s2 * gate, inside, S2)


@triton.jit(do_not_specialize=SIZES)
def synthesis_kernel(
    v, u, out, rounded, W0, W1, W2, tau, peaks, field_unit, unit, now, after, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr,
    S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr, T0: tl.constexpr, T1: tl.constexpr, T2: tl.constexpr,
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
    v0, vc1, vs1, vc2, vs2 = planes(v, image, (height + 4) * wide, S0, S1, S2)
    u += image * height * width * C
    out += image * height * width * C
    rounded += image * (height + 2 * MARGIN) * (width + 2 * MARGIN) * C
    p = tl.arange(0, P)
    c = tl.arange(0, CB)
    left = strip * BX
    x = left + p % BX
    A0, A1, A2 = matrices(W0, len(T0), F0, CB), matrices(W1, len(T1), F1, CB), matrices(W2, len(T2), F2, CB)
    tau = tl.load(tau) / scale(peaks + now + image, field_unit)
    factor = scale(peaks + now + image, unit)
    largest = tl.zeros((P,), tl.float32)
    for step in range(tl.minimum(steps, tl.cdiv(height, BY) - segment * steps)):
        top = (segment * steps + step) * BY
        y = top + p // BX
        pixel = (tl.minimum(y, height - 1) + 2) * wide + tl.minimum(x, width - 1) + 2
        # A quarter turn exchanges cosines and sines of order 1, so each has a sum of its own.
        cosine = mixed(all_sums(rows(vc1, pixel, wide, F1, S1), S1)[1], T1, 0, A1, tl.zeros((P, CB), tl.float32))
        sine = mixed(all_sums(rows(vs1, pixel, wide, F1, S1), S1)[2], T1, 0, A1, tl.zeros((P, CB), tl.float32))
        total = mixed(all_sums(rows(v0, pixel, wide, F0, S0), S0)[0], T0, 0, A0, settled(cosine) + settled(sine))
        total = mixed(all_sums(rows(vc2, pixel, wide, F2, S2), S2)[3], T2, 0, A2, total)
        total = mixed(all_sums(rows(vs2, pixel, wide, F2, S2), S2)[4], T2, 3, A2, total)
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
