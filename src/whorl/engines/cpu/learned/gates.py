"""Gates of learned blocks: what they look at, how they multiply fields, and the derivatives; many rows in one loop."""

import math
from typing import Any

from whorl.engines.cpu.arithmetic import at, exp2, fma, half, literal, log1p, one, put, two, zero
from whorl.engines.cpu.compiling import compiled
from whorl.engines.cpu.rows import each, each_within

_quarter, _to_base_two = literal(0.25), literal(1 / math.log(2))


@compiled(inside=True)
def _logistic(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    small = exp2(-abs(x) * _to_base_two(x))
    whole = one(x) / (one(x) + small)
    return whole if x >= 0 else small * whole


squares = each(lambda c, s: fma(c, c, s * s))
"""The squared lengths of fields."""

logarithms = each(lambda s2: log1p(s2))
logarithms_within = each_within(lambda s2: log1p(s2))
logarithms_of_squares = each(lambda c, s: log1p(fma(c, c, s * s)))
"""``log(1 + s2)`` with the squared lengths of fields."""

blend = each(lambda a, b, c: fma(half(b), b, _quarter(b) * (a + c)))
"""The binomial filter of three rows, or of a row and its neighbours."""

gate_scalars = each_within(lambda v, z: _logistic(z) * v)
"""Fields of order 0 times their gates."""

by_scalars = each(lambda slope, v, w: slope * v * w)
"""Derivatives by logits, from fields of order 0 and the derivatives ``w`` by gated fields."""

by_squares = each_within(lambda by, s2: by / (one(s2) + s2))
"""Derivatives by ``log(1 + s2)`` become derivatives by ``s2``."""

add_scalars = each_within(lambda w, by: w + by)
"""Derivatives by fields of order 0, and by what gates see of them."""

add_squares = each_within(lambda w, by, x: fma(two(x) * x, by, w))
"""Derivatives by a component x, and those by squared lengths."""

_gated = each(lambda gate, v: gate * v)


@compiled()
def gate_pairs(logits: Any, g: int, v: Any, cosine: int, sine: int, n: int) -> None:
    """Multiply both components of the other fields by their gates."""
    for j in range(n):
        gate = _logistic(at(logits, g + j))
        put(v, cosine + j, gate * at(v, cosine + j))
        put(v, sine + j, gate * at(v, sine + j))


@compiled()
def filled(rows: Any, first: int, n: int, value: Any) -> None:
    """One number everywhere."""
    for j in range(n):
        put(rows, first + j, value)


@compiled()
def gates_and_slopes(logits: Any, gates: Any, slopes: Any, n: int) -> None:
    """The logistic function, and its derivative."""
    for j in range(n):
        z = at(logits, j)
        small = exp2(-abs(z) * _to_base_two(z))
        whole = one(z) / (one(z) + small)
        put(gates, j, whole if z >= 0 else small * whole)
        put(slopes, j, small * whole * whole)


@compiled()
def by_pairs(slopes: Any, g: int, v: Any, first: int, w: Any, second: int, into: Any, n: int) -> None:
    """The same for fields with two components, sines ``n`` numbers after cosines."""
    for j in range(n):
        along = at(v, first + n + j) * at(w, second + n + j)
        put(into, g + j, at(slopes, g + j) * fma(at(v, first + j), at(w, second + j), along))


@compiled()
def gate_all(gates: Any, v: Any, first: int, into: Any, target: int, n0: int, n1: int, n2: int) -> None:
    """Fields times their gates: cosines and sines of order 1, of order 2, then those of order 0."""
    for n, g in ((n1, n0), (n1, n0), (n2, n0 + n1), (n2, n0 + n1), (n0, 0)):
        _gated(gates, g, v, first, into, target, n)
        first, target = first + n, target + n


@compiled()
def only_inside(rows: Any, first: int, count: int, begin: int, end: int, pitch: int) -> None:
    """Zeros in rows of pixels but from ``begin`` to ``end``."""
    for row in range(count):
        for x in range(begin):
            put(rows, first + row * pitch + x, zero(at(rows, first)))
        for x in range(end, pitch):
            put(rows, first + row * pitch + x, zero(at(rows, first)))
