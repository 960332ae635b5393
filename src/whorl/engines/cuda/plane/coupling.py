r"""The diffusion tensor of every cell from all responses that share it: scales, image channels or both.

.. math:: J = \sum_m w_m \, (K s_m)(K s_m)^\top, \qquad D = g(J),

over the members :math:`m` (scales, channels) of a pixel, with weights from ``coefficients``. The adjoint pass also
returns :math:`\bar J = D'(J)[E]` with :math:`E = \sum_m \omega_m \beta_m^2 \, \mathrm{sym}\,(K s_m)(K \bar s_m)^\top`,
the derivative of the sum :math:`\sum_m \langle K \bar s_m, D K s_m\rangle` by J.

Cell (i, k) has its lower right corner at pixel (i, k). Cell fields are stored as ``(parts, images, height + 1, pitch)``
with ``pitch >= width + 1`` a multiple of 16, so that rows stay aligned. Parts: g (isotropic), a and c (uncoupled),
a, b and c (anisotropic); the adjoint pass appends as many for J-bar.

A thread owns four neighbouring cells in two rows: three rows of pixels, read 16 bytes at a time, serve eight cells.

Where J is smoothed (rho), cell by cell, its law comes after that. The image is mirrored at its border, which runs
through the outermost cells; so J is mirrored there without repeating them, and its mixed entry changes sign.
"""

# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.diffusivity import tensor, tensor_adjoint
from whorl.engines.cuda.rows import apart, metric, together


@triton.jit
def row_pairs(row, right, left, last, BLOCK: tl.constexpr):
    """Sums and differences of the two pixels of every cell in one row of pixels: two tensors (4 BLOCK)."""
    c1, c2, c3, c4 = apart(tl.load(row + right), (BLOCK, 2, 2))
    c1 = tl.where(last, c4, c1)  # the cell behind the last pixel sees that pixel twice
    own = together((c1, c2, c3, c4), (4 * BLOCK,))
    before = together((tl.load(row + left), c1, c2, c3), (4 * BLOCK,))
    return before + own, own - before


@triton.jit
def three_rows(field, right, left, last, BLOCK: tl.constexpr):
    """The pairs of three rows of pixels."""
    found = ()
    for k in tl.static_range(3):
        found += (row_pairs(field, right[k], left[k], last, BLOCK),)
    return found


@triton.jit
def details(row, below):
    """P, Q and R of the cells between two rows of pairs; see `rows`."""
    return row[1] + below[1], below[0] - row[0], below[1] - row[1]


@triton.jit
def product(P, Q, R, p, q, r, Y, kappa, LAW: tl.constexpr):
    """The entries 11 and 22 of the product of the details of two fields, or its trace and nothing if isotropic."""
    if LAW.parts == 1:
        return P * p + Y * (Q * q) + (kappa * (1.0 + Y)) * (R * r), tl.zeros_like(P)
    else:
        rr = kappa * (R * r)
        return P * p + rr, Y * (Q * q + rr)


@triton.jit
def collected(J, weight, a, b, c, LAW: tl.constexpr):
    """J plus a weight times the entries that the law has; the isotropic trace is kept in the first entry alone."""
    if LAW.parts == 1:
        return J[0] + weight * a, J[1], J[2]
    elif LAW.parts == 2:
        return J[0] + weight * a, J[1], J[2] + weight * c
    else:
        return J[0] + weight * a, J[1] + weight * b, J[2] + weight * c


@triton.jit
def added(J, E, detail, row, below, row_, below_, outer, inner, m, LAW: tl.constexpr, ADJOINT: tl.constexpr):
    """J and E plus the share of one member in one row of cells, between rows of its fields and of its adjoints."""
    Y, Z, kappa, _ = m
    P, Q, R = details(row, below)
    a, c = product(P, Q, R, P, Q, R, Y, kappa, LAW)
    J = collected(J, inner, a, Z * (P * Q), c, LAW)
    if ADJOINT:
        p, q, r = details(row_, below_)
        a, c = product(P, Q, R, p, q, r, Y, kappa, LAW)
        E = collected(E, outer, a, 0.5 * Z * (P * q + Q * p), c, LAW)
        if LAW.parts == 3:
            detail += outer * (Z * (kappa * (R * r)))
    return J, E, detail


@triton.jit
def store(cells, plane, a, b, c, stored, LAW: tl.constexpr):
    """The entries of a tensor that the law has."""
    tl.store(cells, a, mask=stored)
    if LAW.parts == 2:
        tl.store(cells + plane, c, mask=stored)
    elif LAW.parts == 3:
        tl.store(cells + plane, b, mask=stored)
        tl.store(cells + 2 * plane, c, mask=stored)


@triton.jit
def finished(cells, plane, J, E, detail, i2, cell, stored, LAW: tl.constexpr, ADJOINT: tl.constexpr):
    """Stores D, and J-bar behind it in the adjoint pass, in one row of cells."""
    j11, j12, j22 = J
    a, b, c = tensor(j11, j12, j22, i2, cell.floor, LAW)
    store(cells, plane, a, b, c, stored, LAW)
    if ADJOINT:
        # The detail's share -2 gamma |b| of the energy has the derivative -2 gamma sgn(b) by b.
        e11, e12, e22 = E
        sign = tl.where(b > 0.0, 1.0, tl.where(b < 0.0, -1.0, 0.0))
        t11, t12, t22 = tensor_adjoint(j11, j12, j22, e11, e12 - cell.gamma * sign * detail, e22, i2, LAW)
        store(cells + LAW.parts * plane, plane, t11, t12, t22, stored, LAW)


