"""One explicit step of a model with smoothed fields, on a strip of rows.

Covers presmoothed models (structure from smoothed images, flux from the image) and multiscale ones (both from a stack
of smoothed images). A strip is smoothed, differenced, sent through the nonlinearity, transposed and smoothed back
within one call, with halos wide enough that its rows come out as those of the whole image, bit by bit.

The *fields* say which is which: ``channel[f]`` and ``scale[f]`` of every field, ``seen[g]`` and ``moved[g]``, the
fields that steer and the fields that flow in coupled group g, ``weight[f]`` inside the structure and ``factor[f]`` in
front of the flux (tau omega beta² amplitude). ``start[s]`` and ``radius[s]`` place the taps of scale s.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, compiled, fma, one, put, source_stamp
from whorl.engines.cpu.gaussian import ONCE, smooth_columns, smooth_rows
from whorl.engines.cpu.rows import divergence_row, flux, mirror_ends, structure, tensor

__all__ = ["smooth_fields", "strip", "subtract_smoothed"]


@cache
def strip(coupling: int, kind: int) -> Callable[..., int]:
    """The kernel for one coupling and one diffusivity.

    ``kernel(u, out, image, H, W, r0, r1, ..., taps, k, k_seen, rate, work, chunk)`` writes rows ``r0 <= y < r1`` of
    one image of the flat batch ``u``.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, out: Any, image: int, C: int, H: int, W: int, r0: int, r1: int,
        channel: Any, scale: Any, seen: Any, moved: Any, weight: Any, factor: Any,
        taps: Any, start: Any, radius: Any, k: Any, k_seen: Any, rate: float, fields: Any, sources: Any, chunk: int,
    ) -> int:  # fmt: skip
        halo = reach(moved, scale, radius)
        low, high = max(0, r0 - halo), min(H, r1 + halo)
        top, bottom = max(0, low - 1), min(H, high + 1)
        smooth_fields(u, image * C, H, W, top, bottom, channel, scale, taps, start, radius, fields)
        pitch, height = W + 2, bottom - top
        Ja, Jb, Jc = np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype)
        E, F = np.empty(chunk + 1, u.dtype), np.empty(chunk + 1, u.dtype)
        lane = (W + chunk - 1) // chunk * (chunk + 1)
        across, down = np.zeros(moved.shape[1] * lane, u.dtype), np.zeros(moved.shape[1] * lane, u.dtype)
        for g in range(moved.shape[0]):
            for y in range(low, high + 1):
                above, below = (max(y - 1, 0) - top) * pitch, (min(y, H - 1) - top) * pitch
                for column in range(0, W, chunk):
                    n = min(chunk, W - column)
                    for m in range(seen.shape[1]):
                        f = seen[g, m]
                        t, b = f * height * pitch + above + column, f * height * pitch + below + column
                        structure(coupling, m == 0, fields, t, b, n + 1, at(weight, f), k_seen, Ja, Jb, Jc)
                    tensor(coupling, kind, n + 1, Ja, Jb, Jc, rate, one(rate))
                    for m in range(moved.shape[1]):
                        f = moved[g, m]
                        t, b = f * height * pitch + above + column, f * height * pitch + below + column
                        c = m * lane + column // chunk * (chunk + 1)
                        flux(coupling, fields, t, b, n + 1, Ja, Jb, Jc, k, across, down, c, E, F)
                        if y > low:
                            divergence_row(sources, (f * (high - low) + y - 1 - low) * W + column, n, E, F)
        subtract_smoothed(
            u, out, image * C, C, H, W, r0, r1, low, high, channel, scale, moved, factor, taps, start, radius, sources
        )
        return stamp

    return kernel


@compiled()
def reach(moved: Any, scale: Any, radius: Any) -> int:
    """The largest radius among the fields that flow."""
    largest = 0
    for g in range(moved.shape[0]):
        for m in range(moved.shape[1]):
            largest = max(largest, radius[2 * scale[moved[g, m]]])
    return largest


@compiled()
def smooth_fields(
    u: Any, first: int, H: int, W: int, top: int, bottom: int,
    channel: Any, scale: Any, taps: Any, start: Any, radius: Any, fields: Any,
) -> None:  # fmt: skip
    """Rows ``top <= y < bottom`` of every field, one after the other, with mirrored ends."""
    pitch, height = W + 2, bottom - top
    pad = radius.max()
    row = np.empty(W + 2 * pad, u.dtype)
    for f in range(channel.shape[0]):
        s = 2 * scale[f]
        base = (first + channel[f]) * H * W
        for y in range(top, bottom):
            target = (f * height + y - top) * pitch
            smooth_columns(ONCE, u, base, 0, W, y, H, W, taps, start[s], radius[s], row, pad, radius[s + 1])
            smooth_rows(ONCE, row, pad, taps, start[s + 1], radius[s + 1], fields, target + 1, W)
            mirror_ends(fields, target, W)


@compiled()
def subtract_smoothed(
    u: Any, out: Any, first: int, C: int, H: int, W: int, r0: int, r1: int, low: int, high: int,
    channel: Any, scale: Any, moved: Any, factor: Any, taps: Any, start: Any, radius: Any, sources: Any,
) -> None:  # fmt: skip
    """``out = u - sum_f factor[f] G_f sources[f]``, channel by channel, fields in their order."""
    pad = radius.max()
    row, smooth = np.empty(W + 2 * pad, u.dtype), np.empty(W, u.dtype)
    for y in range(r0, r1):
        for c in range(C):
            here = ((first + c) * H + y) * W
            for j in range(W):
                put(out, here + j, at(u, here + j))
        for g in range(moved.shape[0]):
            for m in range(moved.shape[1]):
                f = moved[g, m]
                s, here, weight = 2 * scale[f], ((first + channel[f]) * H + y) * W, -at(factor, f)
                smooth_columns(
                    ONCE, sources, f * (high - low) * W, low, W, y, H, W, taps, start[s], radius[s], row, pad,
                    radius[s + 1],
                )  # fmt: skip
                smooth_rows(ONCE, row, pad, taps, start[s + 1], radius[s + 1], smooth, 0, W)
                for j in range(W):
                    put(out, here + j, fma(weight, at(smooth, j), at(out, here + j)))
