r"""The diffusion tensor of every cell from all responses that share it: scales, image channels or both.

.. math:: J = \sum_m w_m \, (K s_m)(K s_m)^\top, \qquad D = g(J),

over the members :math:`m` (scales, channels) of a pixel, with weights from ``coefficients``. The adjoint pass also
returns :math:`\bar J = D'(J)[E]` with :math:`E = \sum_m \omega_m \beta_m^2 \, \mathrm{sym}\,(K s_m)(K \bar s_m)^\top`,
the derivative of the sum :math:`\sum_m \langle K \bar s_m, D K s_m\rangle` by J.

Cell (i, k) has its lower right corner at pixel (i, k). Cell fields are stored as ``(parts, images, height + 1, pitch)``
with ``pitch >= width + 1`` a multiple of 16, so that rows stay aligned. Parts: g (isotropic), a and c (uncoupled),
a, b and c (anisotropic); the adjoint pass appends as many for J-bar.

A thread owns four neighbouring cells in two rows: three rows of pixels, read 16 bytes at a time, serve eight cells.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .diffusivity import tensor, tensor_adjoint
from .rows import apart, together


@triton.jit
def row_pairs(row, right, left, last, BLOCK: tl.constexpr):
    """Sums and differences of the two pixels of every cell in one row of pixels: two tensors (4 BLOCK)."""
    own = tl.load(row + right)
    c1, c2, c3, c4 = apart(own, BLOCK)
    c1 = tl.where(last, c4, c1)  # the cell behind the last pixel sees that pixel twice
    own = together(c1, c2, c3, c4, BLOCK)
    before = together(tl.load(row + left), c1, c2, c3, BLOCK)
    return before + own, own - before


@triton.jit
def added(
    j11, j12, j22, e11, e12, e22, detail, s, d, s_, d_, z, g, z_, g_, outer, inner, Y, Z, kappa,
    COUPLING: tl.constexpr, ADJOINT: tl.constexpr,
):
    """J and E plus the share of one member in one row of cells; (s, d) from its fields, (z, g) from its adjoints.

    The isotropic trace is kept in j11 and e11 alone.
    """
    P = d + d_
    Q = s_ - s
    R = d_ - d
    if COUPLING == 1:
        j11 += inner * (P * P + Y * (Q * Q) + (kappa * (1.0 + Y)) * (R * R))
    else:
        rr = kappa * (R * R)
        j11 += inner * (P * P + rr)
        j22 += inner * (Y * (Q * Q + rr))
    if COUPLING >= 2:
        j12 += inner * (Z * (P * Q))
    if ADJOINT:
        p = g + g_
        q = z_ - z
        r = g_ - g
        if COUPLING == 1:
            e11 += outer * (P * p + Y * (Q * q) + (kappa * (1.0 + Y)) * (R * r))
        else:
            rr = kappa * (R * r)
            e11 += outer * (P * p + rr)
            e22 += outer * (Y * (Q * q + rr))
        if COUPLING >= 2:
            e12 += outer * (0.5 * Z * (P * q + Q * p))
            detail += outer * (Z * rr)
    return j11, j12, j22, e11, e12, e22, detail


@triton.jit
def finished(
    cells, plane, j11, j12, j22, e11, e12, e22, detail, i2, gamma, floor, stored,
    KIND: tl.constexpr, COUPLING: tl.constexpr, ADJOINT: tl.constexpr,
):
    """Stores D, and J-bar behind it in the adjoint pass, in one row of cells."""
    a, b, c = tensor(j11, j12, j22, i2, floor, KIND, COUPLING)
    PARTS: tl.constexpr = 3 if COUPLING >= 2 else (2 if COUPLING == 0 else 1)
    tl.store(cells, a, mask=stored)
    if COUPLING == 0:
        tl.store(cells + plane, c, mask=stored)
    elif COUPLING >= 2:
        tl.store(cells + plane, b, mask=stored)
        tl.store(cells + 2 * plane, c, mask=stored)
    if ADJOINT:
        # The detail's share -2 gamma |b| of the energy has the derivative -2 gamma sgn(b) by b.
        sign = tl.where(b > 0.0, 1.0, tl.where(b < 0.0, -1.0, 0.0))
        t11, t12, t22 = tensor_adjoint(j11, j12, j22, e11, e12 - gamma * sign * detail, e22, i2, KIND, COUPLING)
        cells += PARTS * plane
        tl.store(cells, t11, mask=stored)
        if COUPLING == 0:
            tl.store(cells + plane, t22, mask=stored)
        elif COUPLING >= 2:
            tl.store(cells + plane, t12, mask=stored)
            tl.store(cells + 2 * plane, t22, mask=stored)


@triton.jit
def couple_kernel(
    fields, adjoints, cells, coefficients, height, width, pitch, plane, scale_stride,
    Y, Z, kappa, gamma, floor, SCALES: tl.constexpr, CHANNELS: tl.constexpr, KIND: tl.constexpr,
    COUPLING: tl.constexpr, SQUARE: tl.constexpr,
    ADJOINT: tl.constexpr, BLOCK: tl.constexpr, UNROLL: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Cells = D, and in the adjoint pass also J-bar; grid (blocks of cells, images).

    The cells of two rows lie side by side in blocks of 4 BLOCK.
    """
    # Cell by cell and, for what a thread needs once, group by group.
    flat = tl.program_id(0) * (4 * BLOCK) + tl.arange(0, 4 * BLOCK)
    i = 2 * (flat // pitch)
    k = flat % pitch
    coarse = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i_ = 2 * (coarse // (pitch // 4))
    k_ = 4 * (coarse % (pitch // 4))
    if ALIGNED:
        right = tl.minimum(k, width - 4 + k % 4)
        last = k_ == width
    else:
        right = tl.minimum(k, width - 1)
        last = k_ < 0
    left = tl.minimum(tl.maximum(k_ - 1, 0), width - 1)
    bottom = height - 1
    right0 = tl.minimum(tl.maximum(i - 1, 0), bottom) * width + right
    right1 = tl.minimum(i, bottom) * width + right
    right2 = tl.minimum(i + 1, bottom) * width + right
    left0 = tl.minimum(tl.maximum(i_ - 1, 0), bottom) * width + left
    left1 = tl.minimum(i_, bottom) * width + left
    left2 = tl.minimum(i_ + 1, bottom) * width + left
    if ALIGNED:
        right0 = tl.max_contiguous(tl.multiple_of(right0, 4), 4)
        right1 = tl.max_contiguous(tl.multiple_of(right1, 4), 4)
        right2 = tl.max_contiguous(tl.multiple_of(right2, 4), 4)
    image = tl.program_id(1).to(tl.int64)
    fields += image * (CHANNELS * height * width)
    adjoints += image * (CHANNELS * height * width)
    i2 = tl.load(coefficients + 1)
    if SQUARE:
        Y = 1.0
        Z = 1.0
    zero = tl.zeros((4 * BLOCK,), tl.float32)
    u11, u12, u22, v11, v12, v22, v = zero, zero, zero, zero, zero, zero, zero
    w11, w12, w22, x11, x12, x22, x = zero, zero, zero, zero, zero, zero, zero
    for scale in tl.range(0, SCALES, loop_unroll_factor=UNROLL):
        outer = tl.load(coefficients + 2 + scale)
        inner = tl.load(coefficients + 2 + SCALES + scale)
        for channel in range(CHANNELS):
            field = fields + channel * (height * width)
            s0, d0 = row_pairs(field, right0, left0, last, BLOCK)
            s1, d1 = row_pairs(field, right1, left1, last, BLOCK)
            s2, d2 = row_pairs(field, right2, left2, last, BLOCK)
            z0, g0, z1, g1, z2, g2 = s0, d0, s1, d1, s2, d2
            if ADJOINT:
                field = adjoints + channel * (height * width)
                z0, g0 = row_pairs(field, right0, left0, last, BLOCK)
                z1, g1 = row_pairs(field, right1, left1, last, BLOCK)
                z2, g2 = row_pairs(field, right2, left2, last, BLOCK)
            u11, u12, u22, v11, v12, v22, v = added(
                u11, u12, u22, v11, v12, v22, v, s0, d0, s1, d1, z0, g0, z1, g1, outer, inner, Y, Z, kappa,
                COUPLING, ADJOINT,
            )
            w11, w12, w22, x11, x12, x22, x = added(
                w11, w12, w22, x11, x12, x22, x, s1, d1, s2, d2, z1, g1, z2, g2, outer, inner, Y, Z, kappa,
                COUPLING, ADJOINT,
            )
        fields += scale_stride
        adjoints += scale_stride
    cells += image * ((height + 1) * pitch) + i * pitch + k
    finished(cells, plane, u11, u12, u22, v11, v12, v22, v, i2, gamma, floor, i <= height, KIND, COUPLING, ADJOINT)
    cells += pitch
    finished(cells, plane, w11, w12, w22, x11, x12, x22, x, i2, gamma, floor, i < height, KIND, COUPLING, ADJOINT)
