r"""One application of a learned block, :math:`u - \tau K_2^*\, \Phi(K_1 u)`, on a CUDA device.

Kernels: the fields and their gates, and the transposed operator with the step. Between them fields are kept in
float16. The stream stays in float32, its channels side by side in memory.

Beyond its border the picture is mirrored. The fields of a mirrored picture are the mirrored fields, so they are
computed for two pixels beyond the border like all others, and the transposed operator needs no special case there.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor

from whorl.engines.capabilities import interpreted
from whorl.engines.selection import transformed

from .gated_kernels import analysis_kernel, gate_kernel, synthesis_kernel
from .gated_numbers import Matrices, matrices

__all__ = ["applied"]

MARGIN = 2

LARGEST = 2**31
"""Numbers of one picture: places in it are counted in 32 bits."""


SMALLEST = 5
"""Pixels along either side, so that a single reflection reaches everything that a margin of three pixels looks at."""

SLACK = 64


class Tiling:
    """How the work is cut; none of it changes a result."""

    analysis = (8, 8, 4, 1)  # rows and columns of a tile, warps, stages
    gates = (8, 8, 4, 1)
    synthesis = (8, 8, 4, 1)
    masked = True
    programs = 132 * 4


def applied(
    u: Tensor, analysis: Any, synthesis: Any, gate: Any, bias: Tensor, level: Tensor | None, tau: float | Tensor
) -> Tensor | None:
    """The stream after one application, or None where there are no kernels for it."""
    n, C, H, W = u.shape
    if u.dtype != torch.float32 or transformed(u) or min(H, W) < SMALLEST or not n:
        return None
    if not rounding_allowed():
        return None
    if level is not None and level.shape[1:] != (1, 1, 1):
        return None  # a map of levels
    found = matrices(analysis, synthesis, gate)
    if found is None or (H + 6) * (W + 6) * found.components >= LARGEST:
        return None
    u = u.detach().permute(0, 2, 3, 1).contiguous()
    v = fields(u, found, found.numbers(gate, bias, level), gate.rho)
    tau = tau.detach() if isinstance(tau, Tensor) else u.new_full((), tau)
    return stepped(u, v, found, tau).permute(0, 3, 1, 2)


def rounding_allowed() -> bool:
    """Whether factors may be rounded to 10 bits: torch's own switch for convolutions, which allows it unless told."""
    convolutions = getattr(torch.backends.cudnn, "conv", None)
    if convolutions is None:  # an older torch
        return bool(torch.backends.cudnn.allow_tf32)
    return bool(convolutions.fp32_precision == "tf32")


def fields(u: Tensor, found: Matrices, numbers: Tensor, rho: int) -> Tensor:
    """The gated fields of the picture and its margin."""
    n, H, W, C = u.shape
    own = numbers.stride(0) if len(numbers) > 1 else 0
    high, wide = H + 2 * (MARGIN + rho), W + 2 * (MARGIN + rho)
    v = padded((n, high, wide, found.components), torch.float16, u.device)
    BY, BX, warps, stages = Tiling.analysis
    strips, steps = _cut(high, wide, n, BY, BX)
    analysis_kernel[strips, n](
        u, v, *found.analysis, found.gate, numbers, own, H, W, steps,
        C=C, CB=found.channels, **found.sizes, MARGIN=MARGIN + rho, GATED=rho == 0, FAST=not interpreted(),
        MASKED=Tiling.masked, BY=BY, BX=BX, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    if rho == 0:
        return v
    raw, high, wide = v, high - 2, wide - 2
    v = padded((n, high, wide, found.components), torch.float16, u.device)
    BY, BX, warps, stages = Tiling.gates
    strips, steps = _cut(high, wide, n, BY, BX)
    gate_kernel[strips, n](
        raw, v, found.gate, numbers, own, high, wide, steps,
        **found.sizes, FAST=not interpreted(), BY=BY, BX=BX, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return v


def padded(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    """Room for a tensor, and zeros behind it: kernels read a few numbers more than there are."""
    size = math.prod(shape)
    room = torch.empty(size + SLACK, dtype=dtype, device=device)
    room[size:].zero_()
    return room[:size].view(*shape)


def stepped(u: Tensor, v: Tensor, found: Matrices, tau: Tensor) -> Tensor:
    """The stream after the step."""
    n, H, W, C = u.shape
    out = padded(u.shape, u.dtype, u.device)
    BY, BX, warps, stages = Tiling.synthesis
    strips, steps = _cut(H, W, n, BY, BX)
    synthesis_kernel[strips, n](
        v, u, out, *found.synthesis, tau, H, W, steps,
        C=C, CB=found.channels, **found.sizes, MASKED=Tiling.masked, BY=BY, BX=BX, num_warps=warps, num_stages=stages,
    )  # fmt: skip
    return out


def _cut(high: int, wide: int, n: int, BY: int, BX: int) -> tuple[int, int]:
    """Programs for one picture, and how many tiles each works on, one below the other."""
    across, down = triton.cdiv(wide, BX), triton.cdiv(high, BY)
    segments = min(down, max(1, round(Tiling.programs / (across * n))))
    steps = triton.cdiv(down, segments)
    return across * triton.cdiv(down, steps), steps
