"""The trained numbers of a block in the order in which its compiled loops read them."""

from collections import namedtuple
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


Maps = namedtuple("Maps", "taps A0 A1 A2 transposed_taps B0 B1 B2 G")
"""Stencils and mixing of both operators by the orders 0, 1, 2, and the matrix of the gate, for one noise level."""

Room = namedtuple("Room", "stream S v gates seen smooth sums nothing")
"""Of a strip: the stream, responses of the stencils, fields, gates, what they see, smoothed rows, sums, zeros."""

BackRoom = namedtuple(
    "BackRoom",
    "stream given S R v d s2 seen logits gates slopes by_logits by_seen gated smooth back sums nothing",
)
"""Of a strip backwards: stream and derivatives that come in, responses that are spread and kept, fields and derivatives
by them, squared lengths, what gates see, logits, gates, their slopes, derivatives by logits and by what gates see,
gated fields, smoothed rows of both, sums, zeros.
"""


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


def sizes(form: GatedForm, pitch: int, *, back: bool = False) -> tuple[int, ...]:
    """Numbers in each part of the room, forwards or ``back``."""
    C, rho, wide = form.channels, form.rho, pitch + 2 * LANES
    responses = sum(padded(C * p) * (1 if m == 0 else 2) for m, p in enumerate(form.analysis.profiles))
    fields, smooth = sum(map(padded, form.fields)), 3 * rho * sum(map(padded, form.fields)) * pitch + LANES
    rows, components = fields * pitch, (2 * fields - padded(form.fields[0])) * pitch
    ring, kept = (5 + 2 * rho * back) * C * wide, (1 + back) * rho + 1
    S, v = responses * pitch + LANES, kept * (3 * fields - 2 * padded(form.fields[0])) * pitch + 2 * LANES
    sums, nothing = 5 * C * wide, max(fields, responses)
    if not back:
        return Room(ring, S, v, rows, rho * rows + LANES, smooth, sums, nothing)
    return BackRoom(
        stream=ring, given=ring, S=S, R=responses * pitch, v=v, d=kept * components, s2=rows + 2 * LANES,
        seen=rows + GROUP * pitch, logits=rows, gates=rows, slopes=rows, by_logits=rows, by_seen=rows + 2 * LANES,
        gated=components, smooth=smooth, back=smooth, sums=sums, nothing=nothing,
    )  # fmt: skip


def _by_pairs(weight: Tensor) -> Array:
    """``w_fcp`` in the order of the loops: two channels, then the fields, then the numbers of both channels."""
    fields, _, profiles = weight.shape
    return np.ascontiguousarray(weight.reshape(fields, -1, 2 * profiles).transpose(0, 1).numpy()).reshape(-1)
