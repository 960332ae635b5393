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

    from whorl.engines.cuda.plane.launches import Launches
    from whorl.engines.differentiable import form_of
    from whorl.models import build

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
    print(json.dumps({"together": together, "later": compiled[len(together) :]}))


if __name__ == "__main__":
    main()
