"""Learned energies beside what is near them: fields whose components are apart, total variation, other models.

``python -m experiments.energy_study turns BSD68/`` measures how well results turn; ``deblur CBSD68/ CTrain400/`` takes
away eight blurs of drawn motion, every method with the weight that is best on other pictures; ``colour CBSD68/``
denoises colour pictures; ``time Set12/`` takes the time for a picture of 512 by 512 pixels on two cores.

The twin whose components are apart has the same stencils, potentials and count of numbers, but sees the two components
of a field one by one: nothing is learned anew, its strength alone is chosen.
"""

import json
import math
import sys
import time
from pathlib import Path

import numpy as np
import torch
from benchmarks.machine import origin
from torch import Tensor

import whorl
from whorl.energies import EnergyAt, minimise
from whorl.engines.cpu.learned.compiled_energy import CompiledEnergy
from whorl.foundations.provenance import versions
from whorl.invariance.coincidence import noisy_turn_error
from whorl.reconstruction import Blur, Measurement
from whorl.reconstruction.weights import OfModel, Problem, restored

RESULTS = Path(__file__).parent / "results" / "energy_study.json"
SIDE, KERNELS, NOISE = 112, 8, 12.75


class Apart(CompiledEnergy):
    """Every component of a field with the field's potential, but for itself.

    Both components together are longer than each, and shorter than their sum: with the factor 1 the energy is larger.
    """

    def __init__(self, term: EnergyAt) -> None:
        super().__init__(term)
        rows = []
        for a, b, _, f in self._tables.fields.reshape(-1, 4).tolist():
            rows += [a, -1, -1, f] + ([b, -1, -1, f] if b >= 0 else [])
        self._tables = self._tables._replace(fields=np.array(rows, np.int64))


def drawn_motion(number: int, size: int = 17) -> Tensor:
    """The path of a hand: a speed that changes at random, drawn on a square of pixels and scaled to the sum 1."""
    random = np.random.default_rng(100 + number)
    speed = np.cumsum(random.normal(size=(2, 400)), 1)
    path = np.cumsum(speed + 4 * random.normal(size=(2, 1)), 1)
    path = (path - path.min(1, keepdims=True)) / np.ptp(path, 1).max()
    reach = size - 3 - 4 * random.random()
    path = path * reach
    path += (size - 1 - (path.max(1, keepdims=True) + path.min(1, keepdims=True))) / 2
    kernel = np.zeros((size, size))
    low = np.floor(path).astype(int)
    share = path - low
    for dy in (0, 1):
        for dx in (0, 1):
            weight = np.abs(1 - dy - share[0]) * np.abs(1 - dx - share[1])
            np.add.at(kernel, (low[0] + dy, low[1] + dx), weight)
    return torch.from_numpy((kernel / kernel.sum()).astype(np.float32))


def kept(name: str, found: dict) -> None:
    """Write a part of the result file."""
    old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    command = f"python -m experiments.energy_study {' '.join(Path(a).name for a in sys.argv[1:])}"
    old[name] = {"command": command, "versions": versions(), **found}
    RESULTS.write_text(json.dumps(old | origin(), indent=1) + "\n")


def psnr(u: Tensor, clean: Tensor) -> float:
    """In decibels, of values that are not clipped."""
    return float(10 * torch.log10(255**2 / (u - clean).square().mean()))


def pictures(folder: Path, grey: bool = False) -> list[Tensor]:
    """All pictures ``(1, c, y, x)`` in the order of their names."""
    found = [whorl.files.read(name).samples for name in sorted(folder.glob("*.[jp][pn]g"))]
    found = [part[..., :1] if grey else part for part in found]
    return [torch.from_numpy(np.ascontiguousarray(part, np.float32)).movedim(-1, 0)[None] for part in found]


@torch.no_grad()
def denoised(f: Tensor, energy: object, weight: float = 1.0) -> Tensor:
    """The minimiser for noisy pictures, each channel for itself."""
    return minimise(
        lambda u: 0.5 * (u - f).square().sum() + weight * energy(u), lambda u: u - f + weight * energy.gradient(u),
        f, 1 + weight * energy.curvature, float(f.norm()), 1e-4, 2000,
    ).u  # fmt: skip


def turns(folder: Path) -> None:
    """The error under turns at noise 25, on the first four pictures; beside it the twin of the best strength."""
    squares = [u[0, :, :192, :192] for u in pictures(folder, grey=True)[:4]]
    noisy = [u + 25 * torch.randn(u.shape, generator=torch.Generator().manual_seed(k)) for k, u in enumerate(squares)]
    rows = {}
    for name in ("energy-convex", "energy-weak", "energy-guided"):
        network = whorl.load(name)
        methods = {name: lambda u, network=network: network(u, 25.0)}
        if network.guide is None:
            apart = Apart(network.energy.at(25.0))
            strengths = (0.55, 0.7, 0.85, 1.0)
            reached = [
                np.mean([psnr(denoised(f[None], apart, s), u[None]) for f, u in zip(noisy, squares, strict=True)])
                for s in strengths
            ]
            best = strengths[int(np.argmax(reached))]
            print(name, dict(zip(strengths, reached, strict=True)), flush=True)
            methods[f"{name}, components apart"] = lambda u, apart=apart, best=best: denoised(u, apart, best)
        for label, method in methods.items():
            with torch.no_grad():
                errors = noisy_turn_error(method, noisy)
                quality = [psnr(method(f[None]), u[None]) for f, u in zip(noisy, squares, strict=True)]
            rows[label] = {"psnr": round(float(np.mean(quality)), 3)} | {
                f"{error.angle:.1f}": round(error.relative, 4) for error in errors
            }
            print(label, rows[label], flush=True)
            kept("turns", {"pictures": len(noisy), "side": 192, "noise": 25, "rows": rows})


