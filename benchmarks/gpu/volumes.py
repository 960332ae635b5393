"""``PYTHONPATH=src python -m benchmarks.gpu.volumes [--out FOLDER]``: steps in space on one GPU, beside a copy.

Agreement with the reference in float64 on small volumes first; then one step of 512³ under several tilings.
"""

import time
from typing import Any

import torch

from benchmarks.gpu.report import Rows, measured
from whorl.engines.cuda.space.launches import VolumeLaunches
from whorl.models import build
from whorl.steps import Form

DEVICE = torch.device("cuda")
SIZE = 512
LIMIT = 2e-6
MODELS = {
    "perona-malik": "isotropic",
    "eed": "edge-enhancing",
    "uncoupled": "uncoupled",
    "weickert-brox": "anisotropic",
}
TILES: dict[str, tuple[tuple[int, ...], ...]] = {
    "perona-malik": ((43, 4, 32, 3, 168), (32, 3, 32, 3, 168), (32, 3, 32, 1, 168)),
    "eed": ((86, 3, 32, 3, 248), (43, 3, 32, 3, 224), (64, 2, 32, 3, 248)),
    "uncoupled": ((32, 4, 32, 3, 168),),
    "weickert-brox": ((32, 2, 32, 1, 168),),
}


def agreement() -> Rows:
    """Three steps of each model on cubic and on other voxels, aligned and odd sizes."""
    rows = []
    for name in MODELS:
        for spacing, shape in (((1.0, 1.0, 1.0), (24, 40, 64)), ((2.0, 1.5, 0.8), (19, 33, 45))):
            model = build(name, contrast=30.0, spacing=spacing).to(DEVICE)
            u = 60 * torch.randn(1, 1, *shape, device=DEVICE) + 150
            span = 3 * model.automatic_step()
            with torch.no_grad():
                found, exact = model(u, span, engine="triton"), model(u.double(), span, engine="reference")
            change = exact - u.double()
            error = float(((found - u).double() - change).norm() / change.norm())
            rows.append({"method": f"{name} {spacing} {shape}", "ok": error <= 10 * LIMIT, "change": error})
            print("   ", rows[-1], flush=True)
    return rows


def steps(most: int = 3) -> Rows:
    """One step of a volume of 512³ voxels under at most so many tilings, in shares of a copy of the same volume."""
    u = 60 * torch.randn(1, SIZE, SIZE, SIZE, device=DEVICE) + 128
    out = torch.empty_like(u)
    floor = clocked(lambda: out.copy_(u))
    rows: Rows = [{"method": "copy", "best_s": floor, "gb_per_s": 8e-9 * u.numel() / floor}]
    print(f"   copy {1e3 * floor:.3f} ms, {8e-9 * u.numel() / floor:.0f} GB/s", flush=True)
    for name, tiles in TILES.items():
        model = build(name, contrast=30.0, diffusivity="rational")
        form = model.description.form(3)
        assert isinstance(form, Form), form
        for tile in tiles[:most]:
            launches = VolumeLaunches(form, DEVICE, tile)
            numbers = torch.tensor([0.2, 30.0], dtype=torch.float64, device=DEVICE)
            c = launches.coefficients(numbers[0], numbers[1])
            begin = time.perf_counter()
            launches.step(u, out, c)
            torch.cuda.synchronize()
            compiling = time.perf_counter() - begin
            best = clocked(lambda run=launches.step, c=c: run(u, out, c))
            rows.append({
                "method": f"whorl, {MODELS[name]}", "tiling": list(tile), "best_s": best, "share_of_copy": floor / best,
                "first_s": compiling,
            })  # fmt: skip
            print(f"   {name:14s} {tile!s:20s} {1e3 * best:8.3f} ms  {floor / best:6.1%} of a copy", flush=True)
        if name == "eed":
            smoothing = clocked(lambda run=launches.smoothed: run(u))
            rows.append(
                {"method": "the Gaussian of eed alone", "best_s": smoothing, "share_of_copy": floor / smoothing}
            )
            print(f"   Gaussian alone {1e3 * smoothing:8.3f} ms", flush=True)
    return rows


def clocked(call: Any, repeats: int = 7) -> float:
    """Best seconds of a call, by the device's own clock."""
    call()
    best = float("inf")
    for _ in range(repeats):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        end.synchronize()
        best = min(best, 1e-3 * start.elapsed_time(end))
    return best


def main() -> None:
    torch.manual_seed(20220131)
    parts = {"one step in space": steps, "agreement in space": agreement}
    measured("gpu_volume", "python -m benchmarks.gpu.volumes", __doc__, parts)


if __name__ == "__main__":
    main()
