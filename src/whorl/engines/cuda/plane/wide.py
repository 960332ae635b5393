r"""One explicit step :math:`u - \tau K^\top D K u` on cells of 4x4 pixels, in a single pass over memory.

A thread owns one column of cells and walks down its rows. Of every row of pixels it keeps what the three filters make
of its four columns, and of every row of cells what the three rows of pixels to come receive. The shares of four
neighbouring columns of cells are added among the threads of a warp, of which the last three only lend theirs.

Cell (i, k) lies over the pixels i-2 .. i+1 and k-2 .. k+1; see :mod:`whorl.operators.wide`. All that the border needs
are mirrored pixels.
"""

# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.diffusivity import tensor
from whorl.engines.cuda.plane.coupling import collected, product
from whorl.engines.cuda.plane.smoothing import mirror
from whorl.engines.cuda.rows import flux, metric, plus
from whorl.operators.wide import AVERAGE, DERIVATIVE, THIRD_DIFFERENCE

D_NEAR, D_FAR = tl.constexpr(DERIVATIVE.near), tl.constexpr(DERIVATIVE.far)
A_NEAR, A_FAR = tl.constexpr(AVERAGE.near), tl.constexpr(AVERAGE.far)
E_NEAR, E_FAR = tl.constexpr(THIRD_DIFFERENCE.near), tl.constexpr(THIRD_DIFFERENCE.far)


@triton.jit
def filtered(row, places):
    """Derivative, average and third difference of four pixels beside each other."""
    a, b = tl.load(row + places[0]), tl.load(row + places[1])
    c, d = tl.load(row + places[2]), tl.load(row + places[3])
    near, far = c - b, d - a
    return near * D_NEAR + far * D_FAR, (b + c) * A_NEAR + (a + d) * A_FAR, near * E_NEAR + far * E_FAR


@triton.jit
def details(a, b, c, d):
    """P, Q and R of cells, twice the details, from four rows of pixels that are filtered along x."""
    P = (b[0] + c[0]) * A_NEAR + (a[0] + d[0]) * A_FAR
    Q = (c[1] - b[1]) * D_NEAR + (d[1] - a[1]) * D_FAR
    R = (c[2] - b[2]) * E_NEAR + (d[2] - a[2]) * E_FAR
    return 2.0 * P, 2.0 * Q, 4.0 * R


@triton.jit
def received(p, q, r, A: tl.constexpr, D: tl.constexpr, E: tl.constexpr):
    """What one of four rows of pixels receives of the fluxes of a row of cells, to be filtered along x."""
    return p * (2.0 * A), q * (2.0 * D), r * (4.0 * E)


@triton.jit
def gathered(f, BLOCK: tl.constexpr):
    """The filters' transposes along x: every pixel adds the shares of its own column of cells and the next three."""
    thread = tl.arange(0, BLOCK)
    total = f[0] * D_FAR + f[1] * A_FAR + f[2] * E_FAR
    total += tl.gather(f[0] * D_NEAR + f[1] * A_NEAR + f[2] * E_NEAR, tl.minimum(thread + 1, BLOCK - 1), 0)
    total += tl.gather(f[1] * A_NEAR - f[0] * D_NEAR - f[2] * E_NEAR, tl.minimum(thread + 2, BLOCK - 1), 0)
    return total + tl.gather(f[1] * A_FAR - f[0] * D_FAR - f[2] * E_FAR, tl.minimum(thread + 3, BLOCK - 1), 0)


@triton.jit
def wide_kernel(
    source, seen, target, coefficients, picture, cell, seen_cell,
    LAW: tl.constexpr, CHANNELS: tl.constexpr, STEERED: tl.constexpr, CUT: tl.constexpr,
):
    """Target = source - tau K^T D K source, with D by the structure of `seen`; grid (strips, images)."""
    BLOCK: tl.constexpr = CUT.BLOCK
    height, width = picture.height, picture.width
    thread = tl.arange(0, BLOCK)
    across = tl.cdiv(width, BLOCK - 3)
    x = (tl.program_id(0) % across) * (BLOCK - 3) + thread
    top = (tl.program_id(0) // across) * CUT.ROWS
    end, size = tl.where(thread < BLOCK - 3, width, 0), height * width
    image = tl.program_id(1).to(tl.int64) * (CHANNELS * size)
    source += image
    seen += image
    target += image
    tau = tl.load(coefficients) * tl.load(coefficients + 2)
    i2, inner = tl.load(coefficients + 1), tl.load(coefficients + 3)
    m, seen_m = metric(cell, LAW), metric(seen_cell, LAW)
    zero = tl.zeros((BLOCK,), tl.float32)
    none = (zero, zero, zero)
    places = ()
    for i in tl.static_range(4):
        places += (tl.maximum(mirror(x + (i - 3), width, CUT.FAR), 0),)
    rows, steering, carried = (), (), ()  # of every channel three rows: filtered pixels, and sums that wait
    for channel in tl.static_range(CHANNELS):
        three, more = (), ()
        for i in tl.static_range(3):
            place = mirror(top + (i - 3), height, CUT.FAR) * width + channel * size
            three += (filtered(source + place, places),)
            if STEERED:
                more += (filtered(seen + place, places),)
        rows += (three,)
        steering += (more,)
        carried += ((none, none, none),)
    last = tl.minimum(top + CUT.ROWS, height)
    for i in range(top - 1, last + 2):
        place = tl.maximum(mirror(i + 1, height, CUT.FAR), 0) * width
        J, found, rows_, steering_, carried_ = none, (), (), (), ()
        for channel in tl.static_range(CHANNELS):
            new = filtered(source + place + channel * size, places)
            found += (details(rows[channel][0], rows[channel][1], rows[channel][2], new),)
            rows_ += ((rows[channel][1], rows[channel][2], new),)
            P, Q, R = found[channel]
            if STEERED:
                s = steering[channel]
                new = filtered(seen + place + channel * size, places)
                P, Q, R = details(s[0], s[1], s[2], new)
                steering_ += ((s[1], s[2], new),)
            xx, yy = product(P, Q, R, P, Q, R, seen_m[0], seen_m[2], LAW)
            J = collected(J, inner, xx, seen_m[1] * (P * Q), yy, LAW)
        a, b, c = tensor(J[0], J[1], J[2], i2, 0.0, LAW)
        y = i - 2
        for channel in tl.static_range(CHANNELS):
            P, Q, R = found[channel]
            p, q, r = flux(P, Q, R, a, b, c, m, LAW)
            waiting, here = carried[channel], y * width + x + channel * size
            change = gathered(plus(waiting[0], received(p, q, r, A_FAR, -D_FAR, -E_FAR)), BLOCK)
            stored = x < tl.where(y >= top, end, 0)
            before = tl.load(source + here, mask=stored, other=0.0)
            tl.store(target + here, before - tau * change, mask=stored)
            carried_ += ((
                plus(waiting[1], received(p, q, r, A_NEAR, -D_NEAR, -E_NEAR)),
                plus(waiting[2], received(p, q, r, A_NEAR, D_NEAR, E_NEAR)),
                received(p, q, r, A_FAR, D_FAR, E_FAR),
            ),)
        rows, steering, carried = rows_, steering_, carried_
