"""Chains as files of ``torch.export``."""

import operator
import warnings
from functools import reduce
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram
from torch.fx import GraphModule

from whorl.export.chain import Chain
from whorl.export.convolutions import ConvolutionChain

__all__ = ["METADATA", "exported_program", "program_of"]

METADATA = "whorl.json"
"""The extra file of the archive that says what is inside: ``torch.export.load(path, extra_files={METADATA: ""})``."""


def exported_program(chain: Chain, channels: int = 1) -> ExportedProgram:
    """The chain as an exported program for float32 images ``(n, channels, y, x)``; ``n``, ``y`` and ``x`` are free."""
    chain.refuse("pt2")
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
