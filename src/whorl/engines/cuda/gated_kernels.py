"""The two operators of a learned block: fields from the stream, and what goes back to the stream.

A program goes down a strip of tiles of BY x BX pixels, so that it loads the matrices once.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, assignment, has-type, var-annotated"
# fmt: off

import triton
import triton.language as tl

from .gates import SIZES, gate_matrix, gates, seen
from .orbits import all_sums, matrices, mirrored, mixed, planes, put, responses, rows, scale, settled


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
        c0 = mixed(responses(sums[0], T0, 0), A0, tl.zeros((P, F0), tl.float32))
        c1 = mixed(responses(sums[1], T1, 0), A1, tl.zeros((P, F1), tl.float32))
        s1 = mixed(responses(sums[2], T1, 0), A1, tl.zeros((P, F1), tl.float32))
        c2 = mixed(responses(sums[3], T2, 0), A2, tl.zeros((P, F2), tl.float32))
        s2 = mixed(responses(sums[4], T2, 3), A2, tl.zeros((P, F2), tl.float32))
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


@triton.jit
def transposed(
    v, pixel, wide, w, total, below,
    COMPONENT: tl.constexpr, TAPS: tl.constexpr, FIRST: tl.constexpr, SIZE: tl.constexpr, STRIDE: tl.constexpr,
    AT_ONCE: tl.constexpr,
):
    """Add what fields around them give to pixels; two rows AT_ONCE, so that they share most of what is loaded."""
    row = rows(v, pixel, wide, SIZE, STRIDE)
    here = responses(all_sums(row, STRIDE)[COMPONENT], TAPS, FIRST)
    if AT_ONCE == 2:
        there = responses(all_sums(row[1:], STRIDE)[COMPONENT], TAPS, FIRST)
    total = mixed(here, w, total)
    if AT_ONCE == 2:
        below = mixed(there, w, below)
    return total, below


@triton.jit(do_not_specialize=SIZES)
def synthesis_kernel(
    v, u, out, rounded, W0, W1, W2, tau, peaks, field_unit, unit, now, after, height, width, steps,
    C: tl.constexpr, CB: tl.constexpr, F0: tl.constexpr, F1: tl.constexpr, F2: tl.constexpr,
    S0: tl.constexpr, S1: tl.constexpr, S2: tl.constexpr, T0: tl.constexpr, T1: tl.constexpr, T2: tl.constexpr,
    MARGIN: tl.constexpr, AT_ONCE: tl.constexpr, BY: tl.constexpr, BX: tl.constexpr,
):
    """Out = u - tau K* v, and the same rounded and mirrored at its border. Grid (strips of tiles, images).

    `peaks` holds from `now` on the largest numbers of `u`, by which `v` and the rounded stream are scaled, and from
    `after` on those of `out`, which are found here. Height and width are those of the stream; fields `v` have a margin
    of two pixels around it, `rounded` has MARGIN. A tile has BY rows, or twice as many where two
    are computed AT_ONCE.
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
    left = strip * BX
    x = left + p % BX
    A0, A1, A2 = matrices(W0, len(T0), F0, CB), matrices(W1, len(T1), F1, CB), matrices(W2, len(T2), F2, CB)
    tau = tl.load(tau) / scale(peaks + now + image, field_unit)
    factor = scale(peaks + now + image, unit)
    largest = tl.zeros((P,), tl.float32)
    for step in range(tl.minimum(steps, tl.cdiv(height, AT_ONCE * BY) - segment * steps)):
        top = (segment * steps + step) * (AT_ONCE * BY)
        y = top + AT_ONCE * (p // BX)
        pixel = (tl.minimum(y, height - 1) + 2) * wide + tl.minimum(x, width - 1) + 2
        nothing = tl.zeros((P, CB), tl.float32)
        # A quarter turn exchanges cosines and sines of order 1, so each has a sum of its own.
        cosine, cosine_below = transposed(vc1, pixel, wide, A1, nothing, nothing, 1, T1, 0, F1, S1, AT_ONCE)
        sine, sine_below = transposed(vs1, pixel, wide, A1, nothing, nothing, 2, T1, 0, F1, S1, AT_ONCE)
        total, below = settled(cosine) + settled(sine), settled(cosine_below) + settled(sine_below)
        total, below = transposed(v0, pixel, wide, A0, total, below, 0, T0, 0, F0, S0, AT_ONCE)
        total, below = transposed(vc2, pixel, wide, A2, total, below, 3, T2, 0, F2, S2, AT_ONCE)
        total, below = transposed(vs2, pixel, wide, A2, total, below, 4, T2, 3, F2, S2, AT_ONCE)
        bottom = top + AT_ONCE * BY
        near_border = (top < MARGIN) | (bottom > height - MARGIN) | (left < MARGIN) | (left + BX > width - MARGIN)
        size = stepped(u, out, rounded, y, x, height, width, tau * total, factor, near_border, C, CB, MARGIN)
        largest = tl.maximum(largest, size)
        if AT_ONCE == 2:
            size = stepped(u, out, rounded, y + 1, x, height, width, tau * below, factor, near_border, C, CB, MARGIN)
            largest = tl.maximum(largest, size)
    tl.atomic_max(peaks + after + image, tl.max(largest, 0))


@triton.jit
def stepped(
    u, out, rounded, y, x, height, width, change, factor, near_border,
    C: tl.constexpr, CB: tl.constexpr, MARGIN: tl.constexpr,
):
    """Store pixels less their change, and again rounded; returns how large they are."""
    c, inside = tl.arange(0, CB)[None, :], (y < height) & (x < width)
    here, known = ((y * width + x) * C)[:, None] + c, inside[:, None] & (c < C)
    result = tl.load(u + here, mask=known, other=0.0) - change
    tl.store(out + here, result, mask=known)
    mirrored(rounded, y, x, height, width, result * factor, inside, near_border, C, MARGIN)
    size = tl.abs(result)
    return tl.max(tl.where(known & (size < float("inf")), size, 0.0), 1)


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
