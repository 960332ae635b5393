"""Chains as files of ``torch.export``: one torch module of convolutions that runs without whorl."""

import copy
import operator
import warnings
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch._higher_order_ops import while_loop
from torch.export import Dim, ExportedProgram
from torch.fx import GraphModule
from torch.nn.functional import conv2d

from whorl.diffusivities import Diffusivity
from whorl.export.chain import Bank, Chain, refuse
from whorl.foundations.ordered import ordered_sum
from whorl.foundations.types import Image, Responses
from whorl.operators.derivative import Taps

METADATA = "whorl.json"
"""The extra file of the archive that says what is inside: ``torch.export.load(path, extra_files={METADATA: ""})``."""

Mirrors = dict[int, tuple[Tensor, Tensor]]
"""For every radius the rows and columns, by index, of the image mirrored so far."""


def exported_program(chain: Chain, channels: int = 1) -> ExportedProgram:
    """The chain as an exported program for float32 images ``(n, channels, y, x)``; ``n``, ``y`` and ``x`` are free.

    >>> import whorl
    >>> model = whorl.models.build("perona-malik", contrast=5.0)
    >>> chain = whorl.export.model_chain(model, steps=1)
    >>> type(whorl.export.exported_program(chain)).__name__
    'ExportedProgram'
    """
    refuse(chain.form, "pt2")
    if channels < 1:
        raise ValueError(f"export: channels must be at least 1, got {channels}.")
    probe = torch.zeros(2, channels, 5, 6)  # different numbers above 1, so that none is taken for a constant or another
    free = {0: Dim.DYNAMIC, 2: Dim.DYNAMIC, 3: Dim.DYNAMIC}
    return program_of(ConvolutionChain(chain), (probe,), (free,))


def program_of(module: nn.Module, given: tuple[Tensor, ...], shapes: tuple[Any, ...]) -> ExportedProgram:
    """A module as a program that torch can save, for tensors like those given whose ``shapes`` say what is free."""
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # about torch's own parts, nothing the caller can act on
        program = torch.export.export(module.eval(), given, dynamic_shapes=shapes)
    for part in program.graph_module.modules():
        if isinstance(part, GraphModule):
            _write_sums_out(part)
    return program


def _write_sums_out(part: GraphModule) -> None:
    """Replace sums of sizes by additions: torch makes ``sym_sum`` of them but cannot save it."""
    for node in [node for node in part.graph.nodes if node.target is torch.sym_sum]:
        with part.graph.inserting_before(node):
            total = reduce(lambda a, b: part.graph.call_function(operator.add, (a, b)), node.args[0])
        total.meta.update(node.meta)
        node.replace_all_uses_with(total)
        part.graph.erase_node(node)
    part.recompile()


class ConvolutionChain(nn.Module):
    """The steps of a chain in a loop, float32, for images ``(n, c, y, x)`` of any batch, height and width.

    Values agree with the model's up to rounding: Gaussians are convolutions here, with their own order of additions.
    """

    def __init__(self, chain: Chain) -> None:
        super().__init__()
        self.flux = _Responses(chain.bank)
        self.seen = None if chain.seen is None else _Responses(chain.seen)
        self.activation = copy.deepcopy(chain.activation).requires_grad_(False)
        self.activation.law.diffusivity = self.activation.diffusivity = _Plain(self.activation.diffusivity)
        self.steps = chain.steps
        radii = (radius for part in self.modules() if isinstance(part, _Gaussian) for radius in part.radii)
        self.radii = sorted({chain.bank.margin, *radii})
        self.register_buffer("outer", chain.outer.float())
        self.register_buffer("inner", chain.inner.sqrt().float())

    def forward(self, u: Image) -> Image:
        """The image after all steps."""
        mirrors = {radius: (_mirrored(u, 2, radius), _mirrored(u, 3, radius)) for radius in self.radii}

        def unfinished(k: Tensor, u: Image) -> Tensor:
            return k < self.steps

        def advance(k: Tensor, u: Image) -> tuple[Tensor, Image]:
            return k + 1, self.step(u, k, mirrors)

        start = torch.zeros((), dtype=torch.int64, device=u.device)
        result: Image = while_loop(unfinished, advance, (start, u))[1]
        return result

    def step(self, u: Image, k: Tensor, mirrors: Mirrors) -> Image:
        """The image after step ``k``."""
        c, w = (
            self.get_buffer(name).index_select(0, k.reshape(1)).view(1, 1, -1, 1, 1, 1) for name in ("outer", "inner")
        )
        v = self.flux(u, mirrors)
        structure = w * (v if self.seen is None else self.seen(u, mirrors))
        after: Image = u - self.flux.adjoint(c * self.activation(v, structure), mirrors)
        return after


