"""``PYTHONPATH=src python -m benchmarks.gpu [--out FOLDER] [--only PART ...]``: measure, print, save after each part.

Parts: first epoch, agreement, copy, one step, epoch, five models. A part survives the failure of another.
"""

from collections.abc import Callable
from typing import Any

import torch

from benchmarks.gpu import training
from benchmarks.gpu.clock import DEVICE, timed
from benchmarks.gpu.report import Rows, measured
from whorl.models import build

MEGAPIXELS = 64


def copy() -> Rows:
    rows = []
    for name, count in (("2 GiB", 2**29), ("64 megapixels", 2**26), ("a batch", 655360)):
        a = torch.randn(count, device=DEVICE)
        b = torch.empty_like(a)
        best, median = timed(lambda a=a, b=b: b.copy_(a))
        rows.append({"method": f"copy of {name}", "best_s": best, "median_s": median, "gb_per_s": 8e-9 * count / best})
        print(f"   {name:14s} {1e6 * best:9.1f} us  {8e-9 * count / best:6.0f} GB/s")
    return rows


def one_step() -> Rows:
    """Each model's step on 64 images of 1024 x 1024, and a copy of the same batch."""
    u = 60 * torch.randn(MEGAPIXELS, 1, 1024, 1024, device=DEVICE) + 128
    out = torch.empty_like(u)
    floor, _ = timed(lambda: out.copy_(u), calls=4)
    rows: Rows = [{"method": "copy", "best_s": floor, "gb_per_s": 8e-9 * u.numel() / floor}]
    kinds: tuple[tuple[str, dict[str, Any]], ...] = (
        ("uncoupled", {}), ("perona-malik", {}), ("weickert-brox", {}), ("eed", {}), ("ced", {}),
        ("perona-malik", {"cell": "wide"}), ("perona-malik", {"cell": "wide", "sigma": 1.0}),
        ("weickert-brox", {"cell": "wide"}),
    )  # fmt: skip
    for name, settings in kinds:
        model = build(name, contrast=30.0, **settings).to(DEVICE)
        name = ", ".join([name, *map(str, settings.values())])
        best, median = timed(lambda step=model.step: step(u, 0.2, engine="triton", out=out), calls=4)
        rows.append({"method": f"whorl, {name}", "best_s": best, "median_s": median, "share_of_copy": floor / best})
        print(f"   {name:24s} {1e6 * best:8.1f} us  {floor / best:5.1%} of a copy", flush=True)
    return rows


def main() -> None:
    parts: dict[str, Callable[[], Rows]] = {
        "first epoch": training.first_epoch,
        "agreement": training.agreement,
        "copy": copy,
        "one step": one_step,
        "epoch": training.epochs,
        "five models": training.five_models,
    }
    cases = measured("gpu", "python -m benchmarks.gpu", __doc__, parts)
    print("beyond their limits:", [row["method"] for row in cases.get("agreement", []) if not row["ok"]])


if __name__ == "__main__":
    main()
