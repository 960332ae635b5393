"""Training of the paper's experiment on the device: by the route that ``whorl train`` takes, and no other."""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import replace

import torch

from benchmarks.gpu.clock import DEVICE, distance
from benchmarks.gpu.report import Rows
from whorl.data import RectangleSet
from whorl.evaluation.angles import TestScenes, evaluate
from whorl.networks import NAMED, build_network
from whorl.training import PROTOCOLS
from whorl.training.recipe import Recipe, Scenes

__all__ = ["agreement", "epochs", "first_epoch", "five_models"]

EPOCHS = 20
NETWORK = "anisotropic-0.41"


def recipe(name: str, count: int) -> Recipe:
    return Recipe(NAMED[name], Scenes(RectangleSet(100, "train")), training=replace(PROTOCOLS["paper"], epochs=count))


def first_epoch() -> Rows:
    """From the start of a process to the end of its first epoch, with and without what Triton kept on disk."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        for state in ("empty", "filled"):
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "benchmarks.gpu.training"],
                env={**os.environ, "TRITON_CACHE_DIR": cache},
                check=True,
            )
            seconds = time.perf_counter() - begin
            rows.append({"method": f"first epoch, {state} cache", "best_s": seconds})
            print(f"   {state} cache: {seconds:.1f} s", flush=True)
    return rows


def epochs() -> Rows:
    """Seconds of an epoch, the pictures being there: the difference of a long training and a short one."""
    rows = []
    for name in NAMED:
        pairs, seconds = recipe(name, 1).pairs(DEVICE), []
        recipe(name, 1).train(device=DEVICE, pairs=pairs)  # compiles
        for count in (2, EPOCHS + 2):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            recipe(name, count).train(device=DEVICE, pairs=pairs)
            torch.cuda.synchronize()
            seconds.append(time.perf_counter() - begin)
        each = (seconds[1] - seconds[0]) / EPOCHS
        rows.append({"method": f"epoch, {name}", "best_s": each})
        print(f"   {name:16s} {1e3 * each:6.1f} ms", flush=True)
    return rows


def five_models() -> Rows:
    """The networks of the experiment: each trained by the paper's protocol, then tested at 17 angles."""
    scenes, rows = TestScenes(RectangleSet(50, "test"), device=DEVICE), []
    for angle in scenes.angles:
        scenes.pairs(angle)  # drawn before the clock starts
    begin = time.perf_counter()
    for name in NAMED:
        network, _ = recipe(name, PROTOCOLS["paper"].epochs).train(device=DEVICE)
        found = evaluate(network, scenes)
        rows.append({"method": name, "psnr": found.psnr[45], "variance": found.variance})
        print(f"   {name:16s} {found.psnr[45]:.2f} dB at 45 degrees", flush=True)
    torch.cuda.synchronize()
    rows.append({"method": "all five, trained and evaluated", "best_s": time.perf_counter() - begin})
    print(f"   trained and evaluated in {rows[-1]['best_s']:.1f} s", flush=True)
    return rows


def agreement() -> Rows:
    """A network's output and gradients beside the reference in float64."""
    rows = []
    clean, noisy = RectangleSet(2, "train").pairs(30)
    for name in NAMED:
        found = []
        for engine, dtype in (("triton", torch.float32), ("reference", torch.float64)):
            network = build_network(NAMED[name]).to(DEVICE)
            network.engine = engine
            u = noisy.to(DEVICE, dtype).requires_grad_()
            after = network(u)
            (after - clean.to(DEVICE, dtype)).square().mean().backward()
            numbers = torch.cat([p.grad.flatten() for p in network.parameters() if p.grad is not None])
            found.append([after.detach() - u.detach(), u.grad, numbers])
        errors = [distance(a, b) for a, b in zip(*found, strict=True)]
        rows.append({"method": name, "ok": max(errors) < 5e-5, "error": max(errors)})
        print(f"   {name:16s} image, by image, by numbers: {', '.join(f'{e:.1e}' for e in errors)}", flush=True)
    return rows


if __name__ == "__main__":
    recipe(NETWORK, 1).train(device=DEVICE)
    torch.cuda.synchronize()
