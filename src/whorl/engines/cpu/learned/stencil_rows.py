r"""The steerable stencils on 5x5 pixels, applied to a row of pixels, and their transposes.

All stencils are made of the products of even and odd functions that :mod:`whorl.operators.orbits` names. So 24
additions serve all of them, and each then needs three to six products.
"""

from typing import Any

from numba import types

from whorl.engines.cpu.compiling import intrinsic
from whorl.engines.cpu.learned.lanes import LANES, memories, nothing, rounds
from whorl.operators.orbits import EQUAL, ODD, OPPOSITE, TWICE_ODD

TOGETHER = 2
"""Channels whose stencils are mixed at once."""


def _responses(builder: Any, rows: Any, lines: list[Any], taps: Any, profiles: tuple[int, int, int]) -> tuple[Any, ...]:
    """Of the stencils of each order, at ``LANES`` pixels from the five ``lines`` on; in all but the first, pairs."""

    def along_y(at: int) -> list[Any]:
        """The even and the odd functions of five pixels above each other: e0, e1, e2, o1, o2."""
        u = [rows(line, at) for line in lines]
        return [u[2], u[3] + u[1], u[4] + u[0], u[3] - u[1], u[4] - u[0]]

    def respond(parts: list[Any], at: int) -> Any:
        index = lines[0].type
        total = taps.number(index(0), at) * parts[0]
        for j, part in enumerate(parts[1:], 1):
            total = taps.number(index(0), at + j).times(part, total)
        return total

    p0, p1, p2 = profiles
    even, odd = [], []
    for before, here, after in zip(*(along_y(x) for x in (-LANES, 0, LANES)), strict=True):
        near = before.shifted(here, LANES - 1), here.shifted(after, 1)
        far = before.shifted(here, LANES - 2), here.shifted(after, 2)
        even.append([here, near[1] + near[0], far[1] + far[0]])
        odd.append([None, near[1] - near[0], far[1] - far[0]])
    equal = [even[i][j] if i == j else even[i][j] + even[j][i] for i, j in EQUAL]
    opposite = [even[i][j] - even[j][i] for i, j in OPPOSITE]
    twice = [odd[2 + i][j] if i == j else odd[2 + i][j] + odd[2 + j][i] for i, j in TWICE_ODD]
    across, down = [odd[i][j] for i, j in ODD], [even[2 + j][i] for i, j in ODD]
    scalar = [(respond(equal, 6 * q),) for q in range(p0)]
    vector = [(respond(across, q), respond(down, q)) for q in range(6 * p0, 6 * (p0 + p1), 6)]
    ends = 6 * (p0 + p1), 6 * (p0 + p1 + p2), 6
    tensor = [(respond(opposite, q), respond(twice, q + 3)) for q in range(*ends)]
    return scalar, vector, tensor


