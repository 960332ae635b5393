"""How well a flow turns: noisy scenes on two lattices, without interpolation, PSNR and turn error side by side.

``python -m experiments.turns settings`` measures models at settings of their own: every law, sigma and cell at the
contrast and time that are best by PSNR. ``python -m experiments.turns defaults`` measures what people get:
``whorl.diffuse`` with the noise told, and with nothing told. The scene is a disc and bars with edges of 0.7 pixels
under noise of deviation 20, made of 2,500 waves up to 0.45 cycles per pixel, which have values on both lattices; other
seeds, edges and spectra decide whether a setting is good.
"""

import argparse
import json
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import whorl
from whorl.data.synthetic import Turn, Waves, rise
from whorl.invariance.coincidence import coincident_points
from whorl.invariance.filters import values_at

SIZE, MARGIN = 201, 28
TURNS = {"3-4-5": Turn(4, 3, 5), "5-12-13": Turn(12, 5, 13)}
RESULTS = Path(__file__).parent / "results" / "turns.json"


@dataclass(frozen=True)
class Drawing:
    """A bright disc, a bright and a dark bar at angles of their own, on grey, with edges of so many pixels."""

    edge: float = 0.7

    def __call__(self, x: Tensor, y: Tensor) -> Tensor:
        """Grey values at the points ``(x, y)``."""
        total = 90 + 100 * rise(28 - torch.hypot(x + 14, y + 12), self.edge)
        for angle, place, half, grey in ((0.35, 42.0, 6.0, 80.0), (2.2, 50.0, 9.0, -60.0)):
            along, across = (math.cos(angle) * x + math.sin(angle) * y, math.cos(angle) * y - math.sin(angle) * x)
            total = total + grey * rise(half - (across - place).abs(), self.edge) * rise(45 - along.abs(), self.edge)
        return total


@dataclass(frozen=True)
class Sight:
    """A noisy scene and its clean original, on the upright lattice and on turned ones."""

    edge: float = 0.7
    deviation: float = 20.0
    cutoff: float = 0.45
    seed: int = 0

    def clean(self, turn: Turn | None = None) -> Tensor:
        """The scene ``(1, 1, y, x)``."""
        return Drawing(self.edge)(*self._points(turn))[None, None]

    def noisy(self, turn: Turn | None = None) -> Tensor:
        """The scene with noise."""
        waves = torch.tensor(Waves(seed=self.seed, count=2500, cutoff=self.cutoff).waves(), dtype=torch.float64)
        c, s, n = (1.0, 0.0, 1.0) if turn is None else (turn.cosine, turn.sine, turn.norm)
        k_x, k_y = (c * waves[:, 0] + s * waves[:, 1]) / n, (c * waves[:, 1] - s * waves[:, 0]) / n
        steps = torch.arange(SIZE, dtype=torch.float64) - SIZE // 2
        down, across = torch.exp(1j * k_y[:, None] * steps), torch.exp(1j * (k_x[:, None] * steps + waves[:, 2:]))
        noise = (down.mT @ across).real
        return self.clean(turn) + self.deviation * math.sqrt(2 / len(waves)) * noise

    @staticmethod
    def _points(turn: Turn | None) -> tuple[Tensor, Tensor]:
        steps = torch.arange(SIZE, dtype=torch.float64) - SIZE // 2
        x, y = steps[None, :] + 0 * steps[:, None], steps[:, None] + 0 * steps[None, :]
        return (x, y) if turn is None else turn.upright(x, y)


