"""PSNR on noise as it is: real micrographs and camera photographs, nothing told to anyone; times too.

Pictures of FMD (grey, 8 bits) and PolyU (colour, 8 bits) where they lie in ``../shared/data`` or the folder
``WHORL_DATA``: squares of 256 pixels in the middle, of FMD every third kind, of PolyU every tenth pair (``--slow``:
all). Everywhere photographs of scikit-image with simulated noise of photons and a camera. Nobody is told the noise:
BM3D gets the transform and the level of ``whorl.noise`` in every channel, non-local means one level of scikit-image's
own estimate. Methods that are trained on the picture are shortened (peers/zero_shot.py says how). Seconds are processor
time of one call with one thread.
"""

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Image
from benchmarks.peers.zero_shot import STEPS, noise2fast, zs_n2n
from benchmarks.pictures import psnr
from benchmarks.quality_fill import folder as data_folder
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads

__all__ = ["SUITE", "pairs", "ways"]

SIDE = 256
PHOTONS = 50.0
"""Photons at white in the simulated pictures; beside them noise of standard deviation 3."""


class Pair(NamedTuple):
    """How to get a noisy picture and its clean one: grey, or three channels last; grey values as 8 bits have them."""

    noisy: Callable[[], Image]
    clean: Callable[[], Image]


def pairs(kinds: int = 1, photographs: int = 1) -> dict[str, Pair]:
    """The pictures that are here, by name; of FMD and PolyU every so many."""
    found = {
        f"{name}, photons": Pair(partial(_simulated, name), partial(_photograph, name)) for name in ("camera", "cat")
    }
    folder = data_folder()
    for path in sorted((folder / "FMD" / "raw").glob("*_1.png"))[::kinds]:
        clean = folder / "FMD" / "gt" / path.name.replace("_1.png", ".png")
        found[f"FMD {path.stem[:-2]}"] = Pair(partial(_middle, path), partial(_middle, clean))
    for path in sorted((folder / "PolyU").glob("*-noisy.jpg"))[::photographs]:
        clean = path.with_name(path.name.replace("noisy", "clean"))
        found[f"PolyU {path.stem[:-6]}"] = Pair(partial(_middle, path), partial(_middle, clean))
    return found


def ways() -> dict[str, tuple[str, Callable[[Image], Image]]]:
    """Methods by name, with the library they come from."""
    found: dict[str, tuple[str, Callable[[Image], Image]]] = {
        "whorl.denoise": ("whorl-imaging", _whorl),
        "transform and BM3D": ("bm3d", _bm3d),
        "non-local means, OpenCV": ("opencv-contrib-python-headless", _opencv),
        "non-local means, scikit-image": ("scikit-image", _skimage),
        f"ZS-N2N, {STEPS} steps": ("torch", zs_n2n),
        f"Noise2Fast, {STEPS} steps": ("torch", noise2fast),
    }
    missing = {"bm3d": "bm3d", "opencv-contrib-python-headless": "cv2", "scikit-image": "skimage"}
    return {name: way for name, way in found.items() if find_spec(missing.get(way[0], "torch"))}


def _case(pair: Pair) -> Rows:
    noisy, clean = pair.noisy(), pair.clean()
    rows: Rows = [{"method": "noisy picture", "library": "", "psnr": psnr(noisy, clean)}]
    use_threads(1)
    for name, (library, way) in ways().items():
        if name == "whorl.denoise":
            way(noisy)  # kernels are compiled, once
        begun = process_time()
        result = way(noisy)
        took = process_time() - begun
        rows.append({"method": name, "library": library, "threads": 1, "psnr": psnr(result, clean), "cpu_s": took})
    return rows


def cases() -> dict[str, Case]:
    return {name: partial(_case, pair) for name, pair in pairs(kinds=3, photographs=10).items()}


def slow_cases() -> dict[str, Case]:
    return {name: partial(_case, pair) for name, pair in pairs().items()}


def _whorl(noisy: Image) -> Image:
    import whorl

    found: Image = whorl.denoise(noisy.round().astype(np.uint8), channel_axis=-1 if noisy.ndim == 3 else None)
    return found.astype(np.float32)


def _bm3d(noisy: Image) -> Image:
    import bm3d
    import torch

    import whorl

    if noisy.ndim == 3:
        return np.stack([_bm3d(noisy[..., c]) for c in range(3)], -1)
    model = whorl.noise(noisy)
    even = model.stabilise(torch.from_numpy(noisy.astype(np.float64)))
    denoised = torch.from_numpy(np.asarray(bm3d.bm3d(even.numpy(), 1.0))).reshape(even.shape)
    found: Image = model.restore(denoised).numpy().astype(np.float32)
    return found


def _opencv(noisy: Image) -> Image:
    import cv2

    h, u = float(_level(noisy)), noisy.round().clip(0, 255).astype(np.uint8)
    if noisy.ndim == 2:
        return np.asarray(cv2.fastNlMeansDenoising(u, None, h), np.float32)
    return np.asarray(cv2.fastNlMeansDenoisingColored(u, None, h, h), np.float32)


def _skimage(noisy: Image) -> Image:
    from skimage.restoration import denoise_nl_means

    level, axis = _level(noisy) / 255, -1 if noisy.ndim == 3 else None
    found = denoise_nl_means(noisy / 255, patch_size=5, patch_distance=6, h=0.6 * level, sigma=level, channel_axis=axis)
    return np.asarray(255 * found, np.float32)


def _level(noisy: Image) -> float:
    from skimage.restoration import estimate_sigma

    axis = -1 if noisy.ndim == 3 else None
    return max(float(estimate_sigma(noisy, channel_axis=axis, average_sigmas=True)), 0.1)


def _middle(path: Path) -> Image:
    """The square in the middle of a file."""
    from whorl import files

    u = files.read(path).samples[..., :3].astype(np.float32)
    top, left = ((size - min(size, SIDE)) // 2 for size in u.shape[:2])
    square = u[top : top + SIDE, left : left + SIDE]
    return square[..., 0] if square.shape[2] == 1 else square


def _photograph(name: str) -> Image:
    from skimage import data

    u = data.camera() if name == "camera" else data.chelsea()
    return np.asarray(u[40 : 40 + SIDE, 120 : 120 + SIDE], np.float32)


def _simulated(name: str) -> Image:
    """Photons and a camera's own noise, cut off and rounded as a file has them."""
    random, clean = np.random.default_rng(0), _photograph(name)
    noisy = random.poisson(clean * PHOTONS / 255) * (255 / PHOTONS) + random.normal(0, 3, clean.shape)
    return np.asarray(noisy.round().clip(0, 255), np.float32)


SUITE = Suite("quality_real", "PSNR in dB on noise as it is, nothing told", cases, slow_cases, standard=False)
