"""``PYTHONPATH=src python -m benchmarks.gpu.check [--out FOLDER] [--commit HASH]``: the CUDA engine on one GPU.

Three parts in about five minutes, each in the result file as soon as it is done:

- tests: the test files that run kernels, cut into parts that run beside each other on the processor's cores;
- steps: every model, diffusivity and cell that the registry says there are kernels for, on sizes that are cut
  differently, beside the reference on the processor in float64, with derivatives where there are kernels for them;
- one step, and one step in space: times, when nothing else runs.

Everything that failed stands in ``check.log`` beside the result file. Needs torch with CUDA, triton, numpy and, for the
first part, pytest.
"""

import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchmarks.gpu import __main__ as plane
from benchmarks.gpu import volumes
from benchmarks.gpu.clock import DEVICE, distance
from benchmarks.gpu.report import Rows
from benchmarks.results import FOLDER, Document
from whorl.diffusivities import names as diffusivities
from whorl.engines.capabilities import CLOSED, REGISTRY
from whorl.models import build, names

ROOT = Path(__file__).parents[2]
TESTS = ("tests/test_cuda.py",)
PROGRAMS = tuple(f"tests/engines/test_triton{each}.py" for each in ("", "_volumes", "_gated"))
PARTS = 8
"""Into how many processes the tests are cut, and the steps."""

LIMITS = {"change": 1.5e-5, "by the image": 1.5e-5, "by numbers": 5e-5}
"""Relative errors: float32 against float64 of the change that one step makes, and of its derivatives."""

PYTEST = [sys.executable, "-m", "pytest", "-c", os.devnull, f"--rootdir={ROOT}", "-p", "no:cacheprovider",
          "-p", "no:randomly", "-v"]  # fmt: skip
"""Without the project's settings, which need plugins that may not be there."""

PLANE = (((1.0, 1.0), (1, 1, 96, 128)), ((1.5, 0.8), (2, 3, 67, 93)))
SPACE = (((1.0, 1.0, 1.0), (1, 1, 18, 35, 64)), ((2.0, 1.5, 0.8), (1, 2, 17, 23, 37)))


@dataclass(frozen=True)
class Case:
    """One step of a model on images of one shape."""

    name: str
    spacing: tuple[float, ...]
    shape: tuple[int, ...]
    settings: dict[str, Any]

    def __str__(self) -> str:
        return ", ".join([self.name, *map(str, self.settings.values()), "x".join(map(str, self.shape))])


def cases() -> Iterator[Case]:
    """Every model on both cells; of those that have kernels every diffusivity; one picture of many tiles."""
    for places in (PLANE, SPACE):
        for name in names():
            for settings in ({}, {"cell": "wide"}, {"sigma": 0.8}, {"gamma": 0.5}):
                yield from (Case(name, *place, settings) for place in places)
        for name in ("uncoupled", "perona-malik", "weickert-brox", "eed", "you-kaveh"):
            for kind in sorted({*diffusivities()} & {*CLOSED}):
                yield Case(name, *places[0], {"diffusivity": kind})
    for name in ("perona-malik", "weickert-brox", "eed", "ced", "multiscale-anisotropic"):
        yield Case(name, (1.0, 1.0), (1, 3, 1030, 1500), {})


def step_rows(cut: int) -> Rows:
    """The share of the steps that belongs to one process."""
    rows: Rows = []
    for case in list(cases())[cut::PARTS]:
        try:
            found = compared(case)
        except Exception as fault:
            traceback.print_exc(limit=-4)
            found = {"ok": False, "note": f"{type(fault).__name__}: {fault}"[:600]}
        if found is not None:
            rows.append({"method": str(case), **found})
            print(json.dumps(rows[-1]), flush=True)
    return rows


def compared(case: Case) -> dict[str, Any] | None:
    """Errors of one step and its derivatives; None where the model has no such setting, or there are no kernels."""
    try:
        contrast = 2.0 if case.name == "ced" else 60.0  # smoothed noise has little coherence
        model = build(case.name, contrast=contrast, spacing=case.spacing, trainable=True, **case.settings)
    except ValueError:
        return None
    u = 60 * torch.randn(case.shape, generator=torch.Generator().manual_seed(1)) + 128
    w = torch.randn(case.shape, generator=torch.Generator().manual_seed(2))
    form, registry, begin = model.description.form(u.dim() - 2), REGISTRY["triton"], time.perf_counter()
    if registry.lacks(form, u.to(DEVICE)):
        return None
    learning = not registry.lacks(form, u.to(DEVICE), learning=True) and u.numel() < 2**20
    found = []
    for device, kind, engine in ((DEVICE, torch.float32, "triton"), ("cpu", torch.float64, "reference")):
        model = model.to(device)
        x = u.to(device, kind).requires_grad_(learning)
        with torch.set_grad_enabled(learning):
            after = model.step(x, engine=engine)
        parts = {"change": (after - x).detach()}
        if learning:
            numbers = [p for p in model.parameters() if p.requires_grad]
            by_image, *rest = torch.autograd.grad((after * w.to(x)).sum(), [x, *numbers], allow_unused=True)
            parts["by the image"] = by_image - w.to(x)
            if any(one is not None for one in rest):
                parts["by numbers"] = torch.cat([one.flatten() for one in rest if one is not None])
        found.append(parts)
    errors = {name: distance(found[0][name].cpu(), found[1][name]) for name in found[1]}
    ok = all(error <= LIMITS[name] for name, error in errors.items())
    return {"ok": ok, **errors, "first_s": time.perf_counter() - begin}


