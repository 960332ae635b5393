"""Gates of learned blocks: what they look at, and how they multiply fields; many rows in one loop."""

import math
from typing import Any

from whorl.engines.cpu.arithmetic import at, compiled, exp2, fma, half, literal, log1p, one, put

__all__ = ["blend_across", "blend_down", "gate_pairs", "gate_scalars", "logarithms", "logarithms_of_squares", "squares"]

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
