r"""One explicit step :math:`u - \tau K^\top \Phi(K u)` in space, in a single pass over memory.

A thread owns four columns and ``ROWS`` rows and walks through ``DEPTH`` planes. It keeps the plane before, one row and
one column of neighbours around its own voxels, so that all cells at its voxels are evaluated where they are needed:
nothing is exchanged between threads. The fluxes of a layer of cells complete the plane before it; those to the plane
behind are kept for the next layer. Planes ahead are copied into shared memory meanwhile. Cells on the border use
mirrored voxels, so the adjoint needs no special case there.

Sums and differences are taken along one axis after the other, first along z, so that cells share them with their
neighbours; the adjoint goes the same way back. An isotropic cell then takes 53 operations: 13 for its details, 18 for
its law and 22 for the adjoint. Arithmetic binds this kernel, not memory; `docs/benchmarks.rst` counts.

Details are undivided, four times those of the theory, and lengths are counted in voxels along x: ``tau`` and ``i2``
carry the factor :math:`X = 1/(16 h_x^2)`, and ``b = h_x / h_y``, ``c = h_x / h_z``, ``kappa = 1 - 2 alpha`` are left.
"""

# fmt: off
# ruff: noqa: F821, F841

import triton
import triton.language as tl

from whorl.engines.cuda.diffusivity import diffusivity, divided_difference, powers
from whorl.engines.cuda.rows import apart, together


@triton.jit
def voxels(plane, y, x, width, height, CUT: tl.constexpr):
    """Columns x-1 .. x+4 of row y of the plane at pointer `plane`, mirrored at the ends."""
    row = plane + tl.minimum(tl.maximum(y, 0), height - 1) * width
    BLOCK: tl.constexpr = CUT.BLOCK
    if CUT.ALIGNED:  # the width is a multiple of 4: a thread's own columns all exist or all do not
        first = tl.multiple_of(tl.minimum(x, width - 4), 4)
        here = row + first  # all others at constant distances from one address
        c1, c2, c3, c4 = apart(tl.load(here[:, None] + tl.arange(0, 4)[None, :]), (BLOCK, 2, 2))
        left = tl.where(first > 0, tl.load(here - 1, mask=first > 0), c1)
        right = tl.where(first < width - 4, tl.load(here + 4, mask=first < width - 4), c4)
    else:
        own = tl.load(row + tl.minimum(x[:, None] + tl.arange(0, 4)[None, :], width - 1))
        c1, c2, c3, c4 = apart(own, (BLOCK, 2, 2))
        left, right = tl.load(row + tl.maximum(x - 1, 0)), tl.load(row + tl.minimum(x + 4, width - 1))
    return left, c1, c2, c3, c4, right


@triton.jit
def pairs(front, behind):
    """Of a row in two planes: differences along z, summed and differenced along x; then sums along z, likewise."""
    dz_sum, dz_dx, sum_sum, sum_dx = (), (), (), ()
    for i in tl.static_range(6):
        dz, sz = behind[i] - front[i], behind[i] + front[i]
        if i > 0:
            dz_sum += (dz_before + dz,)
            dz_dx += (dz - dz_before,)
            sum_sum += (sz_before + sz,)
            sum_dx += (sz - sz_before,)
        dz_before, sz_before = dz, sz
    return dz_sum, dz_dx, sum_sum, sum_dx


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
    """g(J) by four rounds of Jacobi rotations, of entries scaled by a power of two so that squares keep in range."""
    size, scale = powers(xx + yy + zz)
    xx, xy, xz, yy, yz, zz = scale * xx, scale * xy, scale * xz, scale * yy, scale * yz, scale * zz
    n = tl.zeros_like(xx)
    i = n + 1.0
    ax, ay, az, bx, by, bz, cx, cy, cz = i, n, n, n, i, n, n, n, i
    for _ in tl.static_range(4):
        xx, yy, xy, xz, yz, ax, ay, az, bx, by, bz = rotated(xx, yy, xy, xz, yz, ax, ay, az, bx, by, bz)
        xx, zz, xz, xy, yz, ax, ay, az, cx, cy, cz = rotated(xx, zz, xz, xy, yz, ax, ay, az, cx, cy, cz)
        yy, zz, yz, xy, xz, bx, by, bz, cx, cy, cz = rotated(yy, zz, yz, xy, xz, bx, by, bz, cx, cy, cz)
    a = diffusivity(size * tl.maximum(xx, 0.0), i2, KIND)
    b = diffusivity(size * tl.maximum(yy, 0.0), i2, KIND)
    c = diffusivity(size * tl.maximum(zz, 0.0), i2, KIND)
    return (
        a * ax * ax + b * bx * bx + c * cx * cx, a * ax * ay + b * bx * by + c * cx * cy,
        a * ax * az + b * bx * bz + c * cx * cz, a * ay * ay + b * by * by + c * cy * cy,
        a * ay * az + b * by * bz + c * cy * cz, a * az * az + b * bz * bz + c * cz * cz,
    )


