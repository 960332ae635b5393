"""The trained numbers of a block as the matrices that its CUDA kernels multiply with."""

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from whorl.engines.cuda.learned.orbits import USUAL
from whorl.foundations.versions import version
from whorl.operators.orbits import Factors, places
from whorl.steps import GatedForm, GatedStep

SMALLEST = 16
"""Size of the matrix units' operands."""

TOP = 60000.0
"""Below the largest number of float16, with room for rounding."""

POWER = -1 / math.log(2.0)
r"""The logistic function is :math:`1 / (1 + 2^p)` with the power :math:`p = -z / \log 2`."""

StencilWeights = tuple[tuple[tuple[float, ...], ...], ...]

_known: WeakKeyDictionary[GatedForm, "Matrices"] = WeakKeyDictionary()


@dataclass
class Matrices:
    """Both operators and the gate of a block; rows and columns are filled up with zeros.

    Attributes
    ----------
    fields : tuple of int
        Fields of the orders 0, 1, 2, filled up.
    stored : tuple of int
        Components of each order that are kept for a pixel.
    analysis, synthesis : tuple of Tensor
        For each order the mixing of its stencils, which differ from the operator's, see ``_stencils``.
    taps, transposed_taps : tuple
        For each order its stencils, six taps for each.
    responses, fields_within, added : float
        Bounds for a stream of numbers in [-1, 1]: of sums of pixels, of sums of fields, and of what a step of size 1
        adds.
    gate : Tensor
        For each order the columns of the gate's matrix that its gates need.
    """

    channels: int
    fields: tuple[int, ...]
    stored: tuple[int, ...]
    analysis: tuple[Tensor, ...]
    synthesis: tuple[Tensor, ...]
    taps: StencilWeights
    transposed_taps: StencilWeights
    gate: Tensor
    places: Tensor
    responses: float
    fields_within: float
    added: float
    level: tuple[Tensor | None, Hashable] = (None, -1)
    table: dict[int, Tensor] = field(default_factory=dict)
    one: Tensor = field(init=False)

    def __post_init__(self) -> None:
        self.one = self.gate.new_ones((), dtype=torch.float32)  # the size of a step, on the device

    @property
    def components(self) -> int:
        """How many numbers are kept for a pixel."""
        return self.stored[0] + 2 * sum(self.stored[1:])

    def growth(self, tau: float) -> float:
        """How many times larger the largest number of a stream may be after a step than before."""
        return 1 + tau * self.added

    def copy_unit(self, growth: float) -> float:
        """The power of two by which a stream is multiplied before rounding, so that no sum of pixels overflows.

        This holds for a stream whose numbers were at most ``USUAL`` before the step that made them grow.
        """
        return _power_below(TOP / (USUAL.value * growth * self.responses))

    @property
    def field_unit(self) -> float:
        """The power of two by which fields of a stream below ``USUAL`` are multiplied, so that their sums do not
        overflow.
        """
        return _power_below(TOP / (USUAL.value * self.fields_within))

    def numbers(self, step: GatedStep, bias: Tensor) -> Tensor:
        """For each picture the factors of the invariants and what the gates add.

        All repetitions of a block are given the same level tensor, so the numbers for all of them are found at once.
        """
        level = step.level
        state = None if level is None else version(level)
        if self.level[0] is not level or self.level[1] != state:
            self.level, self.table = (level, state), self._table(step, list(step.gate.bias))
        if bias.data_ptr() not in self.table:
            return self._table(step, [bias])[bias.data_ptr()]
        return self.table[bias.data_ptr()]

    def _table(self, step: GatedStep, biases: list[Tensor]) -> dict[int, Tensor]:
        """The numbers for each bias, by its place in memory."""
        offsets = torch.stack([step.offsets(bias) for bias in biases])
        found = offsets.new_zeros(*offsets.shape[:2], 2, sum(self.fields))
        found[:, :, 0, self.places], found[:, :, 1, self.places] = step.scales(), POWER * offsets
        return {bias.data_ptr(): each for bias, each in zip(biases, found, strict=True)}


def matrices(step: GatedStep, form: GatedForm) -> Matrices:
    """The matrices of a block, found once for each state of the weights."""
    if form not in _known:
        with torch.no_grad():
            _known[form] = _matrices(step.gate, form)
    return _known[form]


