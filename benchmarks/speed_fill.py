"""How long filling in takes: 512² from 5 % of its pixels beside OpenCV and scikit-image, and growth up to 4096².

``distance`` is the root mean square, in grey values over the filled pixels, to the same method run to a tolerance a
hundred times finer. scikit-image's biharmonic is called once: it takes long. ``python -m benchmarks.speed_fill SIZE``
fills one picture in a fresh process and prints its peak memory.
"""

import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benchmarks.filling import METHODS, Way, installed, random_pixels
from benchmarks.machine import cores
from benchmarks.memory import high_water, reset_high_water
from benchmarks.peers import Image
from benchmarks.suite import Case, Rows, Suite
from benchmarks.timing import interleave

__all__ = ["SUITE"]

DENSITY, SEED = 0.05, 5
SIZES = (512, 1024, 2048, 4096)


def picture(size: int) -> Image:
    """The clean photograph ``camera``, mirrored on to this size."""
    from skimage import data

    camera = data.camera().astype(np.float32)
    return np.ascontiguousarray(np.pad(camera, (0, max(0, size - 512)), mode="symmetric")[:size, :size])


def cases() -> dict[str, Case]:
    return {
        "512² grey, 5 % of pixels": beside_others,
        **{f"{size}², whorl-eed": partial(alone, size) for size in SIZES},
    }


def beside_others() -> Rows:
    import torch

    torch.set_num_threads(cores())
    image, mask = picture(512), random_pixels((512, 512), DENSITY, SEED)
    holes = np.where(mask, 0, image).astype(np.float32)
    ways = installed()
    calls = {way.name: partial(way.fill, holes, mask) for way in ways if not way.slow}
    times = interleave(calls, repeats=7, budget_s=60)
    rows = [{**way.facts(), **times[way.name].as_row(), **_distance(way, holes, mask)} for way in ways if not way.slow]
    for way in (way for way in ways if way.slow):
        begun = perf_counter()
        way.fill(holes, mask)
        rows.append({**way.facts(), "best_s": perf_counter() - begun, "repeats": 1})
    return [{**row, "threads": cores()} for row in rows]


def _distance(way: Way, holes: Image, mask: Any) -> dict[str, float]:
    """How far the result is from that of a tolerance a hundred times finer."""
    import whorl

    if way.distribution != "whorl":
        return {}
    best = whorl.inpaint(holes, mask, way.name.removeprefix("whorl-"), tolerance=1e-3)
    return {"distance": float(np.sqrt(np.mean((way.fill(holes, mask) - best)[mask].astype(np.float64) ** 2)))}


def alone(size: int) -> Rows:
    """In a fresh process, with its peak memory."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed_fill", str(size)]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
    return [dict(json.loads(answer.stdout.splitlines()[-1]))]


def _measure(size: int) -> dict[str, Any]:
    import torch

    torch.set_num_threads(cores())
    eed = METHODS[0]
    mask = random_pixels((size, size), DENSITY, SEED)
    holes = np.where(mask, 0, picture(size)).astype(np.float32)
    eed.fill(holes[:64, :64], mask[:64, :64])  # imports and compiles what a first call needs
    before = reset_high_water()
    begun = perf_counter()
    eed.fill(holes, mask)
    spent = perf_counter() - begun
    return {
        **eed.facts(), "threads": cores(), "x": size**2, "best_s": spent, "ms_per_mpix": 1e9 * spent / size**2,
        "peak_mib": high_water() / 2**20, "grown_mib": (high_water() - before) / 2**20,
    }  # fmt: skip


SUITE = Suite("speed_fill", "Filling in: time, growth and memory", cases)

if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
