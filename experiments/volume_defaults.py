"""The rule behind automatic settings in space: chosen on some volumes, compared with the best by hand on others.

``python -m experiments.volume_defaults choose`` tries contrasts of k times the noise and shares of the noise to remove
on volumes drawn from formulas and on a part of the MNI152 average, and prints the pair that loses least on average for
each model; ``whorl.automatic.RULES_IN_SPACE`` carries it. ``python -m experiments.volume_defaults report`` compares, on
three other volumes with noise of three levels: settings measured on the noisy volume, and the best contrast and time by
hand, found on a grid with the clean volume at hand. MNI152 ships with nilearn. The map EMD-3001 lies in the source
distribution of mrcfile (pip download --no-deps --no-binary :all: mrcfile) and is used if WHORL_EM_MAP names its file.
"""

import argparse
import json
import os
import platform
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

import whorl
from whorl import models
from whorl.automatic import automatic_settings, noise_level, samples_of
from whorl.data.noise import gaussian_noise
from whorl.data.solids import Gyroid, render_solid
from whorl.data.tomogram import tomogram

LEVELS = (10.0, 20.0, 40.0)
FACTORS = (0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.35, 1.8, 2.4)
SHARES = (0.85, 0.9, 0.925, 0.95, 0.97, 0.985)
LONGEST = 12.0
SIZE = 56
NAMES = ("perona-malik", "gerig", "weickert-brox", "uncoupled", "eed", "multiscale-isotropic")
RESULTS = Path(__file__).parent / "results" / "volume_defaults.json"


def brain(corner: tuple[int, int, int]) -> Tensor:
    """A part of the MNI152 average, one millimetre a voxel, in grey values."""
    from nilearn.datasets import load_mni152_template

    whole = np.asarray(load_mni152_template(resolution=1).get_fdata(), np.float32)
    part = whole[tuple(slice(first, first + SIZE) for first in corner)]
    return _grey(torch.from_numpy(part.copy())[None, None])


def em_map(path: str) -> Tensor:
    """An electron microscopy map of a protein, in grey values."""
    import mrcfile

    return _grey(torch.from_numpy(np.array(mrcfile.read(path), np.float32))[None, None])


def training() -> dict[str, Tensor]:
    """Volumes on which rules are chosen."""
    return {
        "tomogram 1": tomogram(SIZE, seed=1).clean,
        "tomogram 2, no wedge": tomogram(SIZE, seed=2, tilt=90.0).clean,
        "gyroid": _grey(render_solid(Gyroid(radius=40.0), SIZE).float()),
        "MNI152, back": brain((70, 40, 70)),
    }


def testing() -> dict[str, Tensor]:
    """Volumes on which they are compared."""
    found = {"tomogram": tomogram(SIZE, seed=0).clean, "MNI152": brain((70, 120, 70))}
    path = os.environ.get("WHORL_EM_MAP", "")
    if Path(path).is_file():
        found["EMD-3001"] = em_map(path)
    else:
        found["gyroid and balls"] = _grey(render_solid(Gyroid(period=14.0, radius=22.0), SIZE).float())
    return found


def psnr(u: Tensor, clean: Tensor) -> float:
    """dB, for grey values from 0 to 255."""
    return float(10 * torch.log10(255**2 / (u - clean).square().mean()))


@torch.no_grad()
def flow(name: str, noisy: Tensor, clean: Tensor, contrast: float) -> list[tuple[float, float, float]]:
    """Time, PSNR and root mean square of what was removed, step by step, until the PSNR has long been falling."""
    model = models.build(name, contrast=contrast, spacing=(1.0, 1.0, 1.0))
    tau = model.automatic_step(3) / 2
    u, curve, best = noisy, [(0.0, psnr(noisy, clean), 0.0)], 0.0
    while curve[-1][0] < LONGEST and curve[-1][1] > best - 1.5:
        u = model.step(u, tau)
        curve.append((curve[-1][0] + tau, psnr(u, clean), float((u - noisy).square().mean().sqrt())))
        best = max(best, curve[-1][1])
    return curve


def degraded(clean: Tensor, level: float, seed: int) -> Tensor:
    """The volume with white Gaussian noise."""
    return clean + gaussian_noise(1, tuple(clean.shape[1:]), level, seed=seed)


def choose(names: list[str]) -> None:
    """Print the rule that loses least for each model, and how much."""
    volumes = training()
    for name in names:
        losses: dict[tuple[float, float], list[float]] = {}
        for number, clean in enumerate(volumes.values()):
            for level in LEVELS:
                noisy = degraded(clean, level, number)
                sigma = noise_level(samples_of(noisy))
                curves = {k: flow(name, noisy, clean, k * sigma) for k in FACTORS}
                best = max(score for curve in curves.values() for _, score, _ in curve)
                for k, curve in curves.items():
                    for share in SHARES:
                        stop = next((score for _, score, gone in curve if gone >= share * sigma), curve[-1][1])
                        losses.setdefault((k, share), []).append(best - stop)
        ranked = sorted(losses, key=lambda pair: np.mean(losses[pair]) + 0.5 * max(losses[pair]))
        for pair in ranked[:3]:
            print(f"{name}: contrast {pair[0]}, removed {pair[1]}: loses {np.mean(losses[pair]):.3f} dB, "
                  f"{max(losses[pair]):.3f} at most", flush=True)  # fmt: skip


def report(names: list[str], out: Path) -> None:
    """Compare measured settings with the best by hand and write the table."""
    rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"] if out.exists() else []
    rows = [row for row in rows if row["model"] not in names]
    for name in names:
        for volume, clean in testing().items():
            for level in LEVELS:
                noisy = degraded(clean, level, 7)
                chosen = automatic_settings(name, samples_of(noisy), spacing=(1.0, 1.0, 1.0))
                result = whorl.diffuse(noisy[0, 0], name, spacing=(1.0, 1.0, 1.0))
                curves = {k: flow(name, noisy, clean, k * level) for k in FACTORS}
                score, k, time = max((score, k, time) for k, curve in curves.items() for time, score, _ in curve)
                row = {"model": name, "volume": volume, "noise": level, "measured_noise": round(chosen.noise, 2)}
                row |= {"contrast": round(chosen.contrast, 2), "time": round(chosen.time, 3)}
                row |= {"psnr_noisy": round(psnr(noisy, clean), 3), "psnr": round(psnr(result, clean[0, 0]), 3)}
                row |= {"best_contrast": round(k * level, 2), "best_time": round(time, 3), "best_psnr": round(score, 3)}
                rows.append(row | {"lost": round(score - psnr(result, clean[0, 0]), 3)})
                print(rows[-1], flush=True)
        machine = {"system": platform.platform(), "torch": torch.__version__}
        table = {"date": date.today().isoformat(), "machine": machine, "size": SIZE, "rows": rows}
        out.write_text(json.dumps(table, indent=1) + "\n")


def _grey(u: Tensor) -> Tensor:
    low, high = float(u.min()), float(u.max())
    return (u - low) * (255 / (high - low))


def main() -> None:
    """Choose the rules, or report on them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("choose", "report"))
    parser.add_argument("--models", nargs="*", default=list(NAMES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    words = parser.parse_args()
    if words.what == "choose":
        choose(words.models)
    else:
        report(words.models, words.out)


if __name__ == "__main__":
    main()
