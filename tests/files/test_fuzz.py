"""Thousands of damaged files: each is filtered, or refused in one line with exit code 2, in little memory and time."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from files.mutants import FILES, FOLDERS, mutants, originals
from peak import GIGABYTE, SRC

PROGRAM = Path(__file__).with_name("fuzzed.py")


def check(folder: Path, rounds: int, seed: int) -> None:
    """Filter every kind of file as it should be, which compiles what is needed, and then so many damaged ones each."""
    for name in ("good", "bad", "out"):
        (folder / name).mkdir()
    env = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-W", "ignore", str(PROGRAM), str(folder / "out")]
    good = originals(folder / "good")
    names = "".join(f"{path}\n" for path in [*good, *mutants(good, folder / "bad", rounds * len(good), seed)])
    done = subprocess.run(command, input=names, capture_output=True, text=True, env=env, check=False)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(rows) == (1 + rounds) * len(good), done.stderr[-2000:]
    assert [row["file"] for row in rows[: len(good)] if row["code"] != 0] == []
    for row in rows[len(good) :]:
        assert row["code"] in (0, 2), row
        assert row["peak"] < GIGABYTE, row
        assert row["seconds"] < 5, row
        assert len(row["left"]) == (row["code"] == 0), row  # the output, or nothing at all
        if row["code"] == 2:
            assert row["file"] in row["said"], row
    refused = sum(row["code"] == 2 for row in rows)
    assert 0.2 < refused / len(rows) < 0.95  # damage that matters, and damage that does not


def test_some_damaged_files(tmp_path):
    check(tmp_path, 5, seed=1)


@pytest.mark.slow
@pytest.mark.timeout(14400)
def test_thousands_of_damaged_files(tmp_path):
    """Fresh ones in every run; the seed of a failure is shown beside it."""
    seed = int(os.environ.get("WHORL_FUZZ_SEED", time.time_ns()))
    print(f"WHORL_FUZZ_SEED={seed}")
    check(tmp_path, -(-5000 // (len(FILES) + len(FOLDERS))), seed=seed)
