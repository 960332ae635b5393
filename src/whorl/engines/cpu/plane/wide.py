r"""Explicit steps on wide cells, 4x4 pixels: a row of cells at a time, one step after the other.

A row of cells looks at four rows of pixels. They are averaged and differenced along y first, then the three rows that
come of this along x. Fluxes go back the same way, along x first; each row of cells adds its share to four rows of
pixels. Rows have mirrored cells at either end, and above and below the image: fluxes of a mirrored image are mirrored,
so that plain sums of taps and fluxes give the adjoint, with no boundary case and for images of any size.

Filters are multiplied by 16, 24 and 8 (average, derivative, third difference), so that their taps are whole numbers:
details and fluxes are ``UNIT`` times those of ``cells``, and geometry, laws and numbers are those of compact ones.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from torch import Tensor

from whorl.engines.cpu.arithmetic import at, compiled, fma, literal, put, source_stamp, zero
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.plane.by_strips import scale_of
from whorl.engines.cpu.plane.cells import collect, flow, geometry, measure
from whorl.engines.cpu.plane.fields import coefficients, constants, fields_of, kind
from whorl.engines.cpu.plane.rows import tensor, under
from whorl.engines.cpu.plane.smoothing import smoothed
from whorl.engines.cpu.plane.tensors import respond
from whorl.engines.cpu.rows import fluxes, structures
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, fresh, precision, room
from whorl.steps import Form, Numbers

UNIT = 192.0
"""By how much details exceed those of ``cells``, which are twice those of the theory."""

LANE = 1040
"""How far apart lanes of a buffer lie: constant, so that the compiler sees that they never overlap."""

FLUX, J, OWN = 3, 6, 9
"""Lanes of the buffer: three lines of pixels, three fluxes, three entries; then of each plane details and sums."""

_three, _nine, _twelve, _steep = literal(3.0), literal(9.0), literal(12.0), literal(27.0)


def wide_step(
    form: Form, u: Tensor, numbers: Numbers, into: Tensor | None = None, steer: Tensor | None = None
) -> Tensor:
    """The image after one step; ``steer`` is the image that steers it, where that is another one."""
    n, C, H, W = u.shape
    out = fresh(u) if into is None else into
    where = fields_of(form, C, precision(u))
    (weights, factors, rate, unit), real = constants(form, where, numbers), where.taps.dtype
    scale = scale_of(form, float(unit))
    weight = real.type(weights[where.seen[0, 0]] * scale / UNIT**2)
    factor = real.type(-factors[where.moved[0, 0]] / UNIT**2)
    k, k_seen = coefficients(form.flux, form.gamma, precision(u)), coefficients(form.structure, 0.0, precision(u))
    given = k, k_seen, weight, factor, rate / real.type(scale), real.type(1)
    steering = u if steer is None else steer
    gaussian = form.structure.taps[0]
    if any(len(along) > 1 for along in gaussian):
        steering = smoothed(steering, *gaussian)
    pixels, seen, result = flat(u), flat(steering), flat(out)
    members = C if form.couple_channels else 1
    kernel = rows(*kind(form), form.pointwise and steer is None)

    def work(group: int, r0: int, r1: int, c0: int, c1: int) -> None:
        (buffer,) = room(((OWN + 6 * members) * LANE,), real)
        kernel((pixels, seen, result), (group * members * H * W, members, H, W, r0, r1, c0, c1), given, buffer)

    groups, columns = n * C // members, split(W, LANE - 16, 16)
    parts = [(r0, r1, c0, c1) for r0, r1 in bands(H, groups, 16, 16 * members * W) for c0, c1 in columns]
    run(work, [(group, *part) for group in range(groups) for part in parts])
    return out


@cache
def rows(law: int, kind: int, alike: bool) -> Callable[..., int]:
    """The kernel: rows ``r0 <= y < r1``, columns ``c0 <= x < c1`` of coupled planes, from the place ``first`` on.

    ``seen`` steers; where it is the image itself (``alike``) details are found once. ``weight`` is that of a field in
    the structure, ``factor`` that of the flux in the step, less than zero.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(arrays: Any, window: Any, numbers: Any, x: Any) -> int:
        u, seen, out = arrays
        first, members, H, W, r0, r1, c0, c1 = window
        k, k_seen, weight, factor, rate, more = numbers
        cells, k, k_seen = c1 - c0 + 3, geometry(k), geometry(k_seen)
        T = x[J * LANE :], x[(J + 1) * LANE :], x[(J + 2) * LANE :]
        for i in range(r0 - 1, r1 + 2):
            for m in range(members):
                own = (OWN + 6 * m) * LANE
                lines(seen, first + m * H * W, i, H, W, c0, c1, x)
                details(x, cells, own)
                if not (alike and members == 1):
                    structure(law, m == 0, x, own, cells, weight, k_seen, T)
            if not (alike and members == 1):
                tensor(law, kind, cells, T, rate, more)
            for m in range(members):
                plane, own = first + m * H * W, (OWN + 6 * m) * LANE
                if alike and members == 1:
                    flux_alone(law, kind, x, own, cells, k, (weight, rate, more), x, 0)
                else:
                    if not alike:
                        lines(u, plane, i, H, W, c0, c1, x)
                        details(x, cells, own)
                    flux_under(law, kind, x, own, cells, k, T, x, 0)
                # The first three rows of cells complete no pixels.
                source, result, target = plane, x, 0
                if i >= r0 + 2:
                    source = target = plane + (i - 2) * W + c0
                    result = out
                back(x, own + 3 * LANE, c1 - c0, i < r0, u, source, result, target, factor)
        return stamp

    return kernel


