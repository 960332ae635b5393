r"""The structure tensor smoothed (rho), and the tensor that a law makes of it: cell by cell, on whole fields of cells.

Fields of cells lie as in `coupling`. The image is mirrored at its border, which runs through the outermost cells; so J
is mirrored there without repeating them, and its mixed entry changes sign.
"""

# mypy: disable-error-code="no-untyped-def, untyped-decorator"
# fmt: off

import triton
import triton.language as tl

from whorl.engines.cuda.diffusivity import tensor


@triton.jit
def along_kernel(
    source, target, weights, radius, height, width, pitch, plane, ALONG_Y: tl.constexpr, BLOCK: tl.constexpr,
):
    """Target = the Gaussian of the source along one axis; grid (blocks of cells, images, entries of J)."""
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
def law_kernel(
    cells, coefficients, count, plane, floor, KIND: tl.constexpr, COUPLING: tl.constexpr, BLOCK: tl.constexpr
):
    """Replaces J by the diffusion tensor."""
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    i2 = tl.load(coefficients + 1)
    j11 = tl.load(cells + at, mask=inside, other=0.0)
    j12 = tl.load(cells + plane + at, mask=inside, other=0.0)
    j22 = tl.load(cells + 2 * plane + at, mask=inside, other=0.0)
    a, b, c = tensor(j11, j12, j22, i2, floor, KIND, COUPLING)
    tl.store(cells + at, a, mask=inside)
    tl.store(cells + plane + at, b, mask=inside)
    tl.store(cells + 2 * plane + at, c, mask=inside)
