"""The CUDA kernels of learned blocks beside the plain blocks, as a program of its own: prints errors by case as JSON.

Triton decides at its import whether kernels are interpreted: without a CUDA device TRITON_INTERPRET=1 must be set.
"""

import json
from typing import Any

import torch
from torch import Tensor

from whorl import engines
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock, StableGatedBlock
from whorl.blocks.guided import GuidedBlock
from whorl.engines.cuda.learned.gated import GatedTiling
from whorl.operators import SteerableMap
from whorl.steps import GatedNumbers

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")


def result(block: Any, u: Tensor, level: Tensor | None = None) -> Tensor:
    return engines.apply(block.description(level), u, GatedNumbers(block.gate.bias[1], block.tau(1)), "triton")


def error(block: Any, u: Tensor, level: Tensor | None = None) -> float:
    """Of the change, relative to it."""
    tau = block.tau(1).double() if isinstance(block, StableGatedBlock) else 1.0
    found, block = result(block, u, level), block.double()
    change = tau * block.description(None if level is None else level.double()).gradient(u.double(), block.gate.bias[1])
    block.float()
    return float((u.double() - found - change).norm() / change.norm())


def gated(fields: tuple[int, ...], **settings: Any) -> GatedBlock:
    K1, K2 = SteerableMap(6, fields), SteerableMap(6, fields)
    return GatedBlock(K1, K2, Gated(K1.orders, repetitions=2, **settings))


def stable() -> StableGatedBlock:
    K = SteerableMap(6, (4, 4, 1), size=3)
    return StableGatedBlock(K, Gated(K.orders, repetitions=2))


def guided() -> GuidedBlock:
    maps = SteerableMap(1, (2, 2, 1)), SteerableMap(4, (4, 2, 1)), SteerableMap(3, (4, 2, 1))
    return GuidedBlock(*maps, Gated((0,) * 6 + (1,) * 4 + (2,) * 2, repetitions=2))


@torch.no_grad()
def main() -> None:
    torch.manual_seed(1)
    found: dict[str, Any] = {}
    large = (16, 16, 4, None)  # the interpreter pays per program: few tiles, large ones
    GatedTiling.analysis = GatedTiling.gates = GatedTiling.synthesis = large
    plain = gated((5, 3, 2)).eval()
    smoothed = gated((17, 3, 2), rho=1, levelled=True).eval()
    for name, block in {"plain": plain, "stable": stable().eval(), "guided": guided().eval()}.items():
        for parameter in block.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        found[name] = error(block.to(DEVICE), torch.randn(1, block.analysis.channels, 5, 9, device=DEVICE))
    u = torch.randn(2, 6, 7, 6, device=DEVICE)
    found["smoothed, two levels"] = error(
        smoothed.to(DEVICE), u, torch.tensor([0.4, -0.7], device=DEVICE)[:, None, None, None]
    )
    # Several tiles, some of which end inside and beyond the picture.
    GatedTiling.analysis = GatedTiling.synthesis = (4, 8, 2, None)
    GatedTiling.programs = 3
    u = torch.randn(1, 6, 9, 13, device=DEVICE)
    found["tiles"] = error(plain, u)
    GatedTiling.analysis = GatedTiling.synthesis = large
    # Streams handed on, between blocks with other bounds, as large as they are and far beyond float16.
    other = gated((5, 3, 2)).eval().to(DEVICE)
    for size in (1.0, 1e9):
        mine, exact = size * u, size * u.double()
        for block in (plain, other, plain):
            mine = result(block, mine)
            exact = exact - block.double().description().gradient(exact, block.gate.bias[1])
            block.float()
        found[f"three applications, {size:g}"] = float((mine - exact).norm() / (exact - size * u).norm())
    changed = result(plain, u)
    changed *= 2
    found["changed in place"] = error(plain, changed)
    with torch.inference_mode():
        changed = result(plain, u)
        changed *= 2
        found["changed in inference mode"] = float((result(plain, changed) - result(plain, changed.clone())).norm())
    here, turned, flipped = result(plain, u), result(plain, u.rot90(1, (2, 3))), result(plain, u.flip(3))
    largest = here.abs().max()
    found["quarter turn"] = float((turned - here.rot90(1, (2, 3))).abs().max() / largest)
    found["mirror image"] = float((flipped - here.flip(3)).abs().max() / largest)
    print(json.dumps(found))


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
