"""Compiles the kernels of a step for a GPU that need not be there; prints which were compiled when, as JSON."""

import json
import os
import tempfile
from typing import Any

import torch


def main() -> None:
    """Compile with an empty cache, not interpreted; both are settled when triton is imported."""
    os.environ["TRITON_CACHE_DIR"] = tempfile.mkdtemp()
    os.environ.pop("TRITON_INTERPRET", None)
    from triton.backends.compiler import GPUTarget
    from triton.runtime import driver
    from triton.runtime.jit import JITFunction

    from whorl.activations.gated import Gated
    from whorl.blocks.gated import GatedBlock
    from whorl.engines.cuda.learned.gated import applied
    from whorl.engines.cuda.plane.launches import Launches
    from whorl.engines.differentiable import form_of
    from whorl.inpainting.images import method
    from whorl.models import build
    from whorl.operators import SteerableMap
    from whorl.steps import GatedNumbers

    class Nowhere:
        """What Triton asks of a device before it compiles."""

        def get_current_target(self) -> GPUTarget:
            return GPUTarget("cuda", 90, 32)

        def get_current_device(self) -> int:
            return 0

        def get_current_stream(self, device: int) -> int:
            return 0

    compiled: list[str] = []
    ordinary = JITFunction._do_compile

    def noted(self: Any, *arguments: Any) -> Any:
        compiled.append(self.__name__)
        return ordinary(self, *arguments)

    driver.set_active(Nowhere())
    JITFunction._do_compile = noted
    u, form = torch.zeros(1, 1, 16, 16), form_of(build("perona-malik", contrast=9.0).description)
    launches, numbers = Launches(form, u), torch.zeros(4)
    launches.compile_together(u, numbers, learning=True)
    together = list(compiled)
    launches.compiling = True
    launches.step(u, torch.empty_like(u), numbers)
    launches.step_adjoint(u, u, torch.empty_like(u), numbers)
    later = compiled[len(together) :]

    def only(self: Any, *arguments: Any, grid: Any, warmup: bool, **cut: Any) -> Any:
        return started(self, *arguments, grid=grid, warmup=True, **cut)

    started, JITFunction.run = JITFunction.run, only
    wide = build("perona-malik", contrast=9.0, cell="wide", sigma=1.0)
    for model in (build("ced", contrast=9.0), method("eed"), wide):
        Launches(form_of(model.description), u).step(u, torch.empty_like(u), numbers)
    for fields, rho in (((4, 2, 1), 0), ((17, 3, 2), 1)):
        K = SteerableMap(6, fields)
        block = GatedBlock(K, K, Gated(K.orders, rho)).eval()
        applied(block.description(), torch.zeros(1, 6, 16, 16), GatedNumbers(block.gate.bias.detach()[0], None))
    print(json.dumps({"together": together, "later": later, "others": compiled[len(together + later) :]}))


if __name__ == "__main__":
    main()
