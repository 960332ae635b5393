"""Gates of learned blocks: what they look at, how they multiply fields, and the derivatives; many rows in one loop."""

import math
from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, exp2, fma, half, literal, log1p, one, put, two, zero

_quarter, _to_base_two = literal(0.25), literal(1 / math.log(2))


@compiled()
def squares(v: Any, cosine: int, sine: int, target: int, n: int) -> None:
    """The squared lengths of fields."""
    for j in range(n):
        c, s = at(v, cosine + j), at(v, sine + j)
        put(v, target + j, fma(c, c, s * s))


@compiled()
def logarithms_of_squares(v: Any, cosine: int, sine: int, target: int, n: int) -> None:
    """``log(1 + s2)`` with the squared lengths of fields."""
    for j in range(n):
        c, s = at(v, cosine + j), at(v, sine + j)
        put(v, target + j, log1p(fma(c, c, s * s)))


@compiled()
def logarithms(s2: Any, first: int, n: int) -> None:
    """``log(1 + s2)`` in the place of ``s2``."""
    for j in range(n):
        put(s2, first + j, log1p(at(s2, first + j)))


@compiled()
def blend_across(source: Any, s: int, into: Any, target: int, n: int) -> None:
    """The binomial filter along x; a pixel before the first and after the last is read too."""
    for j in range(n):
        sides = at(source, s + j - 1) + at(source, s + j + 1)
        put(into, target + j, fma(half(sides), at(source, s + j), _quarter(sides) * sides))


@compiled()
def blend_down(rows: Any, above: int, here: int, below: int, into: Any, n: int) -> None:
    """The binomial filter along y."""
    for j in range(n):
        sides = at(rows, above + j) + at(rows, below + j)
        put(into, j, fma(half(sides), at(rows, here + j), _quarter(sides) * sides))


@compiled(inside=True)
def _logistic(x: Any) -> Any:
    """``1 / (1 + exp(-x))``."""
    small = exp2(-abs(x) * _to_base_two(x))
    whole = one(x) / (one(x) + small)
    return whole if x >= 0 else small * whole


@compiled()
def gate_scalars(logits: Any, g: int, v: Any, first: int, n: int) -> None:
    """Multiply fields of order 0 by their gates."""
    for j in range(n):
        put(v, first + j, _logistic(at(logits, g + j)) * at(v, first + j))


@compiled()
def gate_pairs(logits: Any, g: int, v: Any, cosine: int, sine: int, n: int) -> None:
    """Multiply both components of the other fields by their gates."""
    for j in range(n):
        gate = _logistic(at(logits, g + j))
        put(v, cosine + j, gate * at(v, cosine + j))
        put(v, sine + j, gate * at(v, sine + j))


@compiled()
def looked_at(s2: Any, into: Any, n0: int, n: int) -> None:
    """What gates look at, from fields of order 0 and squared lengths."""
    for j in range(n0):
        put(into, j, at(s2, j))
    for j in range(n0, n):
        put(into, j, log1p(at(s2, j)))


@compiled()
def copied(source: Any, first: int, into: Any, n: int) -> None:
    """The same numbers elsewhere."""
    for j in range(n):
        put(into, j, at(source, first + j))


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
def by_scalars(slopes: Any, g: int, v: Any, first: int, w: Any, second: int, into: Any, n: int) -> None:
    """Derivatives by logits, from fields of order 0 and the derivatives ``w`` by gated fields."""
    for j in range(n):
        put(into, g + j, at(slopes, g + j) * at(v, first + j) * at(w, second + j))


@compiled()
def by_pairs(slopes: Any, g: int, v: Any, first: int, w: Any, second: int, into: Any, n: int) -> None:
    """The same for fields with two components, sines ``n`` numbers after cosines."""
    for j in range(n):
        along = at(v, first + n + j) * at(w, second + n + j)
        put(into, g + j, at(slopes, g + j) * fma(at(v, first + j), at(w, second + j), along))


@compiled()
def _gated(gates: Any, g: int, v: Any, first: int, into: Any, target: int, n: int) -> None:
    for j in range(n):
        put(into, target + j, at(gates, g + j) * at(v, first + j))


@compiled()
def gate_all(gates: Any, v: Any, first: int, into: Any, target: int, n0: int, n1: int, n2: int) -> None:
    """Fields times their gates: cosines and sines of order 1, of order 2, then those of order 0."""
    for n, g in ((n1, n0), (n1, n0), (n2, n0 + n1), (n2, n0 + n1), (n0, 0)):
        _gated(gates, g, v, first, into, target, n)
        first, target = first + n, target + n


@compiled()
def by_squares(by: Any, s2: Any, first: int, place: int, n: int) -> None:
    """Derivatives by ``log(1 + s2)`` become derivatives by ``s2``."""
    for j in range(n):
        put(by, first + j, at(by, first + j) / (one(at(s2, place + j)) + at(s2, place + j)))


@compiled()
def add_scalars(w: Any, first: int, by: Any, g: int, n: int) -> None:
    """Add derivatives by what gates see of fields of order 0."""
    for j in range(n):
        put(w, first + j, at(w, first + j) + at(by, g + j))


@compiled()
def add_squares(w: Any, first: int, by: Any, g: int, v: Any, place: int, n: int) -> None:
    """Add those by squared lengths to the derivatives by a component."""
    for j in range(n):
        x = at(v, place + j)
        put(w, first + j, fma(two(x) * x, at(by, g + j), at(w, first + j)))


@compiled()
def only_inside(rows: Any, first: int, count: int, begin: int, end: int, pitch: int) -> None:
    """Zeros in rows of pixels but from ``begin`` to ``end``."""
    for row in range(count):
        for x in range(begin):
            put(rows, first + row * pitch + x, zero(at(rows, first)))
        for x in range(end, pitch):
            put(rows, first + row * pitch + x, zero(at(rows, first)))