def collected(left: float) -> Rows:
    """The tests, and the steps, in processes beside each other; the sum of both parts' rows."""
    listed = _run([*PYTEST, "--collect-only", "-qq", *TESTS], min(left, 60.0))
    ids = [line for line in listed.splitlines() if line.startswith("tests/") and "::" in line]
    if not ids:
        print(listed[-3000:])
    jobs = [[*PYTEST, "--tb=short", *ids[k::PARTS]] for k in range(PARTS) if ids[k::PARTS]]
    jobs = [[*PYTEST, "--tb=short", each] for each in PROGRAMS] * bool(ids) + jobs
    jobs += [[sys.executable, "-m", "benchmarks.gpu.check", "--cut", str(k)] for k in range(PARTS)]
    end = time.perf_counter() + left
    with ThreadPoolExecutor(max(4, (os.cpu_count() or 4) - 2)) as several:
        texts = list(several.map(lambda job: _run(job, end - time.perf_counter()), jobs))
    rows: Rows = []
    for text in texts:
        for line in text.splitlines():
            test = re.match(r"(tests/\S+::.+?) (PASSED|FAILED|ERROR|SKIPPED)", line)
            if test:
                rows.append({"method": test[1], "ok": test[2] in ("PASSED", "SKIPPED"), "note": test[2].lower()})
            elif line.startswith('{"method"'):
                rows.append(json.loads(line))
    missing = set(ids) - {row["method"] for row in rows}
    rows += [{"method": name, "ok": False, "note": "not reached"} for name in sorted(missing)]
    _log(texts)
    return rows


_where: list[Path] = []


def _log(texts: list[str]) -> None:
    if _where:
        _where[0].write_text("\n\n########\n".join(texts))


def _run(command: list[str], seconds: float) -> str:
    """What a command prints in so many seconds, and how it ended; the programs that it started end with it."""
    folders = os.pathsep.join(map(str, (ROOT / "src", ROOT, ROOT / "tests")))
    environment = {**os.environ, "PYTHONPATH": folders, "OMP_NUM_THREADS": "2", "PYTHONUNBUFFERED": "1"}
    begin = time.perf_counter()
    running = subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        start_new_session=True,
    )  # fmt: skip
    try:
        text, end = running.communicate(timeout=max(1.0, seconds))[0], f"exit {running.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(running.pid, signal.SIGKILL)
        text, end = running.communicate()[0], "stopped"
    return f"{' '.join(command)[:300]}\n{text}\n{end} after {time.perf_counter() - begin:.0f} s"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu.check", description=__doc__)
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result file")
    parser.add_argument("--commit", default="", help="what is checked, where git cannot say")
    parser.add_argument("--seconds", type=float, default=210.0, help="for tests and steps; times take a minute more")
    parser.add_argument("--cut", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cut is not None:
        step_rows(given.cut)
        return
    document = Document("gpu_check", "python -m benchmarks.gpu.check", "cuda", given.out)
    document.forget()
    git = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    began = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    document.content |= {"commit": given.commit or git.stdout.strip(), "began": began}
    given.out.mkdir(parents=True, exist_ok=True)
    _where.append(given.out / "check.log")
    parts: dict[str, Callable[[], Rows]] = {
        "tests and steps": lambda: collected(given.seconds),
        "one step": plane.one_step,
        "one step in space": lambda: volumes.steps(1),
    }
    for name, part in parts.items():
        begin = time.perf_counter()
        print(f"\n== {name}", flush=True)
        try:
            rows = part()
            torch.cuda.synchronize()
            document.with_case(name, rows)
        except Exception:
            traceback.print_exc(limit=8)
        print(f"   ({time.perf_counter() - begin:.1f} s)", flush=True)
    checked = document.content["cases"].get("tests and steps", [])
    wrong = [row for row in checked if not row["ok"]]
    print(f"\n{document.path}: {len(checked)} tests and steps, {len(wrong)} failed or not reached")
    for row in wrong:
        print("  ", row)
    sys.exit(1 if wrong or len(document.content["cases"]) < len(parts) else 0)


if __name__ == "__main__":
    main()
