"""The rule behind ``contrast="auto"``: chosen on training photographs, reported on others.

``python -m experiments.defaults choose`` tries contrasts of k times the noise for every model on crops of CTrain400 and
prints the best k, which ``whorl.automatic.RULES`` carry. ``python -m experiments.defaults report`` filters CBSD68 with
the defaults, noise estimated, beside total variation and non-local means of scikit-image at strengths chosen on
CTrain400. ``python -m experiments.defaults table`` prints the table of the documentation. Pictures are 8 bit, as files
are: noisy ones are rounded and cut off at 0 and 255.

What was found is kept after every step. With ``--minutes 5`` a run stops after the step in which that time is over, and
the same command goes on from there.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import torch
from benchmarks.machine import origin
from PIL import Image
from torch import Tensor

import whorl
from whorl import automatic, models

LEVELS = (5, 15, 25, 50)
FACTORS = (0.15, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 1.2, 1.5, 1.9, 2.4, 3.0, 4.0, 5.5)
SHARES = (0.8, 0.85, 0.9, 0.95, 1.0)
SLOW = ("you-kaveh", "lysaker", "weickert-integration")
"""Models without a compiled form: tried on fewer pictures."""

DEFAULT = "weickert-brox"
"""The model that is taken where none is named."""

UNCHANGED = 99.0
"""dB that stand for a picture that came out as it went in."""

RESULTS = Path(__file__).parent / "results" / "defaults.json"


def pictures(folder: Path, count: int, crop: int = 0) -> dict[int, Tensor]:
    """Colour pictures ``(1, 3, y, x)``, spread evenly over the folder, by their number in it."""
    files = sorted(path for path in folder.iterdir() if path.suffix in (".png", ".jpg"))
    found = {}
    for number in range(0, len(files), max(1, len(files) // count))[:count]:
        path = files[number]
        u = torch.from_numpy(np.array(Image.open(path).convert("RGB"))).permute(2, 0, 1).float()[None]
        found[number] = u[..., 32 : 32 + crop, 64 : 64 + crop] if crop else u
    return found


def noisy(u: Tensor, level: float, seed: int) -> Tensor:
    """An 8-bit picture with noise, as a file holds it."""
    noise = torch.randn(u.shape, generator=torch.Generator().manual_seed(seed))
    return (u + level * noise).round().clamp(0, 255)


def psnr(u: Tensor, clean: Tensor) -> float:
    """dB, of a result that is rounded and cut off as a file would be."""
    return float(10 * torch.log10(255**2 / (u.round().clamp(0, 255) - clean).square().mean()))


@torch.no_grad()
def choose(data: Path, name: str) -> dict[str, Any]:
    """Mean PSNR on crops of training pictures for every factor, share and level."""
    slow = name in SLOW
    clean = pictures(data / "CTrain400", 6 if slow else 12, 128 if slow else 160)
    scores: dict[tuple[float, float], list[float]] = {}
    for level in LEVELS:
        for factor in FACTORS:
            model = models.build(name, contrast=factor * level)
            found = np.array([_trace(model, noisy(u, level, i), u, level) for i, u in clean.items()]).mean(0)
            for share, value in zip(SHARES, found, strict=True):
                scores.setdefault((factor, share), []).append(float(value))
    best = np.max(list(scores.values()), axis=0)
    losses = {key: float(np.max(best - values)) for key, values in scores.items()}
    table = {}
    for share in SHARES:
        factor = min(FACTORS, key=lambda k: losses[k, share])
        psnrs = [round(value, 2) for value in scores[factor, share]]
        table[str(share)] = {"factor": factor, "loss": round(losses[factor, share], 3), "psnr": psnrs}
        print(f"{name:24} stop at {share}: k = {factor}, {losses[factor, share]:.2f} dB below the best", flush=True)
    return table


def _trace(model: models.Model, start: Tensor, clean: Tensor, level: float) -> list[float]:
    """PSNR when the flow has removed each share of the noise; at most 60 steps."""
    u, found, tau = start, [], model.automatic_step() / 2
    present = automatic.noise_present([start], level)
    for _ in range(60):
        u = model.step(u, tau)
        removed = float((u - start).square().mean().sqrt())
        while len(found) < len(SHARES) and removed >= SHARES[len(found)] * present:
            found.append(psnr(u, clean))
        if len(found) == len(SHARES):
            return found
    return found + [psnr(u, clean)] * (len(SHARES) - len(found))


@torch.no_grad()
def report(data: Path, method: str, level: int, count: int) -> dict[str, Any]:
    """PSNR of one method on pictures of CBSD68 with one level of noise, or the noise that was measured, one by one."""
    clean = pictures(data / "CBSD68", count)
    inputs = {number: noisy(u, level, number) if level else u for number, u in clean.items()}
    if method == ESTIMATE:
        values = [automatic.noise_level([u]) for u in inputs.values()]
    else:
        filtered = _tuned(method, data, level) if method in PEERS else _default(method)
        values = [psnr(filtered(u), clean[number]) for number, u in inputs.items()]
    print(f"noise {level:2}: {method:28} {np.mean(values):6.2f} on {count} pictures", flush=True)
    return {str(number): round(min(value, UNCHANGED), 2) for number, value in zip(inputs, values, strict=True)}


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

ESTIMATE = "estimated noise"
"""The row of the report that holds the noise levels measured on the pictures."""


def _tuned(peer: str, data: Path, level: float) -> Callable[[Tensor], Tensor]:
    """The peer at its best strength for this level on training pictures."""
    function, (low, high) = PEERS[peer]
    train = pictures(data / "CTrain400", 12, 192)
    strengths = [float(s) * level for s in np.geomspace(low, high, 8)]
    inputs = {i: noisy(u, level, 1000 + i) for i, u in train.items()}
    scores = [np.mean([psnr(function(v, s), train[i]) for i, v in inputs.items()]) for s in strengths]
    best = strengths[int(np.argmax(scores))]
    return lambda u: function(u, best)


def cells(names: list[str], count: int) -> Iterator[tuple[str, int, int]]:
    """Method, level and number of pictures of every figure of the report; level 0 stands for the clean picture.

    The default model is tried on all pictures, the rest on every fourth.
    """
    some = min(count, 17)
    fast = [name for name in names if name not in (*SLOW, DEFAULT)]
    counts = {DEFAULT: count, ESTIMATE: count} | dict.fromkeys((*PEERS, *fast), some)
    counts |= {name: min(count, 4) for name in names if name in SLOW}
    for name, number in counts.items():
        for level in (15, 25, 50) if name in PEERS else (0, 15, 25, 50):
            yield name, level, number


def table(found: dict[str, Any]) -> str:
    """The report as a table of reStructuredText: methods that were given the same pictures stand together."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    pairs = [(name, chosen) for name in found if name != ESTIMATE for chosen in _groups(found, name)]
    pairs.sort(key=lambda pair: (-len(pair[1]), -np.mean([found[pair[0]]["25"][number] for number in pair[1]])))
    rows = [["", "clean (median)", "noise 15", "noise 25", "noise 50", "pictures"]]
    for name, chosen in pairs:
        values = [_middle(found[name].get(level, {}), level, chosen) for level in ("0", "15", "25", "50")]
        rows.append([name if name in PEERS else f"``{name}``", *values, str(len(chosen))])
    for row in rows:
        lines += [f"   {'* -' if place == 0 else '  -'} {entry}".rstrip() for place, entry in enumerate(row)]
    return "\n".join(lines)