def measured(filter: Callable[[Tensor], Tensor], sight: Sight, turns: tuple[str, ...] = ("3-4-5",)) -> dict[str, float]:
    """PSNR on the upright lattice within the circle, and the turn error for each turn."""
    u = _drawn(sight, None)
    v = filter(u)
    inside = _disc()
    error = (v - _drawn(sight, None, clean=True))[..., inside]
    found = {"psnr": float(10 * torch.log10(255**2 / error.square().mean()))}
    for name in turns:
        turn = TURNS[name]
        w = _drawn(sight, turn)
        points, turned = coincident_points(turn, SIZE // 2 - MARGIN)
        change = values_at(v - u, SIZE // 2 + points)
        other = values_at(filter(w) - w, SIZE // 2 + turned)
        found[name] = float((other - change).norm() / change.norm())
    return found


_KEPT: dict[Any, Tensor] = {}


def _drawn(sight: Sight, turn: Turn | None, *, clean: bool = False) -> Tensor:
    """Drawn once; float32, as files are filtered."""
    key = (sight, turn, clean)
    if key not in _KEPT:
        _KEPT[key] = (sight.clean(turn) if clean else sight.noisy(turn)).float()
    return _KEPT[key]


def _disc() -> Tensor:
    steps = torch.arange(SIZE) - SIZE // 2
    return steps[:, None] ** 2 + steps**2 <= (SIZE // 2 - MARGIN) ** 2


@torch.no_grad()
def best(
    sight: Sight, model: str, contrasts: tuple[float, ...], longest: float = 12.0, **options: Any
) -> dict[str, Any]:
    """The contrast and time with the best PSNR, and the turn error there."""
    u, clean, inside = _drawn(sight, None), _drawn(sight, None, clean=True), _disc()
    top = (0.0, 0.0, 0.0)
    for contrast in contrasts:
        built = whorl.models.build(model, contrast=contrast * sight.deviation, **options)
        tau, v, time, peak = built.automatic_step(), u, 0.0, 0.0
        while time < longest:
            v, time = built.step(v, tau), time + tau
            psnr = float(10 * torch.log10(255**2 / (v - clean)[..., inside].square().mean()))
            top, peak = max(top, (psnr, contrast, time)), max(peak, psnr)
            if psnr < peak - 0.1:
                break
    _, contrast, time = top
    built = whorl.models.build(model, contrast=contrast * sight.deviation, **options)
    return {"model": model, **options, "contrast": contrast, "time": round(time, 3)} | measured(
        lambda w: built(w, time), sight
    )


RATIONAL = (0.15, 0.2, 0.25, 0.3, 0.4, 0.5)
SETTINGS: tuple[tuple[str, tuple[float, ...], dict[str, Any]], ...] = (
    ("perona-malik", (0.8, 1.0, 1.2, 1.5), {}),
    ("perona-malik", (0.05, 0.1, 0.2, 0.3), {"diffusivity": "charbonnier"}),
    ("perona-malik", RATIONAL, {"diffusivity": "rational", "sigma": 1.0}),
    ("eed", (0.2, 0.3, 0.4), {"sigma": 1.0}),
    ("eed", RATIONAL[:4], {"diffusivity": "rational", "sigma": 1.0}),
    ("eed", (0.02, 0.05, 0.1), {"diffusivity": "charbonnier", "sigma": 1.0}),
)


def settings() -> list[dict[str, Any]]:
    """Every model, law and sigma on both cells."""
    found = []
    for model, contrasts, options in SETTINGS:
        for cell in ({"alpha": 0.41}, {"alpha": 0.25}, {"cell": "wide"}):
            found.append(best(Sight(), model, contrasts, **options, **cell))
            print(json.dumps(found[-1]), flush=True)
    return found


def _diffused(u: Tensor, **options: Any) -> Tensor:
    return torch.from_numpy(whorl.diffuse(u[0, 0].numpy(), **options))[None, None]


@torch.no_grad()
def defaults(**options: Any) -> list[dict[str, Any]]:
    """What people get, over seeds, edges and spectra."""
    found = []
    for edge, cutoff, seed in ((0.7, 0.45, 0), (0.7, 0.45, 1), (1.0, 0.45, 2), (0.7, 0.35, 3), (0.7, 0.5, 4)):
        sight = Sight(edge=edge, cutoff=cutoff, seed=seed)
        for noise in (sight.deviation, None):
            row = measured(lambda u, noise=noise: _diffused(u, noise=noise, **options), sight, tuple(TURNS))
            found.append({"edge": edge, "cutoff": cutoff, "seed": seed, "told": noise is not None, **row})
            print(json.dumps(found[-1]), flush=True)
    return found


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("settings", "defaults"))
    torch.set_num_threads(1)
    {"settings": settings, "defaults": defaults}[parser.parse_args().what]()
