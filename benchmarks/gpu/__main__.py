"""``PYTHONPATH=src python -m benchmarks.gpu [--out FOLDER] [--only PART ...]``: measure, print, save after each part.

Parts: copy, one step, agreement, gradient, epoch, launches, epoch again with the fastest tilings, steps, five models,
memory, plain. A part survives the failure of another. The agreement part also compiles everything, on all cores.
"""

import argparse
import json
import os
import re
import sys
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import torch

import whorl
from benchmarks import machine
from benchmarks.gpu import agreement, training
from benchmarks.gpu.clock import COUPLINGS, DEVICE, coefficients, timed
from benchmarks.gpu.kernels import compile_one, first_use, kernels, options
from benchmarks.results import FOLDER, SCHEMA, path_of, validate
from whorl.engines.cuda.launches import Design, Launches, Tiling

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
    """Each coupling's step on 64 images of 1024 x 1024, and a copy of the same batch."""
    u = 60 * torch.randn(MEGAPIXELS, 1, 1024, 1024, device=DEVICE) + 128
    out = torch.empty_like(u)
    floor, _ = timed(lambda: out.copy_(u), calls=4)
    rows: Rows = [{"method": "copy", "best_s": floor, "gb_per_s": 8e-9 * u.numel() / floor}]
    for coupling, number in COUPLINGS.items():
        design = Design(number, 1, 0.41)
        c = coefficients(design, 0.2, 30.0, [1.0], [1.0])
        for tiling in ((32, 64, 2), (32, 128, 4)):
            launches = Launches(design, MEGAPIXELS, 1024, 1024, DEVICE, replace(Tiling(), step=tiling))
            best, median = timed(lambda run=launches.step, c=c: run(u, out, c), calls=4)
            rows.append({
                "method": f"whorl, {coupling}", "tiling": list(tiling), "best_s": best, "median_s": median,
                "share_of_copy": floor / best,
            })  # fmt: skip
            print(f"   {coupling:11s} {tiling!s:15s} {1e6 * best:7.1f} us  {floor / best:5.1%} of a copy")
    return rows


def compiled_and_checked(thorough: bool) -> Rows:
    """Compiles all tilings and compares with the reference, each case in one of many processes."""
    begin = time.perf_counter()
    with ProcessPoolExecutor(max(1, min(14, (os.cpu_count() or 2) - 1)), get_context("spawn")) as pool:
        # What takes longest to compile goes first.
        slow = ("divergence'", "along y, 10", "along y, 20", "gather", "gather'")
        every = sorted([*first_use(), *options()], key=lambda option: option[1] not in slow)
        waiting = [pool.submit(compile_one, option) for option in every]
        rows = list(pool.map(agreement.run, agreement.cases(thorough)))
        for one in waiting:
            one.result()
    if not any(row["ok"] for row in rows):  # a device for one process at a time
        rows = [agreement.run(case) for case in agreement.cases()[::4]]
    for row in rows:
        if not row["ok"] or "engine" in row["method"] or "multiscale" in row["method"]:
            print("   ", row)
    good = sum(row["ok"] for row in rows)
    print(f"   {good} of {len(rows)} within their limits; all compiled after {time.perf_counter() - begin:.1f} s")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result file")
    parser.add_argument("--only", nargs="*", default=[], help="parts to run")
    parser.add_argument("--thorough", action="store_true", help="all cases of the agreement with the reference")
    given = parser.parse_args()
    gpu = torch.cuda.get_device_properties(0)
    content: dict[str, Any] = {
        "schema": SCHEMA, "suite": "gpu", "version": whorl.__version__, "device": "cuda",
        "command": " ".join(["python -m benchmarks.gpu", *(a for a in sys.argv[1:] if a.startswith("--thorough"))]),
        "date": time.strftime("%Y-%m-%d"),
        "machine": {
            **machine.describe(), "gpu": gpu.name, "multiprocessors": gpu.multi_processor_count,
            "gpu_memory_gib": round(gpu.total_memory / 2**30, 1),
        },
        "versions": machine.versions(), "cases": {},
    }  # fmt: skip
    path = path_of("gpu", whorl.__version__, re.sub(r"[^a-z0-9]+", "-", gpu.name.lower()), "cuda", given.out)
    tilings = {name: Tiling.of(Design(number, 1, 0.41), fixed=True) for name, number in COUPLINGS.items()}

    def launches() -> Rows:
        rows, fastest = kernels()
        for name, settings in fastest.items():
            tilings[name] = replace(tilings[name], **settings)
            print(f"   fastest, {name}: {settings}")
        return rows

    parts: dict[str, Callable[[], Rows]] = {
        "copy": copy,
        "one step": one_step,
        "agreement": lambda: compiled_and_checked(given.thorough),
        "gradient": lambda: training.gradient(tilings),
        "epoch": lambda: training.epoch(tilings, "default"),
        "launches": launches,
        "epoch, fastest tilings": lambda: training.epoch(tilings, "fastest"),
        "steps": lambda: training.steps(tilings),
        "five models": lambda: training.five_models(tilings),
        "memory": training.memory,
        "plain": training.plain_epoch,
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