@intrinsic
def mix_stencils(
    typing: Any, profiles: Any, first: Any, rows: Any, lines: Any, wide: Any, taps: Any, A0: Any, A1: Any, A2: Any,
    fields: Any, channel: Any, v: Any, places: Any, x: Any, pitch: Any,
) -> Any:  # fmt: skip
    """Fields from the stencils of a few channels: added to ``v``, or written to it where these are the ``first``.

    There are so many stencils of each order as ``profiles`` says, and so many ``fields``. ``rows`` holds the pixels of
    five rows, the first channel from the five ``lines`` on and others ``wide`` apart, and two more before and after the
    ``LANES`` pixels from ``x`` on that are computed. Fields of order 0, and the cosines and sines of the others, lie
    from the five ``places`` on, ``pitch`` apart. The matrices hold for every field the numbers of these channels,
    profile by profile.
    """
    counts = tuple(each.literal_value for each in profiles)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, _, rows, lines, wide, taps, A0, A1, A2, fields, channel, v, places, x, pitch = memories(
            context, builder, signature, arguments
        )
        begins = builder.add(builder.mul(channel, wide), x)
        lines = [builder.add(line, begins) for line in lines]
        v0, c1, s1, c2, s2 = (builder.add(place, x) for place in places)
        index = pitch.type
        found: list[list[Any]] = [[], [], []]
        for c in range(TOGETHER):
            ours = [builder.add(line, builder.mul(wide, index(c))) for line in lines]
            for responses, more in zip(found, _responses(builder, rows, ours, taps, counts), strict=True):
                responses += more

        def mix(matrix: Any, order: int, targets: list[Any], responses: list[Any]) -> None:
            """One number of the matrix for all components of a response."""
            ours = builder.mul(builder.mul(channel, index(len(responses) // TOGETHER)), fields[order])

            def body(f: Any) -> Any:
                place = builder.add(ours, builder.mul(f, index(len(responses))))
                factors = [matrix.number(place, j) for j in range(len(responses))]
                for k, target in enumerate(targets):
                    there = builder.add(target, builder.mul(f, pitch))
                    total = factors[0] * responses[0][k] if begin else factors[0].times(responses[0][k], v(there))
                    for factor, response in zip(factors[1:], responses[1:], strict=True):
                        total = factor.times(response[k], total)
                    v.put(there, total)
                return []

            rounds(builder, fields[order], [], body)

        begin = first.literal_value
        mix(A0, 0, [v0], found[0])
        mix(A1, 1, [c1, s1], found[1])
        mix(A2, 2, [c2, s2], found[2])
        return context.get_dummy_value()

    whole = types.intp
    return types.void(
        profiles, first, rows, lines, whole, taps, A0, A1, A2, fields, whole, v, places, whole, whole
    ), generate


@intrinsic
def keep_stencils(
    typing: Any, profiles: Any, rows: Any, lines: Any, wide: Any, taps: Any, channel: Any, into: Any, places: Any,
    x: Any, pitch: Any,
) -> Any:  # fmt: skip
    """The responses of the stencils of a channel, not mixed: as :func:`transpose_stencils` reads them."""
    counts = tuple(each.literal_value for each in profiles)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, rows, lines, wide, taps, channel, into, places, x, pitch = memories(context, builder, signature, arguments)
        begins, index = builder.add(builder.mul(channel, wide), x), pitch.type
        lines, places = [builder.add(line, begins) for line in lines], list(places)
        for count, responses in zip(counts, _responses(builder, rows, lines, taps, counts), strict=True):
            ours = [places.pop(0) for _ in responses[0]]
            for q, response in enumerate(responses):
                row = builder.mul(builder.add(builder.mul(channel, index(count)), index(q)), pitch)
                for place, value in zip(ours, response, strict=True):
                    into.put(builder.add(builder.add(place, row), x), value)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(profiles, rows, lines, whole, taps, whole, into, places, whole, whole), generate


@intrinsic
def transpose_stencils(
    typing: Any, profiles: Any, source: Any, places: Any, channel: Any, pitch: Any, taps: Any, rows: Any, lines: Any,
    wide: Any,
) -> Any:  # fmt: skip
    """The transposes of all stencils of a channel, summed up onto five ``lines``, of which the last is begun anew.

    Responses lie from the five ``places`` on, as fields do. The last two pixels of the lines are not complete.
    ``LANES`` numbers before the lines are written over, and as many are read after the responses.
    """
    p0, p1, p2 = (each.literal_value for each in profiles)
    second, third = 6 * p0, 6 * (p0 + p1)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        _, source, places, channel, pitch, taps, rows, lines, wide = memories(context, builder, signature, arguments)
        index = pitch.type
        lines = [builder.add(line, builder.mul(channel, wide)) for line in lines]
        c0, c1, s1, c2, s2 = (
            builder.add(place, builder.mul(builder.mul(channel, index(count)), pitch))
            for place, count in zip(places, (p0, p1, p1, p2, p2), strict=True)
        )

        def products(x: Any) -> list[list[Any]]:
            """What goes to each product of e0, e1, e2, o1, o2 along y and along x."""

            def read(base: Any, count: int) -> list[Any]:
                return [source(builder.add(builder.add(base, x), builder.mul(pitch, index(q)))) for q in range(count)]

            def summed(values: list[Any], at: int) -> Any:
                total = taps.number(index(0), at) * values[0]
                for q, value in enumerate(values[1:], 1):
                    total = taps.number(index(0), at + 6 * q).times(value, total)
                return total

            found: list[list[Any]] = [[None] * 5 for _ in range(5)]
            scalar, cosine, sine = read(c0, p0), read(c1, p1), read(s1, p1)
            wave, cross = read(c2, p2), read(s2, p2)
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
            here = [builder.add(line, x) for line in lines]
            rows.put(here[4], e2 + o2)
            for place, more in zip(here, (e2 - o2, e1 - o1, e0, e1 + o1), strict=False):
                rows.put(place, rows(place) + more)
            return following

        carried = [nothing(builder).carried() for _ in range(25)]
        rounds(builder, builder.add(builder.sdiv(pitch, index(LANES)), index(1)), carried, body)
        return context.get_dummy_value()

    whole = types.intp
    return types.void(profiles, source, places, whole, whole, taps, rows, lines, whole), generate
