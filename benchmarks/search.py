"""Best PSNR over contrast and stopping time, for any method: coarse to fine, every method by the same rule.

Contrasts are tried on a geometric grid over the method's range, from above, until the best PSNR has fallen twice; the
spacing around the best is then halved a few times. For one contrast all stopping times are read off a single run (PSNR
after each step until it has fallen for a while); a method whose steps do not chain is run from the start for each
number of steps. Steps are at most 0.2 for everyone, so that stopping times are equally fine. A best contrast at an end
of the range is reported as such.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from benchmarks.peers import Image, Method, Run

__all__ = ["Optimum", "Score", "best_setting", "search_step"]

Score = Callable[[Image], float]
_FINEST_STEP = 0.2
_PATIENCE = 5


@dataclass(frozen=True)
class Optimum:
    """The setting with the highest score."""

    psnr: float
    contrast: float
    steps: int
    tau: float
    at_edge: bool = False

    @property
    def time(self) -> float:
        return self.steps * self.tau

    def as_row(self) -> dict[str, Any]:
        return {**asdict(self), "time": self.time}


def search_step(method: Method) -> float:
    """At most 0.2; eight-bit methods keep their own step, since rounding swallows small ones."""
    return method.tau if method.precision == "uint8" else min(method.tau, _FINEST_STEP)


def best_setting(
    method: Method, image: Image, score: Score, *, points: int = 7, rounds: int = 3, max_time: float = 60.0
) -> Optimum:
    """Search ``points`` contrasts over the method's range, then halve the spacing around the best ``rounds`` times."""
    run, tau = method.load(), search_step(method)
    tried: dict[float, Optimum] = {}

    def attempt(contrast: float) -> None:
        if contrast not in tried:
            tried[contrast] = _best_time(method, run, image, score, contrast, tau, max_time)

    grid = [float(c) for c in np.geomspace(*method.contrast_range, points)]
    falls = 0
    for contrast in reversed(grid):  # high contrasts stop early, low ones run long: leave once it only gets worse
        peak = max((o.psnr for o in tried.values()), default=float("-inf"))
        attempt(contrast)
        falls = falls + 1 if tried[contrast].psnr < peak else 0
        if falls == 2:
            break
    ratio = grid[1] / grid[0]
    for _ in range(rounds):
        ratio = ratio**0.5
        centre = max(tried.values(), key=lambda o: o.psnr).contrast
        attempt(centre / ratio)
        attempt(centre * ratio)
    best = max(tried.values(), key=lambda o: o.psnr)
    at_edge = not grid[0] < best.contrast < grid[-1]
    return Optimum(best.psnr, best.contrast, best.steps, best.tau, at_edge)


def _best_time(
    method: Method, run: Run, image: Image, score: Score, contrast: float, tau: float, max_time: float
) -> Optimum:
    if not method.timed:
        return Optimum(score(run(image, contrast, 1, tau)), contrast, 1, tau)
    best, u = Optimum(score(image), contrast, 0, tau), image
    for steps in range(1, int(max_time / tau) + 1):
        u = run(u, contrast, 1, tau) if method.chains else run(image, contrast, steps, tau)
        value = score(u)
        if value > best.psnr:
            best = Optimum(value, contrast, steps, tau)
        elif steps >= best.steps + _PATIENCE:
            break
    return best
