"""The trained numbers of a block in the order in which its compiled loops read them."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.engines.cpu.learned.lanes import LANES
from whorl.operators.orbits import GROUP, grouped, padded, places
from whorl.steps import GatedForm, GatedStep

Array = NDArray[np.float32]

_known: WeakKeyDictionary[GatedForm, tuple[list[float] | None, list["Maps"]]] = WeakKeyDictionary()


class Maps(NamedTuple):
    """Stencils and mixing of both operators by the orders 0, 1, 2, and the matrix of the gate, for one noise level."""

    taps: Any
    A0: Any
    A1: Any
    A2: Any
    transposed_taps: Any
    B0: Any
    B1: Any
    B2: Any
    G: Any


class Room(NamedTuple):
    """Of a strip: the stream, responses of the stencils, fields, gates, what they see, smoothed rows, sums, zeros."""

    stream: Any
    S: Any
    v: Any
    gates: Any
    seen: Any
    smooth: Any
    sums: Any
    nothing: Any


class BackRoom(NamedTuple):
    """Of a strip backwards: stream and derivatives that come in, responses that are spread and kept, fields and
    derivatives by them, squared lengths, what gates see, logits, gates, their slopes, derivatives by logits and by what
    gates see, gated fields, smoothed rows of both, sums, zeros.
    """

    stream: Any
    given: Any
    S: Any
    R: Any
    v: Any
    d: Any
    s2: Any
    seen: Any
    logits: Any
    gates: Any
    slopes: Any
    by_logits: Any
    by_seen: Any
    gated: Any
    smooth: Any
    smooth_back: Any
    sums: Any
    nothing: Any


def scaled(step: GatedStep, first: list[Tensor], second: list[Tensor]) -> tuple[list[Tensor], list[Tensor], Tensor]:
    """Both mixings and the gate's matrix, for each noise level: ``(levels, ...)``.

    Fields of the orders 1 and 2 are computed in units in which their invariants need no factor.
    """
    scale, scalars = step.scales(), step.gate.scalars
    one = torch.ones_like(scale)
    units = torch.cat([one[:, :scalars], scale[:, scalars:].sqrt()], 1)[:, :, None, None].split(step.analysis.fields, 1)
    seen = torch.cat([scale[:, :scalars], one[:, scalars:]], 1)
    return (
        [w * unit for w, unit in zip(first, units, strict=True)],
        [w / unit for w, unit in zip(second, units, strict=True)],
        step.gate.matrix * seen[:, None],
    )


@torch.no_grad()
def maps_of(step: GatedStep, form: GatedForm) -> list[Maps]:
    """For one noise level, or for that of each picture; found once for each state of the weights."""
    levels = None if step.level is None else step.level.flatten().tolist()
    if form not in _known or _known[form][0] != levels:
        _known[form] = levels, packed(form, *scaled(step, form.analysis.mixing, form.synthesis.mixing))
    return _known[form][1]


def packed(form: GatedForm, first: list[Tensor], second: list[Tensor], matrix: Tensor) -> list[Maps]:
    """The numbers for each noise level as loops read them."""
    here, size = places(form.fields, padded), sum(map(padded, form.fields))
    found = []
    for level, own in enumerate(matrix):
        whole = np.zeros((size, size), np.float32)
        whole[np.ix_(here, here)] = own.numpy()
        pairs = [_by_pairs(w[level]) for w in first]
        back = [grouped(w[level].flatten(1).T.numpy()) for w in second]
        found.append(Maps(*(form.analysis.taps, *pairs, form.synthesis.taps, *back, grouped(whole))))
    return found


def filled_up(form: GatedForm, offsets: Tensor) -> Array:
    """The numbers that the gates add, for each noise level."""
    whole = np.zeros((len(offsets), sum(map(padded, form.fields))), np.float32)
    whole[:, places(form.fields, padded)] = offsets.detach().numpy()
    return whole


def sizes(form: GatedForm, pitch: int) -> tuple[int, ...]:
    """Numbers in each part of the room."""
    C, rho = form.channels, form.rho
    responses = sum(padded(C * p) * (1 if m == 0 else 2) for m, p in enumerate(form.analysis.profiles))
    gates, wide = sum(map(padded, form.fields)), pitch + 2 * LANES
    components = 2 * (gates - padded(form.fields[0]))
    return Room(
        stream=5 * C * wide,
        S=responses * pitch + LANES,
        v=(rho + 1) * (components + gates) * pitch + 2 * LANES,
        gates=gates * pitch,
        seen=rho * gates * pitch + LANES,
        smooth=3 * rho * gates * pitch + LANES,
        sums=5 * C * wide,
        nothing=max(gates, responses),
    )


def back_sizes(form: GatedForm, pitch: int) -> tuple[int, ...]:
    """The same for derivatives."""
    C, rho, wide = form.channels, form.rho, pitch + 2 * LANES
    responses = sum(padded(C * p) * (1 if m == 0 else 2) for m, p in enumerate(form.analysis.profiles))
    fields = sum(map(padded, form.fields))
    components = 2 * fields - padded(form.fields[0])
    rows, some = fields * pitch, LANES
    return BackRoom(
        stream=(5 + 2 * rho) * C * wide,
        given=(5 + 2 * rho) * C * wide,
        S=responses * pitch + some,
        R=responses * pitch,
        v=(2 * rho + 1) * (components + fields) * pitch + 2 * some,
        d=(2 * rho + 1) * components * pitch,
        s2=rows + 2 * some,
        seen=rows + GROUP * pitch,
        logits=rows,
        gates=rows,
        slopes=rows,
        by_logits=rows,
        by_seen=rows + 2 * some,
        gated=components * pitch,
        smooth=3 * rho * rows + some,
        smooth_back=3 * rho * rows + some,
        sums=5 * C * wide,
        nothing=max(fields, responses),
    )


def _by_pairs(weight: Tensor) -> Array:
    """``w_fcp`` in the order of the loops: two channels, then the fields, then the numbers of both channels."""
    fields, _, profiles = weight.shape
    return np.ascontiguousarray(weight.reshape(fields, -1, 2 * profiles).transpose(0, 1).numpy()).reshape(-1)
