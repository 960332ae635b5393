"""The trained numbers of a block in the order in which its compiled loops read them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from whorl.engines.cpu.learned.lanes import LANES
from whorl.engines.cpu.learned.matrix_product import packed, padded
from whorl.foundations.versions import version
from whorl.operators.orbits import coefficients

__all__ = ["Factors", "factors"]

Array = NDArray[np.float32]

_known: WeakKeyDictionary[Any, tuple[Any, "Factors | None"]] = WeakKeyDictionary()


@dataclass(frozen=True)
class Factors:
    """Stencils and mixing of both operators, and the matrix of the gate.

    Attributes
    ----------
    profiles, fields : tuple of int
        Stencils and fields of the orders 0, 1, 2.
    maps : list
        For each noise level the arrays that the kernel takes, in its order.
    """

    profiles: tuple[int, int, int]
    fields: tuple[int, int, int]
    maps: list[tuple[Array, ...]]

    def offsets(self, gate: Any, bias: Tensor, level: Tensor | None) -> Array:
        """The numbers that the gates add, for each noise level."""
        own = gate.offset(bias, _column(level)).flatten(1).detach().numpy()
        whole = np.zeros((len(own), sum(map(padded, self.fields))), np.float32)
        whole[:, _places(self.fields)] = own
        return whole

    def sizes(self, channels: int, pitch: int, rho: int) -> tuple[int, ...]:
        """Room for the stream, the responses of the stencils, fields, gates, what they see, smoothed rows, and sums."""
        responses = sum(padded(channels * p) * (1 if m == 0 else 2) for m, p in enumerate(self.profiles))
        gates, wide = sum(map(padded, self.fields)), pitch + 2 * LANES
        components = 2 * (gates - padded(self.fields[0]))
        return (
            5 * channels * wide, responses * pitch + LANES, (rho + 1) * (components + gates) * pitch + 2 * LANES,
            gates * pitch, rho * gates * pitch + LANES, 3 * rho * gates * pitch + LANES, 5 * channels * wide,
            max(gates, responses),
        )  # fmt: skip


def factors(analysis: Any, synthesis: Any, gate: Any, level: Tensor | None) -> Factors | None:
    """The factors of a block for one noise level, or one for each picture; found once for each state of the weights.

    None where the block has other orders, other stencils, or another smoothing than there are loops for.
    """
    tensors = [*analysis.parameters(), *analysis.buffers(), *synthesis.parameters(), *synthesis.buffers()]
    tensors += gate.parameters()
    levels = None if level is None else level.flatten().tolist()
    state = [(tensor.data_ptr(), version(tensor)) for tensor in tensors], levels
    if gate not in _known or _known[gate][0] != state:
        _known[gate] = state, _factors(analysis, synthesis, gate, level)
    return _known[gate][1]


def _factors(analysis: Any, synthesis: Any, gate: Any, level: Tensor | None) -> Factors | None:
    profiles = tuple(weight.shape[2] for weight in analysis.mixing)
    if len(profiles) != 3 or profiles != tuple(weight.shape[2] for weight in synthesis.mixing):
        return None
    if not all(analysis.fields) or analysis.channels % 2 or gate.rho > 1:
        return None
    if level is not None and level.shape[1:] != (1, 1, 1):
        return None  # a map of levels
    taps = [coefficients([K.taps(order) for order in range(3)]) for K in (analysis, synthesis)]
    if taps[0] is None or taps[1] is None:
        return None
    maps = []
    for scale in gate.scale(_column(level)).flatten(1).detach():
        # Fields of the orders 1 and 2 are computed in units in which their invariants need no factor.
        roots = scale.sqrt()
        roots[: gate.scalars] = 1
        units = [part[:, None, None] for part in roots.split(analysis.fields)]
        first = [_by_pairs(w.detach() * unit) for w, unit in zip(analysis.mixing, units, strict=True)]
        second = [
            packed((w.detach() / unit).flatten(1).T.numpy()) for w, unit in zip(synthesis.mixing, units, strict=True)
        ]
        seen, places = scale.clone(), _places(analysis.fields)
        seen[gate.scalars :] = 1
        matrix = np.zeros((sum(map(padded, analysis.fields)),) * 2, np.float32)
        matrix[np.ix_(places, places)] = (gate.matrix.detach() * seen).numpy()
        maps.append((taps[0], *first, taps[1], *second, packed(matrix)))
    return Factors(profiles, analysis.fields, maps)


def _column(level: Tensor | None) -> Tensor | None:
    return None if level is None else level.reshape(-1, 1, 1, 1)


def _by_pairs(weight: Tensor) -> Array:
    """``w_fcp`` in the order of the loops: two channels, then the fields, then the numbers of both channels."""
    fields, _, profiles = weight.shape
    return np.ascontiguousarray(weight.view(fields, -1, 2 * profiles).transpose(0, 1).numpy()).reshape(-1)


def _places(fields: Sequence[int]) -> list[int]:
    """Where the fields are: each order begins with a whole group."""
    begin, places = 0, []
    for count in fields:
        places += list(range(begin, begin + count))
        begin += padded(count)
    return places
