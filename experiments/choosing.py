"""Each model at its best setting, for the page on choosing.

``python -m experiments.choosing`` writes results/choosing.json. Four pictures with Gaussian noise of standard deviation
30: a drawn fingerprint, squares of two photographs of scikit-image (camera, astronaut), and the scene of
``docs/figures/models.py``, whose noise is coloured and weaker. For every model contrast and time are searched for the
highest PSNR, contrasts on a geometric grid that is halved around the best, all times of a contrast along one run; so
are diffusivity, cell and presmoothing of quick models, over a few choices. Networks and non-local means are told the
noise.

``python -m experiments.choosing means`` compares the default filter, told nothing, with non-local means, told the
noise, on squares of ten photographs with 8 bits; ``python -m experiments.choosing toolkit`` adds CCPi's NDF.
"""

import json
import runpy
import sys
import time
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from benchmarks.machine import origin
from skimage import data
from skimage.color import rgb2gray
from skimage.restoration import denoise_nl_means
from torch import Tensor

import whorl
from whorl.data.synthetic import Whorl, render
from whorl.metrics import psnr
from whorl.models import build, names

ROOT = Path(__file__).parent
TARGET = ROOT / "results" / "choosing.json"
NOISE = 30.0
SCENE = runpy.run_path(str(ROOT.parent / "docs" / "figures" / "models.py"))["picture"]
SLOW = ("you-kaveh", "lysaker", "multiscale-isotropic", "multiscale-anisotropic", "weickert-integration")
CONTRASTS = {"you-kaveh": (5.0, 320.0), "lysaker": (5.0, 320.0), "ced": (0.3, 60.0)}


def pictures() -> dict[str, tuple[Tensor, Tensor, float]]:
    """Clean and noisy, ``(1, c, y, x)``, and the noise."""
    square = {"camera": data.camera()[90:250, 150:310, None], "astronaut": data.astronaut()[20:180, 140:300]}
    clean = {"fingerprint": render(Whorl(period=14.0), 96).float()}
    clean |= {k: torch.from_numpy(u.astype(np.float32)).permute(2, 0, 1)[None] for k, u in square.items()}
    found = {
        k: (u, u + NOISE * torch.randn(u.shape, generator=torch.Generator().manual_seed(0)), NOISE)
        for k, u in clean.items()
    }
    return found | {"scene": (*(u.float() for u in SCENE()), 18.0)}


def candidates(name: str) -> list[dict[str, Any]]:
    """What is tried beside contrast and time."""
    if name == "ced":
        return [{"sigma": sigma, "rho": rho} for sigma, rho in product((0.5, 0.7, 1.0), (2.0, 4.0))]
    laws = [{"diffusivity": law} for law in ("exponential", "charbonnier")]
    if name in SLOW:
        return laws
    if name == "eed":
        laws = [law | {"sigma": sigma} for law, sigma in product(laws, (0.5, 0.8))]
    return laws + [{"diffusivity": "rational", "cell": "wide", "sigma": sigma} for sigma in (0.4, 0.7)]


def best_time(model: Any, noisy: Tensor, clean: Tensor) -> tuple[float, float]:
    """The highest PSNR along a run, and its time; looked at after every tenth more of time."""
    best, at, u, now = float("-inf"), 0.0, noisy, 0.0
    while now < 1.4 * at + 0.4 and now < 80:
        tau = max(0.1, 0.1 * now)
        u, now = model(u, time=tau), now + tau
        value = float(psnr(u, clean, value_range=255))
        if value > best:
            best, at = value, now
    return best, at


def best_setting(name: str, noisy: Tensor, clean: Tensor) -> dict[str, Any]:
    """The setting with the highest PSNR that the search finds."""
    tried: dict[tuple[int, float], tuple[float, float]] = {}
    options = candidates(name)

    def attempt(k: int, contrast: float) -> None:
        if (k, contrast) not in tried:
            tried[k, contrast] = best_time(build(name, contrast=contrast, **options[k]), noisy, clean)

    for k, chosen in enumerate(options):
        low, high = CONTRASTS.get(name, (0.3, 3.0) if chosen.get("diffusivity") == "charbonnier" else (4.0, 100.0))
        for contrast in np.geomspace(low, high, 4):
            attempt(k, float(contrast))
    for round in range(3):
        (k, centre), _ = max(tried.items(), key=lambda item: item[1][0])
        ratio = 2.0 ** (1 / 2**round)
        attempt(k, centre * ratio)
        attempt(k, centre / ratio)
    (k, contrast), (value, at) = max(tried.items(), key=lambda item: item[1][0])
    return {"psnr": value, "contrast": contrast, "time": at, **options[k]}


