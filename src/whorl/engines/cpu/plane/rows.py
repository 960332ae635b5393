"""Rows of cells in the plane, and rows of pixels.

Each loop is short and plain enough to be vectorised. A chunk of n pixels has n + 1 cells; buffers hold one chunk.
"""

from typing import Any

from whorl.engines.cpu import rows
from whorl.engines.cpu.arithmetic import at, fma, put
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.plane.cells import collect, entries, flow, haar, joint, measure, meet, spread, store
from whorl.engines.cpu.plane.tensors import respond
from whorl.engines.cpu.rows import copy_row


@compiled(inside=True)
def under(law: int, kind: int, j: int, cell: Any, k: Any, by: Any) -> Any:
    """The tensor of cell j of those that are given."""
    return entries(law, j, by)


@compiled(inside=True)
def alone(law: int, kind: int, j: int, cell: Any, k: Any, by: Any) -> Any:
    """The tensor of a field that is coupled with no other, by the numbers ``rate`` and ``more`` of the law."""
    rate, more = by
    return respond(law, kind, measure(law, cell, k), rate, more)


structure = rows.structures(haar, measure, collect)
flux = rows.fluxes(haar, under, flow, spread)
step_under, step_alone = (rows.steps(haar, tensor, flow, meet) for tensor in (under, alone))


@compiled(inside=True)
def tensor(law: int, kind: int, n: int, J: Any, rate: float, more: float) -> None:
    """Replace the structure of n cells by the diffusion tensor."""
    for j in range(n):
        store(law, j, J, respond(law, kind, entries(law, j, J), rate, more))


LANE = 1168
"""How far apart rows of three coupled fields lie: constant, so that the compiler sees that they never overlap."""


@compiled()
def step_three(
    law: int, kind: int, x: Any, place: Any, low: int, high: int, k: Any, rate: float, more: float, kept: Any, c: int,
    y: Any, o: int, tau: float,
) -> None:  # fmt: skip
    """The step of three coupled fields; all their rows lie ``LANE`` apart."""
    t, c1, c2, o1, o2 = place[0], c + LANE, c + 2 * LANE, o + LANE, o + 2 * LANE
    flux0, flux1, flux2 = _three(law, kind, x, place, low, k, rate, more)
    (left0, _), (left1, _) = meet(flux0, low, kept, c), meet(flux1, low, kept, c1)
    left2, _ = meet(flux2, low, kept, c2)
    for j in range(low, high):
        flux0, flux1, flux2 = _three(law, kind, x, place, j + 1, k, rate, more)
        E0, F0 = meet(flux0, j + 1, kept, c)
        E1, F1 = meet(flux1, j + 1, kept, c1)
        E2, F2 = meet(flux2, j + 1, kept, c2)
        put(y, o + j, fma(tau, F0 - left0, at(x, t + j + 1)))
        put(y, o1 + j, fma(tau, F1 - left1, at(x, t + LANE + j + 1)))
        put(y, o2 + j, fma(tau, F2 - left2, at(x, t + 2 * LANE + j + 1)))
        left0, left1, left2 = E0, E1, E2


@compiled(inside=True)
def _three(law: int, kind: int, x: Any, place: Any, j: int, k: Any, rate: float, more: float) -> Any:
    """The fluxes of three fields in cell j under their common tensor."""
    cell0, cell1, cell2 = haar(x, place, j), haar(x, place, j + LANE), haar(x, place, j + 2 * LANE)
    (p0, q0, r0), (p1, q1, r1), (p2, q2, r2) = cell0, cell1, cell2
    pp = fma(p2, p2, fma(p1, p1, p0 * p0))
    pq = fma(p2, q2, fma(p1, q1, p0 * q0))
    qq = fma(q2, q2, fma(q1, q1, q0 * q0))
    rr = fma(r2, r2, fma(r1, r1, r0 * r0))
    T = respond(law, kind, joint(law, pp, pq, qq, rr, k), rate, more)
    return flow(law, T, cell0, k), flow(law, T, cell1, k), flow(law, T, cell2, k)


differences = rows.each(lambda E, F: E - F)
"""``K^T flux`` from the results E of cells and F of those after them."""

keep_row = rows.each_within(lambda new, old, known: old if known != 0 else new)
"""Old values where pixels are known, else new ones."""


@compiled()
def load_row(u: Any, base: int, H: int, W: int, y: int, x: int, rows: Any, target: int, n: int) -> None:
    """Columns ``x <= . < x + n`` of a row, mirrored where they lie beyond the border."""
    line = base + mirrored(y, H) * W
    begin, end = min(max(0, -x), n), max(0, min(n, W - x))
    for j in range(begin):
        put(rows, target + j, at(u, line + mirrored(x + j, W)))
    copy_row(u, line + x + begin, rows, target + begin, end - begin)
    for j in range(max(begin, end), n):
        put(rows, target + j, at(u, line + mirrored(x + j, W)))


@compiled()
def mix_row(u: Any, source: int, rows: Any, target: int, n: int, mix: float) -> None:
    """``mix`` times the target and ``1 - mix`` times the source, exact where both agree."""
    for j in range(n):
        put(rows, target + j, fma(mix, at(rows, target + j) - at(u, source + j), at(u, source + j)))


@compiled()
def pull_row(
    f: Any, data: int, w: Any, weight: int, u: Any, source: int, rows: Any, target: int, n: int, tau: float
) -> None:
    """Move the target by ``tau w (f - u)``."""
    for j in range(n):
        force = at(w, weight + j) * (at(f, data + j) - at(u, source + j))
        put(rows, target + j, fma(tau, force, at(rows, target + j)))


@compiled()
def mirror_ends(rows: Any, target: int, W: int) -> None:
    """Set the pixel before the first and after the last."""
    put(rows, target, at(rows, target + 1))
    put(rows, target + W + 1, at(rows, target + W))
