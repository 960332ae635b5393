"""Products of small matrices with rows of pixels: 1x1 mixing of channels, four outputs at a time."""

from collections.abc import Callable
from typing import Any

from numba import types

from whorl.engines.cpu.arithmetic import compiled, intrinsic
from whorl.engines.cpu.learned.lanes import LANES, memories, rounds
from whorl.operators.orbits import GROUP

__all__ = ["product"]


def _group(vectors: int) -> Callable[..., None]:
    """Four outputs of so many vectors of pixels."""

    @intrinsic
    def group(
        typing: Any, matrix: Any, m: Any, start: Any, f: Any, inputs: Any, rows: Any, source: Any, into: Any,
        target: Any, pitch: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            matrix, m, start, f, inputs, rows, source, into, target, pitch = memories(
                context, builder, signature, arguments
            )
            index = pitch.type
            sums = [start.number(f, g).carried() for g in range(GROUP) for _ in range(vectors)]

            def body(k: Any) -> Any:
                here, place = builder.add(source, builder.mul(k, pitch)), builder.add(m, builder.mul(k, index(GROUP)))
                pixels = [rows(here, LANES * v) for v in range(vectors)]
                factors = [matrix.number(place, g) for g in range(GROUP)]
                return [
                    factors[g].times(pixels[v], sums[vectors * g + v]) for g in range(GROUP) for v in range(vectors)
                ]

            rounds(builder, inputs, sums, body)
            for g in range(GROUP):
                below = builder.add(target, builder.mul(pitch, index(g)))
                for v in range(vectors):
                    into.put(below, sums[vectors * g + v], LANES * v)
            return context.get_dummy_value()

        whole = types.intp
        return types.void(matrix, whole, start, whole, whole, rows, whole, into, whole, whole), generate

    return group


_pair, _single = _group(2), _group(1)


@compiled()
def product(
    matrix: Any, start: Any, outputs: int, inputs: int, rows: Any, source: int, into: Any, target: int, pitch: int
) -> None:  # fmt: skip
    """``target = start + matrix source`` for rows of ``pitch`` pixels, one below the other.

    The matrix is grouped; ``start`` has a number for each output. The pitch is a multiple of ``LANES``.
    """
    for x in range(0, pitch - LANES, 2 * LANES):
        for f in range(0, outputs, GROUP):
            _pair(matrix, f * inputs, start, f, inputs, rows, source + x, into, target + f * pitch + x, pitch)
    if pitch % (2 * LANES):
        x = pitch - LANES
        for f in range(0, outputs, GROUP):
            _single(matrix, f * inputs, start, f, inputs, rows, source + x, into, target + f * pitch + x, pitch)
