"""The settings of ``whorl.inpaint``: chosen on training photographs, one setting for all densities.

``python -m experiments.inpainting --data FOLDER`` fills pictures of Train400 from 1, 2, 5, 10 and 20 % of their pixels,
drawn at random, with every setting of the list below, and writes mean PSNRs to ``results/inpainting.json``. Settings
that have results already are left alone, so a run can be stopped and goes on where it was. ``--table`` prints them.

``--gaps`` is about the width of the gaps: under text, scratches and blots, and between sparse pixels, of pictures of
Train400 and CTrain400, it tries how far the structure tensor should be smoothed (rho), beside the mean distance of the
gaps from what is known, and writes ``results/inpainting_gaps.json``. Thin gaps want a small rho: ``inpaint`` takes 0.85
times that distance, and at most 4. Sigma is 0.5 there; for deep gaps 1.0 is as good, and turns better.

``--shock`` sets diffusion-shock beside edge-enhancing and homogeneous diffusion, as ``whorl.inpaint`` has them, on
pictures of Set12 and CBSD68 and on drawn shapes with wide bars across, and writes ``results/inpainting_shock.json``.
"""

import argparse
import json
import math
import platform
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.machine import origin
from PIL import Image
from torch import Tensor

import whorl
from whorl import models
from whorl.data.synthetic import Turn, render, rise
from whorl.inpainting import fill
from whorl.inpainting.images import edge_continuing
from whorl.inpainting.masks import depth
from whorl.invariance.coincidence import coincident_points

DENSITIES = (0.01, 0.02, 0.05, 0.1, 0.2)
PICTURES = 12
RESULTS = Path(__file__).parent / "results" / "inpainting.json"

RHOS = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6)

SETTINGS: list[dict[str, Any]] = [
    {"name": "perona-malik", "diffusivity": "homogeneous"},
    {"name": "you-kaveh", "diffusivity": "homogeneous"},
    *(
        {"name": "eed", "diffusivity": "charbonnier", "contrast": contrast, "sigma": sigma, "alpha": 0.41, "gamma": 0.0}
        for contrast, sigma in product([1.0, 2.0, 4.0], [0.7, 1.0, 1.5])
    ),
    *(
        {"name": "eed", "diffusivity": "charbonnier", "contrast": contrast, "sigma": sigma, "alpha": alpha, "gamma": g}
        for contrast, sigma, alpha, g in (
            (2.0, 2.0, 0.41, 0.0),
            (1.5, 2.0, 0.41, 0.0),
            (2.0, 1.5, 0.25, 0.0),
            (2.0, 1.5, 0.1, 0.0),
            (2.0, 1.5, 0.0, 0.0),
            (2.0, 2.0, 0.1, 0.0),
            (2.0, 1.5, 0.49, 0.0),
            (2.0, 1.5, 0.41, 1.0),
        )
    ),
    {"name": "eed", "diffusivity": "rational", "contrast": 6.0, "sigma": 1.5, "alpha": 0.41, "gamma": 0.0},
    *(
        {"name": "edge-continuing", "contrast": contrast, "sigma": sigma, "rho": rho, "alpha": alpha, "gamma": gamma}
        for contrast, sigma, rho, alpha, gamma in (
            (1.0, 1.0, 3.0, 0.1, 0.8),
            (1.0, 0.5, 2.0, 0.1, 0.0),
            (1.0, 0.5, 3.0, 0.1, 0.0),
            (1.0, 0.5, 4.0, 0.1, 0.0),
            (1.0, 1.0, 5.0, 0.1, 0.0),
            (0.3, 0.5, 3.0, 0.1, 0.0),
            (2.0, 0.5, 3.0, 0.1, 0.0),
            (4.0, 0.5, 3.0, 0.1, 0.0),
            (1.0, 1.0, 3.0, 0.1, 0.0),
            (1.0, 1.0, 3.0, 0.1, 1.0),
            (1.0, 1.0, 3.0, 0.25, 0.0),
            (1.0, 1.0, 3.0, 0.41, 0.0),
        )
    ),
]
"""Contrasts in grey values, sigma and rho in pixels."""


