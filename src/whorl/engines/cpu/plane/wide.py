r"""Explicit steps on wide cells, 4x4 pixels: a row of cells at a time, one step after the other.

A row of cells looks at four rows of pixels. They are averaged and differenced along y first, then the three rows that
come of this along x. Fluxes go back the same way, along x first; four rows of them complete a row of pixels. Rows have
mirrored cells at either end, and above and below the image: fluxes of a mirrored image are mirrored, so that plain
sums of taps and fluxes give the adjoint, with no boundary case and for images of any size.

As in ``cells``, p, q and r are twice those of the theory, so that geometry, laws and numbers are those of compact ones.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from torch import Tensor

from whorl.engines.cpu.arithmetic import at, compiled, fma, put, source_stamp
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.plane.by_strips import scale_of
from whorl.engines.cpu.plane.cells import collect, entries, flow, measure
from whorl.engines.cpu.plane.fields import coefficients, constants, fields_of, kind
from whorl.engines.cpu.plane.rows import tensor
from whorl.engines.cpu.plane.smoothing import smoothed
from whorl.engines.cpu.threads import bands, run
from whorl.engines.cpu.workspace import flat, fresh, precision
from whorl.steps import Form, Numbers

__all__ = ["wide_step"]

TAPS = (27 / 24, 1 / 24, 9 / 16, 1 / 16, 3 / 8, 1 / 8)
"""Near and far taps of derivative, average and third difference; see :mod:`whorl.operators.wide`."""


def wide_step(
    form: Form, u: Tensor, numbers: Numbers, into: Tensor | None = None, steer: Tensor | None = None
) -> Tensor:
    """The image after one step; ``steer`` is the image that steers it, where that is another one."""
    n, C, H, W = u.shape
    out = fresh(u) if into is None else into
    where = fields_of(form, C, precision(u))
    (weights, factors, rate, unit), real = constants(form, where, numbers), where.taps.dtype
    scale = real.type(scale_of(form, float(unit)))
    weight, factor = weights[where.seen[0, 0]] * scale, factors[where.moved[0, 0]]
    taps = np.array(TAPS, real)
    k, k_seen = coefficients(form.flux, form.gamma, precision(u)), coefficients(form.structure, 0.0, precision(u))
    steering = u if steer is None else steer
    gaussian = form.structure.taps[0]
    if any(len(along) > 1 for along in gaussian):
        steering = smoothed(steering, *gaussian)
    pixels, seen, result = flat(u), flat(steering), flat(out)
    alike = form.pointwise and steer is None
    members = C if form.couple_channels else 1
    kernel = rows(*kind(form))

    def work(group: int, r0: int, r1: int) -> None:
        first = group * members * H * W
        kernel(
            pixels, seen, result, alike, first, members, H, W, r0, r1, k, k_seen, weight, factor, rate / scale,
            real.type(1), taps,
        )  # fmt: skip

    groups = n * C // members
    run(work, [(group, r0, r1) for group in range(groups) for r0, r1 in bands(H, groups, 16, 16 * members * W)])
    return out


@cache
def rows(coupling: int, law: int) -> Callable[..., int]:
    """The kernel: rows ``r0 <= y < r1`` of so many coupled planes, from the place ``first`` on.

    ``seen`` steers; where it is the image itself (``alike``) details are found once. ``weight`` is that of a field in
    the structure, ``factor`` that of the flux in the step.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(
        u: Any, seen: Any, out: Any, alike: bool, first: int, members: int, H: int, W: int, r0: int, r1: int,
        k: Any, k_seen: Any, weight: float, factor: float, rate: float, more: float, taps: Any,
    ) -> int:  # fmt: skip
        cells, pitch = W + 3, W + 6
        Ja, Jb, Jc = np.empty(cells, u.dtype), np.empty(cells, u.dtype), np.empty(cells, u.dtype)
        lines, details = np.empty(3 * pitch, u.dtype), np.empty(members * 3 * cells, u.dtype)
        flux = np.empty(3 * cells, u.dtype)
        back = np.empty(members * 12 * W, u.dtype)  # of each plane four rows, of each row three sums
        for i in range(r0 - 1, r1 + 2):
            for m in range(members):
                plane, place = first + m * H * W, (m * 3 * cells if alike else 0)
                details_row(seen, plane, i, H, W, taps, lines, details, place)
                structure_row(coupling, m == 0, details, place, cells, weight, k_seen, Ja, Jb, Jc)
            tensor(coupling, law, cells, Ja, Jb, Jc, rate, more)
            for m in range(members):
                plane, place = first + m * H * W, (m * 3 * cells if alike else 0)
                if not alike:
                    details_row(u, plane, i, H, W, taps, lines, details, place)
                flux_row(coupling, details, place, cells, Ja, Jb, Jc, k, flux)
                back_row(flux, cells, W, taps, back, (4 * m + (i + 1) % 4) * 3 * W)
                if i - 2 >= r0:
                    sum_rows(u, out, plane + (i - 2) * W, W, back, 12 * m * W, i, taps, factor)
        return stamp

    return kernel


