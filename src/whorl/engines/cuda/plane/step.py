r"""One explicit step :math:`u - \tau K^\top \Phi(K u)` in a single pass over memory.

A program computes a strip of ``4 BLOCK`` columns and goes down ``ROWS`` rows. Each row of cells is evaluated once per
strip. Its fluxes complete the row of pixels above, which is stored at once; those to the row below are kept for the
next row of cells. Cells on the border use mirrored pixels, so the flux is mirror-symmetric and the adjoint needs no
special case there.
"""

# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.diffusivity import tensor
from whorl.engines.cuda.rows import apart, details, metric, pairs, plus, row_of_cells, times, together


@triton.jit
def columns(row, first, width, CUT: tl.constexpr):
    """Pixels 4j-1 .. 4j+4 of the row at pointer `row`, mirrored at both ends; j = first + 0 .. BLOCK-1."""
    BLOCK: tl.constexpr = CUT.BLOCK
    j = first + tl.arange(0, BLOCK)
    x = 4 * first + tl.arange(0, 4 * BLOCK)
    inside = 4 * j < width
    # ALIGNED, the width is a multiple of 4: a thread's own columns all exist or all do not.
    own = tl.load(row + x, mask=x < width, other=0.0) if CUT.ALIGNED else tl.load(row + tl.minimum(x, width - 1))
    c1, c2, c3, c4 = apart(own, (BLOCK, 2, 2))
    c0 = tl.load(row + tl.maximum(4 * j - 1, 0), mask=inside, other=0.0)
    c5 = tl.load(row + tl.minimum(4 * j + 4, width - 1), mask=inside, other=0.0)
    return c0, c1, c2, c3, c4, c5


@triton.jit
def tensors(row, below, i2, m, LAW: tl.constexpr):
    """The entries of the tensors of five cells, each by itself alone."""
    Y, Z, kappa, _ = m
    a, b, c = (), (), ()
    for i in tl.static_range(5):
        P, Q, R = details(row, below, i)
        r2 = kappa * R * R
        a_i, b_i, c_i = tensor(P * P + r2, Z * (P * Q), Y * (Q * Q + r2), i2, 0.0, LAW)
        a += (a_i,)
        b += (b_i,)
        c += (c_i,)
    return a, b, c


@triton.jit
def step_kernel(source, target, coefficients, picture, cell, LAW: tl.constexpr, CUT: tl.constexpr):
    """Target = source - tau K^T Phi(K source); grid (strips across x strips down, images)."""
    BLOCK: tl.constexpr = CUT.BLOCK
    height, width, m = picture.height, picture.width, metric(cell, LAW)
    across = tl.cdiv(width, 4 * BLOCK)
    first = (tl.program_id(0) % across) * BLOCK
    top = (tl.program_id(0) // across) * CUT.ROWS
    image = tl.program_id(1).to(tl.int64) * height * width
    source += image
    target += image
    tau = tl.load(coefficients) * tl.load(coefficients + 2)
    i2 = tl.load(coefficients + 1) * tl.load(coefficients + 3)
    x = 4 * first + tl.arange(0, 4 * BLOCK)

    row = columns(source + tl.maximum(top - 1, 0) * width, first, width, CUT)
    here, row_pairs = row[1:5], pairs(row)
    zero = tl.zeros_like(row[1])
    carried = (zero, zero, zero, zero)
    next_row = columns(source + top * width, first, width, CUT)
    last = tl.minimum(top + CUT.ROWS, height)
    for y in range(top - 1, last):
        # The row after next is asked for before this one is worked on.
        coming = columns(source + tl.minimum(y + 2, height - 1) * width, first, width, CUT)
        next_pairs = pairs(next_row)
        a, b, c = tensors(row_pairs, next_pairs, i2, m, LAW)
        above, below = row_of_cells(row_pairs, next_pairs, a, b, c, m, LAW)
        result = together(plus(here, times(-tau, plus(carried, above))), (4 * BLOCK,))
        tl.store(target + y * width + x, result, mask=x < tl.where(y >= top, width, 0))
        here, carried, row_pairs, next_row = next_row[1:5], below, next_pairs, coming
