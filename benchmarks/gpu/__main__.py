"""``PYTHONPATH=src python -m benchmarks.gpu [--out FOLDER] [--only PART ...]``: measure, print, save after each part.

Parts: first epoch, agreement, copy, one step, epoch. A part survives the failure of another.
"""

import argparse
import json
import re
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import whorl
from benchmarks import machine
from benchmarks.gpu import training
from benchmarks.gpu.clock import DEVICE, timed
from benchmarks.results import FOLDER, SCHEMA, path_of, validate
from whorl.models import build

Rows = list[dict[str, Any]]
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
    for name in ("uncoupled", "perona-malik", "weickert-brox", "eed", "ced"):
        model = build(name, contrast=30.0).to(DEVICE)
        best, median = timed(lambda step=model.step: step(u, 0.2, engine="triton", out=out), calls=4)
        rows.append({"method": f"whorl, {name}", "best_s": best, "median_s": median, "share_of_copy": floor / best})
        print(f"   {name:14s} {1e6 * best:8.1f} us  {floor / best:5.1%} of a copy", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result file")
    parser.add_argument("--only", nargs="*", default=[], help="parts to run")
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    content: dict[str, Any] = {
        "schema": SCHEMA, "suite": "gpu", "version": whorl.__version__, "device": "cuda",
        "command": "python -m benchmarks.gpu",
        "date": time.strftime("%Y-%m-%d"),
        "machine": {
            **machine.describe(), "gpu": gpu.name, "multiprocessors": gpu.multi_processor_count,
            "gpu_memory_gib": round(gpu.total_memory / 2**30, 1),
        },
        "versions": machine.versions(), "cases": {},
    }  # fmt: skip
    path = path_of("gpu", whorl.__version__, re.sub(r"[^a-z0-9]+", "-", gpu.name.lower()), "cuda", given.out)
    parts: dict[str, Callable[[], Rows]] = {
        "first epoch": training.first_epoch,
        "agreement": training.agreement,
        "copy": copy,
        "one step": one_step,
        "epoch": training.epochs,
    }
    for name, part in parts.items():
        if given.only and name not in given.only:
            continue
        begin = time.perf_counter()
        print(f"\n== {name}", flush=True)
        try:
            rows = part()
            torch.cuda.synchronize()
            validate({**content, "cases": {name: rows}})
            content["cases"][name] = rows
        except Exception:
            traceback.print_exc(limit=6)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
        print(f"   ({time.perf_counter() - begin:.1f} s)", flush=True)
    bad = [row["method"] for row in content["cases"].get("agreement", []) if not row["ok"]]
    print(f"\n{path}: {sorted(set(parts) - set(content['cases']))} not measured; beyond their limits: {bad}")


if __name__ == "__main__":
    main()
