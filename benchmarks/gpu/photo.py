"""``PYTHONPATH=src python -m benchmarks.gpu.photo [--out FOLDER]``: networks for photographs beside DnCNN-S on one GPU.

A picture of 1024 x 1024. Ours as users get them, by kernels that round factors to 11 bits as torch's convolutions do by
default; DnCNN-S compiled by torch, with such convolutions in float32 and with everything in bfloat16.
"""

import math

import torch
from torch import Tensor, nn

from benchmarks.gpu.clock import DEVICE, timed
from benchmarks.gpu.report import Rows, measured
from whorl.engines.cuda.learned.gated import GatedTiling
from whorl.networks import load
from whorl.networks.photo import PhotoNetwork

SIZE = 1024
NETWORKS = ("photo-8k", "photo-27k", "photo-27k-stable", "photo-66k")
LEVELLED = ("photo-grey", "photo-colour")
NOISE = 25.0
TILES = ((8, 8, 4, None), (4, 16, 4, None), (4, 16, 4, 128))


def dncnn_s() -> nn.Module:
    """DnCNN-S: 17 layers of 3 x 3, 64 channels; batch normalisation is folded into the layers."""
    layers: list[nn.Module] = [nn.Conv2d(1, 64, 3, padding=1), nn.ReLU()]
    for _ in range(15):
        layers += [nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(64, 1, 3, padding=1))


def loaded(name: str) -> tuple[PhotoNetwork, tuple[Tensor, ...]]:
    """A shipped network on the device, and what it takes beside the picture."""
    network = load(name).to(DEVICE).eval()
    return network, (torch.tensor(NOISE, device=DEVICE),) if network.spec.blind else ()


def in_a_row(call: object, calls: int = 5) -> float:
    """Best seconds of a call among calls made one after the other, with all that the processor does for them."""
    assert callable(call)
    best = math.inf
    for _ in range(5):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(calls):
            call()
        end.record()
        end.synchronize()
        best = min(best, start.elapsed_time(end) * 1e-3 / calls)
    return best


_floors: dict[str, float] = {}


@torch.no_grad()
def one_picture() -> Rows:
    found: Rows = []
    for kind in (torch.float32, torch.bfloat16):
        name = str(kind).removeprefix("torch.")
        peer = torch.compile(dncnn_s().to(DEVICE, kind).eval().to(memory_format=torch.channels_last))
        given = torch.rand(1, 1, SIZE, SIZE, device=DEVICE, dtype=kind).to(memory_format=torch.channels_last)
        best, median = timed(lambda run=peer, u=given: run(u), calls=3)
        _floors[name] = best
        found.append({"method": f"DnCNN-S, {name}", "best_s": best, "median_s": median})
        print(f"   DnCNN-S, {name:8s} {1e3 * best:8.3f} ms", flush=True)
    return found + shares(NETWORKS)


@torch.no_grad()
def shares(names: tuple[str, ...]) -> Rows:
    """Networks of ours beside DnCNN-S, which was measured before."""
    found: Rows = []
    for name in names:
        network, more = loaded(name)
        picture = 255 * torch.rand(1, network.spec.channels, SIZE, SIZE, device=DEVICE)
        best, median = timed(lambda run=network, u=picture, more=more: run(u, *more), calls=3)
        plain = in_a_row(lambda run=network, u=picture, more=more: run(u, *more))
        torch.cuda.reset_peak_memory_stats()
        network(picture, *more)
        peak = torch.cuda.max_memory_allocated() / 2**20
        found.append(
            {"method": f"{name}, float32", "best_s": best, "median_s": median, "share": best / _floors["float32"],
             "share_of_bfloat16": best / _floors["bfloat16"], "in_a_row_s": plain, "peak_mib": peak}
        )  # fmt: skip
        print(
            f"   {name:16s} {1e3 * best:8.3f} ms  {best / _floors['float32']:5.2f} of DnCNN-S, "
            f"{best / _floors['bfloat16']:5.2f} of it in bfloat16; one after the other {1e3 * plain:.3f} ms, "
            f"{peak:.0f} MiB", flush=True,
        )  # fmt: skip
    return found


def psnr(u: Tensor, clean: Tensor) -> float:
    return 10 * math.log10(255**2 / float((u - clean).square().mean()))


@torch.no_grad()
def agreement() -> Rows:
    """Differences in grey values from the same networks without rounding, and after a quarter turn."""
    found: Rows = []
    y, x = torch.meshgrid(torch.arange(512.0), torch.arange(512.0), indexing="ij")
    clean = 128 + 60 * torch.sin(x / 17) * torch.cos(y / 23) + 40 * ((x // 40 + y // 40) % 2)
    noise = torch.randn(512, 512, generator=torch.Generator().manual_seed(0))
    for name in NETWORKS + LEVELLED:
        network, more = loaded(name)
        shape = (1, network.spec.channels, 512, 512)
        truth = clean.expand(shape).to(DEVICE)
        noisy = (clean + NOISE * noise).expand(shape).to(DEVICE)
        mine, turned = network(noisy, *more), network(noisy.rot90(1, (2, 3)), *more).rot90(-1, (2, 3))
        torch.backends.cudnn.allow_tf32 = False
        try:
            exact = network(noisy, *more)
        finally:
            torch.backends.cudnn.allow_tf32 = True
        largest, gain = float((mine - exact).abs().max()), psnr(mine, truth) - psnr(exact, truth)
        turn = float((mine - turned).abs().max())
        found.append({"method": name, "largest_difference": largest, "psnr_difference": gain, "turn_difference": turn})
        print(f"   {name:16s} at most {largest:.3f} grey values, {gain:+.5f} dB; quarter turn {turn:.2g}", flush=True)
    return found


@torch.no_grad()
def tilings() -> Rows:
    """Four applications of a block under other tiles: rows, columns, warps, and registers of a thread at most."""
    found: Rows = []
    for name in ("photo-27k", "photo-grey"):
        network, _ = loaded(name)
        level = network.level(NOISE, torch.zeros(1, device=DEVICE))
        block = network.blocks[0]
        shape = (1, block.analysis.channels, SIZE, SIZE)
        u = torch.randn(shape, device=DEVICE).to(memory_format=torch.channels_last)

        def several(block: nn.Module = block, u: Tensor = u, level: Tensor | None = level) -> None:
            for k in range(4):
                u = block(u, k, level)

        for kernel in ("gates",) if network.spec.rho else ("analysis", "synthesis"):
            kept = getattr(GatedTiling, kernel)
            for tile in TILES:
                setattr(GatedTiling, kernel, tile)
                try:
                    best, median = timed(several, calls=1)
                finally:
                    setattr(GatedTiling, kernel, kept)
                found.append({"method": f"{name}, {kernel}, {tile}", "best_s": best, "median_s": median})
                print(f"   {name:10s} {kernel:9s} {tile!s:18s} {1e6 * best:8.1f} us", flush=True)
    return found


def main() -> None:
    parts = {
        "one picture": one_picture,
        "agreement": agreement,
        "any level": lambda: shares(LEVELLED),
        "tilings": tilings,
    }
    measured("gpu_photo", "python -m benchmarks.gpu.photo", __doc__, parts)


if __name__ == "__main__":
    main()
