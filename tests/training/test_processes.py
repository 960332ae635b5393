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


def command(out, optimiser, epochs, *launcher):
    return [sys.executable, *launcher, str(HERE / "little_run.py"), str(out), optimiser, str(epochs)]


def finish(out, *task):
    out.mkdir(exist_ok=True)
    subprocess.run(command(out, *task), check=True, env=WORLD, timeout=300)
    return json.loads((out / "values.json").read_text())


def killed(out, times, *task, seed=0):
    """Start the run, kill it at a random moment after its next checkpoint, again and again; then let it end."""
    out.mkdir()
    chance, path = random.Random(seed), out / "checkpoint.safetensors"
    for _ in range(times):
        process = subprocess.Popen(command(out, *task), env=WORLD)
        before, deadline = path.stat().st_mtime_ns if path.exists() else 0, time.monotonic() + 120
        while process.poll() is None and time.monotonic() < deadline:
            if path.exists() and path.stat().st_mtime_ns != before:
                time.sleep(chance.uniform(0, 0.1))
                process.send_signal(signal.SIGKILL)
                break
            time.sleep(0.001)
        process.wait(timeout=120)
        assert process.returncode == -signal.SIGKILL, "the run ended before it could be killed: give it more epochs"
        read_checkpoint(path)  # whole, whenever the process died
    return finish(out, *task)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("optimiser", ["adam", "gauss-newton"])
def test_a_killed_run_ends_with_the_parameters_of_the_undisturbed_one(tmp_path, optimiser):
    task = (optimiser, 60)
    assert killed(tmp_path / "killed", 1, *task) == finish(tmp_path / "whole", *task)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_run_killed_ten_times_ends_with_the_parameters_of_the_undisturbed_one(tmp_path):
    assert killed(tmp_path / "killed", 10, "adam", 600, seed=1) == finish(tmp_path / "whole", "adam", 600)


@pytest.mark.timeout(600)
@pytest.mark.parametrize("optimiser", ["adam", "gauss-newton"])
def test_two_processes_train_as_one(tmp_path, optimiser):
    alone = finish(tmp_path / "one", optimiser, 5)
    together = finish(tmp_path / "two", optimiser, 5, *TORCHRUN)
    for name, numbers in alone.items():
        assert together[name] == pytest.approx(numbers, rel=1e-8)
