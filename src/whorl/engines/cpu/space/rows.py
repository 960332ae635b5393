"""Rows of cells in a volume: loops over the cells of a row, and over the voxels they complete.

A row of cells lies between four rows of voxels, which start at a and b in the plane in front and at c and d in the
plane behind. Rows hold at most ``LANE`` voxels; each loop is plain enough to be vectorised.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, fma, put
from whorl.engines.cpu.laws import ANISOTROPIC, RANK_ONE
from whorl.engines.cpu.space.cells import LANE, entries, flow, haar, measure, meet, store
from whorl.engines.cpu.space.tensors import axis, respond


@compiled()
def structure(
    coupling: int, first: bool, x: Any, a: int, b: int, c: int, d: int, n: int, k: Any, J: Any
) -> None:  # fmt: skip
    """Add the structure of one field to J, for n cells; the first field overwrites."""
    k_y, k_z, detail = at(k, 0), at(k, 1), at(k, 2)
    for j in range(n):
        p_x, p_y, p_z, r_xy, r_xz, r_yz, t = haar(x, a, b, c, d, j)
        xx, xy, xz, yy, yz, zz = measure(coupling, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, k_y, k_z, detail)
        if first:
            store(coupling, j, J, xx, xy, xz, yy, yz, zz)
        else:
            oxx, oxy, oxz, oyy, oyz, ozz = entries(coupling, j, J)
            store(coupling, j, J, oxx + xx, oxy + xy, oxz + xz, oyy + yy, oyz + yz, ozz + zz)


@compiled()
def tensor(coupling: int, law: int, kind: int, n: int, J: Any, T: Any, rate: float, floor: float) -> None:
    """The diffusion tensor of the cells from their structure."""
    # Two loops: of shorter ones, a processor has more cells under way at once.
    for j in range(n if law == ANISOTROPIC or law > RANK_ONE else 0):
        x, y, z = axis(*entries(coupling, j, J))
        put(T, j, x)
        put(T, LANE + j, y)
        put(T, 2 * LANE + j, z)
    for j in range(n):
        xx, xy, xz, yy, yz, zz = entries(coupling, j, J)
        x, y, z = at(T, j), at(T, LANE + j), at(T, 2 * LANE + j)
        xx, xy, xz, yy, yz, zz = respond(law, kind, xx, xy, xz, yy, yz, zz, x, y, z, rate, floor)
        store(coupling, j, T, xx, xy, xz, yy, yz, zz)


@compiled()
def step_alone(
    coupling: int, law: int, kind: int, x: Any, a: int, b: int, c: int, d: int, n: int, k: Any,
    rate: float, floor: float, plane: Any, m: int, rows: Any, w: int, y: Any, o: int, tau: float,
) -> None:  # fmt: skip
    """``y = x - tau K^T flux`` for n voxels of the upper row in front, of a field coupled with no other.

    Structure, tensor, flux and step are computed in one loop: voxel j lies between cells j and j + 1.
    """
    k_y, k_z, detail = at(k, 0), at(k, 1), at(k, 2)
    left, _ = _alone(coupling, law, kind, x, a, b, c, d, 0, k_y, k_z, detail, rate, floor, plane, m, rows, w)
    for j in range(n):
        E, F = _alone(coupling, law, kind, x, a, b, c, d, j + 1, k_y, k_z, detail, rate, floor, plane, m, rows, w)
        put(y, o + j, fma(tau, F - left, at(x, a + j + 1)))
        left = E


@compiled()
def step_under(
    coupling: int, x: Any, a: int, b: int, c: int, d: int, n: int, k: Any,
    J: Any, plane: Any, m: int, rows: Any, w: int, y: Any, o: int, tau: float,
) -> None:  # fmt: skip
    """The same for one field under the tensor of its group."""
    k_y, k_z, detail = at(k, 0), at(k, 1), at(k, 2)
    left, _ = _under(coupling, x, a, b, c, d, 0, k_y, k_z, detail, J, plane, m, rows, w)
    for j in range(n):
        E, F = _under(coupling, x, a, b, c, d, j + 1, k_y, k_z, detail, J, plane, m, rows, w)
        put(y, o + j, fma(tau, F - left, at(x, a + j + 1)))
        left = E


@compiled(inside=True)
def _alone(
    coupling: int, law: int, kind: int, x: Any, a: int, b: int, c: int, d: int, j: int,
    k_y: float, k_z: float, detail: float, rate: float, floor: float, plane: Any, m: int, rows: Any, w: int,
) -> Any:  # fmt: skip
    p_x, p_y, p_z, r_xy, r_xz, r_yz, t = haar(x, a, b, c, d, j)
    xx, xy, xz, yy, yz, zz = measure(coupling, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, k_y, k_z, detail)
    xx, xy, xz, yy, yz, zz = respond(law, kind, xx, xy, xz, yy, yz, zz, xx, xx, xx, rate, floor)
    P_x, P_y, P_z, R_xy, R_xz, R_yz, T = flow(
        coupling, xx, xy, xz, yy, yz, zz, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, k_y, k_z, detail
    )
    return meet(P_x, P_y, P_z, R_xy, R_xz, R_yz, T, plane, m, rows, w, j)


@compiled(inside=True)
def _under(
    coupling: int, x: Any, a: int, b: int, c: int, d: int, j: int,
    k_y: float, k_z: float, detail: float, J: Any, plane: Any, m: int, rows: Any, w: int,
) -> Any:  # fmt: skip
    p_x, p_y, p_z, r_xy, r_xz, r_yz, t = haar(x, a, b, c, d, j)
    xx, xy, xz, yy, yz, zz = entries(coupling, j, J)
    P_x, P_y, P_z, R_xy, R_xz, R_yz, T = flow(
        coupling, xx, xy, xz, yy, yz, zz, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, k_y, k_z, detail
    )
    return meet(P_x, P_y, P_z, R_xy, R_xz, R_yz, T, plane, m, rows, w, j)