@triton.jit
def couple_kernel(
    fields, adjoints, cells, coefficients, picture, cell,
    LAW: tl.constexpr, SCALES: tl.constexpr, CHANNELS: tl.constexpr, ADJOINT: tl.constexpr, CUT: tl.constexpr,
):
    """Cells = D, and in the adjoint pass also J-bar; grid (blocks of cells, images).

    The cells of two rows lie side by side in blocks of 4 BLOCK.
    """
    BLOCK: tl.constexpr = CUT.BLOCK
    height, width, pitch, plane = picture.height, picture.width, picture.pitch, picture.plane
    # Cell by cell and, for what a thread needs once, group by group.
    flat = tl.program_id(0) * (4 * BLOCK) + tl.arange(0, 4 * BLOCK)
    i = 2 * (flat // pitch)
    k = flat % pitch
    coarse = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i_ = 2 * (coarse // (pitch // 4))
    k_ = 4 * (coarse % (pitch // 4))
    if CUT.ALIGNED:
        right = tl.minimum(k, width - 4 + k % 4)
        last = k_ == width
    else:
        right = tl.minimum(k, width - 1)
        last = k_ < 0
    left = tl.minimum(tl.maximum(k_ - 1, 0), width - 1)
    bottom = height - 1
    rights, lefts = (), ()
    for row in tl.static_range(3):
        own = tl.minimum(tl.maximum(i + (row - 1), 0), bottom) * width + right
        if CUT.ALIGNED:
            own = tl.max_contiguous(tl.multiple_of(own, 4), 4)
        rights += (own,)
        lefts += (tl.minimum(tl.maximum(i_ + (row - 1), 0), bottom) * width + left,)
    image = tl.program_id(1).to(tl.int64)
    fields += image * (CHANNELS * height * width)
    adjoints += image * (CHANNELS * height * width)
    i2, m = tl.load(coefficients + 1), metric(cell, LAW)
    zero = tl.zeros((4 * BLOCK,), tl.float32)
    none = (zero, zero, zero)
    J, E, detail = none, none, zero  # of the upper row of cells, and of the lower one:
    J_, E_, detail_ = none, none, zero
    for scale in tl.range(0, SCALES, loop_unroll_factor=CUT.GROUP):
        outer = tl.load(coefficients + 2 + scale)
        inner = tl.load(coefficients + 2 + SCALES + scale)
        for channel in range(CHANNELS):
            x = three_rows(fields + channel * (height * width), rights, lefts, last, BLOCK)
            y = x
            if ADJOINT:
                y = three_rows(adjoints + channel * (height * width), rights, lefts, last, BLOCK)
            J, E, detail = added(J, E, detail, x[0], x[1], y[0], y[1], outer, inner, m, LAW, ADJOINT)
            J_, E_, detail_ = added(J_, E_, detail_, x[1], x[2], y[1], y[2], outer, inner, m, LAW, ADJOINT)
        fields += picture.stride
        adjoints += picture.stride
    cells += image * ((height + 1) * pitch) + i * pitch + k
    finished(cells, plane, J, E, detail, i2, cell, i <= height, LAW, ADJOINT)
    finished(cells + pitch, plane, J_, E_, detail_, i2, cell, i < height, LAW, ADJOINT)


@triton.jit
def along_kernel(
    source, target, weights, radius, picture, ALONG_Y: tl.constexpr, BLOCK: tl.constexpr,
):
    """Target = the Gaussian of the source along one axis; grid (blocks of cells, images, entries of J)."""
    height, width, pitch, plane = picture.height, picture.width, picture.pitch, picture.plane
    flat = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    i = flat // pitch
    k = flat % pitch
    base = tl.program_id(2).to(tl.int64) * plane + tl.program_id(1).to(tl.int64) * ((height + 1) * pitch)
    inside = (i <= height) & (k <= width)
    odd = tl.program_id(2) == 1
    total = tl.zeros((BLOCK,), tl.float32)
    size = height if ALONG_Y else width
    here = i if ALONG_Y else k
    for t in range(-radius, radius + 1):
        at = ((here + t) % (2 * size) + 2 * size) % (2 * size)
        turned = at > size
        at = tl.minimum(at, 2 * size - at)
        offset = at * pitch + k if ALONG_Y else i * pitch + at
        value = tl.load(source + base + offset, mask=inside, other=0.0)
        total = tl.fma(tl.load(weights + tl.abs(t)), tl.where(odd & turned, -value, value), total)
    tl.store(target + base + flat, total, mask=inside)


@triton.jit
def law_kernel(cells, coefficients, plane, floor, LAW: tl.constexpr, BLOCK: tl.constexpr):
    """Replaces J by the diffusion tensor."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < plane
    i2 = tl.load(coefficients + 1)
    j11 = tl.load(cells + at, mask=inside, other=0.0)
    j12 = tl.load(cells + plane + at, mask=inside, other=0.0)
    j22 = tl.load(cells + 2 * plane + at, mask=inside, other=0.0)
    a, b, c = tensor(j11, j12, j22, i2, floor, LAW)
    tl.store(cells + at, a, mask=inside)
    tl.store(cells + plane + at, b, mask=inside)
    tl.store(cells + 2 * plane + at, c, mask=inside)
