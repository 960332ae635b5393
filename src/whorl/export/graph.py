"""Builds ONNX graphs: operations become nodes, numbers become initialisers, and each result gets a name of its own."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from whorl import __version__

AXES = ("depth", "height", "width")

OPSET = 17
"""The ONNX operator set of the files; onnxruntime has known it since version 1.12."""


class Graph:
    """Nodes and constants of one graph, or of the body of a loop, which shares the constants of the graph around it."""

    def __init__(self, around: "Graph | None" = None) -> None:
        self.nodes: list[Any] = []
        self.constants: dict[tuple[Any, ...], Any] = {} if around is None else around.constants
        self._names: list[str] = [] if around is None else around._names

    def __call__(self, operation: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation with one output and return the output's name."""
        return self.several(operation, 1, *inputs, **attributes)[0]

    def several(self, operation: str, count: int, *inputs: str, **attributes: Any) -> list[str]:
        """Add an operation with several outputs and return their names."""
        from onnx import helper

        outputs = [self.name(operation) for _ in range(count)]
        self.nodes.append(helper.make_node(operation, list(inputs), outputs, name=outputs[0], **attributes))
        return outputs

    def named(self, output: str, operation: str, *inputs: str, **attributes: Any) -> None:
        """Add an operation whose output has a given name."""
        from onnx import helper

        self.nodes.append(helper.make_node(operation, list(inputs), [output], name=output, **attributes))

    def number(self, value: Any, dtype: type = np.float32) -> str:
        """The name of a constant scalar, vector or tensor; equal constants are kept once."""
        from onnx import numpy_helper

        array: np.ndarray[Any, Any] = np.asarray(value, dtype=dtype)
        key = (array.shape, array.dtype.str, array.tobytes())
        if key not in self.constants:
            self.constants[key] = numpy_helper.from_array(array, self.name("constant"))
        name: str = self.constants[key].name
        return name

    def integers(self, *values: int) -> str:
        """The name of a constant vector of integers."""
        return self.number(list(values), np.int64)

    def name(self, stem: str) -> str:
        """A name that nothing else has."""
        self._names.append(stem)
        return f"{stem.lower()}_{len(self._names)}"

    def model(self, inputs: Sequence[Any], output: Any, purpose: str, about: Mapping[str, object]) -> Any:
        """The whole file, checked: an ``onnx.ModelProto`` that carries what is told about it."""
        from onnx import checker, helper

        constants = list(self.constants.values())
        graph = helper.make_graph(self.nodes, "whorl", inputs, [output], constants, doc_string=purpose)
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid("", OPSET)],
            ir_version=8,
            producer_name="whorl",
            producer_version=__version__,
        )
        told = {"whorl": __version__, **about}
        texts = {
            key: value if isinstance(value, str) else json.dumps(value, default=str) for key, value in told.items()
        }
        helper.set_model_props(model, texts)
        checker.check_model(model, full_check=True)
        return model


class Sizes:
    """Shapes and mirrored indices of the image, computed once and used by every step."""

    def __init__(self, graph: Graph, image: str, dimension: int = 2) -> None:
        self.graph, self.dimension = graph, dimension
        shape = graph("Shape", image)
        self.axes = [graph("Gather", shape, graph.number(axis, np.int64)) for axis in range(2 + dimension)]
        self.shape = shape
        size = graph("Slice", shape, graph.integers(2), graph.integers(2 + dimension))
        self.flat = graph("Concat", graph.integers(-1, 1), size, axis=0)
        self._indices: dict[tuple[int, int], str] = {}

    def mirrored(self, axis: int, radius: int) -> str:
        """Indices -radius .. size + radius - 1, folded back onto the pixels they mirror."""
        if (axis, radius) not in self._indices:
            graph, size = self.graph, self.axes[axis]
            period = graph("Add", size, size)
            first, end = graph.number(-radius, np.int64), graph("Add", size, graph.number(radius, np.int64))
            around = graph("Mod", graph("Range", first, end, graph.number(1, np.int64)), period)
            last = graph("Sub", period, graph.number(1, np.int64))
            self._indices[axis, radius] = graph("Min", around, graph("Sub", last, around))
        return self._indices[axis, radius]

    def framed(self, graph: Graph, u: str, radius: int) -> str:
        """The image ``u``, of the same size, with a mirrored frame around it."""
        for axis in range(2, 2 + self.dimension):
            u = graph("Gather", u, self.mirrored(axis, radius), axis=axis)
        return u


def picture(name: str, channels: str | int = "channels", dimension: int = 2) -> Any:
    """A float32 tensor (batch, channels, height, width), for volumes with depth, that enters or leaves a graph."""
    from onnx import TensorProto, helper

    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ("batch", channels, *AXES[-dimension:]))
