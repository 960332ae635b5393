"""Automatic settings in space beside the best by hand.

``python -m experiments.volume_defaults`` filters three volumes with noise of three levels by every model: with settings
measured on the noisy volume alone, and with the best contrast and time by hand, found on a grid with the clean volume
at hand. MNI152 ships with nilearn. The map EMD-3001 lies in the source distribution of mrcfile (pip download --no-deps
--no-binary :all: mrcfile) and is used if WHORL_EM_MAP names its file.
"""

import argparse
import json
import os
import platform
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.machine import origin
from torch import Tensor

import whorl
from whorl import models
from whorl.automatic import automatic_settings, samples_of
from whorl.data.noise import gaussian_noise
from whorl.data.solids import Gyroid, render_solid
from whorl.data.tomogram import tomogram

LEVELS = (10.0, 20.0, 40.0)
FACTORS = (0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.75, 1.0, 1.35, 1.8, 2.4, 3.2, 4.5, 6.4, 9.0)
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


def volumes() -> dict[str, Tensor]:
    """The clean volumes."""
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
def by_hand(name: str, noisy: Tensor, clean: Tensor, contrast: float) -> tuple[float, float, float]:
    """Best PSNR over many times, with contrast and time, as ``whorl.diffuse`` takes them.

    Times are half a step apart, and more than that where they are long: a tenth of themselves.
    """
    model = models.build(name, contrast=contrast, spacing=(1.0, 1.0, 1.0))
    half = model.automatic_step(3) / 2
    best = (psnr(noisy, clean), contrast, 0.0)
    for number in sorted({round(1.1**power) for power in range(100) if 1.1**power <= LONGEST / half}):
        score = psnr(model(noisy, number * half), clean)
        best = max(best, (score, contrast, number * half))
        if score < best[0] - 0.5:
            break
    return best


def degraded(clean: Tensor, level: float, seed: int) -> Tensor:
    """The volume with white Gaussian noise."""
    return clean + gaussian_noise(1, tuple(clean.shape[1:]), level, seed=seed)


def report(names: list[str], out: Path) -> None:
    """Compare measured settings with the best by hand and write the table."""
    rows: list[dict[str, Any]] = json.loads(out.read_text())["rows"] if out.exists() else []
    rows = [row for row in rows if row["model"] not in names]
    for name in names:
        for volume, clean in volumes().items():
            for level in LEVELS:
                noisy = degraded(clean, level, 7)
                chosen = automatic_settings(name, samples_of(noisy), spacing=(1.0, 1.0, 1.0))
                how = {"contrast": chosen.contrast, "time": chosen.time, "spacing": (1.0, 1.0, 1.0)}
                result = whorl.diffuse(noisy[0, 0], name, **how)
                score, contrast, time = max(by_hand(name, noisy, clean, k * level) for k in FACTORS)
                row = {"model": name, "volume": volume, "noise": level, "measured_noise": round(chosen.noise, 2)}
                row |= {"contrast": round(chosen.contrast, 2), "time": round(chosen.time, 3)}
                row |= {"psnr_noisy": round(psnr(noisy, clean), 3), "psnr": round(psnr(result, clean[0, 0]), 3)}
                row |= {"best_contrast": round(contrast, 2), "best_time": round(time, 3), "best_psnr": round(score, 3)}
                rows.append(row | {"lost": round(score - psnr(result, clean[0, 0]), 3)})
                print(rows[-1], flush=True)
        machine = {"system": platform.platform(), "torch": torch.__version__}
        table = {**origin(), "machine": machine, "size": SIZE, "rows": rows}
        out.write_text(json.dumps(table, indent=1) + "\n")


def _grey(u: Tensor) -> Tensor:
    low, high = float(u.min()), float(u.max())
    return (u - low) * (255 / (high - low))


def main() -> None:
    """Compare and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", nargs="*", default=list(NAMES))
    parser.add_argument("--out", type=Path, default=RESULTS)
    words = parser.parse_args()
    report(words.models, words.out)


if __name__ == "__main__":
    main()