def methods() -> dict[str, object]:
    """Energies by name; learned ones for this noise."""
    found: dict[str, object] = {}
    for kind in ("convex", "weak"):
        term = whorl.load(f"energy-{kind}").energy.at(NOISE)
        found[f"energy-{kind}"] = CompiledEnergy(term)
        found[f"energy-{kind}, components apart"] = Apart(term)
    for label, name, diffusivity in (
        ("total variation", "perona-malik", "charbonnier"), ("its channels coupled", "gerig", "charbonnier"),
        ("second derivatives", "you-kaveh", "charbonnier"), ("not convex", "perona-malik", "rational"),
    ):  # fmt: skip
        contrast = 1.0 if diffusivity == "charbonnier" else 8.0
        found[label] = OfModel(whorl.models.build(name, diffusivity=diffusivity, contrast=contrast))
    return found


@torch.no_grad()
def deblur(folder: Path, others: Path) -> None:
    """Weights are chosen on two other pictures, for each method the best of a geometric row."""
    kernels = [drawn_motion(k) for k in range(KERNELS)]

    def problem(clean: Tensor, kernel: int, seed: int, energy: object) -> tuple[Problem, Tensor]:
        blur = Blur(kernels[kernel])
        y = blur(clean)
        y = y + NOISE * torch.randn(y.shape, generator=torch.Generator().manual_seed(seed))
        return Problem(Measurement.of(blur, y), y, energy, 1.0, 1e-4, 2000), y

    def middle(u: Tensor) -> Tensor:
        return u[:, :, 8:-8, 8:-8]

    def cut(u: Tensor) -> Tensor:
        y, x = ((size - SIDE) // 2 for size in u.shape[2:])
        return u[:, :, y : y + SIDE, x : x + SIDE]

    tests = [cut(u) for u in pictures(folder)[4::8][:KERNELS]]
    chosen = [cut(u) for u in pictures(others)[10::200][:2]]
    rows: dict[str, dict] = {}
    for name, energy in methods().items():
        start = 0.0 if name.startswith("energy") else math.log2(10.0)
        tried: dict[float, float] = {}
        place = 0
        while True:  # until the best has a neighbour on either side
            weight = 2.0 ** (start + place)
            if weight not in tried:
                got = []
                for k, clean in enumerate(chosen):
                    found = restored(problem(clean, 3 * k, 50 + k, energy)[0], NOISE, weight)
                    got.append(psnr(middle(found.u), middle(clean)))
                tried[weight] = float(np.mean(got))
            best = max(tried, key=tried.__getitem__)
            if best / 2 not in tried:
                place = round(math.log2(best / 2) - start)
            elif best * 2 not in tried:
                place = round(math.log2(best * 2) - start)
            else:
                break
        results = [restored(problem(clean, k, k, energy)[0], NOISE, best) for k, clean in enumerate(tests)]
        got = [round(psnr(middle(found.u), middle(clean)), 3) for found, clean in zip(results, tests, strict=True)]
        rows[name] = {
            "psnr": round(float(np.mean(got)), 3), "weight": best, "pictures": got,
            "steps": [found.steps for found in results], "reached": all(found.reached for found in results),
        }  # fmt: skip
        blurred = [problem(clean, k, k, energy)[1] for k, clean in enumerate(tests)]
        untouched = float(np.mean([psnr(y, middle(clean)) for y, clean in zip(blurred, tests, strict=True)]))
        print(name, rows[name], flush=True)
        kept("deblur", {"side": SIDE, "noise": NOISE, "data": round(untouched, 3), "rows": rows})


@torch.no_grad()
def colour(folder: Path, every: int = 17, side: int = 144) -> None:
    """The middle of every seventeenth picture at noise 25: channels taken for colours, and one by one."""
    crops = []
    for number, u in list(enumerate(pictures(folder)))[3::every]:
        y, x = ((size - side) // 2 for size in u.shape[2:])
        crops.append((number, u[:, :, y : y + side, x : x + side]))
    rows: dict[str, dict] = {}
    for name in ("energy-convex", "energy-weak"):
        network = whorl.load(name)
        for label, axis in ((name, 0), (f"{name}, channels one by one", 1)):
            got = []
            for number, clean in crops:
                f = clean + 25 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(number))
                f = f.movedim(axis, 0)
                got.append(round(psnr(network(f, 25.0).movedim(0, axis), clean), 3))
            rows[label] = {"psnr": round(float(np.mean(got)), 3), "pictures": got}
            print(label, rows[label], flush=True)
            kept("colour", {"every": every, "side": side, "noise": 25, "rows": rows})


@torch.no_grad()
def timed(folder: Path) -> None:
    """The first picture of 512 by 512 pixels at noise 25; kernels are compiled before."""
    torch.set_num_threads(2)
    clean, rows = next(u for u in pictures(folder, grey=True) if u.shape[2:] == (512, 512)), {}
    f = clean + 25 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(0))
    for name in ("energy-convex", "energy-weak", "energy-guided"):
        network = whorl.load(name)
        network(f[..., :64, :64], 25.0)
        wall, own = time.perf_counter(), time.process_time()
        found = network.minimum(f, network.term(f, 25.0))
        rows[name] = {
            "seconds": round(time.perf_counter() - wall, 2), "processor": round(time.process_time() - own, 2),
            "steps": found.steps, "residual": found.residual, "psnr": round(psnr(found.u, clean), 3),
        }  # fmt: skip
        print(name, rows[name], flush=True)
    kept("time", {"threads": 2, "noise": 25, "rows": rows})


if __name__ == "__main__":
    {"turns": turns, "deblur": deblur, "colour": colour, "time": timed}[sys.argv[1]](*map(Path, sys.argv[2:]))
