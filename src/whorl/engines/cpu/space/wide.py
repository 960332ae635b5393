r"""Explicit steps on wide cells in space, 4x4x4 voxels: a row of cells at a time, layer after layer.

A layer of cells looks at four planes of voxels, which are filtered along z first; then four rows of what comes of this
along y, and along x at last, as in the plane. Fluxes go back the same way, along x first: each row of cells adds its
share to four rows of voxels, and each complete row to four planes. Layers, rows and cells beyond the border are those
of the mirrored volume, so that there is no boundary case.

Filters have whole numbers for taps, as in the plane; details and fluxes are ``UNIT`` times those of the theory.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from torch import Tensor

from whorl.engines.cpu.arithmetic import at, fma, one, put, zero
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.plane.fields import kind
from whorl.engines.cpu.plane.smoothing import smoothed
from whorl.engines.cpu.plane.wide import average, derivative, passed, third
from whorl.engines.cpu.rows import fluxes, structures
from whorl.engines.cpu.space.cells import LANE, collect, flow, measure
from whorl.engines.cpu.space.rows import tensor, under
from whorl.engines.cpu.space.volumes import constants
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, fresh, room
from whorl.steps import Form

UNIT = 6144.0
"""24 times 16 times 16."""

FLUX, BACK, TENSOR, OWN, EACH = 9, 16, 23, 29, 16
"""Lanes of the buffer: nine lines of voxels, seven fluxes, in whose place the structure is gathered, seven lines
that go back, and the tensor; then of each field seven details and the sums of nine rows."""

ROWS, WIDEST = 48, LANE - 16
"""The most rows and columns of a window: its lines and sums, three planes each, stay in the caches."""


def wide_volume_step(
    form: Form, u: Tensor, numbers: tuple[float, float], steer: Tensor | None = None, into: Tensor | None = None
) -> Tensor:
    """The volume after one step of this size and contrast; ``steer`` steers it, where that is another one."""
    n, C, D, H, W = u.shape
    out = fresh(u) if into is None else into
    steering, gaussian = u if steer is None else steer, form.structure.taps[0]
    if any(len(along) > 1 for along in gaussian):
        # Along z as the rows of a picture, then plane by plane.
        steering = smoothed(steering.reshape(n, C, D, H * W), gaussian[0], (1.0,))
        steering = smoothed(steering.view(n, C * D, H, W), gaussian[1], gaussian[2])
    voxels, seen, result = flat(u), flat(steering), flat(out)
    alike, members, real = form.pointwise and steer is None, C if form.couple_channels else 1, flat(u).dtype
    size, *of_kernel = constants(form, numbers, real, (UNIT * form.flux.spacing[2]) ** -2)
    kernel = layers(*kind(form), alike)

    def work(first: int, z0: int, z1: int, r0: int, r1: int, c0: int, c1: int) -> None:
        planes = members * 3 * (r1 - r0 + 6) * LANE
        x, lines, more, sums = room(((OWN + EACH * members) * LANE, planes, 0 if alike else planes, planes), real)
        window, rooms = (first, members, D, H, W, z0, z1, r0, r1, c0, c1), (x, lines, lines if alike else more, sums)
        kernel((voxels, seen, result), window, (-size, *of_kernel), rooms)

    groups = range(0, n * C, members)
    deep, high, columns = bands(D, len(groups), 16), split(H, ROWS, 1), split(W, WIDEST, 16)
    windows = [(*deep_, *high_, *wide_) for deep_ in deep for high_ in high for wide_ in columns]
    run(work, [(first, *window) for first in groups for window in windows])
    return out


@cache
def layers(law: int, kind: int, alike: bool) -> Callable[..., int]:
    """The kernel: voxels ``z0 <= z < z1``, ``r0 <= y < r1``, ``c0 <= x < c1`` of coupled fields from ``first`` on.

    ``seen`` steers; where it is the volume itself (``alike``) it is filtered once. ``x`` is the buffer of lanes,
    ``lines`` and ``more`` have room for the filtered planes of what steers and of what flows, ``sums`` for three planes
    that are not complete.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(arrays: Any, window: Any, numbers: Any, room: Any) -> int:
        u, seen, out = arrays
        first, members, D, H, W, z0, z1, r0, r1, c0, c1 = window
        factor, k, k_seen, rate, floor = numbers
        x, lines, more, sums = room
        cells, each = c1 - c0 + 3, 3 * (r1 - r0 + 6) * LANE
        J, T = x[FLUX * LANE :], x[TENSOR * LANE :]
        k, k_seen = (at(k, 0), at(k, 1), at(k, 2)), (at(k_seen, 0), at(k_seen, 1), at(k_seen, 2))
        for j in range(sums.shape[0]):
            put(sums, j, zero(factor))
        for z in range(z0 - 1, z1 + 2):
            for m in range(members):
                planes(seen, first + m, z, D, H, W, r0 - 3, r1 + 3, c0, c1, lines, m * each)
                if not alike:
                    planes(u, first + m, z, D, H, W, r0 - 3, r1 + 3, c0, c1, more, m * each)
            for y in range(r0 - 1, r1 + 2):
                for m in range(members):
                    own = (OWN + EACH * m) * LANE
                    details(lines, m * each + (y - r0 + 1) * 3 * LANE, x, cells, own)
                    structure(law, m == 0, x, own, cells, one(rate), k_seen, J)
                tensor(law, kind, cells, J, T, rate, floor)
                for m in range(members):
                    own = (OWN + EACH * m) * LANE
                    if not alike:
                        details(more, m * each + (y - r0 + 1) * 3 * LANE, x, cells, own)
                    flux(law, kind, x, own, cells, k, T, x, 0)
                    along_x(x, c1 - c0)
                    if y < r0:
                        for j in range(9 * LANE):
                            put(x, own + 7 * LANE + j, zero(factor))
                    along_y(x, own + 7 * LANE, c1 - c0)
                    # The first three rows of cells complete no row of voxels, the first three layers no plane.
                    if y >= r0 + 2:
                        source, result, target = 0, x, BACK * LANE
                        if z >= z0 + 2:
                            source = target = (((first + m) * D + z - 2) * H + y - 2) * W + c0
                            result = out
                        place = m * each + (y - 2 - r0) * 3 * LANE
                        along_z(x, sums, place, c1 - c0, u, source, result, target, factor)
        return stamp

    return kernel


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
def planes(
    u: Any, field: int, z: int, D: int, H: int, W: int, top: int, bottom: int, c0: int, c1: int, lines: Any, o: int
) -> None:  # fmt: skip
    """The four planes of layer z, filtered along z; rows ``top <= y < bottom``, three lanes for each."""
    left, right = max(0, c0 - 3), min(W, c1 + 3)
    a, b = (field * D + mirrored(z - 2, D)) * H, (field * D + mirrored(z - 1, D)) * H
    c, d = (field * D + mirrored(z, D)) * H, (field * D + mirrored(z + 1, D)) * H
    for y in range(top, bottom):
        row, line = mirrored(y, H), o + (y - top) * 3 * LANE
        filtered(
            u, (a + row) * W + left, (b + row) * W + left, (c + row) * W + left, (d + row) * W + left,
            right - left, lines, line + left - c0 + 3, LANE,
        )  # fmt: skip
        mirror_lines(lines, line, LANE, W, c0, c1)


