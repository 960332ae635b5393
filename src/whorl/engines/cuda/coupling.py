r"""The diffusion tensor of every cell from all responses that share it: scales, image channels or both.

.. math:: J = \sum_m w_m \, (K s_m)(K s_m)^\top, \qquad D = g(J),

over the members :math:`m` (scales, channels) of a pixel, with weights from ``coefficients``. The adjoint pass also
returns :math:`\bar J = D'(J)[E]` with :math:`E = \sum_m \omega_m \beta_m^2 \, \mathrm{sym}\,(K s_m)(K \bar s_m)^\top`,
the derivative of the sum :math:`\sum_m \langle K \bar s_m, D K s_m\rangle` by J.

Cell (i, k) has its lower right corner at pixel (i, k). Cell fields are stored as ``(parts, images, height + 1, pitch)``
with ``pitch >= width + 1`` a multiple of 16, so that rows stay aligned. Parts: g (isotropic), a and c (uncoupled),
a, b and c (anisotropic); the adjoint pass appends as many for J-bar.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .diffusivity import tensor, tensor_adjoint


@triton.jit
def responses(field, upper, lower, left, right, inside):
    """P, Q, R of every cell: twice the derivatives and the Haar detail."""
    a = tl.load(field + upper + left, mask=inside, other=0.0)
    b = tl.load(field + upper + right, mask=inside, other=0.0)
    c = tl.load(field + lower + left, mask=inside, other=0.0)
    d = tl.load(field + lower + right, mask=inside, other=0.0)
    return (b - a) + (d - c), (c + d) - (a + b), (d - c) - (b - a)


@triton.jit
def couple_kernel(
    fields, adjoints, cells, coefficients, height, width, pitch, plane, scale_stride, Y, Z, kappa, gamma,
    SCALES: tl.constexpr, CHANNELS: tl.constexpr, KIND: tl.constexpr, COUPLING: tl.constexpr, SQUARE: tl.constexpr,
    ADJOINT: tl.constexpr, BLOCK: tl.constexpr,
):
    """Cells = D, and in the adjoint pass also J-bar; grid (blocks of cells, images)."""
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    size = (height + 1) * pitch
    i = flat // pitch
    k = flat % pitch
    inside = (i <= height) & (k <= width)
    upper = tl.maximum(i - 1, 0) * width
    lower = tl.minimum(i, height - 1) * width
    left = tl.maximum(k - 1, 0)
    right = tl.minimum(k, width - 1)
    image = tl.program_id(1)
    start = image.to(tl.int64) * CHANNELS * height * width
    i2 = tl.load(coefficients + 1)
    if SQUARE:
        Y = 1.0
        Z = 1.0
    j11 = tl.zeros((BLOCK,), tl.float32)
    j12 = tl.zeros((BLOCK,), tl.float32)
    j22 = tl.zeros((BLOCK,), tl.float32)
    e11 = tl.zeros((BLOCK,), tl.float32)
    e12 = tl.zeros((BLOCK,), tl.float32)
    e22 = tl.zeros((BLOCK,), tl.float32)
    detail = tl.zeros((BLOCK,), tl.float32)
    for scale in range(SCALES):
        outer = tl.load(coefficients + 2 + scale)
        inner = tl.load(coefficients + 2 + SCALES + scale)
        offset = start + scale * scale_stride.to(tl.int64)
        for _ in range(CHANNELS):
            P, Q, R = responses(fields + offset, upper, lower, left, right, inside)
            rr = kappa * R * R
            j11 += inner * (P * P + rr)
            j12 += inner * (Z * (P * Q))
            j22 += inner * (Y * (Q * Q + rr))
            if ADJOINT:
                p, q, r = responses(adjoints + offset, upper, lower, left, right, inside)
                rr = kappa * R * r
                e11 += outer * (P * p + rr)
                e12 += outer * (0.5 * Z * (P * q + Q * p))
                e22 += outer * (Y * (Q * q + rr))
                detail += outer * (Z * rr)
            offset += height * width
    a, b, c = tensor(j11, j12, j22, i2, KIND, COUPLING)
    cells += image.to(tl.int64) * size + flat
    stored = flat < size
    tl.store(cells, a, mask=stored)
    PARTS: tl.constexpr = 3 if COUPLING == 2 else (2 if COUPLING == 0 else 1)
    if COUPLING == 0:
        tl.store(cells + plane, c, mask=stored)
    elif COUPLING == 2:
        tl.store(cells + plane, b, mask=stored)
        tl.store(cells + plane + plane, c, mask=stored)
    if ADJOINT:
        # The detail's share -2 gamma |b| of the energy has the derivative -2 gamma sgn(b) by b.
        sign = tl.where(b > 0.0, 1.0, tl.where(b < 0.0, -1.0, 0.0))
        t11, t12, t22 = tensor_adjoint(j11, j12, j22, e11, e12 - gamma * sign * detail, e22, i2, KIND, COUPLING)
        cells += PARTS * plane.to(tl.int64)
        tl.store(cells, t11, mask=stored)
        if COUPLING == 0:
            tl.store(cells + plane, t22, mask=stored)
        elif COUPLING == 2:
            tl.store(cells + plane, t12, mask=stored)
            tl.store(cells + plane + plane, t22, mask=stored)
