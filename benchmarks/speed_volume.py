"""One explicit step in space, 256³ voxels: whorl beside SimpleITK, DIPlib, MedPy and a NumPy loop.

Two rooflines. Memory: a step must read and write each voxel once, so a plain copy of the volume, clocked in the same
run, is the floor for all. Arithmetic: the vectorised loop of a Perona–Malik step has 55 additions and 36 products for
16 voxels of float32 (counted in the machine code). A core that starts one 512-bit addition a cycle needs 3.4 cycles for
a voxel, about 1.1 ns at 3.2 GHz, and two cores half of that. eed has about twice as many, Weickert–Brox seven times and
ced (three Gaussians of six entries, eigenvectors) twenty times. So arithmetic, not memory, bounds all of them.
"""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.memory import high_water, reset_high_water
from benchmarks.suite import Case, Rows, Suite
from benchmarks.timing import interleave

__all__ = ["SUITE"]

SIZE, STEPS, THREADS = 256, 4, 2
OURS = ("perona-malik", "weickert-brox", "eed", "ced")
Run = Callable[[np.ndarray, int], np.ndarray]


def volume(size: int) -> np.ndarray:
    """Noise on two balls and a plate, the same for everybody."""
    z, y, x = (axis / np.float32(size) for axis in np.ogrid[:size, :size, :size])
    ball = ((z - 0.4) ** 2 + (y - 0.4) ** 2 + (x - 0.5) ** 2 < 0.04) | ((z - 0.7) ** 2 + (y - 0.6) ** 2 + x**2 < 0.09)
    scene = 60 + 100 * ball.astype(np.float32) + 50 * (abs(z + 0.3 * x - 0.8) < 0.03)
    return (scene + 20 * np.random.default_rng(1).standard_normal(scene.shape, np.float32)).astype(np.float32)


def methods() -> dict[str, tuple[Run, int]]:
    """Each method with the steps of one call."""
    found: dict[str, tuple[Run, int]] = {f"whorl-{name}": (_whorl(name), STEPS) for name in OURS}
    found["copy"] = (lambda u, steps: [u.copy() for _ in range(steps)][-1], STEPS)
    found["numpy-loop"] = (_numpy_loop, 1)
    found["medpy"] = (_medpy, 1)
    found |= {f"simpleitk-{kind.lower()}": (_simpleitk(kind), 2) for kind in ("Gradient", "Curvature")}
    found["diplib-coherence"] = (_diplib, 1)
    return found


def _whorl(name: str) -> Run:
    import torch

    from whorl.models import build

    model = build(name, contrast=20.0, spacing=(1.0, 1.0, 1.0))
    tau = model.automatic_step()

    def run(u: np.ndarray, steps: int) -> np.ndarray:
        torch.set_num_threads(THREADS)
        with torch.no_grad():
            return model(torch.from_numpy(u)[None, None], steps * tau, tau=tau, engine="numba")[0, 0].numpy()

    return run


def _numpy_loop(u: np.ndarray, steps: int) -> np.ndarray:
    u = u.copy()
    for _ in range(steps):
        change = np.zeros_like(u)
        for axis in range(3):
            d = np.diff(u, axis=axis)
            flux = np.exp(np.float32(-1 / 800) * d * d) * d
            here = (slice(None),) * axis
            change[(*here, slice(None, -1))] += flux
            change[(*here, slice(1, None))] -= flux
        u += np.float32(0.15) * change
    return u


def _medpy(u: np.ndarray, steps: int) -> np.ndarray:
    from medpy.filter.smoothing import anisotropic_diffusion

    return anisotropic_diffusion(u, niter=steps, kappa=28.0, gamma=0.15, option=1)


