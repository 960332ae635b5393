r"""One application of a learned block, :math:`u - \tau K_2^*\, \Phi(K_1 u)`, on a CUDA device.

Kernels: the fields and their gates, and the transposed operator with the step. The stream stays in float32, its
channels side by side in memory. Beside it there is a copy in float16, from which the next application begins; fields
are kept in float16, too.

Beyond its border the picture is mirrored. The fields of a mirrored picture are the mirrored fields, so they are
computed for some pixels beyond the border like all others, and the transposed operator needs no special case there.
"""

import math
from collections.abc import Sequence
from typing import Any

import torch
import triton
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from whorl.engines.capabilities import interpreted
from whorl.engines.selection import transformed
from whorl.operators.boundary import mirror
from whorl.operators.orbits import RADIUS

from .gated_kernels import analysis_kernel, synthesis_kernel
from .gated_numbers import Matrices, matrices
from .gates import gate_kernel

__all__ = ["applied"]

LARGEST = 2**31
"""Numbers of one picture: places in it are counted in 32 bits."""

SLACK = 64
"""Zeros behind what kernels read: they read a few numbers more than there are."""

_rounded: Any = WeakTensorKeyDictionary()  # of streams that kernels made: their state, and copies in float16


class Tiling:
    """How the work is cut; none of it changes a result."""

    analysis = (8, 8, 4)  # rows and columns of a tile, warps
    gates = (8, 8, 4)
    synthesis = (8, 8, 4)
    programs = 132 * 4


def applied(
    u: Tensor, analysis: Any, synthesis: Any, gate: Any, bias: Tensor, level: Tensor | None, tau: float | Tensor
) -> Tensor | None:
    """The stream after one application, or None where there are no kernels for it.

    It must be far from the largest number of float16: below 8000, where a picture from 0 to 255 stays below 100.
    """
    n, _, H, W = u.shape
    # The copy in float16 looks so far beyond the border; a single reflection must reach it.
    margin = 2 * RADIUS + gate.rho
    if u.dtype != torch.float32 or transformed(u) or not n or min(H, W) < margin or not rounding_allowed():
        return None
    if level is not None and level.shape[1:] != (1, 1, 1):
        return None  # a map of levels
    found = matrices(analysis, synthesis, gate)
    if found is None or (H + 2 * margin) * (W + 2 * margin) * found.components >= LARGEST:
        return None
    v = _fields(_copied(u, margin), found, found.numbers(gate, bias, level), gate.rho)
    return _stepped(u, v, found, tau.detach() if isinstance(tau, Tensor) else u.new_full((), tau), margin)


def rounding_allowed() -> bool:
    """Whether factors may be rounded to 11 bits: torch's own switch for convolutions, which allows it unless told."""
    convolutions = getattr(torch.backends.cudnn, "conv", None)
    if convolutions is None:  # an older torch
        return bool(torch.backends.cudnn.allow_tf32)
    return bool(convolutions.fp32_precision == "tf32")


def _copied(u: Tensor, margin: int) -> Tensor:
    """The stream in float16, mirrored at its border: the copy that was made with it, or a new one."""
    known = _rounded.get(u)
    if known is not None and known[0] == (margin, _state(u)):
        copy: Tensor = known[1]
        return copy
    whole = mirror(u.detach(), margin).permute(0, 2, 3, 1)
    return _room(whole.shape, torch.float16, u.device).copy_(whole)


def _state(u: Tensor) -> int | None:
    """What changes whenever the tensor is changed; torch does not count that in its inference mode."""
    return None if u.is_inference() else u._version


def _fields(u: Tensor, found: Matrices, numbers: Tensor, rho: int) -> Tensor:
    """The gated fields of the stream, which has a margin of two pixels more than they, and one more where smoothed."""
    n, high, wide, C = u.shape
    high, wide, own = high - 2 * RADIUS, wide - 2 * RADIUS, int(len(numbers) > 1)
    v = _room((n, high, wide, found.components), torch.float16, u.device)
    BY, BX, warps = Tiling.analysis
    strips, steps = _cut(high, wide, n, BY, BX)
    analysis_kernel[strips, n](
        u, v, *found.analysis, found.gate, numbers, own, high, wide, steps, C=C, CB=found.channels, **found.sizes, **found.taps,
        GATED=rho == 0, FAST=not interpreted(), BY=BY, BX=BX, num_warps=warps, num_stages=1, enable_fp_fusion=False,
    )  # fmt: skip
    if rho == 0:
        return v
    high, wide = high - 2, wide - 2
    gated = _room((n, high, wide, found.components), torch.float16, u.device)
    BY, BX, warps = Tiling.gates
    strips, steps = _cut(high, wide, n, BY, BX)
    gate_kernel[strips, n](
        v, gated, found.gate, numbers, own, high, wide, steps, **found.sizes, FAST=not interpreted(), BY=BY, BX=BX,
        num_warps=warps, num_stages=1, enable_fp_fusion=False,
    )  # fmt: skip
    return gated


def _stepped(u: Tensor, v: Tensor, found: Matrices, tau: Tensor, margin: int) -> Tensor:
    """The stream after the step, and its copy for the next application."""
    u = u.detach().permute(0, 2, 3, 1).contiguous()
    n, H, W, C = u.shape
    out, copy = torch.empty_like(u), _room((n, H + 2 * margin, W + 2 * margin, C), torch.float16, u.device)
    BY, BX, warps = Tiling.synthesis
    strips, steps = _cut(H, W, n, BY, BX)
    synthesis_kernel[strips, n](
        v, u, out, copy, *found.synthesis, tau, H, W, steps, C=C, CB=found.channels, **found.sizes, **found.transposed_taps, MARGIN=margin,
        BY=BY, BX=BX, num_warps=warps, num_stages=1, enable_fp_fusion=False,
    )  # fmt: skip
    result = out.permute(0, 3, 1, 2)
    _rounded[result] = (margin, _state(result)), copy
    return result


def _room(shape: Sequence[int], dtype: torch.dtype, device: torch.device) -> Tensor:
    size = math.prod(shape)
    room = torch.empty(size + SLACK, dtype=dtype, device=device)
    room[size:].zero_()
    return room[:size].view(*shape)


def _cut(high: int, wide: int, n: int, BY: int, BX: int) -> tuple[int, int]:
    """Programs for one picture, and how many tiles each works on, one below the other."""
    across, down = triton.cdiv(wide, BX), triton.cdiv(high, BY)
    segments = min(down, max(1, round(Tiling.programs / (across * n))))
    steps = triton.cdiv(down, segments)
    return across * triton.cdiv(down, steps), steps
