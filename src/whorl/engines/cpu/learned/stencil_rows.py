r"""The steerable stencils on 5x5 pixels, applied to a row of pixels, and their transposes.

All stencils are made of the products of even and odd functions that :mod:`whorl.operators.orbits` names. So 24
additions serve all of them, and each then needs three to six products.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types

from whorl.engines.cpu.arithmetic import intrinsic
from whorl.engines.cpu.learned.lanes import LANES, memories, nothing, rounds
from whorl.operators.orbits import EQUAL, ODD, OPPOSITE, TWICE_ODD

__all__ = ["mixed_stencils", "transposes"]


@cache
def mixed_stencils(profiles: tuple[int, ...], channels: int, begin: bool) -> Callable[..., None]:
    """Fields from the stencils of so many channels: added to ``v``, or written to it where a sum is to ``begin``.

    ``rows`` holds the pixels of five rows, the first channel from ``r0 .. r4`` on and others ``wide`` apart, and two
    more before and after the ``LANES`` pixels that are computed. Fields of order 0 lie from ``v0`` on, the cosines and
    sines of the others from ``c1``, ``s1``, ``c2``, ``s2`` on, ``pitch`` apart. The matrices hold for every field the
    numbers of these channels, profile by profile.
    """
    P0, P1, P2 = profiles
    first, second, third = 0, 6 * P0, 6 * (P0 + P1)

    @intrinsic
    def chunk(
        typing: Any, rows: Any, r0: Any, r1: Any, r2: Any, r3: Any, r4: Any, wide: Any, taps: Any,
        A0: Any, a0: Any, F0: Any, A1: Any, a1: Any, F1: Any, A2: Any, a2: Any, F2: Any,
        v: Any, v0: Any, c1: Any, s1: Any, c2: Any, s2: Any, pitch: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            rows, *lines, wide, taps, A0, a0, F0, A1, a1, F1, A2, a2, F2, v, v0, c1, s1, c2, s2, pitch = memories(
                context, builder, signature, arguments
            )
            index = pitch.type

            def along_y(c: int, at: int) -> list[Any]:
                """The even and the odd functions of five pixels above each other: e0, e1, e2, o1, o2."""
                u = [rows(builder.add(line, builder.mul(wide, index(c))), at) for line in lines]
                return [u[2], u[3] + u[1], u[4] + u[0], u[3] - u[1], u[4] - u[0]]

            def respond(parts: list[Any], at: int) -> Any:
                total = taps.number(index(0), at) * parts[0]
                for j, part in enumerate(parts[1:], 1):
                    total = taps.number(index(0), at + j).times(part, total)
                return total

            scalar: list[Any] = []
            vector: list[tuple[Any, Any]] = []
            tensor: list[tuple[Any, Any]] = []
            for c in range(channels):
                even, odd = [], []
                for before, here, after in zip(*(along_y(c, x) for x in (-LANES, 0, LANES)), strict=True):
                    near = before.shifted(here, LANES - 1), here.shifted(after, 1)
                    far = before.shifted(here, LANES - 2), here.shifted(after, 2)
                    even.append([here, near[1] + near[0], far[1] + far[0]])
                    odd.append([None, near[1] - near[0], far[1] - far[0]])
                equal = [even[i][j] if i == j else even[i][j] + even[j][i] for i, j in EQUAL]
                opposite = [even[i][j] - even[j][i] for i, j in OPPOSITE]
                twice = [odd[2 + i][j] if i == j else odd[2 + i][j] + odd[2 + j][i] for i, j in TWICE_ODD]
                across, down = [odd[i][j] for i, j in ODD], [even[2 + j][i] for i, j in ODD]
                scalar += [respond(equal, first + 6 * q) for q in range(P0)]
                at = [second + 6 * q for q in range(P1)]
                vector += [(respond(across, q), respond(down, q)) for q in at]
                at = [third + 6 * q for q in range(P2)]
                tensor += [(respond(opposite, q), respond(twice, q + 3)) for q in at]

            def mix(matrix: Any, m: Any, fields: Any, targets: list[Any], responses: list[Any]) -> None:
                """One number of the matrix for all components of a response."""

                def body(f: Any) -> Any:
                    place = builder.add(m, builder.mul(f, index(len(responses))))
                    factors = [matrix.number(place, j) for j in range(len(responses))]
                    for k, target in enumerate(targets):
                        there = builder.add(target, builder.mul(f, pitch))
                        total = factors[0] * responses[0][k] if begin else factors[0].times(responses[0][k], v(there))
                        for factor, response in zip(factors[1:], responses[1:], strict=True):
                            total = factor.times(response[k], total)
                        v.put(there, total)
                    return []

                rounds(builder, fields, [], body)

            mix(A0, a0, F0, [v0], [(each,) for each in scalar])
            mix(A1, a1, F1, [c1, s1], vector)
            mix(A2, a2, F2, [c2, s2], tensor)
            return context.get_dummy_value()

        whole = types.intp
        matrices = [part for matrix in (A0, A1, A2) for part in (matrix, whole, whole)]
        return types.void(rows, *[whole] * 6, taps, *matrices, v, *[whole] * 6), generate

    return chunk


@cache
def transposes(profiles: tuple[int, ...]) -> Callable[..., None]:
    """The transposes of all stencils of a row, summed up onto five rows ``r0 .. r4``, of which the last is begun anew.

    The last two pixels of the rows are not complete. ``LANES`` numbers before the rows are written over, and as many
    are read after the responses.
    """

    @intrinsic
    def row(
        typing: Any, source: Any, c0: Any, c1: Any, s1: Any, c2: Any, s2: Any, pitch: Any, taps: Any, rows: Any,
        r0: Any, r1: Any, r2: Any, r3: Any, r4: Any,
    ) -> Any:  # fmt: skip
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            source, c0, c1, s1, c2, s2, pitch, taps, rows, *lines = memories(context, builder, signature, arguments)
            index = pitch.type
            second, third = 6 * profiles[0], 6 * (profiles[0] + profiles[1])

            def products(x: Any) -> list[list[Any]]:
                """What goes to each product of e0, e1, e2, o1, o2 along y and along x."""

                def read(base: Any, count: int) -> list[Any]:
                    return [
                        source(builder.add(builder.add(base, x), builder.mul(pitch, index(q)))) for q in range(count)
                    ]

                def summed(values: list[Any], at: int) -> Any:
                    total = taps.number(index(0), at) * values[0]
                    for q, value in enumerate(values[1:], 1):
                        total = taps.number(index(0), at + 6 * q).times(value, total)
                    return total

                found: list[list[Any]] = [[None] * 5 for _ in range(5)]
                scalar, cosine, sine = read(c0, profiles[0]), read(c1, profiles[1]), read(s1, profiles[1])
                wave, cross = read(c2, profiles[2]), read(s2, profiles[2])
                for k, (i, j) in enumerate(EQUAL):
                    found[i][j] = found[j][i] = summed(scalar, k)
                for k, (i, j) in enumerate(OPPOSITE):
                    opposite = summed(wave, third + k)
                    found[i][j], found[j][i] = found[i][j] + opposite, found[i][j] - opposite
                for k, (i, j) in enumerate(ODD):
                    found[i][2 + j] = summed(cosine, second + k)
                    found[2 + j][i] = summed(sine, second + k)
                for k, (i, j) in enumerate(TWICE_ODD):
                    found[2 + i][2 + j] = found[2 + j][2 + i] = summed(cross, third + 3 + k)
                return found

            def body(k: Any) -> Any:
                sums, following = [], []
                for i, (e0, e1, e2, o1, o2) in enumerate(products(builder.mul(k, index(LANES)))):
                    pending, left, far_left, right, far_right = carried[5 * i : 5 * i + 5]
                    near, far = e1 - o1, e2 - o2
                    sums.append(pending + (left.shifted(near, 1) + far_left.shifted(far, 2)))
                    ahead, far_ahead = e1 + o1, e2 + o2
                    behind = right.shifted(ahead, LANES - 1) + far_right.shifted(far_ahead, LANES - 2)
                    following += [e0 + behind, near, far, ahead, far_ahead]
                e0, e1, e2, o1, o2 = sums
                x = builder.mul(builder.sub(k, index(1)), index(LANES))
                places = [builder.add(line, x) for line in lines]
                rows.put(places[4], e2 + o2)
                for place, more in zip(places, (e2 - o2, e1 - o1, e0, e1 + o1), strict=False):
                    rows.put(place, rows(place) + more)
                return following

            carried = [nothing(builder).carried() for _ in range(25)]
            rounds(builder, builder.add(builder.sdiv(pitch, index(LANES)), index(1)), carried, body)
            return context.get_dummy_value()

        whole = types.intp
        return types.void(source, *[whole] * 6, taps, rows, *[whole] * 5), generate

    return row
