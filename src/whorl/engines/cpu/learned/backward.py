r"""The transposed derivative of one application of a learned block, in one pass over the picture.

With fields :math:`v = K_1 u`, gates :math:`s` and gated fields :math:`s v`, derivatives go backwards through the step
:math:`u - \tau K_2^*\, s v`: by gated fields they are :math:`-\tau K_2 g`, by the stream :math:`g + K_1^* w` with the
derivatives w by fields, and by the numbers of a mixing they are sums over all pixels of fields times responses of
stencils. The stream before the step is all that is kept; fields and gates are computed anew, row by row as forwards.

The binomial filter of the invariants is its own transpose, and beyond the border everything is mirrored, as forwards.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, put
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.learned import gates as loops
from whorl.engines.cpu.learned.gated import Tile, cut, five_lines, groups, stepped
from whorl.engines.cpu.learned.lanes import LANES
from whorl.engines.cpu.learned.matrix_product import correlate, product, ungrouped
from whorl.engines.cpu.learned.numbers import BackRoom, Maps, filled_up, packed, sizes
from whorl.engines.cpu.learned.stencil_rows import TOGETHER, keep_stencils, mix_stencils, transpose_stencils
from whorl.engines.cpu.plane.rows import load_row
from whorl.engines.cpu.rows import copy_row
from whorl.engines.cpu.threads import run, split
from whorl.engines.cpu.workspace import flat, fresh, room
from whorl.operators.orbits import GROUP, RADIUS, padded, places
from whorl.steps import GatedForm

WIDEST = 96
"""Pixels of a row of responses: more of them are kept than forwards."""

TALLEST = 64
"""Rows whose sums are made in float32; how a picture is cut does not depend on threads, nor do the bits of the sums."""


class Application(torch.autograd.Function):
    """``Application.apply(form, u, tau, offsets, matrix, *first, *second)``: one application of a block.

    All numbers but the stream and the size of the step are those of each noise level, see :mod:`.numbers`.
    """

    @staticmethod
    def forward(ctx: Any, form: GatedForm, u: Tensor, tau: Tensor | None, *rest: Tensor) -> Tensor:
        """The stream after the step."""
        ctx.form = form
        ctx.save_for_backward(u, tau, *rest)
        offsets, matrix, *mixing = (part.detach() for part in rest)
        return stepped(form, u, packed(form, mixing[:3], mixing[3:], matrix), offsets, tau)

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        """The derivatives by stream, size of the step, and numbers."""
        if torch.is_grad_enabled():
            raise RuntimeError(
                "A learned block: derivatives of derivatives have no compiled form. Set engine = 'reference'."
            )
        u, tau, *rest = ctx.saved_tensors
        return None, *pulled_back(ctx.form, u, tau, rest, g, any(ctx.needs_input_grad[2:]))


def pulled_back(
    form: GatedForm, u: Tensor, tau: Tensor | None, rest: list[Tensor], g: Tensor, numbers: bool
) -> list[Tensor | None]:
    """The transposed derivative, by the stream and, where ``numbers`` are wanted, by all of these."""
    offsets, matrix, *mixing = (part.detach() for part in rest)
    first, second, size = mixing[:3], mixing[3:], 1.0 if tau is None else float(tau)
    maps = packed(form, first, second, matrix)
    other = replace(form, analysis=form.synthesis, synthesis=form.analysis)
    turned = packed(other, [-size * w for w in second], first, matrix.mT)
    u, g = u.detach().contiguous(), g.contiguous()
    n, C, H, W = u.shape
    out, added = fresh(u), filled_up(form, offsets)
    source, given, result = flat(u), flat(g), flat(out)
    margin = RADIUS + 2 * form.rho
    strips, pitch = cut(W, WIDEST, margin)
    needed, work = sizes(form, pitch, back=True), kernel(form.analysis.profiles, form.rho)
    shapes = [(padded(F), padded(C * p)) for F, p in zip(form.fields, form.analysis.profiles, strict=True)]
    inputs = sum(map(padded, form.fields))
    shapes = [*shapes, *shapes, (inputs, inputs + GROUP)]
    ends = np.cumsum([a * b for a, b in shapes])
    tiles = [(image, *band, *strip) for image in range(n) for band in split(H, TALLEST, 1) for strip in strips]
    sums = [np.zeros(ends[-1], np.float32) for _ in tiles] if numbers else [np.zeros(0, np.float32)] * len(tiles)

    def tile(total: Any, image: int, y0: int, y1: int, x0: int, x1: int) -> None:
        where, own = Tile(image * C * H * W, C, H, W, y0, y1, x0, x1, pitch), image % len(maps)
        both = maps[own], turned[own], added[own]
        work(source, given, result, where, *both, form.fields, BackRoom(*room(needed, source.dtype)), total, numbers)

    run(tile, [(total, *each) for total, each in zip(sums, tiles, strict=True)])
    if not numbers:
        return [out] + [None] * (1 + len(rest))
    totals = np.zeros((len(maps), ends[-1]))
    for (image, *_), part in zip(tiles, sums, strict=True):
        totals[image % len(maps)] += part
    parts = [
        np.stack([ungrouped(level, *shape) for level in part])
        for part, shape in zip(np.split(totals, ends[:-1], 1), shapes, strict=True)
    ]
    by_mixing = [
        torch.from_numpy(part[:, : w.shape[1], : w[0, 0].numel()]).reshape(w.shape)
        for part, w in zip(parts, mixing, strict=False)
    ]
    here = places(form.fields, padded)
    by_matrix, by_offsets = (
        torch.from_numpy(parts[-1][:, here][:, :, here]),
        torch.from_numpy(parts[-1][:, here, inputs]),
    )
    changes = torch.stack([(by * w).sum() for by, w in zip(by_mixing[3:], second, strict=True)])
    by_tau = None if tau is None else -changes.sum().to(tau).view(tau.shape)
    found = [by_offsets, by_matrix, *by_mixing[:3], *(-size * part for part in by_mixing[3:])]
    return [out, by_tau, *(part.to(u.dtype) for part in found)]


@compiled()
def _by_mixing(
    w: Any, e: int, R: Any, responses: Any, fields: Any, inputs: Any, totals: Any, first: int, pitch: int
) -> None:  # fmt: skip
    """Add the derivatives by the numbers of a mixing, from rows of fields (or derivatives by them) and responses."""
    for m in (1, 2, 0):  # as rows of fields lie
        for k in range(2 if m else 1):
            at_m = first + fields[0] * inputs[0] * (m > 0) + fields[1] * inputs[1] * (m > 1)
            correlate(w, e, fields[m], R, responses[2 * m - 1 + k if m else 0], inputs[m], totals, at_m, pitch)
            e += fields[m] * pitch


@cache
def kernel(profiles: tuple[int, ...], rho: int) -> Callable[..., int]:
    """The kernel that fills a tile, for so many stencils of each order, with smoothed invariants or without."""
    stamp = source_stamp()
    P0, P1, P2 = profiles
    margin, ring, kept = RADIUS + 2 * rho, 5 + 2 * rho, 2 * rho + 1

    @compiled(cache=True)
    def tile(
        u: Any, g: Any, out: Any, where: Tile, maps: Maps, turned: Maps, offset: Any, fields: tuple[int, int, int],
        room: BackRoom, totals: Any, numbers: bool,
    ) -> int:  # fmt: skip
        base, C, H, W, y0, y1, x0, x1, pitch = where
        taps, A0, A1, A2, _, _, _, _, G = maps
        other_taps, D0, D1, D2, _, E0, E1, E2, GT = turned
        stream, given, S, R, v, d, s2, seen, logits, gates, slopes, by_logits, by_seen, w, smooth, back, sums, none = (
            room
        )
        F0, F1, F2 = fields
        wide = pitch + 2 * LANES
        k0, k1, k2 = groups(C * P0), groups(C * P1), groups(C * P2)
        f0, f1, f2 = groups(F0), groups(F1), groups(F2)
        n0, n1, n2 = f0 * pitch, f1 * pitch, f2 * pitch
        responses = 0, k0 * pitch, (k0 + k1) * pitch, (k0 + 2 * k1) * pitch, (k0 + 2 * k1 + k2) * pitch
        count, rows = n0 + n1 + n2, f0 + f1 + f2
        # Components of fields of the orders 1 and 2, fields of order 0, and in v the squared lengths of the others.
        scalars = 2 * (n1 + n2)
        size, ours = scalars + count, scalars + n0
        t3 = f0 * k0 + f1 * k1 + f2 * k2
        for part in (stream, given, R, v, d, seen, by_seen, sums, none):
            loops.filled(part, 0, part.shape[0], np.float32(0))
        loops.filled(seen, count, pitch, np.float32(1))  # a gate's offset is a number times 1
        left, width, first = x0 - margin - RADIUS, x1 - x0 + 2 * (margin + RADIUS), y0 - margin
        for y in range(first - RADIUS, first + RADIUS):
            for c in range(C):
                place = (y % ring * C + c) * wide + LANES - RADIUS
                load_row(u, base + c * H * W, H, W, y, left, stream, place, width)
                load_row(g, base + c * H * W, H, W, y, left, given, place, width)
        for y in range(first, y1 + margin):
            lines = five_lines(y, C * wide, ring)
            for c in range(C):
                load_row(u, base + c * H * W, H, W, y + 2, left, stream, lines[4] + c * wide - RADIUS, width)
                load_row(g, base + c * H * W, H, W, y + 2, left, given, lines[4] + c * wide - RADIUS, width)
            new, e = y % kept * size + LANES, y % kept * ours
            to = new + scalars, new, new + n1, new + 2 * n1, new + 2 * n1 + n2
            by = e + scalars, e, e + n1, e + 2 * n1, e + 2 * n1 + n2
            for x in range(0, pitch, LANES):
                mix_stencils(profiles, True, stream, lines, wide, taps, A0, A1, A2, fields, 0, v, to, x, pitch)
                mix_stencils(profiles, True, given, lines, wide, other_taps, D0, D1, D2, fields, 0, d, by, x, pitch)
                for c in range(TOGETHER, C, TOGETHER):
                    mix_stencils(profiles, False, stream, lines, wide, taps, A0, A1, A2, fields, c, v, to, x, pitch)
                    mix_stencils(
                        profiles, False, given, lines, wide, other_taps, D0, D1, D2, fields, c, d, by, x, pitch
                    )
            loops.squares(v, new, v, new + n1, v, new + ours, n1)
            loops.squares(v, new + 2 * n1, v, new + 2 * n1 + n2, v, new + ours + n1, n2)
            if rho == 0:
                copy_row(v, new + scalars, s2, 0, count)
            else:
                place = new + scalars
                loops.blend(v, place - 1, v, place, v, place + 1, smooth, y % 3 * count, count)
                if y < first + 2:
                    continue
                up, middle, low = (y - 2) % 3 * count, (y - 1) % 3 * count, y % 3 * count
                loops.blend(smooth, up, smooth, middle, smooth, low, s2, 0, count)
            copy_row(s2, 0, seen, 0, n0)
            loops.logarithms(s2, n0, seen, n0, count - n0)
            product(G, offset, rows, rows, seen, 0, logits, 0, pitch)
            loops.gates_and_slopes(logits, gates, slopes, count)
            r = y - rho
            a, e = r % kept * size + LANES, r % kept * ours
            loops.by_scalars(slopes, 0, v, a + scalars, d, e + scalars, by_logits, 0, n0)
            loops.by_pairs(slopes, n0, v, a, d, e, by_logits, n1)
            loops.by_pairs(slopes, n0 + n1, v, a + 2 * n1, d, e + 2 * n1, by_logits, n2)
            product(GT, none, rows, rows, by_logits, 0, by_seen, LANES, pitch)
            loops.by_squares(by_seen, LANES + n0, s2, n0, n1 + n2)
            if numbers and y0 <= r < y1:
                loops.gate_all(gates, v, a, w, 0, n0, n1, n2)
                loops.only_inside(w, 0, ours // pitch, margin, margin + x1 - x0, pitch)
                loops.only_inside(by_logits, 0, rows, margin, margin + x1 - x0, pitch)
                correlate(by_logits, 0, rows, seen, 0, rows + GROUP, totals, 2 * t3, pitch)
                there = five_lines(r, C * wide, ring)
                for c in range(C):
                    for x in range(0, pitch, LANES):
                        keep_stencils(profiles, given, there, wide, other_taps, c, R, responses, x, pitch)
                _by_mixing(w, 0, R, responses, (f0, f1, f2), (k0, k1, k2), totals, t3, pitch)
            loops.gate_all(gates, d, e, d, e, n0, n1, n2)
            if rho == 0:
                copy_row(by_seen, LANES, s2, 0, count)
            else:
                loops.blend(by_seen, LANES - 1, by_seen, LANES, by_seen, LANES + 1, back, r % 3 * count, count)
                if y < first + 4:
                    continue
                up, middle, low = (r - 2) % 3 * count, (r - 1) % 3 * count, r % 3 * count
                loops.blend(back, up, back, middle, back, low, s2, 0, count)
            q = y - 2 * rho
            a, e = q % kept * size + LANES, q % kept * ours
            loops.add_scalars(d, e + scalars, s2, 0, n0)
            for more, seen_by, n in ((0, n0, n1), (n1, n0, n1), (2 * n1, n0 + n1, n2), (2 * n1 + n2, n0 + n1, n2)):
                loops.add_squares(d, e + more, s2, seen_by, v, a + more, n)
            product(E0, none, C * P0, F0, d, e + scalars, S, 0, pitch)
            product(E1, none, C * P1, F1, d, e, S, responses[1], pitch)
            product(E1, none, C * P1, F1, d, e + n1, S, responses[2], pitch)
            product(E2, none, C * P2, F2, d, e + 2 * n1, S, responses[3], pitch)
            product(E2, none, C * P2, F2, d, e + 2 * n1 + n2, S, responses[4], pitch)
            five = five_lines(q, C * wide, 5)
            for c in range(C):
                transpose_stencils(profiles, S, responses, c, pitch, taps, sums, five, wide)
                if q - 2 >= y0:
                    place, total = base + (c * H + q - 2) * W + x0, five[0] + c * wide + margin
                    for j in range(x1 - x0):
                        put(out, place + j, at(g, place + j) + at(sums, total + j))
            if numbers and y0 <= q < y1:
                loops.only_inside(d, e, ours // pitch, margin, margin + x1 - x0, pitch)
                there = five_lines(q, C * wide, ring)
                for c in range(C):
                    for x in range(0, pitch, LANES):
                        keep_stencils(profiles, stream, there, wide, taps, c, R, responses, x, pitch)
                _by_mixing(d, e, R, responses, (f0, f1, f2), (k0, k1, k2), totals, 0, pitch)
        return stamp

    return tile
