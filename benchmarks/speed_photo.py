"""Denoising of photographs: the shipped networks beside DnCNN-S, and the memory that a large picture takes.

DnCNN-S has 17 layers of 64 channels and 3x3 taps, batch normalisation folded in; its weights are random, which changes
no time. It runs in torch with either layout of the memory, and the faster one counts. ``multiplications`` are those per
pixel, of whorl's networks as they are carried out: stencils once for each channel, then mixing.
"""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.pictures import mosaic
from benchmarks.suite import Case, Rows, Suite
from benchmarks.threads import use_threads
from benchmarks.timing import interleave

__all__ = ["NETWORKS", "SUITE", "dncnn"]

NETWORKS = ("photo-8k", "photo-27k", "photo-27k-strict", "photo-27k-stable", "photo-66k", "photo-grey")
DENOISED = "dncnn-s"
_LAYERS, _WIDTH = 17, 64
_NOISE = 25.0


def dncnn(channels_last: bool = False) -> Any:
    """DnCNN-S: picture minus the noise found by a chain of convolutions."""
    import torch
    from torch import nn

    torch.manual_seed(0)
    chain = [nn.Conv2d(1, _WIDTH, 3, padding=1), nn.ReLU(inplace=True)]
    for _ in range(_LAYERS - 2):
        chain += [nn.Conv2d(_WIDTH, _WIDTH, 3, padding=1), nn.ReLU(inplace=True)]
    network = nn.Sequential(*chain, nn.Conv2d(_WIDTH, 1, 3, padding=1)).eval()
    layout = torch.channels_last if channels_last else torch.contiguous_format
    network = network.to(memory_format=layout)
    return lambda u: u - network((u / 255).contiguous(memory_format=layout))


def cases() -> dict[str, Case]:
    timed = {
        f"{size}² grey, {threads} threads": lambda s=size, n=threads: _case(s, n)
        for size, threads in ((512, 2), (1024, 2), (512, 1))
    }
    return {**timed, "4096² grey in windows, memory": lambda: [_windows(4096)]}


def _case(size: int, threads: int, networks: tuple[str, ...] = NETWORKS) -> Rows:
    import torch

    from whorl.networks import load

    picture = torch.from_numpy(mosaic(size).copy()).float()[None, None]
    built = {name: load(name) for name in networks}
    calls: dict[str, Callable[[], object]] = {
        name: (lambda n=network: n(picture, _NOISE)) for name, network in built.items()
    }
    rivals = {DENOISED: dncnn(), f"{DENOISED}, channels last": dncnn(channels_last=True)}
    calls |= {name: (lambda d=network: d(picture)) for name, network in rivals.items()}
    use_threads(threads)
    with torch.no_grad():
        timings = interleave(calls, repeats=5, budget_s=90)
    use_threads(1)
    rival = min(timing.best for name, timing in timings.items() if name.startswith(DENOISED))
    return [
        {
            "method": name,
            "size": size,
            "threads": threads,
            "multiplications": built[name].multiplications if name in built else _multiplications(),
            "over_dncnn": timing.best / rival,
            "ns_per_pixel": 1e9 * timing.best / size**2,
            **timing.as_row(),
        }
        for name, timing in timings.items()
    ]


def _multiplications() -> int:
    """Of DnCNN-S, for each pixel."""
    return 9 * (2 * _WIDTH + (_LAYERS - 2) * _WIDTH**2)


def _windows(size: int) -> dict[str, Any]:
    """The peak memory of ``whorl denoise`` on a file, in a fresh process."""
    import subprocess
    import sys

    import numpy as np
    import tifffile

    code = (
        "import sys; from benchmarks.memory import high_water; from whorl.cli.main import build; "
        "build(sys.argv[1:])(sys.argv[1:], standalone_mode=False); print(high_water())"
    )
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "noisy.tif", Path(folder) / "clean.tif"
        rng = np.random.default_rng(0)
        noisy = np.tile(mosaic(1024), (size // 1024, size // 1024)) + rng.normal(0, _NOISE, (size, size))
        tifffile.imwrite(source, noisy.clip(0, 255).astype(np.uint8))
        words = ["denoise", "--noise", f"{_NOISE:g}", str(source), str(target)]
        answer = subprocess.run([sys.executable, "-W", "ignore", "-c", code, *words], capture_output=True, text=True)
        if answer.returncode:
            raise RuntimeError(answer.stderr)
        peak = int(answer.stdout.split()[-1])
    return {"method": "photo-grey", "size": size, "peak_mib": peak / 2**20}


SUITE = Suite("speed_photo", "Networks for photographs beside DnCNN-S", cases)
