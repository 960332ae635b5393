r"""One explicit step of fourth order, :math:`u - \tau\, K^* g(|K u|^2)\, K u`, in one pass over the picture.

:math:`K` is the Laplacian or the Hessian; see :mod:`whorl.operators`. Rows of the picture come in one after the other,
and of everything in between only four rows are kept, in the caches. All differences are taken to the pixel in the
middle and added so that a quarter turn or a mirror image gives the same bits.

Beyond its border the picture is mirrored. The derivatives of a mirrored picture are the mirrored derivatives, so they
are computed for some pixels beyond the border like all others, and the transposed operator needs no special case there.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, literal, put, two
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate, value
from whorl.engines.cpu.plane.rows import load_row
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, fresh, room
from whorl.steps import Form, Numbers

WIDEST = 1024
"""Columns of a strip, so that all rows that are kept fit into a usual second-level cache."""

SHORTEST = 64
"""Rows of a band: up to eight more are read at either end."""

RING, LINE = 4, 16
"""Rows that are kept, and pixels by which rows begin after the one before has ended."""

_twelfth = literal(1 / 12)


def by_second_derivatives(form: Form, u: Tensor, numbers: Numbers, into: Tensor | None = None) -> Tensor:
    """The images after one step, channel by channel."""
    n, C, H, W = u.shape
    out = fresh(u) if into is None else into
    source, result, hessian = flat(u), flat(out), form.flux.name == "hessian"
    real, (h_y, h_x) = source.dtype.type, form.flux.spacing
    kernel, strips = sweep(hessian, KINDS[form.diffusivity]), split(W, WIDEST, LINE)
    pitch = -(-(strips[-1][1] - strips[-1][0]) // LINE) * LINE + 2 * LINE
    tau, contrast, (beta,), (seen,) = numbers
    front = real(tau * amplitude(form.diffusivity, contrast)[0] * form.omega[0] * beta**2)
    # Derivatives are measured in units of the contrast, so that their squares keep in range.
    unit, inside = abs(seen) * math.sqrt(form.inside[0]) / contrast, real(rate(form.diffusivity, 1.0))
    mixed = 1 / (4 * h_x * h_y) if hessian else form.flux.alpha / 2 * (h_x**-2 + h_y**-2)
    k = np.array([h_x**-2, h_y**-2, mixed, unit], source.dtype)

    def work(plane: int, y0: int, y1: int, x0: int, x1: int) -> None:
        rows = tuple(room((RING * pitch,) * 6, source.dtype))
        kernel(source, result, plane * H * W, (H, W, y0, y1, x0, x1, pitch), k, inside, front, rows)

    cut = bands(H, n * C * len(strips), SHORTEST, W)
    run(work, [(plane, *band, *strip) for plane in range(n * C) for band in cut for strip in strips])
    return out


@compiled(inside=True)
def bends(x: Any, place: Any, j: int) -> Any:
    """Second differences of pixel j along x, along y, and along both axes one after the other."""
    above, here, below = place[0] + j, place[1] + j, place[2] + j
    u = at(x, here)
    X, Y = (at(x, here - 1) - u) + (at(x, here + 1) - u), (at(x, above) - u) + (at(x, below) - u)
    down, up = (at(x, above - 1) - u) + (at(x, below + 1) - u), (at(x, above + 1) - u) + (at(x, below - 1) - u)
    return X, Y, (down + up) - two(u) * (X + Y)


@compiled(inside=True)
def smooth_mixed(x: Any, place: Any, j: int) -> Any:
    """Mixed differences less a twelfth of their bend along both axes."""
    above, here, below = place[0] + j, place[1] + j, place[2] + j
    m = at(x, here)
    bend = ((at(x, here - 1) - m) + (at(x, here + 1) - m)) + ((at(x, above) - m) + (at(x, below) - m))
    return m - _twelfth(m) * bend


@compiled()
def mixed_row(x: Any, place: Any, into: Any, n: int) -> None:
    """Differences along x and along y over two pixels each."""
    above, here, below = place
    for j in range(n):
        u, t, b = at(x, here + j), above + j, below + j
        down, up = (at(x, t - 1) - u) + (at(x, b + 1) - u), (at(x, t + 1) - u) + (at(x, b - 1) - u)
        put(into, here + j, down - up)


@compiled()
def laplacian_flux(kind: int, x: Any, place: Any, k: Any, rate: float, into: Any, n: int) -> None:
    """The Laplacian times the diffusivity of its square."""
    k_x, k_y, k_xy, unit = at(k, 0), at(k, 1), at(k, 2), at(k, 3)
    for j in range(n):
        X, Y, B = bends(x, place, j)
        L = (k_x * X + k_y * Y) + k_xy * B
        s = L * unit
        put(into, place[1] + j, value(kind, s * s, rate) * L)


@compiled()
def laplacian_step(x: Any, place: Any, k: Any, tau: float, u: Any, out: Any, target: int, n: int) -> None:
    """A row of the picture minus the Laplacian of the flux."""
    k_x, k_y, k_xy = at(k, 0), at(k, 1), at(k, 2)
    for j in range(n):
        X, Y, B = bends(x, place, j)
        put(out, target + j, at(u, target + j) - tau * ((k_x * X + k_y * Y) + k_xy * B))


@compiled()
def hessian_flux(kind: int, rows: Any, place: Any, k: Any, rate: float, n: int) -> None:
    """The entries of the Hessian times the diffusivity of its squared norm, ready for the transposed operator."""
    picture, xx, yy, xy, mixed, _ = rows
    k_x, k_y, k_xy, unit = at(k, 0), at(k, 1), at(k, 2), at(k, 3)
    for j in range(n):
        X, Y, B = bends(picture, place, j)
        bend = _twelfth(B) * B
        A, C, M = k_x * (X + bend), k_y * (Y + bend), k_xy * smooth_mixed(mixed, place, j)
        p, q, r = A * unit, C * unit, M * unit
        g = value(kind, (p * p + q * q) + two(r) * (r * r), rate)
        put(xx, place[1] + j, g * (k_x * A))
        put(yy, place[1] + j, g * (k_y * C))
        put(xy, place[1] + j, g * (two(M) * (k_xy * M)))


@compiled()
def hessian_step(rows: Any, place: Any, tau: float, u: Any, out: Any, target: int, n: int) -> None:
    """A row of the picture minus the transposed Hessian of the fluxes."""
    _, xx, yy, _, _, back = rows
    for j in range(n):
        X, _, B = bends(xx, place, j)
        _, Y, D = bends(yy, place, j)
        change = ((X + Y) + _twelfth(B) * (B + D)) + smooth_mixed(back, place, j)
        put(out, target + j, at(u, target + j) - tau * change)


@compiled(inside=True)
def _three(y: int, pitch: int, before: int) -> tuple[int, int, int]:
    """Where the kept rows above, at and below y begin, so many pixels before their first."""
    start = LINE - before
    return (y - 1) % RING * pitch + start, y % RING * pitch + start, (y + 1) % RING * pitch + start


@cache
def sweep(hessian: bool, kind: int) -> Callable[..., int]:
    """The kernel that writes a window of the picture after a step.

    Of an ``H x W`` picture it writes rows ``y0 <= y < y1`` and columns ``x0 <= x < x1``; kept rows are ``pitch`` apart:
    those of the picture, of its derivatives times the diffusivity, and of mixed differences of both.
    """
    stamp, reach = source_stamp(), 4 if hessian else 2

    @compiled(cache=True)
    def kernel(u: Any, out: Any, base: int, where: Any, k: Any, rate: float, tau: float, rows: Any) -> int:
        H, W, y0, y1, x0, x1, pitch = where
        picture, xx, _, xy, mixed, back = rows
        n, first = x1 - x0, y0 - reach
        for y in range(first, y1 + reach):
            load_row(u, base, H, W, y, x0 - reach, picture, y % RING * pitch + LINE - reach, n + 2 * reach)
            # With this row all differences of the row before are complete, and so on: a new row at every stage.
            place = base + (y - reach) * W + x0
            if hessian:
                if y >= first + 2:
                    mixed_row(picture, _three(y - 1, pitch, 3), mixed, n + 6)
                if y >= first + 4:
                    hessian_flux(kind, rows, _three(y - 2, pitch, 2), k, rate, n + 4)
                if y >= first + 6:
                    mixed_row(xy, _three(y - 3, pitch, 1), back, n + 2)
                if y >= first + 8:
                    hessian_step(rows, _three(y - 4, pitch, 0), tau, u, out, place, n)
            else:
                if y >= first + 2:
                    laplacian_flux(kind, picture, _three(y - 1, pitch, 1), k, rate, xx, n + 2)
                if y >= first + 4:
                    laplacian_step(xx, _three(y - 2, pitch, 0), k, tau, u, out, place, n)
        return stamp

    return kernel