@compiled()
def details(lines: Any, o: int, x: Any, n: int, own: int) -> None:
    """The seven details of n cells, from four rows of lanes: filtered along y, then along x."""
    for e in range(3):
        a = o + e * LANE
        filtered(lines, a, a + 3 * LANE, a + 6 * LANE, a + 9 * LANE, n + 3, x, 3 * e * LANE, LANE)
    # Lane 3 e + f was filtered along y by f and along z by e: averages are 0, derivatives 1, third differences 2.
    along_row(DERIVATIVE, x, 0, own, n, 1.0)
    along_row(AVERAGE, x, LANE, own + LANE, n, 1.0)
    along_row(AVERAGE, x, 3 * LANE, own + 2 * LANE, n, 1.0)
    along_row(THIRD, x, 2 * LANE, own + 3 * LANE, n, 12.0)
    along_row(THIRD, x, 6 * LANE, own + 4 * LANE, n, 12.0)
    along_row(AVERAGE, x, 8 * LANE, own + 5 * LANE, n, 12.0)
    along_row(THIRD, x, 8 * LANE, own + 6 * LANE, n, 24.0)


@compiled(inside=True)
def seven(x: Any, own: int, j: int) -> Any:
    """The details of a cell."""
    i = own + j
    return (
        at(x, i), at(x, LANE + i), at(x, 2 * LANE + i), at(x, 3 * LANE + i), at(x, 4 * LANE + i), at(x, 5 * LANE + i),
        at(x, 6 * LANE + i),
    )  # fmt: skip


@compiled(inside=True)
def keep_flux(flux: Any, j: int, x: Any, c: int) -> None:
    """Set the fluxes of cell j."""
    for e in range(7):
        put(x, (FLUX + e) * LANE + c + j, flux[e])


structure, flux = structures(seven, measure, collect), fluxes(seven, under, flow, keep_flux)


@compiled()
def along_x(x: Any, n: int) -> None:
    """The fluxes go back along x."""
    along_row(DERIVATIVE, x, FLUX * LANE, BACK * LANE, n, -1.0)
    along_row(AVERAGE, x, (FLUX + 1) * LANE, (BACK + 1) * LANE, n, 1.0)
    along_row(AVERAGE, x, (FLUX + 2) * LANE, (BACK + 2) * LANE, n, 1.0)
    along_row(THIRD, x, (FLUX + 3) * LANE, (BACK + 3) * LANE, n, -12.0)
    along_row(THIRD, x, (FLUX + 4) * LANE, (BACK + 4) * LANE, n, -12.0)
    along_row(AVERAGE, x, (FLUX + 5) * LANE, (BACK + 5) * LANE, n, 12.0)
    along_row(THIRD, x, (FLUX + 6) * LANE, (BACK + 6) * LANE, n, -24.0)


@compiled()
def along_y(x: Any, sums: int, n: int) -> None:
    """The lines go back along y, one set of sums for each filter along z; complete rows are left in the first lanes."""
    for j in range(n):
        i, none = BACK * LANE + j, zero(at(x, j))
        mixed = at(x, i + 5 * LANE) + at(x, i + 6 * LANE)
        put(x, j, passed(x, sums + j, LANE, at(x, i), at(x, i + LANE), at(x, i + 3 * LANE)))
        put(x, LANE + j, passed(x, sums + 3 * LANE + j, LANE, at(x, i + 2 * LANE), none, none))
        put(x, 2 * LANE + j, passed(x, sums + 6 * LANE + j, LANE, at(x, i + 4 * LANE), none, mixed))


@compiled()
def along_z(x: Any, sums: Any, place: int, n: int, u: Any, source: int, out: Any, target: int, factor: float) -> None:
    """Complete rows go back along z; where a plane is complete, too, it is taken off the volume."""
    for j in range(n):
        total = passed(sums, place + j, LANE, at(x, j), at(x, LANE + j), at(x, 2 * LANE + j))
        put(out, target + j, fma(factor, total, at(u, source + j)))
