"""Best PSNR and SSIM on three volumes with Gaussian and Rician noise of three levels, every method at its optimum.

The volumes: a tomogram drawn from formulas (membranes, filaments, particles, before the missing wedge), the middle of
the MNI152 average of brains that ships with nilearn, and the map EMD-3001 out of mrcfile's source distribution, if its
file is named by WHORL_EM_MAP (pip download --no-deps --no-binary :all: mrcfile). All are brought to [0, 255]. Rician
noise is what the magnitude of a complex MRI signal has; its bias is left to everyone.

Contrast and stopping time are searched on the very volume, by one rule for all (search.py), and kept in settings.json;
BM4D is told the true noise level.
Seconds are processor time of one call at the best setting, one thread.
"""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.peers import Image, Method
from benchmarks.peers.volumes import DIFFUSION, contestants
from benchmarks.pictures import psnr
from benchmarks.search import Optimum, best_setting
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.tune import kept_or

__all__ = ["SUITE", "noisy", "volumes"]

SIZE = 40
LEVELS = (10.0, 20.0, 40.0)
NOISES = ("Gaussian", "Rician")


def phantom() -> Image:
    """The sample of a tomogram: two membranes, threads and balls."""
    from whorl.data.tomogram import tomogram

    return tomogram(SIZE, noise=0.0, tilt=90.0).sample[0, 0].numpy()


def brain() -> Image:
    """White and grey matter about the middle of the MNI152 average, one millimetre a voxel."""
    from nilearn.datasets import load_mni152_template

    whole = np.asarray(load_mni152_template(resolution=1).get_fdata(), np.float32)
    first = [n // 2 - SIZE // 2 for n in whole.shape]
    return whole[tuple(slice(f, f + SIZE) for f in first)].copy()


def em_map() -> Image:
    """An electron microscopy map, 25 x 43 x 73 voxels."""
    import mrcfile

    return np.asarray(mrcfile.read(os.environ["WHORL_EM_MAP"]), np.float32)


def volumes() -> dict[str, Callable[[], Image]]:
    """What can be read here."""
    from importlib.util import find_spec

    found: dict[str, Callable[[], Image]] = {"phantom": phantom}
    if find_spec("nilearn"):
        found["MNI152"] = brain
    if Path(os.environ.get("WHORL_EM_MAP", "")).is_file():
        found["EMD-3001"] = em_map
    return found


def clean(make: Callable[[], Image]) -> Image:
    """The volume with its values brought to [0, 255]."""
    u = make()
    return ((u - u.min()) * np.float32(255 / (u.max() - u.min()))).astype(np.float32)


def noisy(u: Image, kind: str, level: float) -> Image:
    """Gaussian: u + n; Rician: the magnitude of u + n + i m, with n and m of the same standard deviation."""
    rng = np.random.default_rng(12)
    real = u + level * rng.standard_normal(u.shape)
    out = real if kind == "Gaussian" else np.hypot(real, level * rng.standard_normal(u.shape))
    return out.astype(np.float32)


def cases() -> dict[str, Case]:
    return {
        f"{name}, {kind} noise {level:g}": partial(_case, name, make, kind, level)
        for name, make in volumes().items()
        for kind in NOISES
        for level in LEVELS
    }


def _case(name: str, make: Callable[[], Image], kind: str, level: float) -> Rows:
    from skimage.metrics import structural_similarity

    f = clean(make)
    u = noisy(f, kind, level)
    score = partial(psnr, reference=f)
    similarity = partial(structural_similarity, f, data_range=255.0, gaussian_weights=True, sigma=1.5)
    rows: Rows = [{"method": "noisy volume", "library": "", "psnr": score(u), "ssim": float(similarity(u))}]
    for method in contestants(level):
        picture = f"{name} {'x'.join(map(str, f.shape))}, {kind} noise {level:g}"
        low, high = method.contrast_range
        if low < high:
            best = kept_or(picture, method, partial(_search, method, u, score))
        else:  # BM4D is told the noise
            best = Optimum(0.0, low, 1, method.tau)
        run = method.load()
        use_threads(1)
        if method.library == "whorl":
            run(u[:9, :9, :9].copy(), best.contrast, 1, best.tau)  # compiles what there is to compile
        begun = process_time()
        out = run(u, best.contrast, best.steps, best.tau)
        facts = {"method": method.name, "library": method.library, "version": method.version(), "threads": 1}
        facts["diffusion"] = method.library in DIFFUSION
        seconds = process_time() - begun
        rows.append(
            {**facts, **best.as_row(), "psnr": score(out), "ssim": float(similarity(out)), "call_cpu_s": seconds}
        )
    return rows


SEARCH = {"diplib-coherence": (2, 0, 1.0), "skimage-nlm": (3, 1, 1.0)}
"""Contrasts tried, refinements and the longest time of those that take seconds for a step."""


def _search(method: Method, u: Image, score: Callable[[Image], float]) -> Optimum:
    use_threads(1)
    points, rounds, longest = SEARCH.get(method.name, (4, 2, 12.0))
    return best_setting(method, u, score, points=points, rounds=rounds, max_time=longest)


SUITE = Suite("quality_volume", "Best PSNR on volumes, over contrast and stopping time, in dB", cases, standard=False)