def _groups(found: dict[str, Any], name: str) -> set[frozenset[str]]:
    """The sets of pictures that a method is shown on: all it was given, and those of the others if it had them, too."""
    own = frozenset(found[name]["25"])
    return {own} | {others for other in found if (others := frozenset(found[other]["25"])) <= own}


def _middle(values: dict[str, float], level: str, chosen: Any) -> str:
    """The mean; on clean pictures, of which some come out unchanged, the median."""
    here = [values[number] for number in chosen if number in values]
    return f"{median(here) if level == '0' else fmean(here):.2f}" if here else ""


def main() -> None:
    """Run one part and keep what it found."""
    parser = argparse.ArgumentParser(prog="python -m experiments.defaults", description=__doc__)
    parser.add_argument("part", choices=("choose", "report", "table"))
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--models", nargs="*", default=[])
    parser.add_argument("--count", type=int, default=68)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="stop when so much time is over")
    given = parser.parse_args()
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    names = given.models or [name for name in models.names() if automatic.RULES[name] is not None]
    if given.part == "table":
        print(table(kept["report"]))
        return
    end = time.monotonic() + 60 * given.minutes
    part = kept.setdefault(given.part, {})
    if given.part == "choose":
        for name in names:
            if time.monotonic() < end and name not in part:
                part[name] = choose(given.data, name)
                _keep(kept)
        return
    for name, level, count in cells(names, given.count):
        if time.monotonic() < end and len(part.get(name, {}).get(str(level), {})) < count:
            part.setdefault(name, {})[str(level)] = report(given.data, name, level, count)
            _keep(kept)


def _keep(kept: dict[str, Any]) -> None:
    """Write the results, whole or not at all."""
    kept["machine"] = {"torch": torch.__version__, "python": platform.python_version()}
    kept |= {"version": whorl.__version__, **origin()}
    part = RESULTS.with_suffix(".part")
    part.write_text(json.dumps(kept, indent=1) + "\n")
    os.replace(part, RESULTS)


if __name__ == "__main__":
    main()
