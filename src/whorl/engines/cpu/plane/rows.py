"""Rows of cells: loops over the cells of a chunk, and over the pixels they complete.

Each loop is short and plain enough to be vectorised. A chunk of n pixels has n + 1 cells; buffers hold one chunk.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, fma, put
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.plane.cells import collect, entries, flow, haar, joint, measure, meet, spread, store
from whorl.engines.cpu.plane.tensors import respond


@compiled()
def structure(
    coupling: int, first: bool, x: Any, t: int, b: int, n: int, w: float, k: Any, Ja: Any, Jb: Any, Jc: Any
) -> None:  # fmt: skip
    """Add w times the structure of one field to J; the first field overwrites."""
    Y, Z, d, dY = at(k, 0), at(k, 1), at(k, 2), at(k, 3)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        xx, xy, yy = measure(coupling, p, q, r, Y, Z, d, dY)
        collect(coupling, first, j, Ja, Jb, Jc, w, xx, xy, yy)


@compiled()
def tensor(coupling: int, kind: int, n: int, Ja: Any, Jb: Any, Jc: Any, rate: float, more: float) -> None:
    """Replace the structure of n cells by the diffusion tensor."""
    for j in range(n):
        xx, xy, yy = entries(coupling, j, Ja, Jb, Jc)
        a, b, c = respond(coupling, kind, xx, xy, yy, rate, more)
        store(coupling, j, Ja, Jb, Jc, a, b, c)


@compiled()
def flux(
    coupling: int, x: Any, t: int, b: int, n: int, A: Any, B: Any, C: Any, k: Any,
    across: Any, down: Any, c: int, E: Any, F: Any,
) -> None:  # fmt: skip
    """The flux of one field under the tensor, spread to the pixels."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        d11, d12, d22 = entries(coupling, j, A, B, C)
        P, Q, R = flow(coupling, d11, d12, d22, p, q, r, Y, Z, d, dY, e)
        spread(P, Q, R, j, across, down, c, E, F)


@compiled()
def step_alone(
    coupling: int, kind: int, x: Any, t: int, b: int, low: int, high: int, k: Any, rate: float, more: float,
    across: Any, down: Any, c: int, y: Any, o: int, tau: float,
) -> None:  # fmt: skip
    """``y = x - tau K^T flux`` for pixels low <= j < high of a field that is coupled with no other.

    Structure, tensor, flux and step are computed in one loop: pixel j lies between cells j and j + 1.
    """
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    p, q, r = haar(x, t, b, low)
    xx, xy, yy = measure(coupling, p, q, r, Y, Z, d, dY)
    d11, d12, d22 = respond(coupling, kind, xx, xy, yy, rate, more)
    P, Q, R = flow(coupling, d11, d12, d22, p, q, r, Y, Z, d, dY, e)
    left, _ = meet(P, Q, R, across, down, c + low)
    for j in range(low, high):
        p, q, r = haar(x, t, b, j + 1)
        xx, xy, yy = measure(coupling, p, q, r, Y, Z, d, dY)
        d11, d12, d22 = respond(coupling, kind, xx, xy, yy, rate, more)
        P, Q, R = flow(coupling, d11, d12, d22, p, q, r, Y, Z, d, dY, e)
        E, F = meet(P, Q, R, across, down, c + j + 1)
        put(y, o + j, fma(tau, F - left, at(x, t + j + 1)))
        left = E


