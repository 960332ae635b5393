"""Formulas written for tensors as ONNX operations."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from whorl.diffusivities import Diffusivity
from whorl.export.graph import Graph
from whorl.foundations.traced import Traced

__all__ = ["diffusivity"]


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
    """The name of a traced value. Tensors in it are constants; of a vector over scales that of this scale counts."""
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
