r"""One application of a learned block, :math:`u - \tau K_2^*\, \Phi(K_1 u)`, on a CUDA device.

Kernels: the fields and their gates, and the transposed operator with the step. The stream stays in float32, its
channels side by side in memory. Beside it there is a copy in float16, from which the next application begins; fields
are kept in float16, too.

Beyond its border the picture is mirrored. The fields of a mirrored picture are the mirrored fields, so they are
computed for some pixels beyond the border like all others, and the transposed operator needs no special case there.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.utils.weak import WeakTensorKeyDictionary

from whorl.engines.capabilities import interpreted
from whorl.engines.cuda.learned.gates import gate_kernel
from whorl.engines.cuda.learned.kernels import analysis_kernel, copy_kernel, synthesis_kernel
from whorl.engines.cuda.learned.numbers import Matrices, matrices
from whorl.engines.cuda.learned.orbits import Stencils
from whorl.foundations.versions import version
from whorl.operators.orbits import RADIUS
from whorl.steps import GatedForm, GatedNumbers, GatedStep

LARGEST = 2**31
"""Numbers of one picture: places in it are counted in 32 bits."""

SLACK = 64
"""Zeros behind what kernels read: they read a few numbers more than there are."""

ROUNDS = 64
"""Applications after which a chain of streams begins with new memory."""

_prepared: Any = WeakTensorKeyDictionary()  # streams that kernels made, and what they left for the next application


class GatedTiling:
    """How the work is cut; none of it changes a result."""

    analysis = (4, 16, 4, None)  # rows and columns of a tile, warps, most registers of a thread
    gates = (2, 32, 4, 168)
    synthesis = (4, 16, 4, 128)
    programs = 132 * 24


@dataclass
class Prepared:
    """What an application begins from, beside the stream: room for all that it computes, handed on to the next.

    Attributes
    ----------
    state : tuple
        Of the stream, to notice that it was changed.
    copy : Tensor
        The stream in float16, scaled, and mirrored at its border.
    fields : Tensor
        Room for fields.
    peaks : Tensor
        The largest absolute numbers of all streams in this room, for each picture.
    number : int
        Of the stream, counted from 0.
    scaled_by : int
        The number of the stream whose peak scaled the copy.
    unit, reach : float
        The copy's scale for a usual peak, and how many times larger than that peak the stream may be.
    """

    state: tuple[Any, ...]
    copy: Tensor
    fields: list[Tensor]
    peaks: Tensor
    number: int
    scaled_by: int
    unit: float
    reach: float


def lacks_room(step: GatedStep, u: Tensor) -> str:
    """Why an accepted block has no kernels for a stream of this size, or at this moment; empty if it has."""
    form, (H, W) = _accepted(step), u.shape[2:]
    margin = _margin(form)
    if min(H, W) < margin:
        return f"a picture of {H} x {W} pixels, less than {margin} along a side, has no compiled form on CUDA devices"
    if (H + 2 * margin) * (W + 2 * margin) * matrices(step, form).components >= LARGEST:
        return f"a picture of {H} x {W} pixels is too large for a launch"
    return "" if rounding_allowed() else "its kernels round to 11 bits, which torch is told not to (allow_tf32)"


def applied(step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
    """The stream after one application of a block that the engine has accepted."""
    form = _accepted(step)
    found, margin, tau = matrices(step, form), _margin(form), numbers.tau
    given, u = u, u.detach().permute(0, 2, 3, 1).contiguous()
    prepared = _begun(given, u, found, margin)
    v = _fields(prepared, found, found.numbers(step, numbers.bias))
    growth = found.growth(1.0 if tau is None else 2 / max(step.analysis.squared_norm_bound(), 1e-30))
    return _stepped(u, v, found, found.one if tau is None else tau.detach(), prepared, margin, growth)


def _accepted(step: GatedStep) -> GatedForm:
    assert isinstance(step.form, GatedForm)
    return step.form


def _margin(form: GatedForm) -> int:
    """How far the copy in float16 looks beyond the border; a single reflection must reach it."""
    return 2 * RADIUS + form.rho


def rounding_allowed() -> bool:
    """Whether factors may be rounded to 11 bits: torch's own switch for convolutions, which allows it unless told."""
    convolutions = getattr(torch.backends.cudnn, "conv", None)
    if convolutions is None:  # an older torch
        return bool(torch.backends.cudnn.allow_tf32)
    return bool(convolutions.fp32_precision == "tf32")


