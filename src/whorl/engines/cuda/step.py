r"""One explicit step :math:`u - \tau K^\top \Phi(K u)` in a single pass over memory.

A program owns a strip of ``4 BLOCK`` columns and walks down ``ROWS`` rows. Each cell row is evaluated once per strip;
what it owes to the pixels above is added and stored at once, what it owes to those below is carried. Cells on the
border use mirrored pixels, so the flux is mirror-symmetric and the adjoint needs no boundary case.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from .diffusivity import tensor
from .rows import columns, flux, pairs, spread, structure, together


@triton.jit
def cell(s, d, s_, d_, i2, Y, Z, kappa, gamma, KIND: tl.constexpr, COUPLING: tl.constexpr):
    """Flux of one cell whose tensor depends on this cell of this image alone."""
    j11, j12, j22 = structure(s, d, s_, d_, Y, Z, kappa)
    a, b, c = tensor(j11, j12, j22, i2, 0.0, KIND, COUPLING)
    return flux(s, d, s_, d_, a, b, c, Y, Z, kappa, gamma, COUPLING)


@triton.jit
def step_kernel(
    source, target, coefficients, height, width, Y, Z, kappa, gamma,
    KIND: tl.constexpr, COUPLING: tl.constexpr, SQUARE: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, ALIGNED: tl.constexpr,
):
    """Target = source - tau K^T Phi(K source); grid (strips across x strips down, images)."""
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * ROWS
    image = tl.program_id(1).to(tl.int64) * height * width
    source += image
    target += image
    tau = tl.load(coefficients) * tl.load(coefficients + 2)
    i2 = tl.load(coefficients + 1) * tl.load(coefficients + 3)
    if SQUARE:
        Y = 1.0
        Z = 1.0
    x = 4 * first + tl.arange(0, 4 * BLOCK)

    c0, c1, c2, c3, c4, c5 = columns(source + tl.maximum(top - 1, 0) * width, first, width, BLOCK, ALIGNED)
    s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = pairs(c0, c1, c2, c3, c4, c5)
    b1 = tl.zeros_like(c1)
    b2 = b1
    b3 = b1
    b4 = b1
    n0, n1, n2, n3, n4, n5 = columns(source + top * width, first, width, BLOCK, ALIGNED)
    last = tl.minimum(top + ROWS, height)
    for y in range(top - 1, last):
        # The row after next is asked for before this one is worked on.
        m0, m1, m2, m3, m4, m5 = columns(
            source + tl.minimum(y + 2, height - 1) * width, first, width, BLOCK, ALIGNED
        )
        e0, e1, e2, e3, e4, f0, f1, f2, f3, f4 = pairs(n0, n1, n2, n3, n4, n5)
        p0, q0, r0 = cell(s0, d0, e0, f0, i2, Y, Z, kappa, gamma, KIND, COUPLING)
        p1, q1, r1 = cell(s1, d1, e1, f1, i2, Y, Z, kappa, gamma, KIND, COUPLING)
        p2, q2, r2 = cell(s2, d2, e2, f2, i2, Y, Z, kappa, gamma, KIND, COUPLING)
        p3, q3, r3 = cell(s3, d3, e3, f3, i2, Y, Z, kappa, gamma, KIND, COUPLING)
        p4, q4, r4 = cell(s4, d4, e4, f4, i2, Y, Z, kappa, gamma, KIND, COUPLING)
        t1, t2, t3, t4, a1, a2, a3, a4 = spread(p0, q0, r0, p1, q1, r1, p2, q2, r2, p3, q3, r3, p4, q4, r4)
        result = together(
            c1 - tau * (b1 + t1), c2 - tau * (b2 + t2), c3 - tau * (b3 + t3), c4 - tau * (b4 + t4), BLOCK
        )
        tl.store(target + y * width + x, result, mask=x < tl.where(y >= top, width, 0))
        c1, c2, c3, c4 = n1, n2, n3, n4
        n0, n1, n2, n3, n4, n5 = m0, m1, m2, m3, m4, m5
        s0, s1, s2, s3, s4, d0, d1, d2, d3, d4 = e0, e1, e2, e3, e4, f0, f1, f2, f3, f4
        b1, b2, b3, b4 = a1, a2, a3, a4