class _Responses(nn.Module):
    """An image to its responses on all scales, with the margin that the adjoint needs, and back."""

    def __init__(self, bank: Bank) -> None:
        super().__init__()
        self.smoothings = nn.ModuleList(_Gaussian(taps) for taps in bank.gaussians)
        self.margin = bank.margin
        self.register_buffer("stencils", bank.stencils.float().unsqueeze(1))
        self.register_buffer("transposed", bank.stencils.flip(-1, -2).unsqueeze(0).float().contiguous())

    def forward(self, u: Image, mirrors: Mirrors) -> Responses:
        flat = u.flatten(0, 1).unsqueeze(1)
        rows, columns = mirrors[self.margin]
        frames = [G(flat, mirrors).index_select(2, rows).index_select(3, columns) for G in self.smoothings]
        scales = [conv2d(frame, self.get_buffer("stencils")) for frame in frames]
        responses: Responses = torch.stack(scales, dim=1).unflatten(0, u.shape[:2])
        return responses

    def adjoint(self, v: Responses, mirrors: Mirrors) -> Image:
        """Responses on all scales back to an image."""
        images = [conv2d(part, self.get_buffer("transposed")) for part in v.flatten(0, 1).unbind(1)]
        total = ordered_sum(G(image, mirrors) for G, image in zip(self.smoothings, images, strict=True))
        result: Image = total.squeeze(1).unflatten(0, v.shape[:2])
        return result


class _Gaussian(nn.Module):
    """A Gaussian along y and along x, each with its own taps."""

    def __init__(self, taps: tuple[Taps, ...]) -> None:
        super().__init__()
        self.radii = [len(along) - 1 for along in taps]
        for name, along in zip("yx", taps, strict=True):
            self.register_buffer(name, torch.tensor([*along[:0:-1], *along], dtype=torch.float32))

    def forward(self, u: Tensor, mirrors: Mirrors) -> Tensor:
        if self.radii[0]:
            u = conv2d(u.index_select(2, mirrors[self.radii[0]][0]), self.get_buffer("y").view(1, 1, -1, 1))
        if self.radii[1]:
            u = conv2d(u.index_select(3, mirrors[self.radii[1]][1]), self.get_buffer("x").view(1, 1, 1, -1))
        return u


class _Plain(Diffusivity):
    """A diffusivity whose secants are quotients: exact enough for values (not for gradients), and a short program."""

    def __init__(self, inner: Diffusivity) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, s2: Tensor) -> Tensor:
        return self.inner(s2)

    def psi(self, s2: Tensor) -> Tensor:
        return self.inner.psi(s2)

    def slope(self, s2: Tensor) -> Tensor:
        return self.inner.slope(s2)

    def divided_difference(self, x: Tensor, y: Tensor) -> Tensor:
        # Where both meet, so do their diffusivities: the zero over a tiny number is multiplied by zero anyway.
        return (self.inner(y) - self.inner(x)) / (y - x).clamp_min(1e-30)


def _mirrored(u: Tensor, axis: int, radius: int) -> Tensor:
    """The half-sample mirror as indices along one axis, for any radius and any size."""
    size = u.shape[axis]
    around = torch.arange(-radius, size + radius, device=u.device) % (2 * size)
    return torch.minimum(around, 2 * size - 1 - around)
