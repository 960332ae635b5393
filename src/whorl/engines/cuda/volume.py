r"""One explicit step :math:`u - \tau K^\top \Phi(K u)` in space, in a single pass over memory.

A thread owns four columns and ``ROWS`` rows and walks through ``DEPTH`` planes. It keeps the plane before, one row and
one column of neighbours around its own voxels, so that all cells at its voxels are evaluated where they are needed:
nothing is exchanged between threads. The fluxes of a layer of cells complete the plane before it; those to the plane
behind are kept for the next layer. Cells on the border use mirrored voxels, so the adjoint needs no special case there.

Details are undivided, four times those of the theory, and lengths are counted in voxels along x: ``tau`` and ``i2``
carry the factor :math:`X = 1/(16 h_x^2)`, and ``b = h_x / h_y``, ``c = h_x / h_z``, ``kappa = 1 - 2 alpha`` are left.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator, has-type, assignment, var-annotated"
# fmt: off
# ruff: noqa: F821, F841, B007

import triton
import triton.language as tl

from .diffusivity import diffusivity
from .rows import apart, plus, times, together


@triton.jit
def voxels(plane, y, x, width, height, BLOCK: tl.constexpr, ALIGNED: tl.constexpr):
    """Columns x-1 .. x+4 of the rows y of the plane at pointer `plane`, mirrored at the ends."""
    row = plane + tl.minimum(tl.maximum(y, 0), height - 1) * width
    if ALIGNED:  # the width is a multiple of 4: a thread's own columns all exist or all do not
        first = tl.multiple_of(tl.minimum(x, width - 4), 4)
        own = tl.load(row[:, None] + first[:, None] + tl.arange(0, 4)[None, :])
    else:
        own = tl.load(row[:, None] + tl.minimum(x[:, None] + tl.arange(0, 4)[None, :], width - 1))
    c1, c2, c3, c4 = apart(own, (BLOCK, 2, 2))
    return tl.load(row + tl.maximum(x - 1, 0)), c1, c2, c3, c4, tl.load(row + tl.minimum(x + 4, width - 1))


@triton.jit
def details(a, b, c, d, i: tl.constexpr):
    """The seven details of cell i of a row of cells; a and b are its rows in front, c and d those behind."""
    upper, lower, upper_behind, lower_behind = a[i + 1] - a[i], b[i + 1] - b[i], c[i + 1] - c[i], d[i + 1] - d[i]
    front, behind = upper + lower, upper_behind + lower_behind
    twist, twist_behind = lower - upper, lower_behind - upper_behind
    left, left_behind, right, right_behind = b[i] - a[i], d[i] - c[i], b[i + 1] - a[i + 1], d[i + 1] - c[i + 1]
    p_y = (left + left_behind) + (right + right_behind)
    p_z = ((c[i] - a[i]) + (d[i] - b[i])) + ((c[i + 1] - a[i + 1]) + (d[i + 1] - b[i + 1]))
    r_yz = (left_behind - left) + (right_behind - right)
    return front + behind, p_y, p_z, twist + twist_behind, behind - front, r_yz, twist_behind - twist


@triton.jit
def rotated(app, aqq, apq, arp, arq, px, py, pz, qx, qy, qz):
    """A Jacobi rotation that makes the entry (p, q) zero; r is the third axis; the vectors p and q are rotated, too."""
    gap = 0.5 * (aqq - app)
    far = tl.maximum(tl.abs(gap) + tl.sqrt(gap * gap + apq * apq), 1e-37)
    t = tl.where(gap >= 0.0, apq, -apq) / far
    c = tl.rsqrt(t * t + 1.0)
    s = t * c
    shift = t * apq
    return (
        app - shift, aqq + shift, tl.zeros_like(apq), c * arp - s * arq, s * arp + c * arq,
        c * px - s * qx, c * py - s * qy, c * pz - s * qz, s * px + c * qx, s * py + c * qy, s * pz + c * qz,
    )


@triton.jit
def matrix_diffusivity(xx, xy, xz, yy, yz, zz, i2, KIND: tl.constexpr):
    """g(J) by four rounds of Jacobi rotations."""
    n = tl.zeros_like(xx)
    i = n + 1.0
    ax, ay, az, bx, by, bz, cx, cy, cz = i, n, n, n, i, n, n, n, i
    for _ in tl.static_range(4):
        xx, yy, xy, xz, yz, ax, ay, az, bx, by, bz = rotated(xx, yy, xy, xz, yz, ax, ay, az, bx, by, bz)
        xx, zz, xz, xy, yz, ax, ay, az, cx, cy, cz = rotated(xx, zz, xz, xy, yz, ax, ay, az, cx, cy, cz)
        yy, zz, yz, xy, xz, bx, by, bz, cx, cy, cz = rotated(yy, zz, yz, xy, xz, bx, by, bz, cx, cy, cz)
    a = diffusivity(tl.maximum(xx, 0.0), i2, KIND)
    b = diffusivity(tl.maximum(yy, 0.0), i2, KIND)
    c = diffusivity(tl.maximum(zz, 0.0), i2, KIND)
    return (
        a * ax * ax + b * bx * bx + c * cx * cx, a * ax * ay + b * bx * by + c * cx * cy,
        a * ax * az + b * bx * bz + c * cx * cz, a * ay * ay + b * by * by + c * cy * cy,
        a * ay * az + b * by * bz + c * cy * cz, a * az * az + b * bz * bz + c * cz * cz,
    )


@triton.jit
def flux(p_x, p_y, p_z, r_xy, r_xz, r_yz, t, s_x, s_y, s_z, b, c, kappa, i2, KIND: tl.constexpr, LAW: tl.constexpr):
    """The flux of a cell; (s_x, s_y, s_z) is the gradient that steers it, where that is another one.

    Laws: 0 uncoupled, 1 isotropic, 2 g(J), 3 edge-enhancing with a single gradient.
    """
    q_y, q_z, bb, cc = b * p_y, c * p_z, b * b, c * c
    if LAW == 1:
        mixed = (1.0 + bb) * r_xy * r_xy + (1.0 + cc) * r_xz * r_xz + (bb + cc) * r_yz * r_yz
        s2 = p_x * p_x + q_y * q_y + q_z * q_z + kappa * (mixed + kappa * (1.0 + bb + cc) * t * t)
        g = diffusivity(s2, i2, KIND)
        h = kappa * g
        P_x, P_y, P_z = g * p_x, (bb * g) * p_y, (cc * g) * p_z
        R_xy, R_xz, R_yz = ((1.0 + bb) * h) * r_xy, ((1.0 + cc) * h) * r_xz, ((bb + cc) * h) * r_yz
        T = ((1.0 + bb + cc) * kappa * h) * t
    elif LAW == 3:
        q_sy, q_sz = b * s_y, c * s_z
        s2 = s_x * s_x + q_sy * q_sy + q_sz * q_sz
        q = (diffusivity(s2, i2, KIND) - 1.0) / tl.maximum(s2, 1e-37)
        along = q * (s_x * p_x + q_sy * q_y + q_sz * q_z)
        xx, yy, zz = 1.0 + q * s_x * s_x, bb * (1.0 + q * q_sy * q_sy), cc * (1.0 + q * q_sz * q_sz)
        P_x, P_y, P_z = p_x + along * s_x, b * (q_y + along * q_sy), c * (q_z + along * q_sz)
    else:
        xy2, xz2, yz2, t2 = r_xy * r_xy, r_xz * r_xz, r_yz * r_yz, kappa * t * t
        xx = p_x * p_x + kappa * (xy2 + xz2 + t2)
        yy = q_y * q_y + bb * kappa * (xy2 + yz2 + t2)
        zz = q_z * q_z + cc * kappa * (xz2 + yz2 + t2)
        if LAW == 0:
            xx, yy, zz = diffusivity(xx, i2, KIND), bb * diffusivity(yy, i2, KIND), cc * diffusivity(zz, i2, KIND)
            P_x, P_y, P_z = xx * p_x, yy * p_y, zz * p_z
        else:
            xx, xy, xz, yy, yz, zz = matrix_diffusivity(xx, p_x * q_y, p_x * q_z, yy, q_y * q_z, zz, i2, KIND)
            P_x = xx * p_x + xy * q_y + xz * q_z
            P_y = b * (xy * p_x + yy * q_y + yz * q_z)
            P_z = c * (xz * p_x + yz * q_y + zz * q_z)
            yy, zz = bb * yy, cc * zz
    if LAW != 1:
        R_xy, R_xz, R_yz = kappa * (xx + yy) * r_xy, kappa * (xx + zz) * r_xz, kappa * (yy + zz) * r_yz
        T = kappa * kappa * (xx + yy + zz) * t
    return P_x, P_y, P_z, R_xy, R_xz, R_yz, T


@triton.jit
def row_of_cells(a, b, c, d, sa, sb, sc, sd, k_y, k_z, kappa, i2, KIND: tl.constexpr, LAW: tl.constexpr):
    """The fluxes of one row of cells to its four rows of voxels, in each of them to the four columns of the thread.

    The rows are: in front above, in front below, behind above, behind below.
    """
    front_above, front_below, behind_above, behind_below = (), (), (), ()
    for i in tl.static_range(5):
        p_x, p_y, p_z, r_xy, r_xz, r_yz, t = details(a, b, c, d, i)
        s_x, s_y, s_z = p_x, p_y, p_z
        if LAW == 3:
            s_x, s_y, s_z, _1, _2, _3, _4 = details(sa, sb, sc, sd, i)
        P_x, P_y, P_z, R_xy, R_xz, R_yz, T = flux(
            p_x, p_y, p_z, r_xy, r_xz, r_yz, t, s_x, s_y, s_z, k_y, k_z, kappa, i2, KIND, LAW
        )
        near, far, near_twist, far_twist = P_x - R_xz, P_x + R_xz, R_xy - T, R_xy + T
        near_y, far_y = P_y - R_yz, P_y + R_yz
        # Of each row, what the voxel to the right of the cell receives, and what the one to its left does.
        x0, x1, x2, x3 = near - near_twist, near + near_twist, far - far_twist, far + far_twist
        y0, y1, y2, y3 = -near_y - P_z, near_y - P_z, P_z - far_y, P_z + far_y
        if i > 0:
            front_above += (l0 + (y0 - x0),)  # from the cell before
            front_below += (l1 + (y1 - x1),)
            behind_above += (l2 + (y2 - x2),)
            behind_below += (l3 + (y3 - x3),)
        l0, l1, l2, l3 = x0 + y0, x1 + y1, x2 + y2, x3 + y3
    return front_above, front_below, behind_above, behind_below


@triton.jit
def rows_of(plane, y, x, width, height, ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr):
    """The own rows of a plane with one more above and below."""
    found = ()
    for k in tl.static_range(ROWS + 2):
        found += (voxels(plane, y + (k - 1), x, width, height, BLOCK, ALIGNED),)
    return found


@triton.jit
def volume_kernel(
    source, steer, target, coefficients, depth, height, width, k_y, k_z, kappa,
    KIND: tl.constexpr, LAW: tl.constexpr, CUBIC: tl.constexpr, ROWS: tl.constexpr, DEPTH: tl.constexpr,
    ACROSS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Target = source - tau K^T Phi(K source); grid (tiles of a plane, chunks of planes, volumes).

    A program has BLOCK threads' worth of work: ACROSS groups of four columns beside each other, the rest below.
    """
    if CUBIC:
        k_y = 1.0
        k_z = 1.0
    thread = tl.arange(0, BLOCK)
    tiles = tl.cdiv(width, 4 * ACROSS)
    x = 4 * ((tl.program_id(0) % tiles) * ACROSS + thread % ACROSS)
    y = ROWS * ((tl.program_id(0) // tiles) * (BLOCK // ACROSS) + thread // ACROSS)
    size = tl.full((), 0, tl.int64) + height * width
    volume = tl.program_id(2) * depth * size
    source += volume
    steer += volume
    target += volume
    tau = tl.load(coefficients)
    i2 = tl.load(coefficients + 1)
    begin = tl.program_id(1) * DEPTH
    first = tl.maximum(begin - 1, 0) * size
    old = rows_of(source + first, y, x, width, height, ROWS, BLOCK, ALIGNED)
    old_steer = old
    if LAW == 3:
        old_steer = rows_of(steer + first, y, x, width, height, ROWS, BLOCK, ALIGNED)
    nothing = tl.zeros_like(old[0][0])
    carried = ()
    for k in tl.static_range(ROWS):
        carried += ((nothing, nothing, nothing, nothing),)
    last = tl.minimum(begin + DEPTH, depth)
    for z in range(begin, last + 1):
        # Layer z of cells lies between the planes z - 1 and z and completes plane z - 1.
        place = tl.minimum(z, depth - 1) * size
        new = rows_of(source + place, y, x, width, height, ROWS, BLOCK, ALIGNED)
        new_steer = new
        if LAW == 3:
            new_steer = rows_of(steer + place, y, x, width, height, ROWS, BLOCK, ALIGNED)
        out = target + (z - 1) * size
        waiting = ()
        for k in tl.static_range(ROWS + 1):
            above, below, above_behind, below_behind = row_of_cells(
                old[k], old[k + 1], new[k], new[k + 1],
                old_steer[k], old_steer[k + 1], new_steer[k], new_steer[k + 1], k_y, k_z, kappa, i2, KIND, LAW,
            )
            if k > 0:
                change = plus(carried[k - 1], plus(front, above))
                result = together(plus(old[k][1:5], times(-tau, change)), (BLOCK, 4))
                columns = x[:, None] + tl.arange(0, 4)[None, :]
                row = y + (k - 1)
                seen = (row < tl.where(z > begin, height, 0))[:, None] & (columns < width)
                tl.store(out + (row * width)[:, None] + columns, result, mask=seen)
                waiting += (plus(behind, above_behind),)
            front, behind = below, below_behind  # shares of the rows that the next row of cells completes
        carried = waiting
        old = new
        old_steer = new_steer


@triton.jit
def gaussian_kernel(
    source, target, taps, length, apart, beside, size, stride,
    RADIUS: tl.constexpr, LAST: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):
    """The Gaussian along an axis of `length` voxels `apart`; grid (all blocks of an image, images).

    A program takes ROWS rows of BLOCK voxels that are neighbours in memory. LAST says whether they lie along the axis:
    then an image has `size` such rows, `beside` apart. Otherwise its rows are the positions on the axis, with `size`
    voxels each. Images lie `stride` apart.
    """
    blocks = tl.cdiv(length if LAST else size, BLOCK)
    x = tl.program_id(0) % blocks * BLOCK + tl.arange(0, BLOCK)
    far = tl.full((), 0, tl.int64)  # makes distances 64-bit numbers
    image = (far + stride) * tl.program_id(1)
    source += image
    target += image
    row = tl.program_id(0) // blocks * ROWS
    for _ in range(ROWS):
        if LAST:
            line = source + (far + tl.minimum(row, size - 1)) * beside
            total = tl.load(taps) * tl.load(line + tl.minimum(x, length - 1))
            for k in tl.static_range(1, RADIUS + 1):
                before = tl.minimum(tl.where(x < k, k - 1 - x, x - k), length - 1)
                after = tl.maximum(tl.where(x + k >= length, 2 * length - 1 - x - k, x + k), 0)
                total += tl.load(taps + k) * (tl.load(line + before) + tl.load(line + after))
            place = target + (far + row) * beside + x
            tl.store(place, total, mask=x < tl.where(row < size, length, 0))
        else:
            inside = x < size
            here = source + (far + tl.minimum(row, length - 1)) * apart
            total = tl.load(taps) * tl.load(here + x, mask=inside)
            for k in tl.static_range(1, RADIUS + 1):
                before = tl.minimum(tl.where(row < k, k - 1 - row, row - k), length - 1)
                after = tl.maximum(tl.where(row + k >= length, 2 * length - 1 - row - k, row + k), 0)
                above = tl.load(source + (far + before) * apart + x, mask=inside)
                below = tl.load(source + (far + after) * apart + x, mask=inside)
                total += tl.load(taps + k) * (above + below)
            tl.store(target + (far + row) * apart + x, total, mask=x < tl.where(row < length, size, 0))
        row += 1
