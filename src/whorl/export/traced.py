"""Formulas written for tensors, written down as ONNX operations instead of being computed."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from whorl.diffusivities import Diffusivity
from whorl.export.graph import Graph

__all__ = ["diffusivity"]


def diffusivity(graph: Graph, g: Diffusivity, s2: str, scale: int = 0) -> str:
    """The name of ``g(s2)``, with the contrast of the given scale where every scale has its own."""
    if "channels" in g.varies:
        raise ValueError("export: a contrast per channel cannot be written as ONNX. Use --format pt2 instead.")
    with torch.no_grad():
        found: Any = g(Traced(graph, s2, scale))  # type: ignore[arg-type]
    name: str = found.name
    return name


class Traced:
    """A value of a graph, for which arithmetic and the functions of torch below append operations to the graph.

    Tensors it meets are constants; of a vector over the scales the number of this scale counts.
    """

    dtype = torch.float32

    def __init__(self, graph: Graph, name: str, scale: int) -> None:
        self.graph, self.name, self.scale = graph, name, scale

    def dim(self) -> int:
        """As many axes as the responses of an image have."""
        return 6

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, arguments: Any = (), options: Any = None) -> "Traced":
        name = function.__name__.strip("_")
        if options or name not in OPERATIONS:
            raise ValueError(f"export: torch.{name} cannot be written as ONNX. Use --format pt2 instead.")
        owner = next(each for each in arguments if isinstance(each, Traced))
        return owner._apply(name, *arguments)

    def __getattr__(self, name: str) -> Callable[..., "Traced"]:
        if name not in OPERATIONS:
            raise AttributeError(f"export: {name} cannot be written as ONNX. Use --format pt2 instead.")
        return lambda *arguments: self._apply(name, self, *arguments)

    def __add__(self, other: Any) -> "Traced":
        return self._apply("add", self, other)

    def __sub__(self, other: Any) -> "Traced":
        return self._apply("sub", self, other)

    def __rsub__(self, other: Any) -> "Traced":
        return self._apply("sub", other, self)

    def __mul__(self, other: Any) -> "Traced":
        return self._apply("mul", self, other)

    def __truediv__(self, other: Any) -> "Traced":
        return self._apply("div", self, other)

    def __rtruediv__(self, other: Any) -> "Traced":
        return self._apply("div", other, self)

    def __pow__(self, other: Any) -> "Traced":
        return self._apply("pow", self, other)

    def __neg__(self) -> "Traced":
        return self._apply("neg", self)

    __radd__, __rmul__ = __add__, __mul__

    def _apply(self, operation: str, *arguments: Any) -> "Traced":
        names = [each.name if isinstance(each, Traced) else self._constant(each) for each in arguments]
        return Traced(self.graph, OPERATIONS[operation](self.graph, *names), self.scale)

    def _constant(self, value: Any) -> str:
        numbers = value.detach().flatten().tolist() if isinstance(value, Tensor) else [float(value)]
        return self.graph.number(numbers[self.scale if len(numbers) > 1 else 0])


def _expm1(graph: Graph, x: str) -> str:
    return graph("Sub", graph("Exp", x), graph.number(1.0))


def _ones(graph: Graph, x: str) -> str:
    return graph("Add", graph("Mul", x, graph.number(0.0)), graph.number(1.0))


OPERATIONS: dict[str, Callable[..., str]] = {
    "add": lambda graph, x, y: graph("Add", x, y),
    "sub": lambda graph, x, y: graph("Sub", x, y),
    "rsub": lambda graph, x, y: graph("Sub", y, x),
    "mul": lambda graph, x, y: graph("Mul", x, y),
    "rmul": lambda graph, x, y: graph("Mul", x, y),
    "div": lambda graph, x, y: graph("Div", x, y),
    "truediv": lambda graph, x, y: graph("Div", x, y),
    "rtruediv": lambda graph, x, y: graph("Div", y, x),
    "rdiv": lambda graph, x, y: graph("Div", y, x),
    "pow": lambda graph, x, y: graph("Pow", x, y),
    "neg": lambda graph, x: graph("Neg", x),
    "exp": lambda graph, x: graph("Exp", x),
    "expm1": _expm1,
    "reciprocal": lambda graph, x: graph("Reciprocal", x),
    "sqrt": lambda graph, x: graph("Sqrt", x),
    "rsqrt": lambda graph, x: graph("Reciprocal", graph("Sqrt", x)),
    "square": lambda graph, x: graph("Mul", x, x),
    "clamp_min": lambda graph, x, y: graph("Max", x, y),
    "clamp_max": lambda graph, x, y: graph("Min", x, y),
    "ones_like": _ones,
}
"""The functions of torch that have an ONNX operation here, by name."""
