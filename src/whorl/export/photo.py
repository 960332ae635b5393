r"""Networks for photographs and volumes as files, for any size (in pt2 files from 8 pixels on), the noise an input.

In ONNX files the stream is mirrored once for a whole application of a block, far enough for both operators. Fields of
a mirrored picture are mirrored fields, so that no ghost pixel has to be folded back: the transposed convolution, cut to
the size of the picture, is the adjoint.
"""

import copy
from functools import partial, reduce
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from whorl.activations.gated import LARGEST, Gated
from whorl.blocks.gated import LearnedBlock, StableGatedBlock
from whorl.blocks.guided import SteppedMap
from whorl.export.chain import noise_text
from whorl.export.graph import AXES, Graph, Sizes, picture
from whorl.export.pt2 import program_of
from whorl.foundations.strict_json import strict_json
from whorl.networks import ModelCard, PhotoNetwork
from whorl.networks.denoiser import REFERENCE_LEVEL
from whorl.operators import SteerableMap


def photo_onnx(card: ModelCard) -> Any:
    """The network as an ``onnx.ModelProto``: ``image``, and ``noise`` where it takes a level, to ``filtered``."""
    from onnx import TensorProto, helper

    network: PhotoNetwork = card.build()
    with torch.no_grad():
        graph = _Photo(network).write()
    inputs = [picture("image", network.channels, network.dimension)]
    if network.takes_level:
        inputs.append(helper.make_tensor_value_info("noise", TensorProto.FLOAT, []))
    what = "volumes: one" if network.dimension == 3 else "photographs: a picture"
    purpose = f"Denoising of {what} turned by a quarter gives the same result, turned."
    about = {"network": card.name, "noise": noise_text(network.noise_range), "card": strict_json(card.as_dict())}
    return graph.model(inputs, picture("filtered", network.channels, network.dimension), purpose, about)


def photo_program(card: ModelCard) -> ExportedProgram:
    """The network for float32 pictures or volumes ``image`` and, where it takes a level, the number ``noise``.

    Their number is free, and so are depth, height and width from 8 pixels on.
    """
    network: PhotoNetwork = card.build()
    axes = AXES[-network.dimension :]
    probe = torch.zeros(2, network.channels, *(20, 26, 32)[: len(axes)])  # sizes differ: none is taken for another
    free = {0: Dim.DYNAMIC, **{2 + k: Dim(name, min=8) for k, name in enumerate(axes)}}
    given, shapes = (probe, torch.tensor(REFERENCE_LEVEL)), (free, None)
    count = 2 if network.takes_level else 1
    return program_of(_Fixed(network), given[:count], shapes[:count])


class _Fixed(nn.Module):
    """A network whose step sizes, where they follow from a norm, are computed beforehand."""

    def __init__(self, network: PhotoNetwork) -> None:
        super().__init__()
        self.network = copy.deepcopy(network)
        for part in self.network.modules():
            if isinstance(part, StableGatedBlock | SteppedMap):
                sizes = [float(part.tau(repetition).detach()) for repetition in range(part.step.numel())]
                part.__dict__["tau"] = partial(_step_size, sizes)

    def forward(self, image: Tensor, noise: Tensor | None = None) -> Any:
        return self.network(image, noise)


def _step_size(sizes: list[float], repetition: int = 0) -> Tensor:
    return torch.tensor(sizes[repetition])


