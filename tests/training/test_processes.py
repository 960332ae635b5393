"""Several processes, and processes that die."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from whorl.training import read_checkpoint

HERE = Path(__file__).parent
WORLD = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(HERE.parents[1] / "src")}
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2", "--standalone")
OPTIMISERS = ("adam", "gauss-newton")


def command(out, epochs, optimisers, *launcher):
    return [sys.executable, *launcher, str(HERE / "little_run.py"), str(out), str(epochs), *optimisers]


def finish(out, epochs, optimisers, *launcher):
    """Let the runs end; their values."""
    subprocess.run(command(out, epochs, optimisers, *launcher), check=True, env=WORLD, timeout=300)
    return {optimiser: json.loads((out / optimiser / "values.json").read_text()) for optimiser in optimisers}


def kill(out, times, epochs, optimiser, seed=0):
    """Start a run, kill it at a random moment after its next checkpoint, or while it waits at its last epoch."""
    chance, path, waiting = random.Random(seed), out / optimiser / "checkpoint.safetensors", out / optimiser / "waiting"
    for _ in range(times):
        waiting.unlink(missing_ok=True)
        before = path.stat().st_mtime_ns if path.exists() else 0
        process = subprocess.Popen(command(out, epochs, [optimiser]), env={**WORLD, "WAITING": "1"})
        while process.poll() is None and not waiting.exists():
            if path.exists() and path.stat().st_mtime_ns != before:
                time.sleep(chance.uniform(0, 0.1))
                break
            time.sleep(0.005)
        process.kill()
        process.wait(timeout=120)
        assert process.returncode == -signal.SIGKILL
        read_checkpoint(path)  # whole, whenever the process died


@pytest.mark.timeout(600)
def test_killed_runs_end_with_the_parameters_of_undisturbed_ones(tmp_path):
    for optimiser in OPTIMISERS:
        kill(tmp_path / "killed", 1, 20, optimiser)
    assert finish(tmp_path / "killed", 20, OPTIMISERS) == finish(tmp_path / "whole", 20, OPTIMISERS)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_killed_ten_times_ends_with_the_parameters_of_the_undisturbed_one(tmp_path):
    kill(tmp_path / "killed", 10, 600, "adam", seed=1)
    assert finish(tmp_path / "killed", 600, ["adam"]) == finish(tmp_path / "whole", 600, ["adam"])


@pytest.mark.timeout(600)
def test_two_processes_train_as_one(tmp_path):
    alone, together = finish(tmp_path / "one", 5, OPTIMISERS), finish(tmp_path / "two", 5, OPTIMISERS, *TORCHRUN)
    for optimiser in OPTIMISERS:
        for name, numbers in alone[optimiser].items():
            assert together[optimiser][name] == pytest.approx(numbers, rel=1e-8)