@triton.jit
def flux(p, r, t, s, m, i2, LAW: tl.constexpr):
    """The fluxes along the axes in a cell, and the weights of its mixed details in the others.

    Derivatives p and s are along x, y, z; details r along xy, xz, yz. The gradient s steers an edge-enhancing law.
    """
    KIND: tl.constexpr = LAW.kind
    CUBIC: tl.constexpr = LAW.square
    p_x, p_y, p_z = p
    r_xy, r_xz, r_yz = r
    b, c, kappa = m
    q_y, q_z, bb, cc = b * p_y, c * p_z, b * b, c * c
    if LAW.name == "isotropic":
        s2 = p_x * p_x + q_y * q_y + q_z * q_z
        if CUBIC:
            s2 += (2.0 * kappa) * (r_xy * r_xy + r_xz * r_xz + r_yz * r_yz)
        else:
            s2 += kappa * ((1.0 + bb) * r_xy * r_xy + (1.0 + cc) * r_xz * r_xz + (bb + cc) * r_yz * r_yz)
        g = diffusivity(s2 + ((1.0 + bb + cc) * kappa * kappa) * (t * t), i2, KIND)
        P_x, P_y, P_z = g * p_x, (bb * g) * p_y, (cc * g) * p_z
        m_xy, m_xz, m_yz = ((1.0 + bb) * kappa) * g, ((1.0 + cc) * kappa) * g, ((bb + cc) * kappa) * g
        m_t = ((1.0 + bb + cc) * kappa * kappa) * g
    else:
        if LAW.name == "edge-enhancing":
            s_x, s_y, s_z = s
            q_sy, q_sz = b * s_y, c * s_z
            xx, yy, zz = s_x * s_x, q_sy * q_sy, q_sz * q_sz
            s2 = xx + yy + zz
            m = 0.5 * s2
            g = diffusivity(s2, i2, KIND)
            q = divided_difference(m, m, g, 1.0, i2, KIND)
            along = q * (s_x * p_x + q_sy * q_y + q_sz * q_z)
            P_x, P_y, P_z = p_x + along * s_x, b * (q_y + along * q_sy), c * (q_z + along * q_sz)
            h = kappa * q
            if not CUBIC:
                xx, yy, zz = kappa + h * xx, bb * (kappa + h * yy), cc * (kappa + h * zz)
        else:
            xy2, xz2, yz2, t2 = r_xy * r_xy, r_xz * r_xz, r_yz * r_yz, kappa * t * t
            xx = p_x * p_x + kappa * (xy2 + xz2 + t2)
            yy = q_y * q_y + bb * kappa * (xy2 + yz2 + t2)
            zz = q_z * q_z + cc * kappa * (xz2 + yz2 + t2)
            if LAW.name == "uncoupled":
                xx, yy, zz = diffusivity(xx, i2, KIND), bb * diffusivity(yy, i2, KIND), cc * diffusivity(zz, i2, KIND)
                P_x, P_y, P_z = xx * p_x, yy * p_y, zz * p_z
            else:
                xx, xy, xz, yy, yz, zz = matrix_diffusivity(xx, p_x * q_y, p_x * q_z, yy, q_y * q_z, zz, i2, KIND)
                P_x = xx * p_x + xy * q_y + xz * q_z
                P_y = b * (xy * p_x + yy * q_y + yz * q_z)
                P_z = c * (xz * p_x + yz * q_y + zz * q_z)
                yy, zz = bb * yy, cc * zz
            xx, yy, zz = kappa * xx, kappa * yy, kappa * zz
        if LAW.name == "edge-enhancing" and CUBIC:  # the trace of the tensor is 2 + g
            both = kappa + kappa * g
            m_xy, m_xz, m_yz, m_t = both - h * zz, both - h * yy, both - h * xx, kappa * kappa * (2.0 + g)
        else:
            m_xy, m_xz, m_yz = xx + yy, xx + zz, yy + zz
            m_t = kappa * (m_xy + zz)
    return P_x, P_y, P_z, m_xy, m_xz, m_yz, m_t


