"""The trained numbers of a block as the matrices that its CUDA kernels multiply with."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from whorl.operators.orbits import coefficients

__all__ = ["Matrices", "matrices"]

SMALLEST, LARGEST = 16, 64
"""Sizes of the matrix units' operands, and of what fits into registers."""

PAIRS = ((3, 4), (1, 2), (0, 5)), ((0, 1), (2, 5), (3, 4))
"""Orbits of the orders 0 and 1 that are multiplied together; numbers as in :mod:`whorl.operators.orbits`."""

ANALYSED, SYNTHESISED = ((0, 1), (3, 4), (2,), (5,)), ((0, 1), (3, 4), (2, 5))
"""The same of order 2, where cosines and sines are apart, and where they are summed up."""

POWER = -1 / math.log(2.0)
r"""The logistic function is :math:`1 / (1 + 2^p)` with the power :math:`p = -z / \log 2`."""

_known: WeakKeyDictionary[Any, tuple[Any, "Matrices | None"]] = WeakKeyDictionary()


@dataclass
class Matrices:
    """Both operators and the gate of a block; rows and columns are filled up with zeros.

    Attributes
    ----------
    fields : tuple of int
        Fields of the orders 0, 1, 2, filled up.
    stored : tuple of int
        Components of each order that are kept for a pixel.
    analysis, synthesis : list of Tensor
        For each order six matrices, one for each orbit: mixing times tap.
    gate : Tensor
        For each order the columns of the gate's matrix that its gates need.
    """

    channels: int
    fields: tuple[int, ...]
    stored: tuple[int, ...]
    analysis: list[Tensor]
    synthesis: list[Tensor]
    gate: Tensor
    places: Tensor
    own: dict[int, Tensor]

    @property
    def components(self) -> int:
        """How many numbers are kept for a pixel."""
        return self.stored[0] + 2 * sum(self.stored[1:])

    @property
    def sizes(self) -> dict[str, int]:
        """As the kernels call them."""
        return dict(zip(("F0", "F1", "F2", "S0", "S1", "S2"), (*self.fields, *self.stored), strict=True))

    def numbers(self, gate: Any, bias: Tensor, level: Tensor | None) -> Tensor:
        """For each picture the factors of the invariants and what the gates add."""
        key = bias.data_ptr()
        if level is None and key in self.own:
            return self.own[key]
        scale, offset = gate.scale(level).flatten(1), gate.offset(bias, level).flatten(1)
        found = scale.new_zeros(len(offset), 2, sum(self.fields))
        found[:, 0, self.places], found[:, 1, self.places] = scale.detach(), POWER * offset.detach()
        if level is None:
            self.own[key] = found
        return found


def matrices(analysis: Any, synthesis: Any, gate: Any) -> Matrices | None:
    """The matrices of a block, found once for each state of the weights.

    None where the block has other orders, other stencils, more fields, or another smoothing than there are kernels for.
    """
    tensors = [*analysis.parameters(), *analysis.buffers(), *synthesis.parameters(), *synthesis.buffers()]
    tensors += gate.parameters()
    state = [(tensor.data_ptr(), tensor._version) for tensor in tensors]
    if gate not in _known or _known[gate][0] != state:
        with torch.no_grad():
            _known[gate] = state, _matrices(analysis, synthesis, gate)
    return _known[gate][1]


def _matrices(analysis: Any, synthesis: Any, gate: Any) -> Matrices | None:
    if len(analysis.fields) != 3 or not all(analysis.fields) or gate.rho > 1:
        return None
    fields, channels = tuple(map(_filled, analysis.fields)), _filled(analysis.channels)
    if max(*fields, channels) > LARGEST:
        return None
    parts = []
    for K in (analysis, synthesis):
        taps = coefficients([K.taps(order) for order in range(3)])
        if taps is None:
            return None
        each = torch.from_numpy(taps).to(gate.matrix.device).view(-1, 6)
        each = each.split([weight.shape[2] for weight in K.mixing])
        # (orbits, channels, fields)
        parts.append([torch.einsum("fcp,pq->qcf", w, t) for w, t in zip(K.mixing, each, strict=True)])
    first, second = parts
    # Stencils of order 1 are odd: their transposes have the opposite sign.
    second = [(-m if order == 1 else m).mT for order, m in enumerate(second)]
    places = [sum(fields[:m]) + f for m, count in enumerate(analysis.fields) for f in range(count)]
    # The kernels take logarithms and powers to the base 2.
    units = torch.full((len(places),), POWER).to(gate.matrix)
    units[gate.scalars :] = -1.0
    whole = gate.matrix.new_zeros(sum(fields), sum(fields))
    index = torch.tensor(places, device=whole.device)
    whole[index[:, None], index] = (gate.matrix * units).mT
    return Matrices(
        channels,
        fields,
        tuple(-(-count // 8) * 8 for count in analysis.fields),
        [_joined(_whole(m, channels, f), p) for m, f, p in zip(first, fields, (*PAIRS, ANALYSED), strict=True)],
        [_joined(_whole(m, f, channels), p) for m, f, p in zip(second, fields, (*PAIRS, SYNTHESISED), strict=True)],
        torch.cat([part.flatten() for part in whole.split(fields, 1)]).half(),
        index,
        {},
    )


def _filled(count: int) -> int:
    return max(SMALLEST, 1 << (count - 1).bit_length())


def _whole(m: Tensor, rows: int, columns: int) -> Tensor:
    """Matrices filled up with zeros."""
    return torch.nn.functional.pad(m, (0, columns - m.shape[2], 0, rows - m.shape[1])).half().contiguous()


def _joined(m: Tensor, groups: Sequence[Sequence[int]]) -> Tensor:
    """The matrices of several orbits as one; rows take turns, two by two, as the kernels arrange their columns."""
    parts = [m[list(group)].unflatten(1, (-1, 2)).transpose(0, 1) for group in groups]
    return torch.cat([part.flatten() for part in parts])
