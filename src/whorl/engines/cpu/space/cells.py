r"""Cells of 2x2x2 voxels: their seven details, what a law measures of them, and the flux under a tensor.

The details are *undivided*, four times those of the theory, and lengths are counted in voxels along x: structure and
flux are :math:`X = 1 / (16 h_x^2)` times what these functions say, and X joins the rate and the step size. What is left
of the geometry is

    k = (b, c, d)     b = h_x / h_y,  c = h_x / h_z,  d = 1 - 2 alpha

Derivatives along y and z are multiplied by b and c as soon as they are read, so that the structure is

    J_xx = p_x² + d (r_xy² + r_xz²) + d² t²,     J_yy = p_y² + b² (d (r_xy² + r_yz²) + d² t²),     J_xy = p_x p_y

and so on. Laws are literals: uncoupled activations have a diagonal tensor, isotropic ones a single number.
"""

from typing import Any

from whorl.engines.cpu.arithmetic import at, fma, one, put, zero
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.laws import ISOTROPIC, UNCOUPLED

LANE = 720
"""How far apart the lanes of a buffer lie: constant, so that the compiler sees that they never overlap."""


@compiled(inside=True)
def haar(x: Any, place: Any, j: int) -> Any:
    """The details (p_x, p_y, p_z, r_xy, r_xz, r_yz, t) of cell j; exactly zero on constants.

    The rows start at a and b in the plane in front (upper, lower) and at c and d in the plane behind it. They carry
    one mirrored voxel at either end, so that cell j has the voxels j and j + 1 of all four.
    """
    a, b, c, d = place
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
def meet(flux: Any, j: int, kept: Any, places: Any) -> Any:
    """Join the fluxes of this cell with those of cells before it, and keep those that later cells need.

    A cell contributes to four rows of voxels. The upper row in front is now complete. The lower row in front is kept in
    the first two lanes of ``rows`` from c on for the next row of cells, the lower row behind in the other two. The
    upper row behind is added to what was kept there and kept in the two lanes of ``plane`` from m on for the next
    layer. Every cell has a result (E, F). The sum of the fluxes of its eight cells at the voxel between cells j and
    j + 1 is ``E_j - F_{j+1}``.
    """
    (P_x, P_y, P_z, R_xy, R_xz, R_yz, T), (plane, rows), (m, c) = flux, kept, places
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


@compiled(inside=True)
def measure(law: int, cell: Any, k: Any) -> Any:
    """The structure (J_xx, J_xy, J_xz, J_yy, J_yz, J_zz) of one field in one cell; isotropic: the trace and zeros."""
    (p_x, p_y, p_z, r_xy, r_xz, r_yz, t), (b, c, d) = cell, k
    none = zero(p_x)
    if law == ISOTROPIC:
        bb, cc = b * b, c * c
        first = fma(p_x, p_x, fma(bb * p_y, p_y, (cc * p_z) * p_z))
        mixed = fma((one(d) + bb) * r_xy, r_xy, fma((one(d) + cc) * r_xz, r_xz, ((bb + cc) * r_yz) * r_yz))
        return fma(d, fma((d * (one(d) + bb + cc)) * t, t, mixed), first), none, none, none, none, none
    q_y, q_z = b * p_y, c * p_z
    xy, xz, yz, tt = r_xy * r_xy, r_xz * r_xz, r_yz * r_yz, d * t * t
    xx = fma(p_x, p_x, d * (xy + xz + tt))
    yy = fma(q_y, q_y, b * b * d * (xy + yz + tt))
    zz = fma(q_z, q_z, c * c * d * (xz + yz + tt))
    if law == UNCOUPLED:
        return xx, none, none, yy, none, zz
    return xx, p_x * q_y, p_x * q_z, yy, q_y * q_z, zz


@compiled(inside=True)
def flow(law: int, tensor: Any, cell: Any, k: Any) -> Any:
    """The flux of the seven details under the tensor (xx, xy, xz, yy, yz, zz)."""
    (xx, xy, xz, yy, yz, zz), (p_x, p_y, p_z, r_xy, r_xz, r_yz, t), (b, c, d) = tensor, cell, k
    bb, cc = b * b, c * c
    if law == ISOTROPIC:
        return (
            xx * p_x, (xx * bb) * p_y, (xx * cc) * p_z, (xx * (d * (one(d) + bb))) * r_xy,
            (xx * (d * (one(d) + cc))) * r_xz, (xx * (d * (bb + cc))) * r_yz, (xx * (d * d * (one(d) + bb + cc))) * t,
        )  # fmt: skip
    q_y, q_z, byy, czz = b * p_y, c * p_z, bb * yy, cc * zz
    P_x, P_y, P_z = xx * p_x, byy * p_y, czz * p_z
    if law != UNCOUPLED:
        P_x = fma(xx, p_x, fma(xy, q_y, xz * q_z))
        P_y = b * fma(xy, p_x, fma(yy, q_y, yz * q_z))
        P_z = c * fma(xz, p_x, fma(yz, q_y, zz * q_z))
    return (
        P_x, P_y, P_z,
        (d * (xx + byy)) * r_xy, (d * (xx + czz)) * r_xz, (d * (byy + czz)) * r_yz, (d * d * (xx + byy + czz)) * t,
    )  # fmt: skip


@compiled(inside=True)
def entries(law: int, j: int, J: Any) -> Any:
    """The tensor of cell j, from the entries that the law has, one lane of J for each."""
    xx, none = at(J, j), zero(at(J, j))
    if law == ISOTROPIC:
        return xx, none, none, none, none, none
    yy, zz = at(J, 3 * LANE + j), at(J, 5 * LANE + j)
    if law == UNCOUPLED:
        return xx, none, none, yy, none, zz
    return xx, at(J, LANE + j), at(J, 2 * LANE + j), yy, at(J, 4 * LANE + j), zz


@compiled(inside=True)
def store(law: int, j: int, J: Any, tensor: Any) -> None:
    """Set the entries of cell j that the law has."""
    xx, xy, xz, yy, yz, zz = tensor
    put(J, j, xx)
    if law != ISOTROPIC:
        put(J, 3 * LANE + j, yy)
        put(J, 5 * LANE + j, zz)
    if law != ISOTROPIC and law != UNCOUPLED:
        put(J, LANE + j, xy)
        put(J, 2 * LANE + j, xz)
        put(J, 4 * LANE + j, yz)


@compiled(inside=True)
def collect(law: int, first: bool, j: int, J: Any, w: float, tensor: Any) -> None:
    """Add the entries to those of cell j, in which all fields count alike; the first field overwrites."""
    (a, b, c, d, e, f), (xx, xy, xz, yy, yz, zz) = tensor, entries(law, j, J)
    if first:
        store(law, j, J, tensor)
    else:
        store(law, j, J, (xx + a, xy + b, xz + c, yy + d, yz + e, zz + f))
