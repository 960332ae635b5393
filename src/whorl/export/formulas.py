r"""Diffusivities and activations as ONNX operations.

Values ``s2`` and responses are named tensors ``(n c, k, y, x)``. The formulas are those of :mod:`whorl.diffusivities`
and :mod:`whorl.activations`, without the parts that only gradients need.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from whorl.activations import Activation
from whorl.activations.enhancing import TOGETHER
from whorl.diffusivities import Diffusivity
from whorl.export.graph import Graph
from whorl.foundations.traced import Traced
from whorl.steps import Form

Accumulate = Callable[[list[str]], list[str]]
"""Takes a quantity of every steering scale and gives its sums over what is coupled, one for every scale of the flux."""


def flux(
    graph: Graph, form: Form, phi: Activation, v: list[str], seen: list[str], channels: int, total: Accumulate
) -> list[str]:
    """The flux of every scale from its responses ``v`` and the responses ``seen`` that steer the nonlinearity."""
    if form.entries == 3:
        return _by_eigenvalues(graph, form, phi.diffusivity, v, seen, channels, total)
    squares = [graph("Mul", part, part) for part in seen]
    parts = 1 if form.entries == 1 else channels // form.axes
    if form.entries == 1:
        s2 = total([_sum_channels(graph, square) for square in squares])
    else:  # one weight per direction, shared by the parts of the direction
        s2 = total([_fold_parts(graph, square, parts, form.axes) for square in squares])
    weights = [diffusivity(graph, phi.diffusivity, total, scale) for scale, total in enumerate(s2)]
    if parts > 1:
        weights = [graph("Concat", *[weight] * parts, axis=1) for weight in weights]
    return [graph("Mul", weight, part) for weight, part in zip(weights, v, strict=True)]


def _by_eigenvalues(
    graph: Graph, form: Form, g: Diffusivity, v: list[str], seen: list[str], channels: int, total: Accumulate
) -> list[str]:
    J = [_structure(graph, part, channels) for part in seen]
    entries = zip(*(total([parts[entry] for parts in J]) for entry in range(3)), strict=True)
    known: dict[tuple[str, ...], tuple[str, ...]] = {}
    result = []
    for scale, (each, part) in enumerate(zip(entries, v, strict=True)):
        if each not in known:
            known[each] = _eigenvalues(graph, *each)
        half, large, small, width = known[each]
        if form.law == "edge-enhancing" and not form.one_gradient:
            # Along edges as much as on flat images, unless both directions are nearly alike; see the law.
            small = graph("Mul", large, graph.number(0.0))
            width = graph("Max", width, graph("Mul", large, graph.number(TOGETHER)))
        across, along = diffusivity(graph, g, large, scale), diffusivity(graph, g, small, scale)
        secant = graph("Div", graph("Sub", across, along), width)
        middle = graph("Mul", graph("Add", across, along), graph.number(0.5))
        lean = graph("Mul", secant, half)
        a, b, c = graph("Add", middle, lean), graph("Mul", secant, each[1]), graph("Sub", middle, lean)
        result.append(_matrix_product(graph, form.gamma, (a, b, c), part, channels))
    return result


def _eigenvalues(graph: Graph, xx: str, xy: str, yy: str) -> tuple[str, str, str, str]:
    """Half the difference of the diagonal, both eigenvalues, and their distance."""
    half_of = graph.number(0.5)
    mean = graph("Mul", graph("Add", xx, yy), half_of)
    half = graph("Mul", graph("Sub", xx, yy), half_of)
    radius = graph("Sqrt", graph("Add", graph("Mul", half, half), graph("Mul", xy, xy)))
    large = graph("Add", mean, radius)
    small = graph("Max", graph("Sub", mean, radius), graph.number(0.0))
    # Where the eigenvalues meet, so do the diffusivities: 0 divided by a tiny number is the 0 that belongs there.
    return half, large, small, graph("Max", graph("Add", radius, radius), graph.number(1e-30))


def _structure(graph: Graph, v: str, channels: int) -> tuple[str, str, str]:
    """The entries xx, xy, yy of the structure tensor of one scale."""
    p, q, *details = graph.several("Split", channels, v, graph.integers(*[1] * channels), axis=1)
    xx, yy = graph("Mul", p, p), graph("Mul", q, q)
    for r_x, r_y in zip(details[::2], details[1::2], strict=True):
        xx, yy = graph("Add", xx, graph("Mul", r_x, r_x)), graph("Add", yy, graph("Mul", r_y, r_y))
    return xx, graph("Mul", p, q), yy


def _matrix_product(graph: Graph, gamma: float, D: tuple[str, str, str], v: str, channels: int) -> str:
    a, b, c = D
    p, q, *details = graph.several("Split", channels, v, graph.integers(*[1] * channels), axis=1)
    parts = [graph("Add", graph("Mul", left, p), graph("Mul", right, q)) for left, right in ((a, b), (b, c))]
    across = graph("Mul", graph("Abs", b), graph.number(gamma)) if gamma else ""
    for r_x, r_y in zip(details[::2], details[1::2], strict=True):
        one, two = graph("Mul", a, r_x), graph("Mul", c, r_y)
        if gamma:
            one = graph("Sub", one, graph("Mul", across, r_y))
            two = graph("Sub", two, graph("Mul", across, r_x))
        parts += [one, two]
    return graph("Concat", *parts, axis=1)


def _sum_channels(graph: Graph, v: str) -> str:
    return graph("ReduceSum", v, graph.integers(1), keepdims=1)


def _fold_parts(graph: Graph, v: str, parts: int, axes: int) -> str:
    if parts == 1:
        return v
    return graph("Sum", *graph.several("Split", parts, v, graph.integers(*[axes] * parts), axis=1))


def diffusivity(graph: Graph, g: Diffusivity, s2: str, scale: int = 0) -> str:
    """The name of ``g(s2)``, with the contrast of the given scale where every scale has its own."""
    if "channels" in g.varies:
        raise ValueError("export: a contrast per channel cannot be written as ONNX. Use --format pt2 instead.")
    try:
        with torch.no_grad():
            found: Any = g(Traced("symbol", s2))  # type: ignore[arg-type]
    except (AttributeError, ValueError) as error:
        raise ValueError(f"export: {error} Use --format pt2 instead.") from None
    return written(graph, found, scale)


def written(graph: Graph, formula: Any, scale: int = 0) -> str:
    """The name of a traced value. Tensors in it are constants; a vector over scales stands for its own number."""
    known: dict[int, str] = {}

    def name(value: Any) -> str:
        if not isinstance(value, Traced):
            numbers = value.detach().flatten().tolist() if isinstance(value, Tensor) else [float(value)]
            return graph.number(numbers[scale if len(numbers) > 1 else 0])
        if value.name == "symbol":
            return str(value.arguments[0])
        if value.name not in OPERATIONS:
            raise ValueError(f"export: {value.name} cannot be written as ONNX. Use --format pt2 instead.")
        if id(value) not in known:
            known[id(value)] = OPERATIONS[value.name](graph, *(name(each) for each in value.arguments))
        return known[id(value)]

    return name(formula)


def _expm1(graph: Graph, x: str) -> str:
    return graph("Sub", graph("Exp", x), graph.number(1.0))


def _ones(graph: Graph, x: str) -> str:
    return graph("Add", graph("Mul", x, graph.number(0.0)), graph.number(1.0))


def _operation(name: str) -> Callable[..., str]:
    return lambda graph, *names: graph(name, *names)


OPERATIONS: dict[str, Callable[..., str]] = {
    "add": _operation("Add"),
    "sub": _operation("Sub"),
    "mul": _operation("Mul"),
    "truediv": _operation("Div"),
    "pow": _operation("Pow"),
    "neg": _operation("Neg"),
    "abs": _operation("Abs"),
    "exp": _operation("Exp"),
    "expm1": _expm1,
    "reciprocal": _operation("Reciprocal"),
    "sqrt": _operation("Sqrt"),
    "rsqrt": lambda graph, x: graph("Reciprocal", graph("Sqrt", x)),
    "square": lambda graph, x: graph("Mul", x, x),
    "clamp_min": _operation("Max"),
    "clamp_max": _operation("Min"),
    "minimum": _operation("Min"),
    "maximum": _operation("Max"),
    "where": _operation("Where"),
    "lt": _operation("Less"),
    "gt": _operation("Greater"),
    "ones_like": _ones,
}
"""The functions that have an ONNX operation here, by the names that torch has for them."""
