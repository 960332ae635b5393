"""The rule behind ``contrast="auto"``: chosen on training photographs, reported on others.

``python -m experiments.defaults choose`` tries contrasts of k times the noise for every model on crops of CTrain400 and
prints the best k, which ``whorl.models.ROWS`` carry. ``python -m experiments.defaults report`` filters CBSD68 with the
defaults, noise estimated, beside total variation and non-local means of scikit-image at settings chosen on CTrain400.
Pictures are 8 bit, as files are: noisy ones are rounded and cut off at 0 and 255.
"""

import argparse
import json
import os
import platform
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor

import whorl
from whorl import automatic, models

LEVELS = (5, 15, 25, 50)
FACTORS = (0.3, 0.4, 0.5, 0.7, 1.0, 1.2, 1.5, 1.9, 2.4, 3.0, 4.0)
SHARES = (0.8, 0.85, 0.9, 0.95)
RESULTS = Path(__file__).parent / "results" / "defaults.json"


def pictures(folder: Path, count: int, crop: int = 0) -> list[Tensor]:
    """Colour pictures ``(1, 3, y, x)``, spread evenly over the folder."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".png", ".jpg"))
    found = []
    for path in files[:: max(1, len(files) // count)][:count]:
        u = torch.from_numpy(np.array(Image.open(path).convert("RGB"))).permute(2, 0, 1).float()[None]
        found.append(u[..., 32 : 32 + crop, 64 : 64 + crop] if crop else u)
    return found


def noisy(u: Tensor, level: float, seed: int) -> Tensor:
    """An 8-bit picture with noise, as a file holds it."""
    noise = torch.randn(u.shape, generator=torch.Generator().manual_seed(seed))
    return (u + level * noise).round().clamp(0, 255)


def psnr(u: Tensor, clean: Tensor) -> float:
    """dB, of a result that is rounded and cut off as a file would be."""
    return float(10 * torch.log10(255**2 / (u.round().clamp(0, 255) - clean).square().mean()))


@torch.no_grad()
def choose(data: Path, names: list[str]) -> dict[str, Any]:
    """Mean PSNR on crops of training pictures for every factor, share and level, per model."""
    table: dict[str, Any] = {}
    for name in names:
        slow = name in ("you-kaveh", "lysaker", "weickert-integration", "multiscale-anisotropic")
        clean = pictures(data / "CTrain400", 6 if slow else 12, 128 if slow else 160)
        scores: dict[tuple[float, float], list[float]] = {}
        for level in LEVELS:
            for factor in FACTORS:
                model = models.build(name, contrast=factor * level)
                found = np.array([_trace(model, noisy(u, level, i), u, level) for i, u in enumerate(clean)]).mean(0)
                for share, value in zip(SHARES, found, strict=True):
                    scores.setdefault((factor, share), []).append(float(value))
        best = np.max(list(scores.values()), axis=0)
        losses = {key: float(np.max(best - values)) for key, values in scores.items()}
        for share in SHARES:
            factor = min(FACTORS, key=lambda k: losses[k, share])
            row = {"factor": factor, "loss": losses[factor, share], "psnr": scores[factor, share]}
            table.setdefault(name, {})[str(share)] = row
            print(f"{name:24} stop at {share}: k = {factor}, {losses[factor, share]:.2f} dB below the best", flush=True)
    return table


def _trace(model: models.Model, start: Tensor, clean: Tensor, level: float) -> list[float]:
    """PSNR when the flow has removed each share of the noise; at most 60 steps."""
    u, found, tau = start, [], model.automatic_step() / 2
    for _ in range(60):
        u = model.step(u, tau)
        removed = float((u - start).square().mean().sqrt())
        while len(found) < len(SHARES) and removed >= SHARES[len(found)] * level:
            found.append(psnr(u, clean))
        if len(found) == len(SHARES):
            return found
    return found + [psnr(u, clean)] * (len(SHARES) - len(found))


@torch.no_grad()
def report(data: Path, names: list[str], count: int) -> dict[str, Any]:
    """Mean PSNR on CBSD68 of the defaults, of the defaults before them, and of two peers."""
    train, test = pictures(data / "CTrain400", 12, 192), pictures(data / "CBSD68", count)
    table: dict[str, Any] = {"clean": {}, "estimates": {}}
    for name in names:
        table["clean"][name] = float(np.mean([psnr(_filtered(name, u), u) for u in test]))
    for level in (15, 25, 50):
        inputs = [noisy(u, level, i) for i, u in enumerate(test)]
        estimates = [automatic.noise_level([u]) for u in inputs]
        table["estimates"][level] = [float(np.mean(estimates)), float(np.min(estimates)), float(np.max(estimates))]
        methods: dict[str, Callable[[Tensor], Tensor]] = {name: _default(name) for name in names}
        methods |= {name: _tuned(peer, train, level) for name, peer in PEERS.items()}
        for name, method in methods.items():
            value = float(np.mean([psnr(method(u), c) for u, c in zip(inputs, test, strict=True)]))
            table.setdefault(name, {})[level] = value
            print(f"noise {level}: {name:28} {value:.2f} dB", flush=True)
    return table


def _filtered(name: str, u: Tensor) -> Tensor:
    chosen = automatic.automatic_settings(name, [u])
    return models.build(name, contrast=chosen.contrast)(u, chosen.time)


def _default(name: str) -> Callable[[Tensor], Tensor]:
    return lambda u: _filtered(name, u)


def _total_variation(u: Tensor, weight: float) -> Tensor:
    from skimage.restoration import denoise_tv_chambolle

    return torch.from_numpy(denoise_tv_chambolle(u[0].numpy(), weight=weight, channel_axis=0))[None].float()


def _non_local_means(u: Tensor, h: float) -> Tensor:
    from skimage.restoration import denoise_nl_means

    found = denoise_nl_means(u[0].numpy(), h=h, patch_size=5, patch_distance=6, fast_mode=True, channel_axis=0)
    return torch.from_numpy(found)[None].float()


PEERS = {"TV, scikit-image": (_total_variation, (0.5, 2.0)), "NLM fast, scikit-image": (_non_local_means, (0.4, 1.2))}
"""The peers, and the range of their strength in multiples of the noise."""


def _tuned(peer: Any, train: list[Tensor], level: float) -> Callable[[Tensor], Tensor]:
    """The peer at its best strength for this level on the training pictures."""
    function, (low, high) = peer
    strengths = [float(s) * level for s in np.geomspace(low, high, 8)]
    inputs = [noisy(u, level, 1000 + i) for i, u in enumerate(train)]
    scores = [np.mean([psnr(function(v, s), u) for v, u in zip(inputs, train, strict=True)]) for s in strengths]
    best = strengths[int(np.argmax(scores))]
    return lambda u: function(u, best)


def main() -> None:
    """Run one part and keep what it found."""
    parser = argparse.ArgumentParser(prog="python -m experiments.defaults", description=__doc__)
    parser.add_argument("part", choices=("choose", "report"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--count", type=int, default=68)
    given = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    names = given.models or [name for name in models.names() if name != "ced"]
    found = choose(given.data, names) if given.part == "choose" else report(given.data, names, given.count)
    kept[given.part] = {**kept.get(given.part, {}), **found}
    kept["machine"] = {"date": str(date.today()), "torch": torch.__version__, "python": platform.python_version()}
    kept["version"] = whorl.__version__
    part = RESULTS.with_suffix(".part")
    part.write_text(json.dumps(kept, indent=1) + "\n")
    os.replace(part, RESULTS)


if __name__ == "__main__":
    main()
