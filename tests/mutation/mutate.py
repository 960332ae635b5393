"""``make mutate``: put one deliberate fault after another into the core folders and see whether the tests notice.

Nothing on the disk changes. This process loads the heavy libraries once and then, for each fault, starts a process in
which one module is imported with the fault in it and the tests of its folder run until the first fails.
"""

import argparse
import importlib.abc
import importlib.machinery
import os
import random
import resource
import signal
import sys
import time
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from mutation.mutants import Mutant, mutants

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "whorl"
TESTS = {
    "operators": ["tests/operators"],
    "diffusivities": ["tests/test_diffusivities.py"],
    "activations": ["tests/activations", "tests/energies"],
    "energies": ["tests/energies"],
    "schemes": ["tests/schemes"],
    "models": ["tests/models", "tests/schemes", "tests/test_public_names.py", "tests/test_images.py"],
}
"""The tests that must notice a fault in a folder, besides the examples in its docstrings."""
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
"""Changes that leave every result as it was, each with the reason; they are not tried."""
GOAL = 0.95
MEMORY = 8 * 2**30


class FaultyModule(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Imports one module with other source than its file has."""

    def __init__(self, name: str, path: Path, source: str) -> None:
        self.name, self.path, self.source = name, path, source

    def find_spec(self, fullname, path, target=None):
        if fullname != self.name:
            return None
        spec = importlib.machinery.ModuleSpec(fullname, self, origin=str(self.path))
        spec.has_location = True
        return spec

    def exec_module(self, module) -> None:
        exec(compile(self.source, str(self.path), "exec"), module.__dict__)


@dataclass
class Verdict:
    """What became of the faults of one folder."""

    killed: int = 0
    survived: list[str] = field(default_factory=list)

    @property
    def share(self) -> float:
        return self.killed / max(1, self.killed + len(self.survived))


@dataclass(frozen=True)
class Trial:
    """A fault, the folder and the file it is in."""

    folder: str
    path: Path
    mutant: Mutant

    def __str__(self) -> str:
        return f"{self.path.relative_to(ROOT)}, {self.mutant}"


def trials(folders: Sequence[str], sample: int, seed: int) -> list[Trial]:
    """All faults of the folders, or a sample of so many from each."""
    chosen, known = [], set(equivalent())
    for folder in folders:
        found = [
            Trial(folder, path, mutant)
            for path in sorted((SOURCE / folder).rglob("*.py"))
            for mutant in mutants(path.read_text(encoding="utf-8"))
            if (path.relative_to(SOURCE).as_posix(), mutant.function, mutant.before, mutant.after) not in known
        ]
        chosen += random.Random(seed).sample(found, sample) if 0 < sample < len(found) else found
    return chosen


def equivalent() -> list[tuple[str, str, str, str]]:
    """File, function, and both sides of each change in the list of those without effect."""
    entries = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8"))["change"]
    return [(entry["file"], entry["function"], entry["before"], entry["after"]) for entry in entries]


def run_tests(folder: str, fault: tuple[str, Path, str] | None) -> int:
    """In a process of its own: run the tests of a folder; 0 if all pass."""
    import pytest

    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    if fault is not None:
        sys.meta_path.insert(0, FaultyModule(*fault))
    places = [f"src/whorl/{folder}", *(test for test in TESTS[folder] if (ROOT / test).exists())]
    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "--no-header", *places]))


def start(folder: str, trial: Trial | None) -> int:
    """Start a process for a trial; its number."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        os.setsid()
        fault = None
        if trial is not None:
            module = ".".join(trial.path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
            fault = (module, trial.path, trial.mutant.source)
        code = run_tests(folder, fault)
    finally:
        os._exit(code)


def end(child: int) -> None:
    """End a process and all it started."""
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)


def judge(chosen: list[Trial], jobs: int, patience: dict[str, float], show) -> dict[str, Verdict]:
    """Run all trials, ``jobs`` at a time; one that takes longer than ``patience`` is noticed, too."""
    verdicts = {folder: Verdict() for folder in dict.fromkeys(trial.folder for trial in chosen)}
    waiting, running = list(reversed(chosen)), {}
    while waiting or running:
        while waiting and len(running) < jobs:
            trial = waiting.pop()
            running[start(trial.folder, trial)] = (trial, time.monotonic())
        time.sleep(0.02)
        for child, (trial, since) in list(running.items()):
            done, status = os.waitpid(child, os.WNOHANG)
            if not done and time.monotonic() - since < patience[trial.folder]:
                continue
            if not done:
                end(child)
            del running[child]
            verdict = verdicts[trial.folder]
            if done and status == 0:
                verdict.survived.append(str(trial))
                show(f"survived: {trial}")
            else:
                verdict.killed += 1
    return verdicts


def baseline(folder: str) -> float:
    """Seconds that the tests of a folder take without a fault, which must pass."""
    since = time.monotonic()
    _, status = os.waitpid(start(folder, None), 0)
    if status:
        raise SystemExit(f"The tests of {folder} fail without any fault: {', '.join(TESTS[folder])}.")
    return time.monotonic() - since


def report(verdicts: dict[str, Verdict]) -> tuple[str, bool]:
    """A line for each folder, and whether each reaches the goal."""
    lines = [
        f"{folder:14} {verdict.killed:5} killed {len(verdict.survived):4} survived  {verdict.share:6.1%}"
        for folder, verdict in verdicts.items()
    ]
    return "\n".join(lines), all(verdict.share >= GOAL for verdict in verdicts.values())


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="make mutate", description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", choices=[*TESTS, []], help="which folders; all by default")
    parser.add_argument("--sample", type=int, default=0, help="this many faults from each folder, drawn by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    chosen = parser.parse_args(words)
    os.environ["OMP_NUM_THREADS"] = "1"
    os.chdir(ROOT)
    sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]
    # Loaded once for all trials; nothing of whorl is, since each trial imports its own.
    import numpy as np  # noqa: F401
    import pytest  # noqa: F401
    import torch

    torch.set_num_threads(1)
    folders = chosen.folders or list(TESTS)
    patience = {}
    for folder in folders:
        seconds = baseline(folder)
        patience[folder] = 60 + 5 * seconds
        print(f"{folder}: the tests take {seconds:.0f} s", flush=True)
    found = trials(folders, chosen.sample, chosen.seed)
    print(f"{len(found)} faults", flush=True)
    verdicts = judge(found, chosen.jobs, patience, lambda text: print(text, flush=True))
    text, reached = report(verdicts)
    print(text)
    print(f"Goal: {GOAL:.0%} killed in every folder: {'reached' if reached else 'missed'}.")
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
