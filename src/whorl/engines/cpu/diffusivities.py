r"""Diffusivities for the compiled kernels: value, slope and secant of :math:`h`, where :math:`g(s^2) = A\, h(s^2)`.

The contrast enters through two numbers: ``rate`` stands inside the function and ``unit`` is :math:`1/\lambda^2`. The
amplitude :math:`A` is 1, or :math:`1/\varepsilon` for total variation; it is left to the caller, since the flux is
linear in it. Which function is meant is a literal number, settled when a kernel is compiled. The functions are written
here from the formulas of :mod:`whorl.diffusivities`.
"""

import math
from collections.abc import Callable
from typing import Any

from whorl.engines.cpu.arithmetic import decay_series, exp2, fma, literal, one
from whorl.engines.cpu.compiling import by_literal
from whorl.engines.formulas import WORDS, Node, statements
from whorl.engines.leaves import LEAVES


def rate(name: str, contrast: float) -> float:
    """The number that stands inside the function for a given contrast."""
    leaf = LEAVES.get(name)
    if leaf is None or leaf.exponent is None:
        return contrast**-2
    return 1 / (math.log(2) / leaf.exponent * contrast**2)


def amplitude(name: str, contrast: float) -> tuple[float, int]:
    """The factor in front of the function, and the power of the contrast in it."""
    power = LEAVES[name].amplitude if name in LEAVES else 0
    return (contrast**power if power >= 0 else 1 / contrast**-power), power


def written(arguments: str, *results: Node, **functions: Any) -> Callable[..., Any]:
    """A function for kernels that computes these nodes, by further functions; numbers are like the last argument."""
    names = {"fma": fma, "exp2": exp2, "decay_series": decay_series, "sqrt": math.sqrt, "one": one, **functions}
    like = arguments.split(", ")[-1]

    def words(operation: str, *words: str) -> str:
        if operation == "number":
            constant = f"c{len(names)}"
            names[constant] = literal(float(words[0]))
            return f"{constant}({like})"
        return _WORDS[operation].format(*words, one=f"one({like})")

    lines, found = statements(words, *results)
    exec("\n    ".join([f"def written({arguments}):", *lines, f"return {', '.join(found)}"]), names)
    function: Callable[..., Any] = names["written"]
    return function


_WORDS = WORDS | {
    "abs": "abs({})",
    "where": "{1} if {0} else {2}",
    "minimum": "min({}, {})",
    "maximum": "max({}, {})",
    "fma": "fma({}, {}, {})",
    "sqrt": "sqrt({})",
    "inverse": "{one} / {}",
    "rsqrt": "{one} / sqrt({})",
    "exp2": "exp2({})",
    "fall": "{one} - exp2({})",
    "decay_series": "decay_series({})",
    "g": "value(kind, {}, rate)",
}
"""How Numba writes each operation."""

_ARGUMENTS = {"value": "s2, rate", "slope": "s2, h, unit", "secant": "low, width, h, h_far, unit"}
_SHAPES = {name: tuple(getattr(leaf, part) for part in _ARGUMENTS) for name, leaf in LEAVES.items()}
_DISTINCT = list(dict.fromkeys(_SHAPES.values()))

KINDS = {name: _DISTINCT.index(shape) for name, shape in _SHAPES.items()}
"""The literal number of each."""

value, slope, secant = (
    by_literal(*(written(f"kind, {arguments}", node) for node in nodes))
    for arguments, nodes in zip(_ARGUMENTS.values(), zip(*_DISTINCT, strict=True), strict=True)
)
"""``h(s2)``; ``h'(s2)``, given ``h = h(s2)``; and ``(h(low + width) - h(low)) / width`` from both values, exact down to
``width = 0``.
"""
