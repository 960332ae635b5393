"""``PYTHONPATH=src python -m benchmarks.gpu.photo [--out FOLDER]``: networks for photographs beside DnCNN-S on one GPU.

A grey picture of 1024 x 1024, in float32 and with responses in bfloat16, each network as torch compiles it.
"""

import torch
from torch import nn

from benchmarks.gpu.clock import DEVICE, timed
from benchmarks.gpu.report import Rows, measured
from whorl.networks.photo_cards import load_photo_card

SIZE = 1024
NETWORKS = ("photo-8k", "photo-27k", "photo-66k")


def dncnn_s() -> nn.Module:
    """DnCNN-S: 17 layers of 3 x 3, 64 channels; batch normalisation is folded into the layers."""
    layers: list[nn.Module] = [nn.Conv2d(1, 64, 3, padding=1), nn.ReLU()]
    for _ in range(15):
        layers += [nn.Conv2d(64, 64, 3, padding=1), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(64, 1, 3, padding=1))


def rows() -> Rows:
    picture = 255 * torch.rand(1, 1, SIZE, SIZE, device=DEVICE)
    found: Rows = []
    for half in (False, True):
        kind = "bfloat16" if half else "float32"
        peer = dncnn_s().to(DEVICE).eval().to(torch.bfloat16 if half else torch.float32)
        peer = peer.to(memory_format=torch.channels_last)
        compiled = torch.compile(peer)
        given = (picture / 255).to(torch.bfloat16 if half else torch.float32, memory_format=torch.channels_last)
        with torch.no_grad():
            best, median = timed(lambda run=compiled, u=given: run(u), calls=3)
        floor = best
        found.append({"method": f"DnCNN-S, {kind}", "best_s": best, "median_s": median})
        print(f"   DnCNN-S   {kind:8s} {1e3 * best:8.3f} ms", flush=True)
        for name in NETWORKS:
            network = load_photo_card(name).build().to(DEVICE).compiled()
            network.low_precision = half
            with torch.no_grad():
                best, median = timed(lambda run=network: run(picture), calls=3)
            found.append({"method": f"{name}, {kind}", "best_s": best, "median_s": median, "share": best / floor})
            print(f"   {name:9s} {kind:8s} {1e3 * best:8.3f} ms  {best / floor:5.2f} of DnCNN-S", flush=True)
    return found


def main() -> None:
    measured("gpu_photo", "python -m benchmarks.gpu.photo", __doc__, {"one picture": rows})


if __name__ == "__main__":
    main()
