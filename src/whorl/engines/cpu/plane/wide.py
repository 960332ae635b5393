r"""Explicit steps on wide cells, 4x4 pixels: a row of cells at a time, one step after the other.

A row of cells looks at four rows of pixels. They are averaged and differenced along y first, then the three rows that
come of this along x. Fluxes go back the same way, along x first; each row of cells adds its share to four rows of
pixels. Rows have mirrored cells at either end, and above and below the image: fluxes of a mirrored image are mirrored,
so that plain sums of taps and fluxes give the adjoint, with no boundary case and for images of any size.

Three loops go along a row: details and their structure, the tensor, fluxes and pixels. A number takes long from details
to pixels, and one loop for all would wait for it.

Filters are multiplied by 16, 24 and 8 (average, derivative, third difference), so that their taps are whole numbers:
details and fluxes are ``UNIT`` times those of ``cells``, and geometry, laws and numbers are those of compact ones.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from torch import Tensor

from whorl.engines.cpu.arithmetic import at, expect, fma, literal, one, put, zero
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.laws import ANISOTROPIC, ISOTROPIC
from whorl.engines.cpu.plane.by_strips import scale_of
from whorl.engines.cpu.plane.cells import flow, geometry, measure
from whorl.engines.cpu.plane.fields import coefficients, constants, fields_of, kind
from whorl.engines.cpu.plane.rows import load_row
from whorl.engines.cpu.plane.smoothing import smoothed
from whorl.engines.cpu.plane.tensors import respond
from whorl.engines.cpu.threads import batches, run, split
from whorl.engines.cpu.workspace import flat, precision, room
from whorl.steps import Form, Numbers

UNIT = 192.0
"""By how much details exceed those of ``cells``, which are twice those of the theory."""

LANE, WIDEST, FULL = 1104, 1024, 16
"""How far apart lanes of a buffer lie: constant, so that the compiler sees that they never overlap. Loops over cells go
on to a multiple of ``FULL``, in lanes that are filled with zeros first: single cells at the end would take longer."""

BEFORE, FIRST = 10, 13
"""Places in lanes of the first pixel and of the first cell: pixels that are completed start a line of the caches."""

MEMBER, EACH = 3, 14
"""Lanes of the buffer: three entries of the tensor, then ``EACH`` for each plane: four rows of pixels, four of what
steers, three details, three sums."""

PARTS = 8
"""Many images stay at least so many parts, for threads."""

STEERING, OWN, SUMS = 4 * LANE, 8 * LANE, 11 * LANE

_three, _nine, _twelve, _steep = literal(3.0), literal(9.0), literal(12.0), literal(27.0)


def wide_steps(form: Form, u: Tensor, steer: Tensor | None = None) -> Callable[[Tensor, Numbers, Tensor], Tensor]:
    """What takes a step on images like u, by its numbers, into a tensor that it returns.

    ``steer`` is the image that steers all steps, where that is another one.
    """
    n, C, H, W = u.shape
    where, gaussian = fields_of(form, C, precision(u)), form.structure.taps[0]
    k, k_seen = coefficients(form.flux, form.gamma, precision(u)), coefficients(form.structure, 0.0, precision(u))
    real, smooth = where.taps.dtype, any(len(along) > 1 for along in gaussian)
    seen = None if steer is None else flat(smoothed(steer, *gaussian) if smooth else steer)
    members = C if form.couple_channels else 1
    kernel = rows(*kind(form), form.pointwise and steer is None)
    columns, groups, pitch = split(W, WIDEST, 16), n * C // members, -(-(W + 6) // FULL) * FULL
    abreast = max(1, min(WIDEST // pitch, groups // PARTS))
    parts = batches(H, -(-groups // abreast), 16, 16 * members * W * abreast)
    tasks = [(*part, *cut) for part in parts for cut in columns]

    @cache
    def given(numbers: Numbers) -> tuple[Any, ...]:
        weights, factors, rate, unit = constants(form, where, numbers)
        scale = scale_of(form, float(unit))
        weight = real.type(weights[where.seen[0, 0]] * scale / UNIT**2)
        factor = real.type(-factors[where.moved[0, 0]] / UNIT**2)
        return k, k_seen, weight, factor, rate / real.type(scale), real.type(1)

    def take(u: Tensor, numbers: Numbers, into: Tensor) -> Tensor:
        steering = flat(smoothed(u, *gaussian) if smooth else u) if seen is None else seen
        arrays, numbers_ = (flat(u), steering, flat(into)), given(numbers)

        def work(part: range, *window: int) -> None:
            (buffer,) = room(((MEMBER + EACH * members) * LANE,), real)
            some = part.start * abreast, min(part.stop * abreast, groups), abreast, pitch
            kernel(arrays, (*some, members, H, W, *window), numbers_, buffer)

        run(work, tasks)
        return into

    return take


@cache
def rows(law: int, kind: int, alike: bool) -> Callable[..., int]:
    """The kernel: rows ``r0 <= y < r1``, columns ``c0 <= x < c1`` of some groups of coupled planes.

    Narrow images go ``abreast``, their rows side by side in the lanes; cells between two images are never looked at.

    ``seen`` steers; where it is the image itself (``alike``) details are found once. ``weight`` is that of a field in
    the structure, ``factor`` that of the flux in the step, less than zero.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(arrays: Any, window: Any, numbers: Any, x: Any) -> int:
        u, seen, out = arrays
        begin, end, abreast, pitch, members, H, W, r0, r1, c0, c1 = window
        k, k_seen, weight, factor, rate, more = numbers
        n, k, k_seen = c1 - c0, geometry(k), geometry(k_seen)
        image = members * H * W
        for j in range(x.shape[0]):
            put(x, j, zero(factor))
        for group in range(begin, end, abreast):
            first, count = group * image, min(abreast, end - group)
            cells = -(-(pitch * (count - 1) + n + FULL) // FULL) * FULL
            for i in range(r0 - 3, r1 + 3):
                # Row i of pixels arrives; cells lie between the rows i - 3 to i.
                for m in range(members):
                    plane, lane = first + m * H * W, (MEMBER + EACH * m) * LANE + i % 4 * LANE + BEFORE
                    for _ in range(count):
                        expect_row(u, plane + (i + 2) * W + c0, n)
                        expect_row(out, plane + (i - 1) * W + c0, n)
                        load_row(u, plane, H, W, i, c0 - 3, x, lane, n + 6)
                        if not alike:
                            load_row(seen, plane, H, W, i, c0 - 3, x, lane + STEERING, n + 6)
                        plane, lane = plane + image, lane + pitch
                if i < r0:
                    continue
                for m in range(members):
                    lane = (MEMBER + EACH * m) * LANE
                    place = around(lane if alike else lane + STEERING, i)
                    details(True, law, m == 0, x, place, lane + OWN, cells, weight, k_seen)
                tensor(law, kind, cells, x, rate, more)
                for m in range(members):
                    lane = (MEMBER + EACH * m) * LANE
                    if not alike:
                        details(False, law, True, x, around(lane, i), lane + OWN, cells, weight, k_seen)
                    # The first three rows of cells complete no pixels: their place is overwritten.
                    place = first + (m * H + max(i - 3, r0)) * W + c0
                    for side in range(count):
                        back(law, x, side * pitch, lane, n, k, u, out, place + side * image, factor)
        return stamp

    return kernel


@compiled(inside=True)
def expect_row(u: Any, place: int, n: int) -> None:
    """Tell the processor that n pixels of a row will be read, or written, soon."""
    for j in range(0, n, FULL):
        expect(u, place + j)


@compiled(inside=True)
def around(lane: int, i: int) -> Any:
    """Where the four rows of pixels up to row i begin."""
    return lane + (i - 3) % 4 * LANE, lane + (i - 2) % 4 * LANE, lane + (i - 1) % 4 * LANE, lane + i % 4 * LANE


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


@compiled(inside=True)
def column(x: Any, place: Any, j: int) -> Any:
    """Average, derivative and third difference of column j of four rows."""
    a, b, c, d = at(x, place[0] + j), at(x, place[1] + j), at(x, place[2] + j), at(x, place[3] + j)
    return average(a, b, c, d), derivative(a, b, c, d), third(a, b, c, d)


@compiled(inside=True)
def between(first: Any, second: Any, third_: Any, fourth: Any) -> Any:
    """The details (p, q, r) of the cell of four columns."""
    (a0, d0, t0), (a1, d1, t1), (a2, d2, t2), (a3, d3, t3) = first, second, third_, fourth
    return derivative(a0, a1, a2, a3), average(d0, d1, d2, d3), _twelve(t0) * third(t0, t1, t2, t3)


@compiled()
def details(
    structured: bool, law: int, first: bool, x: Any, place: Any, own: int, n: int, w: float, k: Any
) -> None:  # fmt: skip
    """The details of n cells, in three lanes; if ``structured``, w times their structure is added to the tensor."""
    o = zero(w)
    early, middle, late = (o, o, o), (o, o, o), (o, o, o)
    for j in range(n):
        last = column(x, place, j)
        cell = between(early, middle, late, last)
        early, middle, late = middle, late, last
        keep(x, own, j, cell)
        if structured:
            collect(law, first, j, x, w, measure(law, cell, k))


@compiled(inside=True)
def keep(x: Any, own: int, j: int, three: Any) -> None:
    """Set the details or the fluxes of cell j."""
    put(x, own + j, three[0])
    put(x, own + LANE + j, three[1])
    put(x, own + 2 * LANE + j, three[2])


@compiled(inside=True)
def found(x: Any, own: int, j: int) -> Any:
    """The details of cell j, which lie in three lanes."""
    return at(x, own + j), at(x, own + LANE + j), at(x, own + 2 * LANE + j)


@compiled(inside=True)
def entries(law: int, j: int, x: Any) -> Any:
    """The tensor of cell j in the first lanes of the buffer, which is one array: references to more take time."""
    a = at(x, j)
    if law == ISOTROPIC:
        return a, zero(a), a
    return a, at(x, LANE + j) if law >= ANISOTROPIC else zero(a), at(x, 2 * LANE + j)


@compiled(inside=True)
def collect(law: int, first: bool, j: int, x: Any, w: float, tensor: Any) -> None:
    """Add w times the entries to those of cell j; the first field overwrites."""
    (a, b, c), (A, B, C) = tensor, entries(law, j, x)
    put(x, j, w * a if first else fma(w, a, A))
    if law >= ANISOTROPIC:
        put(x, LANE + j, w * b if first else fma(w, b, B))
    if law != ISOTROPIC:
        put(x, 2 * LANE + j, w * c if first else fma(w, c, C))


@compiled()
def tensor(law: int, kind: int, n: int, x: Any, rate: float, more: float) -> None:
    """Replace the structure of n cells by the diffusion tensor."""
    for j in range(n):
        D = respond(law, kind, entries(law, j, x), rate, more)
        collect(law, True, j, x, one(rate), D)


@compiled(inside=True)
def flux(law: int, x: Any, own: int, j: int, k: Any) -> Any:
    """The flux of cell j, whose details are at hand."""
    P, Q, R = flow(law, entries(law, j, x), found(x, own, j), k)
    return P, Q, _twelve(R) * R


@compiled()
def back(
    law: int, x: Any, start: int, lane: int, n: int, k: Any, u: Any, out: Any, place: int, factor: float
) -> None:  # fmt: skip
    """Add the fluxes of a row of cells to the sums of four rows of pixels, and complete the first of them."""
    own, sums, cell = lane + OWN, lane + SUMS + start, start + FIRST
    p0, q0, r0 = flux(law, x, own, cell, k)
    p1, q1, r1 = flux(law, x, own, cell + 1, k)
    p2, q2, r2 = flux(law, x, own, cell + 2, k)
    for j in range(n):
        p3, q3, r3 = flux(law, x, own, cell + 3 + j, k)
        a, d, t = -derivative(p0, p1, p2, p3), average(q0, q1, q2, q3), -third(r0, r1, r2, r3)
        p0, p1, p2, q0, q1, q2, r0, r1, r2 = p1, p2, p3, q1, q2, q3, r1, r2, r3
        put(out, place + j, fma(factor, passed(x, sums + j, LANE, a, d, t), at(u, place + j)))
