"""One explicit step of a model with smoothed fields, and its derivatives, on a strip of rows.

Covers presmoothed models (structure from smoothed images, flux from the image) and multiscale ones (both from a stack
of smoothed images). A strip is smoothed, differenced, sent through the nonlinearity, transposed and smoothed back
within one call, with halos wide enough that its rows come out as those of the whole image, bit by bit. Derivatives go
the same way with two fields at once: that of the image, and that of what is transported; see ``derivative`` and
``tangents``.

The *fields* say which is which: ``channel[f]`` and ``scale[f]`` of every field, ``seen[g]``, ``moved[g]`` and
``both[g]``, the fields that steer, that flow, and that do either in coupled group g. ``start[s]`` and ``radius[s]``
place the taps of scale s; ``k`` and ``k_seen`` are the geometry of flux and structure. The *numbers* are ``weight[f]``
inside the structure, ``factor[f]`` in front of the flux (tau omega beta² amplitude), ``front[f]`` in front of what is
taken off the image, ``rate``, ``unit`` and ``more`` of the law, and ``d_weight`` and ``d_factor`` along directions.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, fma, put
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.gaussian import ONCE, smooth_columns, smooth_rows
from whorl.engines.cpu.laws import ANISOTROPIC, ISOTROPIC
from whorl.engines.cpu.plane.cells import geometry
from whorl.engines.cpu.plane.coherent import smoothed_row, structure_planes
from whorl.engines.cpu.plane.derivative import flux_pair, moving_flux, moving_structure, products, total
from whorl.engines.cpu.plane.linearised import linearise
from whorl.engines.cpu.plane.rows import differences, flux, mirror_ends, structure, tensor
from whorl.engines.cpu.rows import copy_row

STEP, TENSORS, BACK, ALONG = range(4)
"""What a kernel does: a step, the tensors for steps that keep them, or the derivative of a step, transposed or along
directions.
"""


@cache
def strip(task: int, law: int, kind: int, smoothed: bool) -> Callable[..., int]:
    """The kernel for one task, one law and one diffusivity, with a smoothed structure (rho) or without.

    It writes rows ``r0 <= y < r1`` of one image of the flat batch ``v`` after the step, which is ``u`` itself; or of
    ``v`` after the derivative at ``u``. Along directions, ``v`` and ``out`` hold a batch for each of them. Of tensors,
    rows of cells ``r0 <= y < r1`` are written to ``out``: one tensor for each group of fields that are seen. The
    transposed derivative leaves two sums for every row of cells and field in ``sums[y, f]``. ``x``, ``y`` and
    ``sources`` give room for the fields of a strip, ``planes`` for the entries of a structure to be smoothed: along y
    with the taps ``rho``, along x with those from ``x_taps`` on.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(u: Any, v: Any, out: Any, sums: Any, part: Any, where: Any, numbers: Any, room: Any) -> int:
        # Plain tuples: named ones cost a call on a small picture up to a tenth of its time.
        directions, images, image, C, H, W, r0, r1, chunk, x_taps = part
        weight, factor, front, rate, unit, more, d_weight, d_factor, rho = numbers
        x, y, sources, planes = room
        channel, scale, seen, moved, both, _, _, radius, flowing, steering = where
        k, k_seen, targets = geometry(flowing), geometry(steering), both if task == BACK else moved
        halo, R = reach(targets, scale, radius), x_taps - 1
        low, high = max(0, r0 - halo), min(H, r1 + halo)
        if task == TENSORS:
            low, high = r0, r1 - 1
        top, bottom = max(0, low - 1 - R), min(H, high + 1 + R)
        smooth_fields(u, image * C, H, W, top, bottom, where, x)
        pitch, fields, buffer = W + 2, channel.shape[0], chunk + 1
        size = (bottom - top) * pitch
        J = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        S = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        E, F, Sr = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype), np.zeros(buffer, u.dtype)
        one, two = np.empty(buffer, u.dtype), np.empty(buffer, u.dtype)
        lane = (W + chunk - 1) // chunk * buffer
        across, down = np.zeros(targets.shape[1] * lane, u.dtype), np.zeros(targets.shape[1] * lane, u.dtype)
        kept = across, down, E, F
        for d in range(directions):
            here = d * images + image
            if task >= BACK:
                smooth_fields(v, here * C, H, W, top, bottom, where, y)
            for g in range(targets.shape[0]):
                if smoothed:
                    structure_planes(
                        law, x, seen[g], weight, k_seen, H, W, top, bottom - top, low, high, rho, x_taps, J, planes
                    )
                for i in range(low, high + 1):
                    for column in range(0, W, chunk):
                        above, below = (max(i - 1, 0) - top) * pitch + column, (min(i, H - 1) - top) * pitch + column
                        n = min(chunk, W - column)
                        if smoothed:
                            smoothed_row(planes, i - low, high - low, rho, R, J, n + 1)
                        for m in range(0 if smoothed else seen.shape[1]):
                            f = seen[g, m]
                            place = f * size + above, f * size + below
                            if task == ALONG:
                                w, dw = at(weight, f), at(d_weight, d * fields + f)
                                moving_structure(law, m == 0, x, y, place, n + 1, w, dw, k_seen, J, S)
                            else:
                                structure(law, m == 0, x, place, n + 1, at(weight, f), k_seen, J)
                        for m in range(moved.shape[1] if task == BACK else 0):
                            f = moved[g, m]
                            place = f * size + above, f * size + below
                            products(law, m == 0, x, y, place, n + 1, at(factor, f), k, S, Sr)
                        if task >= BACK:
                            linearise(law, kind, n + 1, J, S, Sr, rate, unit)
                        else:
                            tensor(law, kind, n + 1, J, rate, more)
                        if task == TENSORS:
                            keep_tensors(J, out, (image * seen.shape[0] + g) * (H + 1) + i, law, n + 1)
                            continue
                        for m in range(targets.shape[1]):
                            f = targets[g, m]
                            place = f * size + above, f * size + below
                            c = m * lane + column // chunk * buffer
                            if task == STEP:
                                flux(law, kind, x, place, n + 1, k, J, kept, c)
                            elif task == BACK:
                                by, w = at(factor, f), at(weight, f)
                                flux_pair(law, x, y, place, n + 1, J, S, k, k_seen, by, w, kept, c, one, two)
                                if r0 <= i < r1 or i == H == r1:
                                    border = 0.5 if i == 0 or i == H else 1.0
                                    sums[i, f, 0] += border * total(one, n, column == 0, column + n == W)
                                    sums[i, f, 1] += border * total(two, n, column == 0, column + n == W)
                            else:
                                by, more_by = at(factor, f), at(d_factor, d * fields + f)
                                moving_flux(law, x, y, place, n + 1, J, S, k, by, more_by, kept, c)
                            if i > low:
                                differences(E, 0, F, 1, sources, (f * (high - low) + i - 1 - low) * W + column, n)
            if task != TENSORS:
                subtract_smoothed(v, out, here * C, C, H, W, r0, r1, low, high, where, targets, front, sources)
        return stamp

    return kernel


