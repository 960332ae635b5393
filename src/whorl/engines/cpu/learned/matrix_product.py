"""Products of small matrices with rows of pixels, four outputs at a time, and of rows with rows.

The first mix the channels of every pixel; the second are the derivatives by the numbers of a mixing.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import types
from numpy.typing import NDArray

from whorl.engines.cpu.compiling import compiled, intrinsic
from whorl.engines.cpu.learned.lanes import LANES, memories, nothing, rounds, sums_over_lanes
from whorl.operators.orbits import GROUP

ACROSS = LANES // GROUP
"""Rows that four others are multiplied with at a time: as many products as a vector has numbers."""


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


@intrinsic
def _correlated(typing: Any, left: Any, first: Any, right: Any, second: Any, sums: Any, s: Any, pitch: Any) -> Any:
    """Add the scalar products of four rows with ``ACROSS`` others to ``LANES`` numbers."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        left, first, right, second, sums, s, pitch = memories(context, builder, signature, arguments)
        index = pitch.type
        totals = [nothing(builder).carried() for _ in range(LANES)]

        def body(k: Any) -> Any:
            x = builder.mul(k, index(LANES))

            def read(rows: Any, place: Any, count: int) -> list[Any]:
                begin = builder.add(place, x)
                return [rows(builder.add(begin, builder.mul(pitch, index(row)))) for row in range(count)]

            ours, others = read(left, first, GROUP), read(right, second, ACROSS)
            pairs = [(one, other) for one in ours for other in others]
            return [one.times(other, total) for (one, other), total in zip(pairs, totals, strict=True)]

        rounds(builder, builder.sdiv(pitch, index(LANES)), totals, body)
        sums.put(s, sums(s) + sums_over_lanes(list(totals)))
        return context.get_dummy_value()

    whole = types.intp
    return types.void(left, whole, right, whole, sums, whole, whole), generate


@compiled()
def correlate(
    left: Any, first: int, lefts: int, right: Any, second: int, rights: int, sums: Any, s: int, pitch: int
) -> None:  # fmt: skip
    """``sums += left right^T`` for rows of ``pitch`` pixels, whole groups of both; :func:`ungrouped` reads the sums."""
    for f in range(0, lefts, GROUP):
        for k in range(0, rights, ACROSS):
            _correlated(left, first + f * pitch, right, second + k * pitch, sums, s, pitch)
            s += LANES


def ungrouped(sums: NDArray[np.float64], lefts: int, rights: int) -> NDArray[np.float64]:
    """The matrix ``(lefts, rights)`` of sums as :func:`correlate` leaves them."""
    return sums.reshape(lefts // GROUP, rights // ACROSS, GROUP, ACROSS).transpose(0, 2, 1, 3).reshape(lefts, rights)
