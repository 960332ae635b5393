"""The CUDA kernels in space beside the reference, as a program of its own: prints relative errors by case as JSON.

Triton decides at its import whether kernels are interpreted: without a CUDA device TRITON_INTERPRET=1 must be set.
"""

import json

import torch

import whorl.engines.cuda.volumes as volumes
from whorl.models import build

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
# The interpreter pays per program: few and large ones, whose edges lie inside and beyond the volume.
volumes.TILES = dict.fromkeys(range(4), (2, 3, 2, 8, 1))
# Of Gaussians several blocks along and beside each axis, the last ones partly beyond it.
volumes.GAUSSIAN = ((3, 32, 1), (4, 8, 1), (16, 8, 1))


def main() -> None:
    torch.manual_seed(1)
    found = {}
    for name in ("perona-malik", "uncoupled", "weickert-brox", "eed"):
        for spacing, shape, steps in (((1.0, 1.0, 1.0), (5, 6, 12), 2), ((2.0, 1.5, 0.8), (3, 5, 9), 1)):
            sigma = {"sigma": 0.5} if name == "eed" else {}
            model = build(name, contrast=0.5, spacing=spacing, **sigma).to(DEVICE)
            u = torch.randn(1, 2 if name == "eed" else 1, *shape, device=DEVICE)
            time = steps * model.automatic_step()
            with torch.no_grad():
                result, exact = model(u, time, engine="triton"), model(u.double(), time, engine="reference")
            change = exact - u.double()
            found[f"{name} {spacing}"] = float(((result - u).double() - change).norm() / change.norm())
    print(json.dumps(found))


if __name__ == "__main__":
    main()
