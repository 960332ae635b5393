"""The structure that steers the flux in a volume: of the smoothed field, and itself smoothed.

Everything is computed as if the volume went on beyond its border, mirrored: planes, rows and columns outside are found
by their mirrored index, and cells between them are cells like any other. So entries of the structure that change their
sign in the mirror need no special case.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, fma, one, put, zero
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.gaussian import ONCE, mirror_columns, mirrored, smooth_across, smooth_rows
from whorl.engines.cpu.laws import ISOTROPIC
from whorl.engines.cpu.space.cells import LANE
from whorl.engines.cpu.space.rows import structure

MARGIN = 80
"""Voxels before the first of a row in a buffer: room for mirrored columns. No more may be needed on either side."""


@compiled()
def rows_of(low: int, high: int, size: int, beyond: int) -> Any:
    """The rows ``low - beyond <= y < high + beyond`` that the volume has: the first, and the one after the last."""
    return max(0, low - beyond), min(size, high + beyond)


@compiled()
def smoothed_plane(u: Any, here: Any, part: Any, gaussians: Any, work: Any, row: Any, target: Any, base: int) -> None:
    """Rows top <= y < bottom, columns left <= x < right of plane z of the smoothed field, ``LANE`` apart from base on.

    Along z, then along y, then along x; ``columns`` mirrored columns follow at the borders of the volume. ``work`` has
    room for the rows and their halo, ``row`` for one of them with its own.
    """
    (field, z, D, H, W), (top, bottom, left, right, columns), (taps, start, radius, _, where) = here, part, gaussians
    R_z, R_y, R_x = radius[0], radius[1], radius[2]
    first, after = rows_of(top, bottom, H, R_y)
    begin, end = rows_of(left, right, W, R_x)
    width, pitch = end - begin, end - begin
    for k in range(-R_z, R_z + 1):
        put(where, R_z + k, (field * D + mirrored(z + k, D)) * H * W + begin)
    for y in range(first, after):
        smooth_across(ONCE, u, where, y * W, taps, start[0], R_z, work, (y - first) * pitch, width)
    for y in range(top, bottom):
        for k in range(-R_y, R_y + 1):
            put(where, R_y + k, (mirrored(y + k, H) - first) * pitch)
        smooth_across(ONCE, work, where, 0, taps, start[1], R_y, row, R_x, width)
        mirror_columns(row, R_x, width, R_x)
        line = base + (y - top) * LANE + MARGIN
        smooth_rows(ONCE, row, R_x + left - begin, taps, start[2], R_x, target, line, right - left)
        mirror_columns(target, line, right - left, columns)


@compiled()
def structure_layer(
    law: int, seen: Any, among: Any, part: Any, k: Any, gaussians: Any, J: Any, work: Any, layer: Any
) -> None:
    """The structure of rows r0 <= y <= r1 of cells between two planes, smoothed along x and y, six lanes for each row.

    ``seen`` holds the planes that :func:`seen_row` is given; ``work`` has room for the rows and their halo, ``layer``
    for three rows more than asked for, from ``base`` on; both have rows of ``pitch``.
    """
    (r0, r1, c0, c1, base, pitch), (taps, start, radius, weights, where) = part, gaussians
    R_y, R_x = radius[4], radius[5]
    cells, lanes = c1 - c0 + 1, 1 if law == ISOTROPIC else 6
    shift = MARGIN - 1 + c0 - R_x - among[6]
    for y in range(r0 - R_y, r1 + R_y + 1):
        seen_row(law, seen, among, y, shift, cells + 2 * R_x, k, J)
        for e in range(lanes):
            line = ((y - r0 + R_y) * 6 + e) * pitch
            smooth_rows(ONCE, J, e * LANE + R_x, taps, start[5], R_x, work, line, cells)
    last = r1 - r0 + 2 * R_y
    for y in range(0, r1 - r0 + 1, 4):
        for n in range(2 * R_y + 4):
            put(where, n, min(y + n, last) * 6 * pitch)
        for e in range(lanes):
            line = base + (y * 6 + e) * pitch
            smooth_four(work, where, e * pitch, weights, start[7], R_y, layer, line, 6 * pitch, cells)


@compiled()
def seen_row(law: int, seen: Any, among: Any, y: int, shift: int, n: int, k: Any, J: Any) -> None:
    """The structure of n cells of row y, summed over the members.

    ``seen`` holds two planes of each of them, from the row ``top`` and the column ``left`` on: those of the members are
    ``size`` apart, and begin at ``front`` and ``behind``.
    """
    front, behind, members, size, H, top, _ = among
    upper, lower = (mirrored(y - 1, H) - top) * LANE + shift, (mirrored(y, H) - top) * LANE + shift
    for m in range(members):
        near, far = front + m * size, behind + m * size
        structure(law, m == 0, seen, (near + upper, near + lower, far + upper, far + lower), n, one(k[0]), k, J)


@compiled()
def smooth_four(
    u: Any, where: Any, shift: int, weights: Any, first: int, R: int, result: Any, target: int, apart: int, n: int
) -> None:
    """Four neighbouring sums of ``2R + 1`` rows, ``apart`` in the result, so that a row is loaded once for all four.

    Row k of those for the first sum starts at ``where[R + k] + shift``, up to row R + 3 for the last. Rows are added in
    their order, from the first on, whichever of the four a sum is. ``weights`` holds all ``2R + 1``, and three zeros
    before and six after them.
    """
    t0, t1, t2, t3 = target, target + apart, target + 2 * apart, target + 3 * apart
    for i in range(0, 2 * R + 4, 4):
        w = first + i
        # The sum of index o gives row i the weight i - o: seven weights for four rows and four sums.
        g0, g1, g2, g3 = at(weights, w), at(weights, w + 1), at(weights, w + 2), at(weights, w + 3)
        g4, g5, g6 = at(weights, w + 4), at(weights, w + 5), at(weights, w + 6)
        last = 2 * R + 3
        a, b = at(where, i) + shift, at(where, min(i + 1, last)) + shift
        c, d = at(where, min(i + 2, last)) + shift, at(where, min(i + 3, last)) + shift
        if i == 0:
            for j in range(n):
                put(result, t0 + j, zero(g0))
                put(result, t1 + j, zero(g0))
                put(result, t2 + j, zero(g0))
                put(result, t3 + j, zero(g0))
        for j in range(n):
            x0, x1, x2, x3 = at(u, a + j), at(u, b + j), at(u, c + j), at(u, d + j)
            put(result, t0 + j, fma(g6, x3, fma(g5, x2, fma(g4, x1, fma(g3, x0, at(result, t0 + j))))))
            put(result, t1 + j, fma(g5, x3, fma(g4, x2, fma(g3, x1, fma(g2, x0, at(result, t1 + j))))))
            put(result, t2 + j, fma(g4, x3, fma(g3, x2, fma(g2, x1, fma(g1, x0, at(result, t2 + j))))))
            put(result, t3 + j, fma(g3, x3, fma(g2, x2, fma(g1, x1, fma(g0, x0, at(result, t3 + j))))))
