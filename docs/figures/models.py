"""Draw what each model does to one picture at its best setting, beside the default and a network.

The settings are those of ``experiments/results/choosing.json`` (``python -m experiments.choosing``). Run from the
repository's root: ``python docs/figures/models.py``.
"""

import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torch import Tensor

import whorl
from whorl.data.synthetic import Discs, Waves, Whorl, render
from whorl.metrics import psnr
from whorl.models import build, names

SIZE = 160
TARGET = Path(__file__).parent.parent / "images" / "models.png"
SETTINGS = Path(__file__).parents[2] / "experiments" / "results" / "choosing.json"
INK = "#1f2933"


def soft(distance: Tensor) -> Tensor:
    return 0.5 * torch.erfc(-distance)


def scene(x: Tensor, y: Tensor) -> Tensor:
    """A ramp, a whorl, coloured discs and a slanted bar: ``(3, y, x)``."""
    ramp = 70 + 0.9 * (x + 80) + 0 * y
    picture = torch.stack([ramp, 0.9 * ramp, 60 + 0.6 * ramp])
    blob = soft(46 - ((x + 30) ** 2 + (y + 28) ** 2).sqrt())
    ridges = Whorl(period=13.0)(x + 30, y + 28)
    print_ = torch.stack([40 + 0.8 * ridges, 60 + 0.6 * ridges, 110 + 0.2 * ridges])
    picture = picture + blob * (print_ - picture)
    seeds = Discs(count=9, spacing=11.0, radius=7.5, width=0.8)(x - 42, y - 34) / 255
    picture = picture + seeds * (torch.tensor([215.0, 70.0, 60.0])[:, None, None] - picture)
    bar = soft(5 - (0.5 * x + 0.866 * y - 20).abs()) * soft(-x - 4) * soft(x + 74)
    picture = picture + bar * (torch.tensor([250.0, 225.0, 120.0])[:, None, None] - picture)
    square = soft(16 - (x - 50).abs()) * soft(16 - (y + 46).abs())
    return picture + square * (torch.tensor([60.0, 150.0, 120.0])[:, None, None] - picture)


def picture() -> tuple[Tensor, Tensor]:
    """The clean scene and the scene under noise, both ``(1, 3, y, x)``."""
    axis = torch.arange(SIZE, dtype=torch.float64) - (SIZE - 1) / 2
    clean = scene(axis[None, :].expand(SIZE, SIZE), axis[:, None].expand(SIZE, SIZE))[None]
    noise = torch.cat([render(Waves(deviation=18.0, seed=seed, cutoff=0.5), SIZE) for seed in range(3)], dim=1)
    return clean, clean + noise


def draw() -> plt.Figure:
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 12, "text.color": INK})
    figure, axes = plt.subplots(3, 5, figsize=(15, 9.6), facecolor="white")
    clean, noisy = picture()
    clean, noisy = clean.float(), noisy.float()
    found = json.loads(SETTINGS.read_text())["scene"]
    panels = {"clean": clean, "noisy": noisy}
    for name in names():
        given = {key: value for key, value in found[name].items() if key not in ("psnr", "time")}
        panels[name] = build(name, **given)(noisy, found[name]["time"])
    panels["whorl.diffuse, nothing told"] = whorl.diffuse(noisy[0], channel_axis=0)[None]
    panels["photo-colour"] = whorl.denoise(noisy[0], 18.0, channel_axis=0)[None]
    for axis, (name, result) in zip(axes.flat, panels.items(), strict=True):
        axis.imshow(result[0].permute(1, 2, 0).clamp(0, 255) / 255, interpolation="nearest")
        reached = "" if name == "clean" else f": {float(psnr(result, clean, value_range=255)):.1f} dB"
        axis.set_title(name + reached, fontsize=11, pad=5)
        axis.axis("off")
    figure.subplots_adjust(left=0.005, right=0.995, top=0.965, bottom=0.005, wspace=0.03, hspace=0.1)
    return figure


if __name__ == "__main__":
    with torch.no_grad():
        draw().savefig(TARGET, dpi=80)
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")
