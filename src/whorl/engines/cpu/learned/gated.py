r"""One application of a learned block, :math:`u - \tau K_2^*\, \Phi(K_1 u)`, in one pass over the picture.

The operators are carried out in two factors: few fixed stencils, the same for all channels, and a mixing of their
responses in every pixel. A strip of the picture is walked through row by row. Of everything in between only the rows
that are still needed are kept, in the caches: five rows of the stream, three of the fields where invariants are
smoothed, and five of sums that later rows complete.

Beyond its border the picture is mirrored. The fields of a mirrored picture are the mirrored fields, so rows beyond the
border are computed like all others, and the transposed operator needs no special case there.
"""

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, expect, fma, put, zero
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.learned import gates as loops
from whorl.engines.cpu.learned.lanes import LANES
from whorl.engines.cpu.learned.matrix_product import product
from whorl.engines.cpu.learned.numbers import Maps, Room, filled_up, maps_of, scaled, sizes
from whorl.engines.cpu.learned.stencil_rows import TOGETHER, mix_stencils, transpose_stencils
from whorl.engines.cpu.plane.rows import load_row
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, fresh, room
from whorl.operators.orbits import RADIUS, padded
from whorl.steps import GatedForm, GatedNumbers, GatedStep

WIDEST = 192
"""Pixels of a row of responses; all rows of a strip that are worked on together fit into the second-level cache."""

SHORTEST = 48
"""Rows of a strip: a few more are computed at either end and thrown away."""


Tile = namedtuple("Tile", "base C H W y0 y1 x0 x1 pitch")
"""Rows ``y0 <= y < y1`` and columns ``x0 <= x < x1`` of ``C`` channels of ``H x W`` pixels from ``base`` on; rows of
responses are ``pitch`` apart.
"""


