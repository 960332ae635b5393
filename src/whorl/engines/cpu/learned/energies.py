r"""A learned energy, its gradient :math:`K^* \Phi(K u)`, and the derivative of that along a picture, in one pass.

Stencils are even or odd along either axis, so that sums and differences of pixels at equal distances serve all of them:
a stencil of 13 by 13 pixels needs a quarter of its products. Few stencils are applied, their responses are mixed to
fields in every pixel, and all that lies between picture and gradient stays in the caches, row by row.
"""

from collections import namedtuple
from collections.abc import Callable
from functools import cache
from math import sqrt
from typing import Any

import numpy as np

from whorl.engines.cpu.arithmetic import at, fma, half, literal, one, put, zero
from whorl.engines.cpu.compiling import compiled, source_stamp
from whorl.engines.cpu.learned.gates import filled
from whorl.engines.cpu.learned.lanes import LANES
from whorl.engines.cpu.learned.matrix_product import product
from whorl.engines.cpu.rows import copy_row, each
from whorl.operators.orbits import padded

GRADIENT, ALONG, VALUE = range(3)
"""What is wanted: the gradient, its derivative along a second picture, or the value."""

Place = namedtuple("Place", "begin width y0 y1 n pitch height columns")
"""A tile: where its pixels begin in the mirrored picture and how wide that is, rows and columns of the picture, how far
responses are apart; size of the picture.
"""

Maps = namedtuple("Maps", "matrices blocks")
"""Products one after the other: of each, outputs, inputs, first row of inputs and outputs, where the matrix begins."""

Tables = namedtuple("Tables", "places widths slopes fields")
"""Where the pieces of all potentials begin and how long they are, in units of responses, and the slopes there; of every
field the rows of its components, -1 for none, which bend it has, and which potential.
"""

Guide = namedtuple("Guide", "weights bends first bent")
"""Weights of all fields and bends of the first pairs, as they lie in memory; where those of the picture begin."""

Room = namedtuple("Room", "lines folded responses fields along sums nothing")
"""Of a row: sums and differences along y, these along x, responses, fields, fields of a second picture; of the tile:
sums back; zeros.
"""

plus, minus = each(lambda a, b: a + b), each(lambda a, b: a - b)
_tiny = literal(1e-10)


