"""Chains as ONNX files: one step in a loop, whatever the number of steps."""

from functools import partial
from typing import Any

import numpy as np
from torch import Tensor

from whorl.export.chain import Bank, Chain, refuse
from whorl.export.formulas import flux
from whorl.export.graph import Graph, Sizes, picture
from whorl.operators.derivative import Taps


def onnx_model(chain: Chain) -> Any:
    """The chain as an ``onnx.ModelProto`` for float32 images; batch, channels, height and width are all free.

    >>> import whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> onnx_model(whorl.export.model_chain(model, time=0.4)).graph.input[0].name
    'image'
    """
    from onnx import TensorProto, helper

    refuse(chain.form, "onnx")
    outer = Graph()
    step = _Step(Graph(outer), Sizes(outer, "image"), chain)
    step.write("iteration", "image_before")
    body = helper.make_graph(
        [*step.graph.nodes, helper.make_node("Identity", ["go_on"], ["still_go_on"])],
        "step",
        [
            helper.make_tensor_value_info("iteration", TensorProto.INT64, []),
            helper.make_tensor_value_info("go_on", TensorProto.BOOL, []),
            picture("image_before"),
        ],
        [helper.make_tensor_value_info("still_go_on", TensorProto.BOOL, []), picture("image_after")],
    )
    count, always = outer.number(chain.steps, np.int64), outer.number(True, np.bool_)
    outer.named("filtered", "Loop", count, always, "image", body=body)
    purpose = "Rotationally invariant diffusion: a picture turned by any angle gives the same result, turned."
    return outer.model([picture("image")], picture("filtered"), purpose, chain.about)


class _Step:
    """One step of the chain as nodes of the loop's body."""

    def __init__(self, graph: Graph, sizes: Sizes, chain: Chain) -> None:
        self.graph, self.sizes, self.chain = graph, sizes, chain

    def write(self, iteration: str, u: str) -> None:
        """``image_after = u - sum of the scales' forces``."""
        graph, chain = self.graph, self.chain
        outer, inner = self._of_step(chain.outer, iteration), self._of_step(chain.inner, iteration)
        flat = graph("Reshape", u, self.sizes.flat)
        v = self._responses(chain.bank, flat)
        seen = v if chain.seen is None else self._responses(chain.seen, flat)
        channels = (chain.seen or chain.bank).channels
        phi, total = chain.activation, partial(self._accumulate, weights=inner)
        parts = flux(graph, chain.form, phi, v, seen, channels, total)
        force = graph("Reshape", self._adjoint(chain.bank, parts, outer), self.sizes.shape)
        graph.named("image_after", "Sub", u, force)

    def _of_step(self, table: Tensor, iteration: str) -> list[str]:
        """The weights of the scales in this step: constants where all steps agree, else looked up."""
        graph = self.graph
        if bool((table == table[:1]).all()):
            return [graph.number(value) for value in table[0].tolist()]
        return [graph("Gather", graph.number(column.numpy()), iteration) for column in table.unbind(1)]

    def _responses(self, bank: Bank, flat: str) -> list[str]:
        graph = self.graph
        stencils = graph.number(bank.stencils.unsqueeze(1).numpy())
        frames = [self.sizes.framed(graph, self._smooth(flat, taps), bank.margin) for taps in bank.gaussians]
        return [graph("Conv", frame, stencils) for frame in frames]

    def _adjoint(self, bank: Bank, parts: list[str], weights: list[str]) -> str:
        graph = self.graph
        stencils = graph.number(bank.stencils.flip(-1, -2).unsqueeze(0).numpy())
        images = [graph("Mul", graph("Conv", part, stencils), c) for part, c in zip(parts, weights, strict=True)]
        return self._sum([self._smooth(image, taps) for image, taps in zip(images, bank.gaussians, strict=True)])

    def _accumulate(self, quantities: list[str], weights: list[str]) -> list[str]:
        """Sum over the coupled scales and image channels: one sum for every scale of the flux."""
        form = self.chain.form
        terms = [self.graph("Mul", q, w) for q, w in zip(quantities, weights, strict=True)]
        sums = [self._sum(terms)] if form.couple_scales else terms
        totals = [self._couple_channels(each) for each in sums] if form.couple_channels else sums
        return totals * len(form.flux.taps) if len(totals) == 1 else totals

    def _sum(self, terms: list[str]) -> str:
        return terms[0] if len(terms) == 1 else self.graph("Sum", *terms)

    def _couple_channels(self, total: str) -> str:
        """(n c, k, y, x) with every channel replaced by the sum of all."""
        graph, axes = self.graph, self.sizes.axes
        flat = graph("Shape", total)
        rest = graph("Slice", flat, graph.integers(1), graph.integers(4))
        batch = graph("Unsqueeze", axes[0], graph.integers(0))
        channels = graph("Unsqueeze", axes[1], graph.integers(0))
        apart = graph("Reshape", total, graph("Concat", batch, channels, rest, axis=0))
        together = graph("ReduceSum", apart, graph.integers(1), keepdims=1)
        return graph("Reshape", graph("Expand", together, graph("Shape", apart)), flat)

    def _smooth(self, u: str, taps: tuple[Taps, ...]) -> str:
        for axis, along, shape in ((2, taps[0], (1, 1, -1, 1)), (3, taps[1], (1, 1, 1, -1))):
            if len(along) > 1:
                frame = self.graph("Gather", u, self.sizes.mirrored(axis, len(along) - 1), axis=axis)
                u = self.graph("Conv", frame, self.graph.number(np.array([*along[:0:-1], *along]).reshape(shape)))
        return u
