"""The CUDA kernels in space beside the reference, as a program of its own: prints relative errors by case as JSON.

Triton decides at its import whether kernels are interpreted: without a CUDA device TRITON_INTERPRET=1 must be set.
"""

import json
import math

import torch
from torch import Tensor

import whorl.engines.cuda.space.launches as volumes
from whorl.models import build
from whorl.operators import Smoothing

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# The interpreter pays per program: few and large ones, whose edges lie inside and beyond the volume.
volumes.TILES = dict.fromkeys(volumes.TILES, (3, 3, 4, 1, 168))
# Of Gaussians several programs along each axis; a radius of 3 is far.
volumes.GAUSSIAN, volumes.NEAR = dict.fromkeys(volumes.GAUSSIAN, (3, 2, 4, 1, 0)), 2
FENCE = 4096


def steps() -> dict[str, float]:
    """Cubic and other voxels, aligned and odd sizes, large and small values."""
    found = {}
    sizes = (((1.0, 1.0, 1.0), (4, 4, 8), 1), ((2.0, 1.5, 0.8), (2, 5, 6), 2))
    cases = [(name, *size, 1.0) for name in ("perona-malik", "uncoupled", "weickert-brox", "eed") for size in sizes]
    cases += [(name, *sizes[1], unit) for name, unit in (("weickert-brox", 1e9), ("eed", 1e-12))]
    for name, spacing, shape, channels, unit in cases:
        sigma = {"sigma": 0.5} if name == "eed" else {}
        model = build(name, contrast=0.5 * unit, spacing=spacing, **sigma).to(DEVICE)
        u = unit * torch.randn(1, channels if name == "eed" else 1, *shape, device=DEVICE)
        time = model.automatic_step()
        with torch.no_grad():
            result, exact = model(u, time, engine="triton"), model(u.double(), time, engine="reference")
        change = exact - u.double()
        found[f"{name} {spacing} of {unit:g}"] = float(((result - u).double() - change).norm() / change.norm())
    return found


def constants() -> dict[str, float]:
    """The largest change of a constant in one step of each law."""
    found = {}
    for name in ("perona-malik", "uncoupled", "weickert-brox", "eed"):
        model = build(name, contrast=0.5, spacing=(1.5, 1.0, 1.0), **{"sigma": 0.5} if name == "eed" else {}).to(DEVICE)
        u = torch.full((1, 1, 3, 4, 5), 0.1, device=DEVICE)
        with torch.no_grad():
            found[f"constant {name}"] = float((model.step(u, engine="triton") - u).abs().max())
    return found


def gaussians() -> dict[str, float]:
    """In one pass and one axis at a time, aligned and odd sizes; and how many numbers beside the volumes changed."""
    found, fences, ordinary = {}, [], torch.empty_like

    def fenced(u: Tensor) -> Tensor:
        room = torch.full((u.numel() + 2 * FENCE,), math.pi, device=DEVICE)
        fences.extend((room[:FENCE], room[-FENCE:]))
        return room[FENCE:-FENCE].view_as(u)

    torch.empty_like = fenced
    for sigma, shape in ((0.5, (4, 3, 12)), (0.5, (3, 4, 9)), (0.75, (4, 5, 12)), (0.75, (5, 4, 9))):
        form = build("eed", contrast=0.5, sigma=sigma, spacing=(1.0, 1.0, 1.0)).description.form(3)
        u = torch.randn(1, *shape, device=DEVICE)
        result, exact = volumes.VolumeLaunches(form, DEVICE).smoothed(u), Smoothing(sigma)(u.double()[None])[0]
        found[f"gaussian {sigma} {shape}"] = float((result - exact).norm() / exact.norm())
    torch.empty_like = ordinary
    found["outside"] = float((torch.cat(fences) != torch.tensor(math.pi)).sum())
    return found


if __name__ == "__main__":
    torch.manual_seed(1)
    print(json.dumps({**steps(), **constants(), **gaussians()}))
