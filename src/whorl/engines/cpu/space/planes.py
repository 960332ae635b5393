"""One explicit step on a window of a volume, plane after plane.

As soon as two planes of voxels are at hand, the layer of cells between them is evaluated and completes a plane of the
result. Kept are those two planes and one plane of fluxes for the next layer, as wide and high as the window, in the
caches; where a smoothed field steers, also its planes, and as many layers of structure as the
smoothing along z looks at. Each voxel adds up its eight cells in the same order wherever the window lies, so that
windows give the bits of the whole.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from whorl.engines.cpu.arithmetic import at, put, zero
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.gaussian import mirrored
from whorl.engines.cpu.laws import ANISOTROPIC, ISOTROPIC
from whorl.engines.cpu.plane.pipeline import LINE
from whorl.engines.cpu.plane.rows import mirror_ends, mix_row
from whorl.engines.cpu.rows import copy_row
from whorl.engines.cpu.space.cells import LANE
from whorl.engines.cpu.space.rows import step_alone, step_under, tensor
from whorl.engines.cpu.space.steering import MARGIN, rows_of, seen_row, smooth_four, smoothed_plane, structure_layer


@cache
def planes(law: int, kind: int, steered: bool) -> Callable[..., int]:
    """The kernel for one law and one diffusivity; ``steered`` by smoothed fields and a smoothed structure, or not.

    It writes voxels ``z0 <= z < z1``, ``r0 <= y < r1``, ``c0 <= x < c1`` of ``members`` coupled fields from ``first``
    on. If ``mix`` is not 1, the step is extrapolated from ``before``. ``taps``, ``start`` and ``radius`` belong to the
    Gaussians along z, y and x of the steering fields, then of the structure; ``weights`` to those along z and y of the
    structure, from ``start[6]`` and ``start[7]`` on, as four sums at once need them. Room is given: ``voxels`` for two
    planes of rows for each member, ``plane`` for two lanes per row, ``rows`` for four lanes per member, ``J`` and ``T``
    for six; ``seen``, ``layers``, ``ready``, ``smooth`` and ``row`` for the steering.
    """
    stamp = source_stamp()

    @compiled(cache=True)
    def kernel(arrays: Any, window: Any, numbers: Any, gaussians: Any, room: Any, steering: Any) -> int:
        first, members, D, H, W, z0, z1, r0, r1, c0, c1 = window
        tau, mix, k, k_seen, rate, floor = numbers
        _, start, radius, weights, where = gaussians
        seen, layers, ready, smooth, row = steering
        k, k_seen = (at(k, 0), at(k, 1), at(k, 2)), (at(k_seen, 0), at(k_seen, 1), at(k_seen, 2))
        pitch = (c1 - c0 + 1 + LINE - 1) // LINE * LINE
        R_z, R_y, R_x = radius[3], radius[4], radius[5]
        blurred, depth = R_z + R_y + R_x > 0, 2 * R_z + 4
        top, bottom = rows_of(r0, r1, H, R_y + 1)
        left, right = rows_of(c0, c1, W, R_x + 1)
        size, size_layer, lanes = (bottom - top) * LANE, (r1 - r0 + 4) * 6 * pitch, 1 if law == ISOTROPIC else 6
        plane, J = room[1], room[3]
        for j in range(plane.shape[0]):
            put(plane, j, zero(rate))
        z = z0 - 1
        for v in range(z0 - R_z - 1, z1 + R_z + 1):
            # Plane v arrives, mirrored beyond the ends; with the one before it, it bounds layer v of cells.
            front, behind = (v - 1) % 2 * members * size, v % 2 * members * size
            if steered:
                for m in range(members):
                    here, part = (first + m, mirrored(v, D), D, H, W), (top, bottom, left, right, R_x + 1)
                    smoothed_plane(arrays[1], here, part, gaussians, smooth, row, seen, behind + m * size)
            among = front, behind, members, size, H, top, left
            if steered and blurred and v >= z0 - R_z:
                cells = r0, r1, c0, c1, v % depth * size_layer, pitch
                structure_layer(law, seen, among, cells, k_seen, gaussians, J, smooth, layers)
            # Layers z and on whose structure is complete; where it is smoothed along z, four at a time.
            after = v + 1
            if blurred and z >= z0:
                after = min(z + 4, z1 + 1)
                if v < after - 1 + R_z:
                    continue
                for y in range(r1 - r0 + 1):
                    for i in range(depth):
                        put(where, i, min(z - R_z + i, v) % depth * size_layer + y * 6 * pitch)
                    for e in range(lanes):
                        line = (y * 6 + e) * pitch
                        smooth_four(
                            layers, where, e * pitch, weights, start[6], R_z, ready, line, size_layer, c1 - c0 + 1
                        )
            for turn in range(z, after):
                by, base = (tau, mix, k, k_seen, rate, floor), (turn - z) * size_layer
                flow_layer(law, kind, steered, blurred, arrays, window, turn, by, room, seen, among, ready, base, pitch)
            z = after
        return stamp

    return kernel


@compiled(inside=True)
def flow_layer(
    law: int, kind: int, steered: bool, blurred: bool, arrays: Any, window: Any, z: int, numbers: Any, room: Any,
    seen: Any, among: Any, ready: Any, base: int, pitch: int,
) -> None:  # fmt: skip
    """Read plane z, evaluate the layer of cells before it, and complete the plane before that layer."""
    u, _, before, out = arrays
    first, members, D, H, W, z0, _, r0, r1, c0, c1 = window
    tau, mix, k, k_seen, rate, floor = numbers
    voxels, plane, rows, J, T = room
    left, right = rows_of(c0, c1, W, 1)
    top, bottom = rows_of(r0, r1, H, 1)
    size, n = (bottom - top) * LANE, c1 - c0
    front, behind = (z - 1) % 2 * members * size, z % 2 * members * size
    for m in range(members):
        for y in range(top, bottom):
            line = behind + m * size + (y - top) * LANE + MARGIN
            copy_row(u, (((first + m) * D + mirrored(z, D)) * H + y) * W + left, voxels, line, right - left)
            mirror_ends(voxels, line - 1, right - left)
    if z < z0:
        return
    alone = members == 1 and law < ANISOTROPIC and not steered
    shift, kept = MARGIN - 1 + c0 - left, (plane, rows)
    for j in range(members * 4 * LANE):
        put(rows, j, zero(rate))
    for y in range(r0, r1 + 1):
        if steered and blurred:
            for e in range(1 if law == ISOTROPIC else 6):
                copy_row(ready, base + ((y - r0) * 6 + e) * pitch, J, e * LANE, n + 1)
        elif steered:
            seen_row(law, seen, among, y, MARGIN - 1 + c0 - among[6], n + 1, k_seen, J)
        elif not alone:
            seen_row(law, voxels, (front, behind, members, size, H, top, left), y, shift, n + 1, k, J)
        if not alone:
            tensor(law, kind, n + 1, J, T, rate, floor)
        upper, lower = (mirrored(y - 1, H) - top) * LANE + shift, (mirrored(y, H) - top) * LANE + shift
        for m in range(members):
            near, far = front + m * size, behind + m * size
            place = near + upper, near + lower, far + upper, far + lower
            places = (m * (r1 - r0 + 1) + y - r0) * 2 * LANE, m * 4 * LANE
            # The first layer and the first row of cells complete nothing; rows to be mixed are written to J first.
            done, here = z > z0 and y > r0, (((first + m) * D + z - 1) * H + y - 1) * W + c0
            target, o = J, 0
            if done and mix == 1:
                target, o = out, here
            if alone:
                step_alone(law, kind, voxels, place, 0, n, k, (rate, floor), kept, places, target, o, tau)
            else:
                step_under(law, kind, voxels, place, 0, n, k, T, kept, places, target, o, tau)
            if done and mix != 1:
                mix_row(before, here, J, 0, n, mix)
                copy_row(J, 0, out, here, n)
