"""Compare photo-colour with BM3D, non-local means and total variation on crops of colour photographs.

    PYTHONPATH=src python experiments/photo/compare.py FOLDER --pictures 4 --size 256

Needs the packages bm3d and scikit-image. All see the same noise, which is not clipped, and are told its level; total
variation takes the best of five weights for each picture. Writes experiments/photo/results/compare.json.
"""

import argparse
import json
import sys
from pathlib import Path

import bm3d
import numpy as np
import skimage
from skimage.restoration import denoise_nl_means, denoise_tv_chambolle

import whorl
from whorl.data.photographs import photographs
from whorl.evaluation.photographs import noisy_picture
from whorl.training.checkpoint import versions

OUT = Path(__file__).resolve().parent / "results" / "compare.json"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--pictures", type=int, default=4)
    parser.add_argument("--size", type=int, default=256)
    given = parser.parse_args()
    pictures = photographs(given.folder, 3)
    names = list(pictures)[:: max(1, len(pictures) // given.pictures)][: given.pictures]
    found: dict[str, dict[str, list[float]]] = {}
    for noise in (25.0, 15.0, 50.0):
        for number, name in enumerate(names):
            crop = pictures[name][:, 32 : 32 + given.size, 32 : 32 + given.size]
            clean = crop.transpose(1, 2, 0).astype(np.float32)
            noisy = noisy_picture(crop, number, noise)[0].numpy().transpose(1, 2, 0)
            for method, result in methods(noisy, noise, clean).items():
                error = float(np.mean((np.clip(result, 0, 255) - clean) ** 2))
                found.setdefault(f"{noise:g}", {}).setdefault(method, []).append(
                    round(10 * np.log10(255**2 / error), 3)
                )
            print(noise, name, {method: values[-1] for method, values in found[f"{noise:g}"].items()}, flush=True)
        about = {
            "command": " ".join(sys.argv),
            "pictures": names,
            "versions": {**versions(), "skimage": skimage.__version__},
        }
        OUT.write_text(json.dumps({**about, "psnr": found}, indent=1) + "\n")


def methods(noisy: np.ndarray, noise: float, clean: np.ndarray) -> dict[str, np.ndarray]:
    """The denoised picture by each method."""
    unit, level = noisy / 255, noise / 255
    total = [255 * denoise_tv_chambolle(unit, weight=w * level, channel_axis=-1) for w in (0.6, 0.9, 1.2, 1.5, 1.8)]
    means = denoise_nl_means(unit, 5, 6, h=0.6 * level, sigma=level, fast_mode=True, channel_axis=-1)
    return {
        "photo-colour": whorl.denoise(noisy, noise, channel_axis=-1),
        "photo-colour, noise measured": whorl.denoise(noisy, channel_axis=-1),
        "BM3D": 255 * bm3d.bm3d_rgb(unit, level),
        "non-local means": 255 * means,
        "total variation": min(total, key=lambda u: float(np.mean((np.clip(u, 0, 255) - clean) ** 2))),
    }


if __name__ == "__main__":
    main()