def applied(step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
    """The stream after one application of a block that the engine has accepted."""
    form, tau = step.form, numbers.tau
    assert isinstance(form, GatedForm)
    if step.learning(u, numbers):
        from whorl.engines.cpu.learned.backward import Application

        first, second, matrix = scaled(step, step.analysis.mixing, step.synthesis.mixing)
        result: Tensor = Application.apply(form, u, tau, step.offsets(numbers.bias), matrix, *first, *second)  # type: ignore[no-untyped-call]
        return result
    with torch.no_grad():
        return stepped(form, u, maps_of(step, form), step.offsets(numbers.bias), tau)


def stepped(form: GatedForm, u: Tensor, maps: list[Maps], offsets: Tensor, tau: Tensor | None) -> Tensor:
    """The same from the numbers of each noise level."""
    u = u.detach().contiguous()
    n, C, H, W = u.shape
    out = fresh(u)
    source, result = flat(u), flat(out)
    work, margin = kernel(form.analysis.profiles, form.rho), RADIUS + form.rho
    added, size = filled_up(form, offsets), np.float32(1.0 if tau is None else float(tau))
    strips, pitch = cut(W, WIDEST, margin)
    needed = sizes(form, pitch)

    def tile(image: int, y0: int, y1: int, x0: int, x1: int) -> None:
        where = Tile(image * C * H * W, C, H, W, y0, y1, x0, x1, pitch)
        own = maps[image % len(maps)], added[image % len(added)]
        work(source, result, where, *own, size, form.fields, Room(*room(needed, source.dtype)))

    rows = bands(H, n * len(strips), SHORTEST)
    run(tile, [(image, *band, *strip) for image in range(n) for band in rows for strip in strips])
    return out


def cut(width: int, widest: int, margin: int) -> tuple[list[tuple[int, int]], int]:
    """Columns of strips, and how far their rows are apart with the margin on either side: whole vectors."""
    strips = split(width, widest - 2 * margin, 1)
    return strips, -(-(strips[-1][1] - strips[-1][0] + 2 * margin) // LANES) * LANES


groups = compiled(inside=True)(padded)
"""So many as whole groups."""


@compiled(inside=True)
def five_lines(y: int, size: int, ring: int) -> tuple[int, int, int, int, int]:
    """Where five rows lie in a ring of so many: two above, one above, here, one and two below."""
    return (
        (y - 2) % ring * size + LANES, (y - 1) % ring * size + LANES, y % ring * size + LANES,
        (y + 1) % ring * size + LANES, (y + 2) % ring * size + LANES,
    )  # fmt: skip


@cache
def kernel(profiles: tuple[int, ...], rho: int) -> Callable[..., int]:
    """The kernel that fills a tile, for so many stencils of each order, with smoothed invariants or without."""
    stamp = source_stamp()
    P0, P1, P2 = profiles
    margin = RADIUS + rho

    @compiled(cache=True)
    def tile(
        u: Any, out: Any, where: Tile, maps: Maps, offset: Any, tau: float, fields: tuple[int, int, int], room: Room
    ) -> int:  # fmt: skip
        base, C, H, W, y0, y1, x0, x1, pitch = where
        taps, A0, A1, A2, transposed_taps, B0, B1, B2, G = maps
        stream, S, v, gates, seen, smooth, sums, nothing = room
        F0, F1, F2 = fields
        wide = pitch + 2 * LANES
        # Where things lie: the responses of the stencils, and in every row the components of fields of the orders 1
        # and 2, the fields of order 0, and what gates see of the others.
        c1 = groups(C * P0) * pitch
        s1 = c1 + groups(C * P1) * pitch
        c2 = s1 + groups(C * P1) * pitch
        s2 = c2 + groups(C * P2) * pitch
        n0, n1, n2 = groups(F0) * pitch, groups(F1) * pitch, groups(F2) * pitch
        count = n0 + n1 + n2
        size = count + 2 * (n1 + n2)
        for part in (nothing, v, stream, sums):  # missing fields of a group stay zero
            loops.filled(part, 0, part.shape[0], zero(tau))
        left, width, first = x0 - margin - RADIUS, x1 - x0 + 2 * (margin + RADIUS), y0 - margin
        for y in range(first - RADIUS, first + RADIUS):
            for c in range(C):
                load_row(u, base + c * H * W, H, W, y, left, stream, (y % 5 * C + c) * wide + LANES - RADIUS, width)
        for y in range(first, y1 + margin):
            five = five_lines(y, C * wide, 5)
            next_row = base + mirrored(y + 3, H) * W + x0
            for c in range(C):
                load_row(u, base + c * H * W, H, W, y + 2, left, stream, five[4] + c * wide - RADIUS, width)
                for x in range(0, x1 - x0, 16):
                    expect(u, next_row + c * H * W + x)
            new = y % (rho + 1) * size + LANES
            scalars = new + 2 * (n1 + n2)
            places = scalars, new, new + n1, new + 2 * n1, new + 2 * n1 + n2
            for x in range(0, pitch, LANES):
                mix_stencils(profiles, True, stream, five, wide, taps, A0, A1, A2, fields, 0, v, places, x, pitch)
                for c in range(TOGETHER, C, TOGETHER):
                    mix_stencils(profiles, False, stream, five, wide, taps, A0, A1, A2, fields, c, v, places, x, pitch)
            if rho == 0:
                loops.logarithms_of_squares(v, new, v, new + n1, v, scalars + n0, n1)
                loops.logarithms_of_squares(v, new + 2 * n1, v, new + 2 * n1 + n2, v, scalars + n0 + n1, n2)
                product(G, offset, count // pitch, count // pitch, v, scalars, gates, 0, pitch)
            else:
                loops.squares(v, new, v, new + n1, v, scalars + n0, n1)
                loops.squares(v, new + 2 * n1, v, new + 2 * n1 + n2, v, scalars + n0 + n1, n2)
                loops.blend(v, scalars - 1, v, scalars, v, scalars + 1, smooth, y % 3 * count, count)
                if y < first + 2:
                    continue
                up, middle, low = (y - 2) % 3 * count, (y - 1) % 3 * count, y % 3 * count
                loops.blend(smooth, up, smooth, middle, smooth, low, seen, 0, count)
                loops.logarithms_within(seen, n0, n1 + n2)
                product(G, offset, count // pitch, count // pitch, seen, 0, gates, 0, pitch)
            old = (y - rho) % (rho + 1) * size + LANES
            scalars = old + 2 * (n1 + n2)
            loops.gate_scalars(v, scalars, gates, 0, n0)
            loops.gate_pairs(gates, n0, v, old, old + n1, n1)
            loops.gate_pairs(gates, n0 + n1, v, old + 2 * n1, old + 2 * n1 + n2, n2)
            product(B0, nothing, C * P0, F0, v, scalars, S, 0, pitch)
            product(B1, nothing, C * P1, F1, v, old, S, c1, pitch)
            product(B1, nothing, C * P1, F1, v, old + n1, S, s1, pitch)
            product(B2, nothing, C * P2, F2, v, old + 2 * n1, S, c2, pitch)
            product(B2, nothing, C * P2, F2, v, old + 2 * n1 + n2, S, s2, pitch)
            r = y - rho
            five = five_lines(r, C * wide, 5)
            for c in range(C):
                transpose_stencils(profiles, S, (0, c1, s1, c2, s2), c, pitch, transposed_taps, sums, five, wide)
                if r - 2 >= y0:
                    place, total = base + (c * H + r - 2) * W + x0, five[0] + c * wide + margin
                    for j in range(x1 - x0):
                        put(out, place + j, fma(-tau, at(sums, total + j), at(u, place + j)))
        return stamp

    return tile