@compiled(inside=True)
def average(a: float, b: float, c: float, d: float) -> Any:
    """16 times the average of four pixels in a row."""
    return fma(_nine(a), b + c, -(a + d))


@compiled(inside=True)
def derivative(a: float, b: float, c: float, d: float) -> Any:
    """24 times their derivative; the transpose has the opposite sign."""
    return fma(_steep(a), c - b, -(d - a))


@compiled(inside=True)
def third(a: float, b: float, c: float, d: float) -> Any:
    """8 times their third difference; the transpose has the opposite sign."""
    return fma(-_three(a), c - b, d - a)


@compiled(inside=True)
def passed(x: Any, sums: int, lane: int, a: float, d: float, t: float) -> Any:
    """Add what four rows of pixels receive of a row of cells to their sums, of which the first is then complete.

    They receive it by the transposed average, derivative and third difference.
    """
    far, near, middle = d - t, fma(_steep(d), d, -(_three(t) * t)), _nine(a) * a
    total = at(x, sums) + (far - a)
    put(x, sums, at(x, sums + lane) + (middle - near))
    put(x, sums + lane, at(x, sums + 2 * lane) + (middle + near))
    put(x, sums + 2 * lane, -(far + a))
    return total


AVERAGE, DERIVATIVE, THIRD = range(3)


@compiled()
def along_row(which: int, x: Any, source: int, target: int, n: int, factor: float) -> None:
    """So many times one of the filters along a lane of a buffer, in another lane.

    Pixels are handed on from place to place: the compiler shifts registers, where four loads would straddle lines of
    the caches.
    """
    a, b, c, times = at(x, source), at(x, source + 1), at(x, source + 2), x.dtype.type(factor)
    for j in range(n):
        d = at(x, source + j + 3)
        if which == AVERAGE:
            put(x, target + j, times * average(a, b, c, d))
        elif which == DERIVATIVE:
            put(x, target + j, times * derivative(a, b, c, d))
        else:
            put(x, target + j, times * third(a, b, c, d))
        a, b, c = b, c, d


@compiled()
def filtered(u: Any, a: int, b: int, c: int, d: int, n: int, x: Any, o: int, lane: int) -> None:
    """Average, derivative and third difference of four rows, in three lanes."""
    for j in range(n):
        rows = at(u, a + j), at(u, b + j), at(u, c + j), at(u, d + j)
        put(x, o + j, average(*rows))
        put(x, o + lane + j, derivative(*rows))
        put(x, o + 2 * lane + j, third(*rows))