@compiled()
def details_row(
    u: Any, plane: int, i: int, H: int, W: int, taps: Any, lines: Any, details: Any, place: int
) -> None:  # fmt: skip
    """The details p, q, r of the cells of row i, one after the other; cell j has the pixels j - 3 .. j."""
    d0, d1, a0, a1, e0, e1 = at(taps, 0), at(taps, 1), at(taps, 2), at(taps, 3), at(taps, 4), at(taps, 5)
    pitch, cells = W + 6, W + 3
    o0, o1 = plane + mirrored(i - 2, H) * W, plane + mirrored(i - 1, H) * W
    o2, o3 = plane + mirrored(i, H) * W, plane + mirrored(i + 1, H) * W
    for j in range(W):
        far0, near0, near1, far1 = at(u, o0 + j), at(u, o1 + j), at(u, o2 + j), at(u, o3 + j)
        near, far = near1 - near0, far1 - far0
        put(lines, 3 + j, fma(a0, near0 + near1, -a1 * (far0 + far1)))
        put(lines, pitch + 3 + j, fma(d0, near, -d1 * far))
        put(lines, 2 * pitch + 3 + j, fma(e1, far, -e0 * near))
    for line in range(3):
        for j in range(3):
            put(lines, line * pitch + j, at(lines, line * pitch + 3 + mirrored(j - 3, W)))
            put(lines, line * pitch + W + 3 + j, at(lines, line * pitch + 3 + mirrored(W + j, W)))
    for j in range(cells):
        near, far = at(lines, j + 2) - at(lines, j + 1), at(lines, j + 3) - at(lines, j)
        p = fma(d0, near, -d1 * far)
        j1, j2 = j + pitch, j + 2 * pitch
        q = fma(a0, at(lines, j1 + 1) + at(lines, j1 + 2), -a1 * (at(lines, j1) + at(lines, j1 + 3)))
        near, far = at(lines, j2 + 2) - at(lines, j2 + 1), at(lines, j2 + 3) - at(lines, j2)
        r = fma(e1, far, -e0 * near)
        put(details, place + j, p + p)
        put(details, place + cells + j, q + q)
        put(details, place + 2 * cells + j, (r + r) + (r + r))


@compiled()
def structure_row(
    coupling: int, first: bool, details: Any, place: int, n: int, w: float, k: Any, Ja: Any, Jb: Any, Jc: Any
) -> None:  # fmt: skip
    """Add w times the structure of one field to J; the first field overwrites."""
    Y, Z, d, dY = at(k, 0), at(k, 1), at(k, 2), at(k, 3)
    for j in range(n):
        p, q, r = at(details, place + j), at(details, place + n + j), at(details, place + 2 * n + j)
        xx, xy, yy = measure(coupling, p, q, r, Y, Z, d, dY)
        collect(coupling, first, j, Ja, Jb, Jc, w, xx, xy, yy)


@compiled()
def flux_row(
    coupling: int, details: Any, place: int, n: int, A: Any, B: Any, C: Any, k: Any, flux: Any
) -> None:  # fmt: skip
    """The fluxes of the details under the tensor."""
    Y, Z, d, dY, e = at(k, 0), at(k, 1), at(k, 2), at(k, 3), at(k, 4)
    for j in range(n):
        p, q, r = at(details, place + j), at(details, place + n + j), at(details, place + 2 * n + j)
        a, b, c = entries(coupling, j, A, B, C)
        P, Q, R = flow(coupling, a, b, c, p, q, r, Y, Z, d, dY, e)
        put(flux, j, P + P)
        put(flux, n + j, Q + Q)
        put(flux, 2 * n + j, (R + R) + (R + R))


@compiled()
def back_row(flux: Any, n: int, W: int, taps: Any, back: Any, place: int) -> None:
    """The fluxes of a row of cells as sums for the pixels, along x; pixel j lies in the cells j .. j + 3."""
    d0, d1, a0, a1, e0, e1 = at(taps, 0), at(taps, 1), at(taps, 2), at(taps, 3), at(taps, 4), at(taps, 5)
    for j in range(W):
        near, far = at(flux, j + 1) - at(flux, j + 2), at(flux, j) - at(flux, j + 3)
        put(back, place + j, fma(d0, near, -d1 * far))
        k = n + j
        put(back, place + W + j, fma(a0, at(flux, k + 1) + at(flux, k + 2), -a1 * (at(flux, k) + at(flux, k + 3))))
        k = 2 * n + j
        near, far = at(flux, k + 1) - at(flux, k + 2), at(flux, k) - at(flux, k + 3)
        put(back, place + 2 * W + j, fma(e1, far, -e0 * near))


@compiled()
def sum_rows(
    u: Any, out: Any, pixel: int, W: int, back: Any, place: int, i: int, taps: Any, factor: float
) -> None:  # fmt: skip
    """The row of pixels that row i of cells completes: the sums of four rows along y, taken off the image."""
    d0, d1, a0, a1, e0, e1 = at(taps, 0), at(taps, 1), at(taps, 2), at(taps, 3), at(taps, 4), at(taps, 5)
    o0, o1 = place + (i - 2) % 4 * 3 * W, place + (i - 1) % 4 * 3 * W
    o2, o3 = place + i % 4 * 3 * W, place + (i + 1) % 4 * 3 * W
    for j in range(W):
        p = fma(a0, at(back, o1 + j) + at(back, o2 + j), -a1 * (at(back, o0 + j) + at(back, o3 + j)))
        k = W + j
        q = fma(d0, at(back, o1 + k) - at(back, o2 + k), -d1 * (at(back, o0 + k) - at(back, o3 + k)))
        k = 2 * W + j
        r = fma(e1, at(back, o0 + k) - at(back, o3 + k), -e0 * (at(back, o1 + k) - at(back, o2 + k)))
        put(out, pixel + j, fma(-factor, p + (q + r), at(u, pixel + j)))