@compiled()
def keep_tensors(J: Any, out: Any, row: int, law: int, cells: int) -> None:
    """Copy the entries that a law has to this row of all cells, a third of ``out`` for each."""
    third = out.shape[0] // 3
    for e in range(3):
        if e == 0 or (law >= ANISOTROPIC if e == 1 else law != ISOTROPIC):
            copy_row(J[e], 0, out, e * third + row * cells, cells)


@compiled()
def reach(groups: Any, scale: Any, radius: Any) -> int:
    """The largest radius along y among the fields of these groups."""
    largest = 0
    for f in groups.flat:
        largest = max(largest, radius[2 * scale[f]])
    return largest


@compiled()
def smooth_fields(
    u: Any, first: int, H: int, W: int, top: int, bottom: int, where: Any, fields: Any
) -> None:  # fmt: skip
    """Rows ``top <= y < bottom`` of every field, one after the other, with mirrored ends."""
    channel, scale, _, _, _, taps, start, radius, _, _ = where
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
    where: Any, moved: Any, factor: Any, sources: Any,
) -> None:  # fmt: skip
    """``out = u - sum_f factor[f] G_f sources[f]``, channel by channel, fields in their order."""
    channel, scale, _, _, _, taps, start, radius, _, _ = where
    pad = radius.max()
    row, smooth = np.empty(W + 2 * pad, u.dtype), np.empty(W, u.dtype)
    for y in range(r0, r1):
        for c in range(C):
            here = ((first + c) * H + y) * W
            copy_row(u, here, out, here, W)
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