@compiled()
def mirror_lines(x: Any, o: int, lane: int, W: int, c0: int, c1: int) -> None:
    """Set the pixels of three lanes that lie beyond the border; pixel ``c0 - 3`` is the first."""
    for line in range(o, o + 3 * lane, lane):
        for i in range(3):
            if c0 - 3 + i < 0:
                put(x, line + i, at(x, line + mirrored(c0 - 3 + i, W) - c0 + 3))
            if c1 + i >= W:
                put(x, line + c1 - c0 + 3 + i, at(x, line + mirrored(c1 + i, W) - c0 + 3))


@compiled()
def lines(u: Any, plane: int, i: int, H: int, W: int, c0: int, c1: int, x: Any) -> None:
    """The four rows of pixels of row i of cells, filtered along y."""
    left, right = max(0, c0 - 3), min(W, c1 + 3)
    a, b = plane + mirrored(i - 2, H) * W + left, plane + mirrored(i - 1, H) * W + left
    c, d = plane + mirrored(i, H) * W + left, plane + mirrored(i + 1, H) * W + left
    filtered(u, a, b, c, d, right - left, x, left - c0 + 3, LANE)
    mirror_lines(x, 0, LANE, W, c0, c1)


@compiled()
def details(x: Any, n: int, own: int) -> None:
    """The details p, q, r of n cells; cell j has the pixels j .. j + 3 of the lines."""
    along_row(DERIVATIVE, x, 0, own, n, 1.0)
    along_row(AVERAGE, x, LANE, own + LANE, n, 1.0)
    along_row(THIRD, x, 2 * LANE, own + 2 * LANE, n, 12.0)


@compiled(inside=True)
def found(x: Any, own: int, j: int) -> Any:
    """The details of cell j, which lie in three lanes."""
    return at(x, own + j), at(x, own + LANE + j), at(x, own + 2 * LANE + j)


@compiled(inside=True)
def alone(law: int, kind: int, j: int, cell: Any, k: Any, by: Any) -> Any:
    """The tensor of a field that is coupled with no other and steers itself."""
    (w, rate, more), (xx, xy, yy) = by, measure(law, cell, k)
    return respond(law, kind, (w * xx, w * xy, w * yy), rate, more)


@compiled(inside=True)
def keep_flux(flux: Any, j: int, x: Any, c: int) -> None:
    """Set the fluxes of cell j."""
    P, Q, R = flux
    put(x, FLUX * LANE + c + j, P)
    put(x, (FLUX + 1) * LANE + c + j, Q)
    put(x, (FLUX + 2) * LANE + c + j, _twelve(R) * R)


structure = structures(found, measure, collect)
flux_under, flux_alone = (fluxes(found, each, flow, keep_flux) for each in (under, alone))


@compiled()
def back(x: Any, sums: int, W: int, start: bool, u: Any, source: int, out: Any, target: int, factor: float) -> None:
    """Add the fluxes of a row of cells to the sums of four rows of pixels, of which the first is then complete."""
    if start:
        for j in range(3 * LANE):
            put(x, sums + j, zero(factor))
    P, Q, R = FLUX * LANE, (FLUX + 1) * LANE, (FLUX + 2) * LANE
    p0, p1, p2, q0, q1, q2 = at(x, P), at(x, P + 1), at(x, P + 2), at(x, Q), at(x, Q + 1), at(x, Q + 2)
    r0, r1, r2 = at(x, R), at(x, R + 1), at(x, R + 2)
    for j in range(W):
        p3, q3, r3 = at(x, P + j + 3), at(x, Q + j + 3), at(x, R + j + 3)
        a, d, t = -derivative(p0, p1, p2, p3), average(q0, q1, q2, q3), -third(r0, r1, r2, r3)
        p0, p1, p2, q0, q1, q2, r0, r1, r2 = p1, p2, p3, q1, q2, q3, r1, r2, r3
        put(out, target + j, fma(factor, passed(x, sums + j, LANE, a, d, t), at(u, source + j)))