def _matrices(gate: Any, form: GatedForm) -> Matrices:
    fields, channels = tuple(map(_filled, form.fields)), _filled(form.channels)
    first, second = _stencils(form.analysis), _stencils(form.synthesis)
    # Stencils of order 1 are odd: their transposes have the opposite sign.
    back = [(-w if order == 1 else w).mT for order, w in enumerate(second[1])]
    whole = gate.matrix.new_zeros(sum(fields), sum(fields))
    index = torch.tensor(places(form.fields, _filled), device=whole.device)
    # The kernels take logarithms and powers to the base 2.
    units = torch.full((len(index),), POWER).to(gate.matrix)
    units[gate.scalars :] = -1.0
    whole[index[:, None], index] = (gate.matrix * units).mT
    return Matrices(
        channels,
        fields,
        tuple(-(-count // 8) * 8 for count in form.fields),
        tuple(_whole(w, channels, f) for w, f in zip(first[1], fields, strict=True)),
        tuple(_whole(w, f, channels) for w, f in zip(back, fields, strict=True)),
        first[0],
        second[0],
        torch.cat([part.flatten() for part in whole.split(fields, 1)]).half(),
        index,
        *_bounds(*first, *second),
    )


def _filled(count: int) -> int:
    return max(SMALLEST, 1 << (count - 1).bit_length())


def _stencils(K: Factors) -> tuple[StencilWeights, list[Tensor]]:
    """Taps and mixing ``(p, channels, fields)`` of an operator for stencils that need fewer products.

    Of as many orbits as there are stencils, each stencil has the tap 1 on one and 0 on the others: these are
    combinations of the given stencils. Then their mixing is that of the given ones times their taps there.
    """
    taps, mixing = [], []
    given = np.split(K.taps.reshape(-1, 6).astype(np.float64), np.cumsum(K.profiles)[:-1])
    for T, w in zip(given, K.mixing, strict=True):
        orbits = _independent(T)
        reduced = np.linalg.solve(T[:, orbits], T)
        reduced[:, orbits] = np.eye(len(T))
        taps.append(tuple(tuple(row) for row in reduced.astype(np.float16).astype(float).tolist()))
        chosen = torch.from_numpy(T[:, orbits]).to(w)
        mixing.append(torch.einsum("fcp,pq->qcf", w, chosen))
    return tuple(taps), mixing


def _bounds(
    taps: StencilWeights, mixing: list[Tensor], transposed_taps: StencilWeights, transposed_mixing: list[Tensor]
) -> tuple[float, float, float]:
    """Bounds for a stream of numbers in [-1, 1]: of sums of pixels, of sums of fields, and of what is added to it."""
    responses, fields = _response_bounds(taps), 0.0
    for response, w in zip(responses, mixing, strict=True):
        fields = max(fields, float(torch.einsum("pcf,p->f", w.abs(), response.to(w)).max()))
    back, change = _response_bounds(transposed_taps), 0.0
    for order, (response, w) in enumerate(zip(back, transposed_mixing, strict=True)):
        change += (1 if order == 0 else 2) * float(torch.einsum("pcf,p->c", w.abs(), response.to(w)).max())
    largest = [max(float(response.max()) for response in part) for part in (responses, back)]
    return max(8.0, largest[0]), fields * max(8.0, largest[1]), change * fields


def _power_below(x: float) -> float:
    return float(2.0 ** math.floor(math.log2(x)))


def _response_bounds(taps: StencilWeights) -> list[Tensor]:
    """For each stencil of each order the sum of its absolute taps; of order 2 that of the larger component."""
    sizes = torch.tensor([[1, 4, 4, 4, 4, 8], [2, 2, 4, 4, 4, 4], [4, 4, 8, 4, 4, 8]], dtype=torch.float32)
    sums = [torch.tensor(each).abs() * size for each, size in zip(taps, sizes, strict=True)]
    return [sums[0].sum(1), sums[1].sum(1), sums[2].unflatten(1, (2, 3)).sum(2).amax(1)]


def _independent(T: NDArray[np.float64]) -> list[int]:
    """The orbits on which the stencils differ most: each in turn is the one with the largest tap that is left."""
    left, found = T.copy(), []
    for _ in range(len(T)):
        stencil, orbit = np.unravel_index(np.abs(left).argmax(), left.shape)
        found.append(int(orbit))
        left -= np.outer(left[:, orbit] / left[stencil, orbit], left[stencil])
    return found


def _whole(m: Tensor, rows: int, columns: int) -> Tensor:
    """Matrices filled up with zeros, two and two as one: their rows take turns, as the kernels arrange columns."""
    filled = torch.nn.functional.pad(m, (0, columns - m.shape[2], 0, rows - m.shape[1])).half()
    return torch.cat([pair.unflatten(1, (-1, 2)).transpose(0, 1).flatten() for pair in filled.split(2)])