def pictures(folder: Path, count: int = PICTURES, mode: str = "L") -> list[Tensor]:
    """Grey pictures ``(1, 1, y, x)``, or ``"RGB"`` ones, spread evenly over the folder."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".png", ".jpg"))
    chosen = files[:: len(files) // count][:count]
    found = [np.array(Image.open(path).convert(mode)) for path in chosen]
    return [torch.from_numpy(u.reshape(*u.shape[:2], -1).transpose(2, 0, 1).copy()).float()[None] for u in found]


def masks(u: Tensor, seed: int) -> dict[float, Tensor]:
    """Where pixels are known, for every density."""
    draw = torch.rand(u.shape, generator=torch.Generator().manual_seed(seed))
    return {density: draw < density for density in DENSITIES}


def psnr(u: Tensor, clean: Tensor) -> float:
    """In dB, of a result that is rounded and cut off as a file would be."""
    return float(10 * torch.log10(255**2 / (u.round().clamp(0, 255) - clean).square().mean()))


@torch.no_grad()
def measured(setting: dict[str, Any], clean: list[Tensor]) -> dict[str, float]:
    """The mean PSNR of one setting at every density."""
    rest = {key: value for key, value in setting.items() if key != "name"}
    model = edge_continuing(**rest) if setting["name"] == "edge-continuing" else models.build(**setting)
    found: dict[float, list[float]] = {density: [] for density in DENSITIES}
    for seed, u in enumerate(clean):
        for density, known in masks(u, seed).items():
            found[density].append(psnr(fill(model, u, known).image, u))
    return {f"{density:g}": round(float(np.mean(values)), 3) for density, values in found.items()}


def measured_gaps(folder: Path) -> dict[str, Any]:
    """For every kind of gap its depth, and the mean PSNR for every rho."""
    from benchmarks.filling import random_pixels, scratches, text

    def blots(shape: tuple[int, ...], seed: int) -> Any:
        draw, (y, x) = np.random.default_rng(seed), np.mgrid[: shape[0], : shape[1]]
        places = [(*draw.uniform(0, shape[:2]), draw.uniform(3, 8)) for _ in range(12)]
        return np.any([np.hypot(y - top, x - left) < size for top, left, size in places], axis=0)

    kinds: dict[str, Any] = {"text": text, "scratches": scratches, "blots": blots}
    kinds |= {f"{d:g}": lambda shape, seed, d=d: random_pixels(shape, d, seed) for d in DENSITIES}
    grey = [u[..., :160, :160] for u in pictures(folder / "Train400", 8)]
    clean = grey + [u[..., :110, :110] for u in pictures(folder / "CTrain400", 6, "RGB")]
    rows = {}
    for name, kind in kinds.items():
        gaps = [np.asarray(kind(u.shape[2:], seed)) for seed, u in enumerate(clean)]
        row: dict[str, Any] = {"depth": round(float(np.mean([depth(mask) for mask in gaps])), 3)}
        for rho in RHOS:
            model = edge_continuing(1.0, 0.5, rho, 0.1, 0.8)
            found = [
                psnr(fill(model, u, ~torch.from_numpy(mask)[None, None]).image, u)
                for u, mask in zip(clean, gaps, strict=True)
            ]
            row[f"{rho:g}"] = round(float(np.mean(found)), 3)
        print(name, row, flush=True)
        rows[name] = row
    return rows


def shapes(seed: int, size: int = 128) -> Tensor:
    """Flat discs and half-planes upon each other, without texture: all that is to be continued is edges."""
    draw, fine = np.random.default_rng(seed), 4
    y, x = np.mgrid[: size * fine, : size * fine] / fine
    u = np.full(x.shape, 128.0)
    for k in range(10):
        (top, left), radius, angle = draw.uniform(0, size, 2), draw.uniform(12, 40), draw.uniform(0, 2 * np.pi)
        across = np.cos(angle) * (x - left) + np.sin(angle) * (y - top)
        u[(np.hypot(y - top, x - left) < radius) if k % 2 else (np.abs(across) < radius / 3)] = draw.uniform(0, 255)
    return torch.from_numpy(u.reshape(size, fine, size, fine).mean((1, 3))).float()[None, None]


def bars(shape: tuple[int, ...], seed: int) -> Any:
    """Four straight gaps of twelve pixels."""
    draw, (y, x) = np.random.default_rng(seed), np.mgrid[: shape[0], : shape[1]]
    lines = [(*draw.uniform(0.1, 0.9, 2) * shape[:2], draw.uniform(0, np.pi)) for _ in range(4)]
    return np.any([np.abs(np.cos(a) * (x - left) + np.sin(a) * (y - top)) < 6 for top, left, a in lines], axis=0)


def measured_shock(folder: Path) -> dict[str, Any]:
    """For every set of pictures and kind of gap the mean PSNR of three models with their usual settings."""
    from benchmarks.filling import random_pixels, scratches, text

    kinds: dict[str, Any] = {"text": text, "scratches": scratches, "bars": bars}
    kinds["5 % of pixels"] = lambda shape, seed: random_pixels(shape, 0.05, seed)
    sets = {
        "Set12": [u[..., 64:192, 64:192] for u in pictures(folder / "Set12", 12)],
        "CBSD68": [u[..., 96:224, 96:224] for u in pictures(folder / "CBSD68", 12, "RGB")],
        "drawn shapes": [shapes(seed) for seed in range(12)],
    }
    rows: dict[str, Any] = {}
    for name, kind in ((name, kind) for name in sets for kind in kinds):
        found: dict[str, list[float]] = {"eed": [], "diffusion-shock": [], "homogeneous": []}
        for seed, u in enumerate(sets[name]):
            image, gaps = u[0].permute(1, 2, 0).numpy(), np.asarray(kinds[kind](u.shape[2:], seed))
            for model, values in found.items():
                filled = whorl.inpaint(np.where(gaps[..., None], 0, image), gaps, model, channel_axis=-1)
                values.append(psnr(torch.from_numpy(filled).permute(2, 0, 1)[None], u))
        ahead = sum(a > b for a, b in zip(found["diffusion-shock"], found["eed"], strict=True))
        rows[f"{name}, {kind}"] = {m: round(float(np.mean(v)), 2) for m, v in found.items()} | {"ahead of eed": ahead}
        print(name, kind, rows[f"{name}, {kind}"], flush=True)
    return rows


def edges(x: Tensor, y: Tensor) -> Tensor:
    """Two discs and a slanting band, with edges of 0.7 pixels; beyond 80 pixels all is grey."""
    disc = rise(26 - torch.hypot(x + 18, y - 6), 0.7) + 0.6 * rise(17 - torch.hypot(x - 27, y + 22), 0.7)
    band = rise(9 - (0.8 * x + 0.6 * y - 22).abs(), 0.7) * rise(60 - torch.hypot(x, y), 0.7)
    return 60 + 70 * disc + 50 * band


def holes(x: Tensor, y: Tensor) -> Tensor:
    """Four gaps of eight pixels that cross the edges at different angles, and a hole."""
    lines = ((0.3, -20.0), (1.2, 14.0), (1.9, -8.0), (2.7, 24.0))
    across = [4 - (math.cos(a) * x + math.sin(a) * y - at).abs() for a, at in lines]
    return 255 * rise(torch.stack([*across, 9 - torch.hypot(x + 18, y + 20)]).amax(0), 0.2)


def turn_of(model: str, size: int = 161, radius: int = 55) -> float:
    """How far fillings of a scene and of the scene turned by the 3-4-5 turn differ, over how much was filled in.

    Compared are pixels of gaps that the turn carries onto pixels; what was filled in is counted from the mean grey.
    """
    turn, found = Turn(4, 3, 5), []
    for angle in (0.0, turn):
        u, gaps = (render(each, size, turn=angle)[0, 0].numpy() for each in (edges, holes))
        found.append((torch.from_numpy(whorl.inpaint(np.where(gaps > 127, 128.0, u), gaps > 127, model)), gaps > 127))
    (upright, turned), middle = coincident_points(turn, radius), size // 2
    inside = torch.from_numpy(found[0][1])[middle + upright[:, 1], middle + upright[:, 0]]
    first = found[0][0][middle + upright[:, 1], middle + upright[:, 0]][inside]
    second = found[1][0][middle + turned[:, 1], middle + turned[:, 0]][inside]
    return float((second - first).norm() / (first - first.mean()).norm())


def table(document: dict[str, Any]) -> str:
    """The settings, best mean first."""
    rows = sorted(document["settings"], key=lambda row: -np.mean(list(row["psnr"].values())))
    return "\n".join(
        " ".join(f"{value:6.2f}" for value in row["psnr"].values()) + "   "
        + " ".join(f"{key}={value}" for key, value in row["setting"].items())
        for row in rows
    )  # fmt: skip


def main() -> None:
    """Try what has not been tried, and print the table."""
    parser = argparse.ArgumentParser(prog="python -m experiments.inpainting", description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"), help="folder that holds Train400")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what the result file says")
    parser.add_argument("--gaps", action="store_true", help="try rho for gaps of every width instead")
    parser.add_argument("--shock", action="store_true", help="set diffusion-shock beside other models instead")
    given = parser.parse_args()
    versions = {"whorl": whorl.__version__, "torch": torch.__version__, "python": platform.python_version()}
    if given.shock:
        with torch.no_grad():
            rows = measured_shock(given.data)
        about = "mean PSNR in dB of 12 pictures each, 128 x 128, and on how many diffusion-shock is ahead of eed"
        document: dict[str, Any] = {"about": about, "command": "python -m experiments.inpainting --shock"}
        turned = {model: round(turn_of(model), 4) for model in ("eed", "diffusion-shock", "homogeneous")}
        document |= {**origin(), "versions": versions, "psnr": rows, "3-4-5 turn": turned}
        RESULTS.with_stem("inpainting_shock").write_text(json.dumps(document, indent=1) + "\n")
        return
    if given.gaps:
        with torch.no_grad():
            rows = measured_gaps(given.data)
        about = "mean PSNR in dB for every rho at sigma 0.5, contrast 1, alpha 0.1, gamma 0.8"
        document = {"about": about, "command": "python -m experiments.inpainting --gaps", **origin(), "gaps": rows}
        RESULTS.with_stem("inpainting_gaps").write_text(json.dumps(document, indent=1) + "\n")
        return
    document = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"settings": []}
    if not given.table:
        clean = pictures(given.data / "Train400")
        document |= {
            "about": f"mean PSNR in dB on {len(clean)} pictures of Train400, by share of pixels known",
            "command": "python -m experiments.inpainting",
            "versions": versions,
            **origin(),
        }
        done = [row["setting"] for row in document["settings"]]
        for setting in SETTINGS:
            if setting not in done:
                document["settings"].append({"setting": setting, "psnr": measured(setting, clean)})
                RESULTS.write_text(json.dumps(document, indent=1) + "\n")
                print(table({"settings": document["settings"][-1:]}), flush=True)
    print(table(document))


if __name__ == "__main__":
    main()
