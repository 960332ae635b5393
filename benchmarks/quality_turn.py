r"""Error under the 3-4-5 turn: a noisy scene and its turned twin, both rendered from formulas, filtered and compared.

The turn by atan(4/3) maps a fifth of the pixel lattice onto itself. Scene and noise are functions of the plane (the
noise a sum of 4096 random waves within a disc of frequencies, so that both lattices sample the same function), hence
nothing is interpolated. At the shared pixels p the changes d = F(u) - u must agree:

    error = |d_R(Rp) - d(p)| / |d(p)|,     root mean squares over the shared pixels and three draws of the noise.

Every method is judged at the setting that gives it the best PSNR on the upright picture. The disc of frequencies has
radius 0.4 cycles per pixel; 0.25 and 0.5 (the largest without aliasing) are reported beside it at the same setting.
"""

from functools import cache, partial
from math import cos, log10, radians, sin
from typing import Any

import numpy as np

from benchmarks.peers import Image, Method, Run
from benchmarks.search import Optimum, Score
from benchmarks.suite import Case, Rows, Suite
from benchmarks.tune import contestants, slow, tuned

__all__ = ["SUITE", "pictures", "turn_error"]

SIZE, MARGIN = 255, 32
DEVIATION = 30.0
CUTOFF = 0.4
_SEEDS = (0, 1, 2)


def sheet(x: Any, y: Any) -> Any:
    """A large disc, two bars, a small disc: flat regions and edges one pixel soft, as in a photograph."""
    from torch import erfc

    def rise(distance: Any) -> Any:
        return 0.5 * erfc(-distance / 2**0.5)

    def disc(at_x: float, at_y: float, radius: float) -> Any:
        return rise(radius - ((x - at_x) ** 2 + (y - at_y) ** 2).sqrt())

    def bar(at_x: float, at_y: float, angle: float, half_width: float, half_length: float) -> Any:
        c, s = cos(radians(angle)), sin(radians(angle))
        across, along = c * (x - at_x) + s * (y - at_y), c * (y - at_y) - s * (x - at_x)
        return rise(half_width - across.abs()) * rise(half_length - along.abs())

    return (
        60
        + 100 * disc(10, -5, 70)
        - 70 * bar(20, 5, 23, 14, 60)
        + 50 * bar(-40, 12, 71, 6, 45)
        + 40 * disc(-30, 40, 12)
    )


@cache
def views(cutoff: float, seed: int) -> tuple[Image, Image, Image]:
    """The clean scene, the noisy scene, and the noisy scene turned."""
    from whorl.data.synthetic import Turn, Waves, render

    noise = Waves(DEVIATION, seed, 4096, cutoff)
    upright = render(sheet, SIZE)
    turned = render(sheet, SIZE, turn=_turn()) + sampled(noise, SIZE, _turn())
    return _array(upright), _array(upright + sampled(noise, SIZE, Turn(1, 0))), _array(turned)


def sampled(noise: Any, size: int, turn: Any) -> Any:
    """The noise on the turned lattice, as ``render`` gives it: a wave there is a wave along y times a wave along x.

    Summing thousands of waves is then one product of matrices, and takes a second instead of a minute.
    """
    import torch

    k_x, k_y, phase = torch.tensor(noise.waves(), dtype=torch.float64).T
    c, s = turn.cosine / turn.norm, turn.sine / turn.norm
    at = torch.arange(size, dtype=torch.float64) - (size - 1) / 2
    along_x = torch.exp(1j * torch.outer(k_x * c + k_y * s, at))
    along_y = torch.exp(1j * (torch.outer(k_y * c - k_x * s, at) + phase[:, None]))
    total = along_y.real.T @ along_x.real - along_y.imag.T @ along_x.imag
    return (noise.deviation * (2 / noise.count) ** 0.5 * total)[None, None]


def turn_error(run: Run, best: Optimum, cutoff: float, seed: int) -> tuple[float, float]:
    """Mean squares of the difference and of the change."""
    from whorl.invariance.coincidence import coincident_points

    _, straight, turned = views(cutoff, seed)
    p, q = (SIZE // 2 + points.numpy() for points in coincident_points(_turn(), SIZE // 2 - MARGIN))
    change, turned_change = (
        (run(u, best.contrast, best.steps, best.tau).astype(np.float64) - u)[at[:, 1], at[:, 0]]
        for u, at in ((straight, p), (turned, q))
    )
    return float(np.mean((turned_change - change) ** 2)), float(np.mean(change**2))


def pictures() -> dict[str, tuple[Image, Score, bool]]:
    scene, straight, _ = views(CUTOFF, _SEEDS[0])
    rows, columns = np.ogrid[:SIZE, :SIZE]
    inside = np.hypot(rows - SIZE // 2, columns - SIZE // 2) <= SIZE // 2 - MARGIN
    return {"sheet": (straight, partial(_score, scene, inside), False)}


def _score(scene: Image, inside: Any, estimate: Image) -> float:
    error = np.mean((estimate[inside].astype(np.float64) - scene[inside]) ** 2)
    return float(10 * log10(255**2 / error))


def cases() -> dict[str, Case]:
    return {"3-4-5 turn, noise 30": partial(_case, False)}


def slow_cases() -> dict[str, Case]:
    return {"3-4-5 turn, noise 30, slow models": partial(_case, True)}


def _case(only_slow: bool) -> Rows:
    (name, (image, score, colour)), *_ = pictures().items()
    chosen = [m for m in contestants(colour) if slow(m) == only_slow]
    return [_row(m, tuned(name, m, image, score)) for m in chosen]


def _row(method: Method, best: Optimum) -> dict[str, Any]:
    run = method.load()
    facts = {"method": method.name, "library": method.library, "version": method.version(), **best.as_row()}
    for cutoff in (CUTOFF, 0.25, 0.5):
        squares = [turn_error(run, best, cutoff, seed) for seed in (_SEEDS if cutoff == CUTOFF else _SEEDS[:1])]
        error = (sum(d for d, _ in squares) / sum(c for _, c in squares)) ** 0.5
        facts["turn_error" if cutoff == CUTOFF else f"turn_error_{cutoff}"] = error
    return facts


def _turn() -> Any:
    from whorl.data.synthetic import Turn

    return Turn(3, 4, 5)


def _array(picture: Any) -> Image:
    return np.ascontiguousarray(picture[0, 0].float().numpy())


SUITE = Suite("quality_turn", "Error under the 3-4-5 turn at each method's PSNR-optimal setting", cases, slow_cases)
