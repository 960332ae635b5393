"""Rows of cells: loops over the cells of a chunk, and over the pixels they complete.

Each loop is short and plain enough to be vectorised. A chunk of n pixels has n + 1 cells; buffers hold one chunk.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, fma, put
from whorl.engines.cpu.cells import collect, entries, flow, haar, measure, spread, store
from whorl.engines.cpu.tensors import respond

__all__ = ["copy_row", "divergence_row", "flux", "fused", "load_row", "mirror_ends", "mix_row", "step_row"]
__all__ += ["structure", "tensor"]


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
def tensor(coupling: int, kind: int, n: int, Ja: Any, Jb: Any, Jc: Any, rate: float) -> None:
    """Replace the structure of n cells by the diffusion tensor."""
    for j in range(n):
        xx, xy, yy = entries(coupling, j, Ja, Jb, Jc)
        a, b, c = respond(coupling, kind, xx, xy, yy, rate)
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
def fused(
    coupling: int, kind: int, x: Any, t: int, b: int, n: int, k: Any, rate: float,
    across: Any, down: Any, c: int, E: Any, F: Any,
) -> None:  # fmt: skip
    """Structure, tensor and flux in one: for a field that is coupled with no other."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    for j in range(n):
        p, q, r = haar(x, t, b, j)
        xx, xy, yy = measure(coupling, p, q, r, Y, Z, d, dY)
        d11, d12, d22 = respond(coupling, kind, xx, xy, yy, rate)
        P, Q, R = flow(coupling, d11, d12, d22, p, q, r, Y, Z, d, dY, e)
        spread(P, Q, R, j, across, down, c, E, F)


@compiled()
def step_row(x: Any, t: int, y: Any, o: int, n: int, E: Any, F: Any, tau: float) -> None:
    """``y = x - tau K^T flux`` for n pixels."""
    for j in range(n):
        put(y, o + j, fma(tau, at(F, j + 1) - at(E, j), at(x, t + j)))


@compiled()
def divergence_row(y: Any, o: int, n: int, E: Any, F: Any) -> None:
    """``y = K^T flux`` for n pixels."""
    for j in range(n):
        put(y, o + j, at(E, j) - at(F, j + 1))


@compiled()
def load_row(u: Any, source: int, rows: Any, target: int, W: int) -> None:
    """Copy a row and mirror its ends."""
    copy_row(u, source, rows, target + 1, W)
    mirror_ends(rows, target, W)


@compiled()
def copy_row(u: Any, source: int, rows: Any, target: int, n: int) -> None:
    """Copy n pixels."""
    for j in range(n):
        put(rows, target + j, at(u, source + j))


@compiled()
def mix_row(u: Any, source: int, rows: Any, target: int, n: int, mix: float) -> None:
    """``mix`` times the target and ``1 - mix`` times the source, exact where both agree."""
    for j in range(n):
        put(rows, target + j, fma(mix, at(rows, target + j) - at(u, source + j), at(u, source + j)))


@compiled()
def mirror_ends(rows: Any, target: int, W: int) -> None:
    """Set the pixel before the first and after the last."""
    put(rows, target, at(rows, target + 1))
    put(rows, target + W + 1, at(rows, target + W))
