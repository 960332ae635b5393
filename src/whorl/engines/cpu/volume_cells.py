r"""Cells of 2x2x2 voxels: their seven details, what a coupling measures of them, and the flux under a tensor.

The details are *undivided*, four times those of the theory, and lengths are counted in voxels along x: structure and
flux are :math:`X = 1 / (16 h_x^2)` times what these functions say, and X joins the rate and the step size. What is left
of the geometry is

    k = (b, c, d)     b = h_x / h_y,  c = h_x / h_z,  d = 1 - 2 alpha

Derivatives along y and z are multiplied by b and c as soon as they are read, so that the structure is

    J_xx = p_x² + d (r_xy² + r_xz²) + d² t²,     J_yy = p_y² + b² (d (r_xy² + r_yz²) + d² t²),     J_xy = p_x p_y

and so on. Couplings are literals: uncoupled activations have a diagonal tensor, isotropic ones a single number.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, by_literal, compiled, fma, one, put, zero
from whorl.engines.cpu.cells import ANISOTROPIC, ISOTROPIC, UNCOUPLED

__all__ = ["ANISOTROPIC", "ISOTROPIC", "LANE", "UNCOUPLED", "entries", "flow", "haar", "measure", "meet", "store"]

LANE = 720
"""How far apart the lanes of a buffer lie: constant, so that the compiler sees that they never overlap."""


@compiled(inside=True)
def haar(x: Any, a: int, b: int, c: int, d: int, j: int) -> Any:
    """The details (p_x, p_y, p_z, r_xy, r_xz, r_yz, t) of cell j; exactly zero on constants.

    The rows start at a and b in the plane in front (upper, lower) and at c and d in the plane behind it. They carry
    one mirrored voxel at either end, so that cell j has the voxels j and j + 1 of all four.
    """
    a0, b0, c0, d0 = at(x, a + j), at(x, b + j), at(x, c + j), at(x, d + j)
    a1, b1, c1, d1 = at(x, a + j + 1), at(x, b + j + 1), at(x, c + j + 1), at(x, d + j + 1)
    # Along x, of the four rows.
    upper, lower, upper_behind, lower_behind = a1 - a0, b1 - b0, c1 - c0, d1 - d0
    front, behind = upper + lower, upper_behind + lower_behind
    twist, twist_behind = lower - upper, lower_behind - upper_behind
    # Along y and z, of the left and the right face.
    left, left_behind, right, right_behind = b0 - a0, d0 - c0, b1 - a1, d1 - c1
    p_y = (left + left_behind) + (right + right_behind)
    p_z = ((c0 - a0) + (d0 - b0)) + ((c1 - a1) + (d1 - b1))
    r_yz = (left_behind - left) + (right_behind - right)
    return front + behind, p_y, p_z, twist + twist_behind, behind - front, r_yz, twist_behind - twist


@compiled(inside=True)
def meet(
    P_x: float, P_y: float, P_z: float, R_xy: float, R_xz: float, R_yz: float, T: float,
    plane: Any, m: int, rows: Any, c: int, j: int,
) -> Any:  # fmt: skip
    """Meet what the neighbouring cells left for the same row of voxels, and leave this cell's share of the others.

    A cell has four rows of voxels. With the upper row in front it completes that row. Its lower row in front waits in
    the first two lanes of ``rows`` for the next row of cells, the lower row behind in the other two, and the upper row
    behind, joined by what waited there, in the two lanes of ``plane`` for the next layer. Of the result (E, F) of every
    cell, the voxel between cells j and j + 1 owes ``E_j - F_{j+1}`` to its eight cells.
    """
    near, far = P_x - R_xz, P_x + R_xz
    near_twist, far_twist = R_xy - T, R_xy + T
    near_y, far_y = P_y - R_yz, P_y + R_yz
    across = at(plane, m + j) + (at(rows, c + j) + (near - near_twist))
    down = at(plane, m + LANE + j) + (at(rows, c + LANE + j) - (near_y + P_z))
    put(plane, m + j, at(rows, c + 2 * LANE + j) + (far - far_twist))
    put(plane, m + LANE + j, at(rows, c + 3 * LANE + j) + (P_z - far_y))
    put(rows, c + j, near + near_twist)
    put(rows, c + LANE + j, near_y - P_z)
    put(rows, c + 2 * LANE + j, far + far_twist)
    put(rows, c + 3 * LANE + j, P_z + far_y)
    return across + down, across - down


# What a coupling sees of one field: (J_xx, J_xy, J_xz, J_yy, J_yz, J_zz); isotropic ones see only the trace.


def _measure_uncoupled(coupling, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, b, c, d):  # type: ignore[no-untyped-def]
    q_y, q_z, none = b * p_y, c * p_z, zero(p_x)
    xy, xz, yz, tt = r_xy * r_xy, r_xz * r_xz, r_yz * r_yz, d * t * t
    xx = fma(p_x, p_x, d * (xy + xz + tt))
    yy = fma(q_y, q_y, b * b * d * (xy + yz + tt))
    return xx, none, none, yy, none, fma(q_z, q_z, c * c * d * (xz + yz + tt))


def _measure_isotropic(coupling, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, b, c, d):  # type: ignore[no-untyped-def]
    bb, cc, none = b * b, c * c, zero(p_x)
    first = fma(p_x, p_x, fma(bb * p_y, p_y, (cc * p_z) * p_z))
    mixed = fma((one(d) + bb) * r_xy, r_xy, fma((one(d) + cc) * r_xz, r_xz, ((bb + cc) * r_yz) * r_yz))
    return fma(d, fma((d * (one(d) + bb + cc)) * t, t, mixed), first), none, none, none, none, none


def _measure_anisotropic(coupling, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, b, c, d):  # type: ignore[no-untyped-def]
    q_y, q_z = b * p_y, c * p_z
    xy, xz, yz, tt = r_xy * r_xy, r_xz * r_xz, r_yz * r_yz, d * t * t
    xx = fma(p_x, p_x, d * (xy + xz + tt))
    yy = fma(q_y, q_y, b * b * d * (xy + yz + tt))
    return xx, p_x * q_y, p_x * q_z, yy, q_y * q_z, fma(q_z, q_z, c * c * d * (xz + yz + tt))


measure = by_literal(_measure_uncoupled, _measure_isotropic, _measure_anisotropic)
"""The structure of one cell."""


# The flux under a tensor.


def _flow_uncoupled(  # type: ignore[no-untyped-def]
    coupling, xx, xy, xz, yy, yz, zz, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, b, c, d
):  # fmt: skip
    yy, zz = b * b * yy, c * c * zz
    return (
        xx * p_x, yy * p_y, zz * p_z,
        (d * (xx + yy)) * r_xy, (d * (xx + zz)) * r_xz, (d * (yy + zz)) * r_yz, (d * d * (xx + yy + zz)) * t,
    )  # fmt: skip


def _flow_isotropic(  # type: ignore[no-untyped-def]
    coupling, g, xy, xz, yy, yz, zz, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, b, c, d
):  # fmt: skip
    bb, cc = b * b, c * c
    return (
        g * p_x, (g * bb) * p_y, (g * cc) * p_z, (g * (d * (one(d) + bb))) * r_xy, (g * (d * (one(d) + cc))) * r_xz,
        (g * (d * (bb + cc))) * r_yz, (g * (d * d * (one(d) + bb + cc))) * t,
    )  # fmt: skip


def _flow_anisotropic(  # type: ignore[no-untyped-def]
    coupling, xx, xy, xz, yy, yz, zz, p_x, p_y, p_z, r_xy, r_xz, r_yz, t, b, c, d
):  # fmt: skip
    q_y, q_z = b * p_y, c * p_z
    P_x = fma(xx, p_x, fma(xy, q_y, xz * q_z))
    P_y = b * fma(xy, p_x, fma(yy, q_y, yz * q_z))
    P_z = c * fma(xz, p_x, fma(yz, q_y, zz * q_z))
    yy, zz = b * b * yy, c * c * zz
    return (
        P_x, P_y, P_z,
        (d * (xx + yy)) * r_xy, (d * (xx + zz)) * r_xz, (d * (yy + zz)) * r_yz, (d * d * (xx + yy + zz)) * t,
    )  # fmt: skip


flow = by_literal(_flow_uncoupled, _flow_isotropic, _flow_anisotropic)
"""The flux of the seven details under the tensor (xx, xy, xz, yy, yz, zz)."""


# Reading and writing the entries a coupling has, one lane of J for each.


def _entries_uncoupled(coupling, j, J):  # type: ignore[no-untyped-def]
    none = zero(at(J, j))
    return at(J, j), none, none, at(J, 3 * LANE + j), none, at(J, 5 * LANE + j)


def _entries_isotropic(coupling, j, J):  # type: ignore[no-untyped-def]
    none = zero(at(J, j))
    return at(J, j), none, none, none, none, none


def _entries_anisotropic(coupling, j, J):  # type: ignore[no-untyped-def]
    return (
        at(J, j), at(J, LANE + j), at(J, 2 * LANE + j),
        at(J, 3 * LANE + j), at(J, 4 * LANE + j), at(J, 5 * LANE + j),
    )  # fmt: skip


entries = by_literal(_entries_uncoupled, _entries_isotropic, _entries_anisotropic)
"""The tensor of cell j."""


def _store_uncoupled(coupling, j, J, xx, xy, xz, yy, yz, zz):  # type: ignore[no-untyped-def]
    put(J, j, xx)
    put(J, 3 * LANE + j, yy)
    put(J, 5 * LANE + j, zz)


def _store_isotropic(coupling, j, J, xx, xy, xz, yy, yz, zz):  # type: ignore[no-untyped-def]
    put(J, j, xx)


def _store_anisotropic(coupling, j, J, xx, xy, xz, yy, yz, zz):  # type: ignore[no-untyped-def]
    put(J, j, xx)
    put(J, LANE + j, xy)
    put(J, 2 * LANE + j, xz)
    put(J, 3 * LANE + j, yy)
    put(J, 4 * LANE + j, yz)
    put(J, 5 * LANE + j, zz)


store = by_literal(_store_uncoupled, _store_isotropic, _store_anisotropic)
"""Set the entries of cell j."""