def _simpleitk(kind: str) -> Run:
    def run(u: np.ndarray, steps: int) -> np.ndarray:
        import SimpleITK

        SimpleITK.ProcessObject.SetGlobalDefaultNumberOfThreads(THREADS)
        smooth = getattr(SimpleITK, f"{kind}AnisotropicDiffusion")
        picture = SimpleITK.GetImageFromArray(u)
        out = smooth(picture, timeStep=0.0625, conductanceParameter=2.0, numberOfIterations=steps)
        return np.asarray(SimpleITK.GetArrayFromImage(out))

    return run


def _diplib(u: np.ndarray, steps: int) -> np.ndarray:
    import diplib

    diplib.SetNumberOfThreads(THREADS)
    out = diplib.CoherenceEnhancingDiffusion(
        diplib.Image(u), derivativeSigma=1.0, regularizationSigma=3.0, iterations=steps, flags={"all"}
    )
    return np.asarray(out)


def speed() -> Rows:
    """Everyone in turns on the same volume; the first, unmeasured call is on a small one."""
    chosen, small = methods(), volume(24)
    for run, steps in chosen.values():
        run(small, steps)
    u = volume(SIZE)
    calls = {name: (lambda run=run, steps=steps: run(u, steps)) for name, (run, steps) in chosen.items()}
    long = {"diplib-coherence": calls.pop("diplib-coherence")}  # a minute for a step: clocked once
    timings = interleave(calls, repeats=3, budget_s=60.0, warm=True) | interleave(long, repeats=1, warm=True)
    rows = []
    for name, timing in timings.items():
        each = timing.best / chosen[name][1] / u.size
        rows.append({
            "method": name, "size": SIZE, "steps": chosen[name][1], "threads": THREADS, **timing.as_row(),
            "ns_per_voxel_step": 1e9 * each, "cpu_ns_per_voxel_step": 1e9 * timing.cpu / chosen[name][1] / u.size,
        })  # fmt: skip
    return rows


def growth() -> Rows:
    """Time over voxels and over steps, Perona–Malik and eed; an exponent of 1 is linear."""
    rows = []
    for name in ("perona-malik", "eed"):
        run = _whorl(name)
        sizes = {size: volume(size) for size in (64, 128, 256)}
        run(sizes[64], 1)
        calls = {str(size): (lambda run=run, u=u: run(u, 4)) for size, u in sizes.items()}
        times = {size: timing.best for size, timing in interleave(calls, repeats=3, warm=True).items()}
        slope = float(np.polyfit(np.log([int(s) ** 3 for s in times]), np.log(list(times.values())), 1)[0])
        rows.append({"method": f"whorl-{name}, voxels", "exponent": slope, "seconds": list(times.values())})
        calls = {str(steps): (lambda run=run, u=sizes[128], steps=steps: run(u, steps)) for steps in (2, 8, 32)}
        times = {steps: timing.best for steps, timing in interleave(calls, repeats=3, warm=True).items()}
        slope = float(np.polyfit(np.log([int(s) for s in times]), np.log(list(times.values())), 1)[0])
        rows.append({"method": f"whorl-{name}, steps", "exponent": slope, "seconds": list(times.values())})
    return rows


def memory() -> Rows:
    """Peak memory of a call in volumes, input and output included, each in a fresh process."""
    rows = []
    for name in OURS:
        command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed_volume", name, str(SIZE)]
        answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1])
        rows.append({"method": f"whorl-{name}", "size": SIZE, **json.loads(answer.stdout.splitlines()[-1])})
    return rows


def _peak(name: str, size: int) -> dict[str, float]:
    run = _whorl(name)
    run(volume(24), 2)
    u = volume(size)
    before = reset_high_water()
    run(u, 3)
    return {"volumes": (high_water() - before) / u.nbytes + 1}


def cases() -> dict[str, Case]:
    return {f"{SIZE}³, {THREADS} threads": speed, "growth": growth, "memory": memory}


SUITE = Suite("speed_volume", "One explicit step in space", cases)

if __name__ == "__main__":
    print(json.dumps(_peak(sys.argv[1], int(sys.argv[2]))))