class _Photo:
    """Writes the nodes of a network."""

    def __init__(self, network: PhotoNetwork) -> None:
        self.network, self.graph = network, Graph()
        self.space = (1,) * network.dimension
        self.sizes = Sizes(self.graph, "image", network.dimension)
        self.level = ""

    def write(self) -> Graph:
        graph, network, spec = self.graph, self.network, self.network.spec
        f = graph("Sub", graph("Mul", "image", graph.number(1 / 255)), graph.number(0.5))
        if spec.blind:
            low, high = (graph.number(level) for level in spec.noise)
            clipped = graph("Clip", "noise", low, high)
            self.level = graph("Log", graph("Mul", clipped, graph.number(1 / REFERENCE_LEVEL)))
        u = self._enter(f)
        for block, repetition in network.schedule():
            u = self._application(u, block, repetition)
        left = self._leave(f, u)
        graph.named("filtered", "Mul", graph("Add", left, graph.number(0.5)), graph.number(255.0))
        return graph

    def _enter(self, f: str) -> str:
        spec = self.network.spec
        parts = []
        if spec.stable:
            # The picture in the first channels, zeros in the others: a convolution with one pixel.
            start = np.eye(spec.width, spec.channels, dtype=np.float32).reshape(spec.width, -1, *self.space)
            parts.append(self.graph("Conv", f, self.graph.number(start)))
        if spec.guide or not spec.stable:
            lift = self.network.lift
            parts.append(self.graph("Conv", self._mirrored(f, lift.radius), self._kernel(lift)))
        return self.graph("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]

    def _leave(self, f: str, u: str) -> str:
        spec = self.network.spec
        if spec.stable:
            end = np.eye(spec.channels, spec.width + spec.guide, dtype=np.float32)
            return self.graph("Conv", u, self.graph.number(end.reshape(*end.shape, *self.space)))
        projection = self.network.projection
        return self.graph("Sub", f, self._adjoint(self._mirrored(u, projection.radius), projection))

    def _application(self, u: str, block: LearnedBlock, repetition: int) -> str:
        graph, gate, tau = self.graph, block.gate, block.tau(repetition)
        v = graph("Conv", self._mirrored(u, 2 * block.analysis.radius + gate.rho), self._kernel(block.analysis))
        gates = graph("Sigmoid", self._logits(v, gate, repetition))
        change = self._adjoint(graph("Mul", gates, self._cut(v, gate.rho)), block.synthesis)
        if tau is not None:
            change = graph("Mul", change, graph.number(float(tau)))
        return graph("Sub", u, change)

    def _logits(self, v: str, gate: Gated, repetition: int) -> str:
        graph, scalars, count = self.graph, gate.scalars, len(gate.orders)
        spread, powers = gate.get_buffer("spread"), gate.get_buffer("powers")
        parts = []
        if scalars:
            parts.append(self._channels(v, 0, scalars))
        if count > scalars:
            others = self._channels(v, scalars, len(spread))
            sums = spread[scalars:, scalars:].mT  # of the squares of each field's components
            parts.append(graph("Conv", graph("Mul", others, others), graph.number(self._matrix(sums))))
        seen = graph("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        binomial = reduce(np.multiply.outer, [np.array([1, 2, 1]) / 4] * len(self.space))
        for _ in range(gate.rho):
            seen = graph("Conv", seen, graph.number(np.tile(binomial, (count, 1, *self.space))), group=count)
        log_factor = torch.cat([torch.zeros(scalars), 2 * gate.log_contrast])
        factor = graph.number(self._column(-log_factor))
        if self.level:
            factor = graph("Sub", factor, graph("Mul", graph.number(self._column(powers * gate.units)), self.level))
        limit = (graph.number(-LARGEST), graph.number(LARGEST))
        scaled = graph("Mul", seen, graph("Exp", graph("Clip", factor, *limit)))
        parts = [self._channels(scaled, 0, scalars)] if scalars else []
        if count > scalars:
            more = graph("Add", self._channels(scaled, scalars, count), graph.number(1.0))
            parts.append(graph("Log", more))
        seen = graph("Concat", *parts, axis=1) if len(parts) > 1 else parts[0]
        matrix = self._matrix(spread @ gate.matrix)
        logits = graph("Conv", seen, graph.number(matrix), graph.number(_array(spread @ gate.bias[repetition])))
        if self.level:
            logits = graph("Add", logits, graph("Mul", graph.number(self._column(spread @ gate.level)), self.level))
        return logits

    def _kernel(self, map: SteerableMap) -> str:
        return self.graph.number(_array(map.kernel()))

    def _adjoint(self, v: str, map: SteerableMap) -> str:
        return self.graph("ConvTranspose", v, self._kernel(map), pads=[2 * map.radius] * 2 * len(self.space))

    def _mirrored(self, u: str, radius: int) -> str:
        return self.sizes.framed(self.graph, u, radius)

    def _cut(self, v: str, radius: int) -> str:
        for axis in range(2, 2 + len(self.space)) if radius else ():
            v = self._slice(v, radius, -radius, axis)
        return v

    def _channels(self, v: str, start: int, end: int) -> str:
        return self._slice(v, start, end, 1)

    def _slice(self, u: str, start: int, end: int, axis: int) -> str:
        return self.graph("Slice", u, *map(self.graph.integers, (start, end, axis)))

    def _matrix(self, values: Tensor) -> NDArray[Any]:
        return _array(values.view(*values.shape, *self.space))

    def _column(self, values: Tensor) -> NDArray[Any]:
        return _array(values.view(1, -1, *self.space))


def _array(values: Tensor) -> NDArray[Any]:
    return values.detach().cpu().float().numpy()