def _state(u: Tensor, margin: int, components: int) -> tuple[Any, ...]:
    """What changes whenever the tensor is changed, and the sizes of the room."""
    return version(u), margin, components


def _begun(given: Tensor, u: Tensor, found: Matrices, margin: int) -> Prepared:
    """What was prepared with the stream, or the same made anew. The stream loses it, since its memory is used again."""
    n, H, W, C = u.shape
    state, largest = _state(given, margin, found.components), found.copy_unit(1.0)
    prepared: Prepared | None = _prepared.pop(given, None)
    if prepared is None or prepared.state != state or prepared.number + 1 == ROUNDS:
        margins = range(margin - RADIUS, RADIUS - 1, -1)
        prepared = Prepared(
            state,
            _room((n, H + 2 * margin, W + 2 * margin, C), u.device),
            [_room((n, H + 2 * m, W + 2 * m, found.components), u.device) for m in margins],
            torch.zeros(ROUNDS, n, dtype=u.dtype, device=u.device),
            0, 0, math.inf, 1.0,
        )  # fmt: skip
        prepared.peaks[0] = torch.linalg.vector_norm(u.flatten(1), math.inf, dim=1)
    if prepared.unit * prepared.reach > largest:
        prepared.unit, prepared.reach, prepared.scaled_by = largest, 1.0, prepared.number
        BY, BX, _, _ = GatedTiling.analysis
        copy_kernel[-(-W // BX), -(-H // BY), n](
            u, prepared.copy, prepared.peaks, largest, prepared.number * n, H, W, C=C, CB=found.channels, MARGIN=margin,
            BY=BY, BX=BX,
        )  # fmt: skip
    return prepared


def _fields(prepared: Prepared, found: Matrices, numbers: Tensor) -> Tensor:
    """The gated fields of the stream."""
    u, (v, *gated) = prepared.copy, prepared.fields
    own, now = int(len(numbers) > 1), prepared.number * len(u)
    sizes = {"F": found.fields, "S": found.stored, "FAST": not interpreted()}
    _start(
        analysis_kernel, GatedTiling.analysis, v.shape,
        u, v, found.analysis, found.gate, numbers, prepared.peaks, prepared.unit, found.field_unit,
        prepared.scaled_by * len(u), now, own, C=u.shape[3], CB=found.channels, T=Stencils(found.taps),
        GATED=not gated, **sizes,
    )  # fmt: skip
    for target in gated:  # where invariants are smoothed, gates come later
        _start(
            gate_kernel, GatedTiling.gates, target.shape,
            v, target, found.gate, numbers, prepared.peaks, found.field_unit, now, own, **sizes,
        )  # fmt: skip
    return prepared.fields[-1]


def _stepped(
    u: Tensor, v: Tensor, found: Matrices, tau: Tensor, prepared: Prepared, margin: int, growth: float
) -> Tensor:
    """The stream after the step, prepared for the next application."""
    n = len(u)
    out, number, unit = torch.empty_like(u), prepared.number, found.copy_unit(growth)
    _start(
        synthesis_kernel, GatedTiling.synthesis, u.shape,
        v, u, out, prepared.copy, found.synthesis, tau, prepared.peaks, found.field_unit, unit, number * n,
        (number + 1) * n, C=u.shape[3], CB=found.channels, F=found.fields, S=found.stored,
        T=Stencils(found.transposed_taps), MARGIN=margin,
    )  # fmt: skip
    result = out.permute(0, 3, 1, 2)
    state = _state(result, margin, found.components)
    _prepared[result] = replace(prepared, state=state, number=number + 1, scaled_by=number, unit=unit, reach=growth)
    return result


def _start(kernel: Any, tile: tuple[Any, ...], shape: Sequence[int], *arguments: Any, **constants: Any) -> None:
    """Start a kernel whose programs work on tiles of so many pictures, several of them one below the other."""
    (n, high, wide, _), (BY, BX, warps, registers) = shape, tile
    across, down = -(-wide // BX), -(-high // BY)
    steps = max(1, down * across * n // GatedTiling.programs)
    kernel[across * -(-down // steps), n](
        *arguments, high, wide, steps, **constants, BY=BY, BX=BX, num_warps=warps, num_stages=1, maxnreg=registers,
        enable_fp_fusion=False,
    )  # fmt: skip


def _room(shape: Sequence[int], device: torch.device) -> Tensor:
    """Room in float16."""
    size = math.prod(shape)
    room = torch.empty(size + SLACK, dtype=torch.float16, device=device)
    room[size:].zero_()
    return room[:size].view(*shape)