@compiled()
def step_under(
    coupling: int, x: Any, t: int, b: int, low: int, high: int, A: Any, B: Any, C: Any, k: Any,
    across: Any, down: Any, c: int, y: Any, o: int, tau: float,
) -> None:  # fmt: skip
    """The same for one field under the tensor of its group."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    p, q, r = haar(x, t, b, low)
    d11, d12, d22 = entries(coupling, low, A, B, C)
    P, Q, R = flow(coupling, d11, d12, d22, p, q, r, Y, Z, d, dY, e)
    left, _ = meet(P, Q, R, across, down, c + low)
    for j in range(low, high):
        p, q, r = haar(x, t, b, j + 1)
        d11, d12, d22 = entries(coupling, j + 1, A, B, C)
        P, Q, R = flow(coupling, d11, d12, d22, p, q, r, Y, Z, d, dY, e)
        E, F = meet(P, Q, R, across, down, c + j + 1)
        put(y, o + j, fma(tau, F - left, at(x, t + j + 1)))
        left = E


LANE = 1168
"""How far apart rows of three coupled fields lie: constant, so that the compiler sees that they never overlap."""


@compiled()
def step_three(
    coupling: int, kind: int, x: Any, t: int, b: int, low: int, high: int, k: Any, rate: float, more: float,
    across: Any, down: Any, c: int, y: Any, o: int, tau: float,
) -> None:  # fmt: skip
    """The same for three coupled fields; all their rows lie ``LANE`` apart."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    t1, t2, b1, b2 = t + LANE, t + 2 * LANE, b + LANE, b + 2 * LANE
    c1, c2, o1, o2 = c + LANE, c + 2 * LANE, o + LANE, o + 2 * LANE
    P0, Q0, R0, P1, Q1, R1, P2, Q2, R2 = _three(
        coupling, kind, x, t, b, t1, b1, t2, b2, low, Y, Z, d, dY, e, rate, more
    )
    left0, _ = meet(P0, Q0, R0, across, down, c + low)
    left1, _ = meet(P1, Q1, R1, across, down, c1 + low)
    left2, _ = meet(P2, Q2, R2, across, down, c2 + low)
    for j in range(low, high):
        P0, Q0, R0, P1, Q1, R1, P2, Q2, R2 = _three(
            coupling, kind, x, t, b, t1, b1, t2, b2, j + 1, Y, Z, d, dY, e, rate, more
        )
        E0, F0 = meet(P0, Q0, R0, across, down, c + j + 1)
        E1, F1 = meet(P1, Q1, R1, across, down, c1 + j + 1)
        E2, F2 = meet(P2, Q2, R2, across, down, c2 + j + 1)
        put(y, o + j, fma(tau, F0 - left0, at(x, t + j + 1)))
        put(y, o1 + j, fma(tau, F1 - left1, at(x, t1 + j + 1)))
        put(y, o2 + j, fma(tau, F2 - left2, at(x, t2 + j + 1)))
        left0, left1, left2 = E0, E1, E2


@compiled(inside=True)
def _three(
    coupling: int, kind: int, x: Any, t0: int, b0: int, t1: int, b1: int, t2: int, b2: int, j: int,
    Y: float, Z: float, d: float, dY: float, e: float, rate: float, more: float,
) -> Any:  # fmt: skip
    """The fluxes of three fields in cell j under their common tensor."""
    p0, q0, r0 = haar(x, t0, b0, j)
    p1, q1, r1 = haar(x, t1, b1, j)
    p2, q2, r2 = haar(x, t2, b2, j)
    pp = fma(p2, p2, fma(p1, p1, p0 * p0))
    pq = fma(p2, q2, fma(p1, q1, p0 * q0))
    qq = fma(q2, q2, fma(q1, q1, q0 * q0))
    rr = fma(r2, r2, fma(r1, r1, r0 * r0))
    xx, xy, yy = joint(coupling, pp, pq, qq, rr, Y, Z, d, dY)
    d11, d12, d22 = respond(coupling, kind, xx, xy, yy, rate, more)
    P0, Q0, R0 = flow(coupling, d11, d12, d22, p0, q0, r0, Y, Z, d, dY, e)
    P1, Q1, R1 = flow(coupling, d11, d12, d22, p1, q1, r1, Y, Z, d, dY, e)
    P2, Q2, R2 = flow(coupling, d11, d12, d22, p2, q2, r2, Y, Z, d, dY, e)
    return P0, Q0, R0, P1, Q1, R1, P2, Q2, R2


@compiled()
def divergence_row(y: Any, o: int, n: int, E: Any, F: Any) -> None:
    """``y = K^T flux`` for n pixels."""
    for j in range(n):
        put(y, o + j, at(E, j) - at(F, j + 1))


@compiled()
def copy_row(u: Any, source: int, rows: Any, target: int, n: int) -> None:
    """Copy n pixels."""
    for j in range(n):
        put(rows, target + j, at(u, source + j))


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
def keep_row(known: Any, mark: int, u: Any, source: int, rows: Any, target: int, n: int) -> None:
    """Put the source back where pixels are known."""
    for j in range(n):
        old, new = at(u, source + j), at(rows, target + j)
        put(rows, target + j, old if at(known, mark + j) != 0 else new)


@compiled()
def mirror_ends(rows: Any, target: int, W: int) -> None:
    """Set the pixel before the first and after the last."""
    put(rows, target, at(rows, target + 1))
    put(rows, target + W + 1, at(rows, target + W))