@triton.jit
def row_of_cells(above, below, steer_above, steer_below, m, i2, LAW: tl.constexpr):
    """The shares of the fluxes of five cells that go to the `pairs` of the rows above and below."""
    z0, xz0, s0, x0 = above
    z1, xz1, s1, x1 = below
    up_z, up_xz, up, up_x, down_z, down_xz, down, down_x = (), (), (), (), (), (), (), ()
    for i in tl.static_range(5):
        p = (x1[i] + x0[i], s1[i] - s0[i], z1[i] + z0[i])
        r_xy, r_xz, r_yz, t = x1[i] - x0[i], xz1[i] + xz0[i], z1[i] - z0[i], xz1[i] - xz0[i]
        s = p
        if LAW.name == "edge-enhancing":
            s_x, s_y = steer_below[3][i] + steer_above[3][i], steer_below[2][i] - steer_above[2][i]
            s = (s_x, s_y, steer_below[0][i] + steer_above[0][i])
        P_x, P_y, P_z, m_xy, m_xz, m_yz, m_t = flux(p, (r_xy, r_xz, r_yz), t, s, m, i2, LAW)
        R_xz = m_xz * r_xz
        up_z += (P_z - m_yz * r_yz,)
        down_z += (P_z + m_yz * r_yz,)
        up_xz += (R_xz - m_t * t,)
        down_xz += (R_xz + m_t * t,)
        up += (-P_y,)
        down += (P_y,)
        up_x += (P_x - m_xy * r_xy,)
        down_x += (P_x + m_xy * r_xy,)
    return (up_z, up_xz, up, up_x), (down_z, down_xz, down, down_x)


@triton.jit
def received(totals, changes, more_totals, more_changes, j: tl.constexpr):
    """The sum that column j receives from the cells on both sides, in the rows of cells above and below."""
    left = (totals[j] + more_totals[j]) + (changes[j] + more_changes[j])
    right = (totals[j + 1] + more_totals[j + 1]) - (changes[j + 1] + more_changes[j + 1])
    return left + right


@triton.jit
def volume_kernel(
    source, steer, target, coefficients, volume, cell, LAW: tl.constexpr, CUT: tl.constexpr, STAGES: tl.constexpr
):
    """Target = source - tau K^T Phi(K source); grid (tiles of a plane, chunks of planes, volumes)."""
    ROWS: tl.constexpr = CUT.ROWS
    DEPTH: tl.constexpr = CUT.GROUP
    BLOCK: tl.constexpr = CUT.BLOCK
    depth, height, width = volume
    m = cell if not LAW.square else (1.0, 1.0, cell[2])
    if CUT.ALIGNED:
        width = width // 4 * 4  # lets the compiler know
    tiles = tl.cdiv(width, 4 * BLOCK)
    x = 4 * (tl.program_id(0) % tiles * BLOCK + tl.arange(0, BLOCK))
    y = tl.program_id(0) // tiles * ROWS
    columns = x[:, None] + tl.arange(0, 4)[None, :]
    size = tl.full((), 0, tl.int64) + height * width
    first = tl.program_id(2) * depth * size
    source += first
    steer += first
    target += first
    tau = tl.load(coefficients)
    i2 = tl.load(coefficients + 1)
    begin = tl.program_id(1) * DEPTH
    first = tl.maximum(begin - 1, 0) * size
    old, old_steer, carried = (), (), ()
    for k in tl.static_range(ROWS + 2):
        old += (voxels(source + first, y + (k - 1), x, width, height, CUT),)
        if LAW.name == "edge-enhancing":
            old_steer += (voxels(steer + first, y + (k - 1), x, width, height, CUT),)
        if k < ROWS:
            nothing = tl.zeros((BLOCK,), tl.float32)
            carried += ((nothing, nothing, nothing, nothing),)
    last = tl.minimum(begin + DEPTH, depth)
    for z in tl.range(begin, last + 1, num_stages=STAGES):
        # Layer z of cells lies between the planes z - 1 and z and completes plane z - 1.
        place = tl.minimum(z, depth - 1) * size
        out = target + (z - 1) * size
        new, new_steer, waiting = (), (), ()
        for k in tl.static_range(ROWS + 2):
            row = y + (k - 1)
            behind = voxels(source + place, row, x, width, height, CUT)
            below = pairs(old[k], behind)
            new += (behind,)
            steer_below = below
            if LAW.name == "edge-enhancing":
                behind = voxels(steer + place, row, x, width, height, CUT)
                steer_below = pairs(old_steer[k], behind)
                new_steer += (behind,)
            if k > 0:  # the cells between this row and the one above
                up, down = row_of_cells(above, below, steer_above, steer_below, m, i2, LAW)
            if k > 1:  # complete the row above
                finished, kept = (), ()
                for j in tl.static_range(4):
                    dz = received(shares[0], shares[1], up[0], up[1], j)
                    sz = received(shares[2], shares[3], up[2], up[3], j)
                    finished += (old[k - 1][j + 1] - tau * (carried[k - 2][j] + (sz - dz)),)
                    kept += (sz + dz,)
                waiting += (kept,)
                end = tl.where(z > begin, tl.where(row <= height, width, 0), 0)
                tl.store(out + (row - 1) * width + columns, together(finished, (BLOCK, 4)), mask=columns < end)
            if k > 0:
                shares = down
            above, steer_above = below, steer_below
        old, old_steer, carried = new, new_steer, waiting