@cache
def potential(pieces: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Two functions: one reads the numbers of so many pieces, the other gives value, height and slope at a length.

    All pieces are gone through, up to where the length lies: without a table that each pixel looks up, loops vectorise.
    """
    if pieces == 0:
        first = compiled(inside=True)(lambda tables, f: ())
        return first, compiled(inside=True)(lambda length, numbers: (zero(length), zero(length), zero(length)))
    k, (read_before, before) = pieces - 1, potential(pieces - 1)

    @compiled(inside=True)
    def read(tables: Any, f: int) -> Any:
        place = f + k
        return *read_before(tables, f), (at(tables.places, place), at(tables.widths, place), at(tables.slopes, place))

    @compiled(inside=True)
    def given(length: Any, numbers: Any) -> Any:
        value, height, slope = before(length, numbers)
        place, width, rise = numbers[k]
        beyond = length - place
        beyond = beyond if beyond > zero(length) else zero(length)
        inside = beyond if beyond < width else width
        last = rise if beyond < width else zero(length)
        value = fma(rise * inside, fma(-half(length), inside, beyond), value)
        return value, fma(rise, inside, height), last if beyond > zero(length) else slope

    return read, given


@cache
def respond(what: int, guided: bool, pieces: int, paired: bool, bent: bool) -> Callable[..., None]:
    """The loop over a row of one field with one component or two, seen through a tensor where it is ``bent``."""
    read, given = potential(pieces)

    @compiled()
    def field(v: Any, p: Any, f: int, a: int, b: int, tables: Tables, guide: Guide, w: int, e: int, n: int) -> None:
        numbers = read(tables, f * pieces)
        t = e + guide.bent
        for x in range(n):
            c = at(v, a + x)
            s = at(v, b + x) if paired else zero(c)
            turned, across = c, s
            if bent:
                bend, twist = at(guide.bends, e + x), at(guide.bends, t + x)
                turned, across = fma(bend, c, fma(twist, s, c)), fma(-bend, s, fma(twist, c, s))
            squared = fma(c, turned, fma(s, across, _tiny(c)))
            length = sqrt(squared)
            value, height, slope = given(length, numbers)
            weight = at(guide.weights, w + x) if guided else one(c)
            factor = height / length
            if what == VALUE:
                put(p, x, fma(weight, value, at(p, x)))
            elif what == GRADIENT:
                put(v, a + x, weight * factor * turned)
                if paired:
                    put(v, b + x, weight * factor * across)
            else:
                q = at(p, a + x)
                r = at(p, b + x) if paired else zero(c)
                more = (slope - factor) / squared * fma(turned, q, across * r)
                if bent:
                    q, r = fma(bend, q, fma(twist, r, q)), fma(-bend, r, fma(twist, q, r))
                put(p, a + x, weight * fma(factor, q, more * turned))
                if paired:
                    put(p, b + x, weight * fma(factor, r, more * across))

    return field


@compiled()
def multiply(maps: Maps, rows: Any, into: Any, nothing: Any, pitch: int) -> None:
    """All products."""
    matrices, blocks = maps
    for b in range(0, blocks.shape[0], 5):
        outputs, inputs, source, target, begin = blocks[b], blocks[b + 1], blocks[b + 2], blocks[b + 3], blocks[b + 4]
        product(matrices[begin:], nothing, outputs, inputs, rows, source * pitch, into, target * pitch, pitch)


def classes(radius: int) -> tuple[int, int, int, int, int]:
    """Where rows begin that are even along both axes, odd along x, along y, along both; and their number."""
    both, one, none = padded((radius + 1) ** 2), padded((radius + 1) * radius), padded(radius * radius)
    return 0, both, both + one, both + 2 * one, both + 2 * one + none


@cache
def folding(radius: int) -> tuple[Callable[..., None], Callable[..., None]]:
    """Sums and differences of the pixels around a row, and the transpose."""
    side, (even, odd, even_below, odd_below, _) = radius + 1, classes(radius)

    @compiled(inside=True)
    def starts(k: int) -> tuple[int, int]:
        """The rows that come from line k and are even and odd along x, the latter from distance 1 on."""
        if k < side:
            return even + k * side, odd + k * radius - 1
        return even_below + (k - side) * side, odd_below + (k - side) * radius - 1

    @compiled()
    def folded_up(wide: Any, begin: int, width: int, n: int, lines: Any, folded: Any, pitch: int, step: int) -> None:
        """Sums and differences of the pixels around a row."""
        whole = n + 2 * radius
        copy_row(wide, begin + radius * width, lines, 0, whole)
        for k in range(1, side):
            up, down = begin + (radius - k) * width, begin + (radius + k) * width
            plus(wide, down, wide, up, lines, k * step, whole)
            minus(wide, down, wide, up, lines, (radius + k) * step, whole)
        for k in range(2 * radius + 1):
            e, o = starts(k)
            here = k * step + radius
            copy_row(lines, here, folded, e * pitch, n)
            for j in range(1, side):
                plus(lines, here + j, lines, here - j, folded, (e + j) * pitch, n)
                minus(lines, here + j, lines, here - j, folded, (o + j) * pitch, n)

    @compiled()
    def unfolded(folded: Any, lines: Any, sums: Any, row: int, n: int, pitch: int, step: int) -> None:
        """The transpose: what goes to each pixel is added to the sums from this row on."""
        whole = n + 2 * radius
        for k in range(2 * radius + 1):
            e, o = starts(k)
            filled(lines, k * step, whole, np.float32(0))
            here = k * step + radius
            copy_row(folded, e * pitch, lines, here, n)
            for j in range(1, side):
                a, b, right, left = (e + j) * pitch, (o + j) * pitch, here + j, here - j
                for x in range(n):
                    put(lines, right + x, at(lines, right + x) + (at(folded, a + x) + at(folded, b + x)))
                for x in range(n):
                    put(lines, left + x, at(lines, left + x) + (at(folded, a + x) - at(folded, b + x)))
        plus(sums, row + radius * step, lines, 0, sums, row + radius * step, whole)
        for k in range(1, side):
            up, down, e, o = row + (radius - k) * step, row + (radius + k) * step, k * step, (radius + k) * step
            for x in range(whole):
                put(sums, down + x, at(sums, down + x) + (at(lines, e + x) + at(lines, o + x)))
            for x in range(whole):
                put(sums, up + x, at(sums, up + x) + (at(lines, e + x) - at(lines, o + x)))

    return folded_up, unfolded


@cache
def kernel(radius: int, pieces: int, what: int, guided: bool) -> Callable[..., float]:
    """The kernel of a tile, for stencils of this radius and potentials of so many pieces."""
    stamp, (folded_up, unfolded) = source_stamp(), folding(radius)
    single, pair, bent_pair = (
        respond(what, guided, pieces, paired, bent) for paired, bent in ((False, False), (True, False), (True, True))
    )

    @compiled(cache=True)
    def tile(
        wide: Any, other: Any, where: Place, taps: Maps, mix: Maps, unmix: Maps, untaps: Maps, tables: Tables,
        guide: Guide, room: Room,
    ) -> float:  # fmt: skip
        begin, width, y0, y1, n, pitch, height, columns = where
        lines, folded, responses, v, p, sums, nothing = room
        step, fields, total = pitch + 2 * LANES, tables.fields, 0.0 * stamp
        for part in (folded, sums, nothing):
            filled(part, 0, part.shape[0], np.float32(0))
        for y in range(y0, y1):
            folded_up(wide, begin, width, n, lines, folded, pitch, step)
            multiply(taps, folded, responses, nothing, pitch)
            multiply(mix, responses, v, nothing, pitch)
            if what == ALONG:
                folded_up(other, begin, width, n, lines, folded, pitch, step)
                multiply(taps, folded, responses, nothing, pitch)
                multiply(mix, responses, p, nothing, pitch)
            if what == VALUE:
                filled(p, 0, pitch, np.float32(0))
            for row in range(0, fields.shape[0], 4):
                a, b, e, f = fields[row] * pitch, fields[row + 1] * pitch, fields[row + 2], fields[row + 3]
                w = guide.first[0] + (f * height + y) * columns
                if b < 0:
                    single(v, p, f, a, a, tables, guide, w, 0, pitch)
                elif e < 0:
                    pair(v, p, f, a, b, tables, guide, w, 0, pitch)
                else:
                    bend = guide.first[1] + (2 * e * height + y) * columns
                    bent_pair(v, p, f, a, b, tables, guide, w, bend, pitch)
            if what == VALUE:
                for x in range(n):
                    total += at(p, x)
            else:
                multiply(unmix, p if what == ALONG else v, responses, nothing, pitch)
                multiply(untaps, responses, folded, nothing, pitch)
                unfolded(folded, lines, sums, (y - y0) * step, n, pitch, step)
            begin += width
        return total

    return tile
