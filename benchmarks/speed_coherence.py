r"""Coherence-enhancing diffusion beside DIPlib's: the time of a step, and the error under the 3-4-5 turn.

DIPlib's filter has neither contrast nor step size, so "a step" is one of its iterations. Both smooth the image by
sigma 1; the structure tensor is smoothed by rho 4 in whorl (its default) and by 3 in DIPlib (its own). The turn is that
of ``quality_turn``, on a fingerprint whorl with noise: each filter at the number of steps (and whorl's at the contrast)
that gives the best PSNR on the upright picture. ITK's coherence filter is a module of its own, for which the package
index had no wheel.
"""

from functools import cache, partial
from itertools import product
from math import log10
from typing import Any

import numpy as np

from benchmarks.peers import Image, Method, Run, method
from benchmarks.peers.whorl import variant
from benchmarks.quality_turn import MARGIN, SIZE, sampled
from benchmarks.speed import compare
from benchmarks.suite import Case, Rows, Suite

__all__ = ["SUITE", "views"]

DEVIATION, CUTOFF = 30.0, 0.4
STEPS = (4, 8, 16, 24)
CONTRASTS = (1.0, 3.0, 9.0)


def methods() -> list[Method]:
    return [m for m in (variant("ced"), method("diplib-coherence")) if m.installed()]


def cases() -> dict[str, Case]:
    clocks = {
        f"512² grey, {threads} threads": partial(compare, methods(), 512, 1, threads, repeats=7) for threads in (2, 1)
    }
    return {**clocks, "3-4-5 turn, noisy whorl": turn}


def turn() -> Rows:
    return [_row(m) for m in methods()]


@cache
def views(seed: int) -> tuple[Image, Image, Image]:
    """The whorl, the whorl with noise, and the same turned."""
    from whorl.data.synthetic import Turn, Waves, Whorl, render

    noise, straight, turned = Waves(DEVIATION, seed, 4096, CUTOFF), Turn(1, 0), Turn(3, 4, 5)
    clean = render(Whorl(period=14.0), SIZE)
    pictures = (
        clean,
        clean + sampled(noise, SIZE, straight),
        render(Whorl(period=14.0), SIZE, turn=turned) + sampled(noise, SIZE, turned),
    )
    clean_, upright, other = (np.ascontiguousarray(p[0, 0].float().numpy()) for p in pictures)
    return clean_, upright, other


def _row(m: Method) -> dict[str, Any]:
    run = m.load()
    contrasts = CONTRASTS if m.contrast != "none" else (1.0,)
    clean, noisy, _ = views(0)
    best = max(product(contrasts, STEPS), key=lambda setting: _psnr(run(noisy, *setting, m.tau), clean))
    error = [_turn_error(run, *best, m.tau, seed) for seed in (0, 1, 2)]
    return {
        "method": m.name,
        "library": m.library,
        "version": m.version(),
        "contrast": best[0],
        "steps": best[1],
        "tau": m.tau,
        "psnr": _psnr(run(noisy, *best, m.tau), clean),
        "noisy_psnr": _psnr(noisy, clean),
        "turn_error": (sum(d for d, _ in error) / sum(c for _, c in error)) ** 0.5,
    }


def _psnr(estimate: Image, clean: Image) -> float:
    rows, columns = np.ogrid[:SIZE, :SIZE]
    inside = np.hypot(rows - SIZE // 2, columns - SIZE // 2) <= SIZE // 2 - MARGIN
    return 10 * log10(255**2 / float(np.mean((estimate[inside].astype(np.float64) - clean[inside]) ** 2)))


def _turn_error(run: Run, contrast: float, steps: int, tau: float, seed: int) -> tuple[float, float]:
    """Mean squares of the difference and of the change, at the pixels both lattices share."""
    from whorl.data.synthetic import Turn
    from whorl.invariance.coincidence import coincident_points

    _, upright, turned = views(seed)
    p, q = (SIZE // 2 + points.numpy() for points in coincident_points(Turn(3, 4, 5), SIZE // 2 - MARGIN))
    change, turned_change = (
        (run(u, contrast, steps, tau).astype(np.float64) - u)[at[:, 1], at[:, 0]]
        for u, at in ((upright, p), (turned, q))
    )
    return float(np.mean((turned_change - change) ** 2)), float(np.mean(change**2))


SUITE = Suite("speed_coherence", "Coherence-enhancing diffusion: a step, and the error under the 3-4-5 turn", cases)
