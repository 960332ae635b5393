"""The trained numbers of a block in the order in which its compiled loops read them."""

from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from whorl.engines.cpu.learned.lanes import LANES
from whorl.operators.orbits import grouped, padded, places
from whorl.steps import GatedForm, GatedStep

__all__ = ["Maps", "Room", "maps_of", "offsets", "sizes"]

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


def maps_of(step: GatedStep, form: GatedForm) -> list[Maps]:
    """For one noise level, or for that of each picture; found once for each state of the weights."""
    levels = None if step.level is None else step.level.flatten().tolist()
    if form not in _known or _known[form][0] != levels:
        _known[form] = levels, [_maps(step, form, scale) for scale in step.scales()]
    return _known[form][1]


def offsets(step: GatedStep, form: GatedForm, bias: Tensor) -> Array:
    """The numbers that the gates add, for each noise level."""
    own = step.offsets(bias).numpy()
    whole = np.zeros((len(own), sum(map(padded, form.fields))), np.float32)
    whole[:, places(form.fields, padded)] = own
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


def _maps(step: GatedStep, form: GatedForm, scale: Tensor) -> Maps:
    # Fields of the orders 1 and 2 are computed in units in which their invariants need no factor.
    gate, roots, seen, here = step.gate, scale.sqrt(), scale.clone(), places(form.fields, padded)
    roots[: gate.scalars], seen[gate.scalars :] = 1, 1
    units = [part[:, None, None] for part in roots.split(form.fields)]
    first = [_by_pairs(w * unit) for w, unit in zip(form.analysis.mixing, units, strict=True)]
    second = [grouped((w / unit).flatten(1).T.numpy()) for w, unit in zip(form.synthesis.mixing, units, strict=True)]
    matrix = np.zeros((sum(map(padded, form.fields)),) * 2, np.float32)
    matrix[np.ix_(here, here)] = (gate.matrix.detach() * seen).numpy()
    return Maps(*(form.analysis.taps, *first, form.synthesis.taps, *second, grouped(matrix)))


def _by_pairs(weight: Tensor) -> Array:
    """``w_fcp`` in the order of the loops: two channels, then the fields, then the numbers of both channels."""
    fields, _, profiles = weight.shape
    return np.ascontiguousarray(weight.view(fields, -1, 2 * profiles).transpose(0, 1).numpy()).reshape(-1)
