"""Pictures and volumes are drawn as they were when the published figures were measured: three figures of each."""

import pytest
import torch

from whorl.data import RectangleSet, gaussian_noise
from whorl.data.plate import plate_picture
from whorl.data.solids import Ball, Gyroid, SolidTurn, render_solid
from whorl.data.synthetic import Bars, Bump, Discs, Edge, Faded, Smudged, Turn, Waves, Whorl, render
from whorl.data.tomogram import tomogram

DRAWN = {
    "bump": lambda: render(Bump(), 161),
    "edge": lambda: render(Edge(), (33, 40), turn=20.0, channels=3),
    "bars": lambda: render(Bars(), 64, turn=Turn(4, 3, 5), centre=(3.0, -2.0)),
    "discs": lambda: render(Discs(), 96),
    "whorl": lambda: render(Whorl(), 65),
    "faded": lambda: render(Faded(Bars(), 20.0), 65),
    "smudged": lambda: render(Smudged(Edge(), Waves(seed=3)), 48),
    "plate": lambda: plate_picture(129, turn=30.0, noise=5.0),
    "ball": lambda: render_solid(Ball(), 25),
    "gyroid": lambda: render_solid(Gyroid(), (21, 23, 25), channels=4, turn=SolidTurn()),
    "tomogram": lambda: tomogram(40, seed=1).sample,
    "tomogram seen": lambda: tomogram(40, seed=1, tilt=50.0).noisy,
    "rectangles": lambda: RectangleSet(2, size=48).pairs(35)[0],
    "noisy rectangles": lambda: RectangleSet(2, "train", turning="rectangles", edges="4x4", size=48).pairs(35)[1],
    "noise": lambda: gaussian_noise(2, (1, 16, 16), 7.0, "train", 5),
}
FIGURES: dict[str, tuple[float, float, float]] = {
    "bump": (167.346686, 97.694967, 4.37994741e-05),
    "edge": (127.5, 113.489262, 0.406202928),
    "bars": (126.385817, 100.010698, -0.0714917082),
    "discs": (52.7145467, 81.0628308, 0.0164676134),
    "whorl": (127.5, 88.2380839, 0.113055705),
    "faded": (127.5, 49.0794244, 0.0528384034),
    "smudged": (127.620898, 119.782854, -0.0641516546),
    "plate": (138.261279, 64.720496, -0.0375601262),
    "ball": (109.433604, 13.3531551, 0.00170043789),
    "gyroid": (127.503162, 18.8369905, 0.014132832),
    "tomogram": (140.398, 28.939847, -0.00172287316),
    "tomogram seen": (140.439092, 46.2557429, 0.0686804972),
    "rectangles": (244.550767, 46.5416293, 0.279106643),
    "noisy rectangles": (239.304274, 86.4997072, -0.409449489),
    "noise": (0.186288971, 6.98976331, -0.312213394),
}


def figures(u: torch.Tensor) -> tuple[float, float, float]:
    """The mean, the spread, and a sum in which every pixel has a weight of its own."""
    flat = u.double().flatten()
    weights = torch.sin(0.7 * torch.arange(flat.numel(), dtype=torch.float64) ** 1.1)
    return float(flat.mean()), float(flat.std()), float((weights * flat).mean())


@pytest.mark.parametrize("name", DRAWN)
def test_pictures_are_drawn_as_they_were(name):
    assert figures(DRAWN[name]()) == pytest.approx(FIGURES[name], rel=1e-6, abs=1e-6)
