"""PSNR over the angle of the picture: ours, plain networks of equal size, and BM3D.

    PYTHONPATH=src:. python experiments/photo/angles.py FOLDER --minutes 5 [--only NAME ...]

The clean picture is turned, not the noisy one: it is smoothed by a Gaussian of one sample of a coarser grid, then read
off by cubic splines at turned positions 1.5 pixels apart, 144 x 144 of them about its centre. All angles, 0 included,
pass through the same resampling, and less than a hundredth is left of waves beyond its limit. Every picture and angle
has fresh noise of level 25, not clipped, the same for all methods. PSNR is taken over the disc of radius 62, which
shows the same part of the scene at every angle. Goes on where it was; results go to results/angles.json beside it.
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from benchmarks.machine import origin
from peers import plain_network
from scipy.ndimage import gaussian_filter, map_coordinates

from whorl.data.photographs import photographs
from whorl.foundations.provenance import versions
from whorl.networks import load

RESULTS = Path(__file__).resolve().parent / "results"
OURS = ("photo-27k", "photo-27k-strict", "photo-8k")
PLAIN = ("resnet-27k", "dncnn-27k")
BM3D = "BM3D"
ANGLES = (0.0, 7.5, 15.0, 22.5, 30.0, 37.5, 45.0)
SIDE, SPACING, BLUR, RADIUS, NOISE = 144, 1.5, 1.0, 62.0, 25.0
Denoise = Callable[[np.ndarray], np.ndarray]


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pictures", type=int, default=12)
    parser.add_argument("--minutes", type=float, default=5.0)
    parser.add_argument("--only", nargs="+", default=[*OURS, *PLAIN, BM3D])
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    out = RESULTS / "angles.json"
    kept = json.loads(out.read_text()) if out.exists() else {"psnr": {}}
    pictures = photographs(given.folder, 1)
    names = list(pictures)[:: len(pictures) // given.pictures][: given.pictures]
    for method in given.only:
        denoise, found = method_named(method), kept["psnr"].setdefault(method, {})
        for number, name in enumerate(names):
            if name in found:
                continue
            if time.monotonic() > until:
                return
            picture, seeds = pictures[name][0], range(1000 * number, 1000 * number + len(ANGLES))
            found[name] = [measured(denoise, picture, *each) for each in zip(ANGLES, seeds, strict=True)]
            print(method, name, found[name], flush=True)
            kept |= {"command": f"experiments/photo/angles.py {given.folder.name}", "angles": ANGLES}
            kept |= {"versions": versions(), **origin()}
            out.write_text(json.dumps(kept, indent=1) + "\n")


def measured(denoise: Denoise, picture: np.ndarray, angle: float, seed: int) -> float:
    """PSNR in dB over the disc, with peak 255."""
    clean = turned(picture, angle)
    noisy = clean + np.random.default_rng(seed).normal(0, NOISE, clean.shape).astype(np.float32)
    steps = np.arange(SIDE) - (SIDE - 1) / 2
    disc = steps[:, None] ** 2 + steps**2 <= RADIUS**2
    error = (np.clip(denoise(noisy), 0, 255) - clean)[disc]
    return round(10 * math.log10(255**2 / float(np.mean(error**2))), 4)


def turned(picture: np.ndarray, angle: float) -> np.ndarray:
    """The picture about its centre on a coarser grid that is turned by so many degrees."""
    smooth = gaussian_filter(picture.astype(np.float64), BLUR * SPACING, mode="reflect")
    steps = SPACING * (np.arange(SIDE) - (SIDE - 1) / 2)
    y, x = np.meshgrid(steps, steps, indexing="ij")
    c, s = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    middle = [(n - 1) / 2 for n in picture.shape]
    return map_coordinates(smooth, [middle[0] + c * y - s * x, middle[1] + s * y + c * x], order=3).astype(np.float32)


def method_named(name: str) -> Denoise:
    """What denoises a picture ``(y, x)``."""
    if name == BM3D:
        import bm3d

        return lambda u: 255 * bm3d.bm3d(u / 255, NOISE / 255)
    network = plain(name) if name in PLAIN else load(name)

    def run(u: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            return network(torch.from_numpy(u)[None, None], NOISE)[0, 0].numpy()

    return run


def plain(name: str) -> torch.nn.Module:
    """A plain network with the weights of the study."""
    from safetensors.torch import load_file

    network = plain_network(name.removesuffix("-27k"))
    weights = load_file(RESULTS / "plain.safetensors")
    network.load_state_dict({k.removeprefix(f"{name}/"): v for k, v in weights.items() if k.startswith(f"{name}/")})
    return network.eval()


if __name__ == "__main__":
    main()