def told(noisy: Tensor, clean: Tensor, noise: float) -> dict[str, dict[str, Any]]:
    """What needs no search."""
    image = noisy[0].permute(1, 2, 0).numpy()
    grey = image.shape[-1] == 1
    flat = image[..., 0] if grey else image
    axis = None if grey else -1
    means, wide = (
        denoise_nl_means(flat, patch, distance, h * noise, sigma=noise, fast_mode=True, channel_axis=axis)
        for patch, distance, h in ((5, 6, 0.8), (7, 11, 0.6))
    )
    found = {
        "weickert-brox, nothing told": whorl.diffuse(flat, channel_axis=axis),
        "photo-grey" if grey else "photo-colour": whorl.denoise(flat, noise, channel_axis=axis),
        "photo-8k": whorl.denoise(flat, noise, network="photo-8k", channel_axis=axis),
        "non-local means": means,
        "non-local means, wide": wide,
    }
    whole = clean[0].permute(1, 2, 0).numpy().reshape(flat.shape)
    return {name: {"psnr": float(20 * np.log10(255 / np.sqrt(np.mean((u - whole) ** 2))))} for name, u in found.items()}


def toolkit() -> None:
    """Nonlinear diffusion of the CCPi toolkit at its best setting, by the formula in its source (penalty PM)."""
    kept = json.loads(TARGET.read_text())
    for name in ("camera", "astronaut"):
        clean, noisy, _ = pictures()[name]
        best: dict[str, float] = {"psnr": 0.0}
        for weight, edge in product((0.5, 1.0, 2.0, 4.0, 8.0, 30.0, 1000.0), 10.0 * 2 ** np.arange(0, 4.5, 0.5)):
            u, tau = noisy.clone(), 0.1 / max(weight, 1.0)
            for step in range(100 if weight < 100 else 20):
                v = torch.nn.functional.pad(u, (1, 1, 1, 1), mode="reflect")
                near = (v[..., 1:-1, 2:], v[..., 1:-1, :-2], v[..., 2:, 1:-1], v[..., :-2, 1:-1])
                total = sum(d / (1 + 2 * (d / edge) ** 2) for d in (each - u for each in near))
                u = u + tau * (weight * total - (u - noisy))
                if (value := float(psnr(u, clean, value_range=255))) > best["psnr"]:
                    best = {"psnr": value, "weight": weight, "edge": float(edge), "time": weight * tau * (step + 1)}
        kept[name]["NDF, CCPi"] = best
        print(name, best, flush=True)
    keep(kept)


def means() -> None:
    """Default filter, non-local means and network on photographs of scikit-image, in colour and grey."""
    places = {"coffee": (100, 200), "chelsea": (50, 120), "astronaut": (20, 140), "rocket": (120, 250)}
    clean = {k: getattr(data, k)()[y : y + 192, x : x + 192] for k, (y, x) in places.items()}
    clean |= {f"{k}, grey": (255 * rgb2gray(u)).round().astype(np.uint8) for k, u in clean.items()}
    clean |= {"camera, grey": data.camera()[90:282, 150:342], "brick, grey": data.brick()[100:292, 100:292]}
    found: dict[str, dict[str, dict[str, float]]] = {}
    for noise in (15, 25):
        for name, u in clean.items():
            random = np.random.default_rng(1).normal(0, noise, u.shape)
            noisy = torch.from_numpy(np.clip(u + random, 0, 255).round().astype(np.float32).reshape(192, 192, -1))
            whole = torch.from_numpy(u.astype(np.float32).reshape(192, 192, -1))
            rows = told(noisy.permute(2, 0, 1)[None], whole.permute(2, 0, 1)[None], float(noise))
            found.setdefault(str(noise), {})[name] = {method: round(row["psnr"], 3) for method, row in rows.items()}
    kept = json.loads(TARGET.read_text())
    keep(kept | {"photographs": found})


def keep(found: dict[str, Any]) -> None:
    """Write what was found, with date and commit."""
    TARGET.write_text(json.dumps(found | origin(), indent=1) + "\n")


def main() -> None:
    """Search for what is not known yet."""
    found = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for picture, (clean, noisy, noise) in pictures().items():
        rows = found.setdefault(picture, {})
        rows |= told(noisy, clean, noise)
        keep(found)
        for name in names():
            if name not in rows:
                start = time.perf_counter()
                rows[name] = best_setting(name, noisy, clean)
                print(picture, name, rows[name], f"{time.perf_counter() - start:.0f} s", flush=True)
                keep(found)


if __name__ == "__main__":
    with torch.no_grad():
        {"means": means, "toolkit": toolkit}.get(sys.argv[-1], main)()
