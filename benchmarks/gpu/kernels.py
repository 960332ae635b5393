"""Every launch of the multiscale block at the experiment's size, under several tilings.

The tilings are compiled side by side by many processes; then each is timed alone.
"""

import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import torch

from benchmarks.gpu.clock import COUPLINGS, DEVICE, IMAGES, SIZE, TAPS, coefficients, timed
from whorl.engines.cuda.launches import Design, Launches, Tiling

__all__ = ["compile_one", "first_use", "kernels", "options"]

Rows = list[dict[str, Any]]
Option = tuple[str, str, str, tuple[int, ...], bool]  # coupling, launch, field of Tiling, setting, sizes compiled in

DOWN = ((8, 4, 128, 8), (4, 8, 128, 4), (1, 8, 128, 1), (8, 8, 128, 8))
GATHER = ((4, 8, 64, 4), (1, 8, 64, 1), (4, 8, 32, 4), (8, 4, 64, 8))
ACROSS = ((8, 64, 4), (4, 64, 2), (2, 64, 2), (4, 32, 1))
CELLS = ((128, 4, 8), (128, 4, 2), (32, 1, 8), (32, 1, 2))
STRIPS = ((8, 8, 32), (8, 4, 32), (1, 8, 32), (2, 8, 32))
CHOICES = {
    "along y, 10": ("down", DOWN), "along y, 20": ("down", DOWN), "along x, 10": ("across", ACROSS),
    "along x, 20": ("across", ACROSS), "gather": ("gather", GATHER), "gather'": ("gather", GATHER),
    "couple": ("cells", CELLS),
    "couple'": ("cells_adjoint", CELLS), "divergence": ("strips", STRIPS), "divergence'": ("strips_adjoint", STRIPS),
}  # fmt: skip
WITHOUT_TENSOR = ("along", "gather")


def options() -> Iterator[Option]:
    """All settings to be tried; smoothing is the same for every coupling."""
    for coupling in ("isotropic", "anisotropic", "uncoupled"):
        for launch, (field, settings) in CHOICES.items():
            if launch.startswith(WITHOUT_TENSOR) and coupling != "isotropic":
                continue
            for setting in settings:
                yield coupling, launch, field, setting, True


def first_use() -> Iterator[Option]:
    """The launches of a block whose sizes are not compiled in."""
    for launch, (field, _) in CHOICES.items():
        yield "isotropic", launch, field, getattr(Tiling(), field), False


def ready(option: Option, buffers: dict[str, torch.Tensor]) -> Callable[[], object]:
    """One launch on random data; `buffers` are shared between calls."""
    coupling, launch, field, setting, fixed = option
    n, count = IMAGES, IMAGES * SIZE * SIZE
    if not buffers:
        buffers["pair"] = 60 * torch.randn(2 * count, device=DEVICE) + 128
        buffers["out"] = torch.empty(count, device=DEVICE)
        buffers["a"], buffers["b"] = torch.randn(16 * count, device=DEVICE), torch.randn(16 * count, device=DEVICE)
    design = Design(COUPLINGS[coupling], 1, 0.41, taps=TAPS)
    tiling = replace(Tiling.of(design, fixed=fixed), **{field: setting})
    c = coefficients(design, 0.05, 60.0, [1.0] * 8, [1.0] * 8)
    launches = Launches(design, n, SIZE, SIZE, DEVICE, tiling)
    pair, out, a, b = (buffers[name] for name in ("pair", "out", "a", "b"))
    cells = torch.rand(6 * launches.plane + 1024, device=DEVICE)
    sums = launches.new_sums()
    calls: dict[str, Callable[[], object]] = {
        "along y, 10": lambda: launches._along_y(pair, a, b, count, n),
        "along y, 20": lambda: launches._along_y(pair, a, b, 2 * count, 2 * n),
        "along x, 10": lambda: launches._along_x(a, b, count, n),
        "along x, 20": lambda: launches._along_x(a, b, 2 * count, 2 * n),
        "gather": lambda: launches._gather(b, a, pair, out, c, count, weighted=True),
        "gather'": lambda: launches._gather(b, a, pair, out, c, 2 * count, weighted=False),
        "couple": lambda: launches._couple(b, b, c, count, adjoint=False),
        "couple'": lambda: launches._couple(b, b[count:], c, 2 * count, adjoint=True),
        "divergence": lambda: launches._divergence(b, cells, a, c, count, step=False),
        "divergence'": lambda: launches._divergence_adjoint(b, b[count:], cells, a, sums, c, 2 * count, step=False),
    }
    return calls[launch]


def compile_one(option: Option) -> None:
    """Leave the compiled kernel in Triton's cache on the disk."""
    try:
        ready(option, {})()
        torch.cuda.synchronize()
    except Exception:
        traceback.print_exc(limit=3)


def kernels() -> tuple[Rows, dict[str, dict[str, tuple[int, ...]]]]:
    """Rows of seconds, and the fastest settings for each coupling."""
    buffers: dict[str, torch.Tensor] = {}
    found: dict[tuple[str, str], list[tuple[float, tuple[int, ...]]]] = {}
    for option in options():
        try:
            best, _ = timed(ready(option, buffers))
            found.setdefault(option[:2], []).append((best, option[3]))
        except Exception:
            traceback.print_exc(limit=3)
    rows: Rows = []
    fastest: dict[str, dict[str, tuple[int, ...]]] = {name: {} for name in COUPLINGS}
    for (coupling, launch), times in found.items():
        times.sort()
        print(f"   {launch:12s} {coupling:11s} " + "  ".join(f"{o}: {1e6 * s:.1f}" for s, o in times))
        rows += [{"method": f"{launch}, {coupling}", "tiling": list(o), "best_s": s} for s, o in times]
        for name in COUPLINGS if launch.startswith(WITHOUT_TENSOR) else (coupling,):
            fastest[name].setdefault(CHOICES[launch][0], times[0][1])
    return rows, fastest
