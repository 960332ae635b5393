"""Schedules: slower growth takes more steps and ends nearer, and a scheme that equals its reference scores nothing."""

import pytest
import torch
from benchmarks.schedules import compare

import catalogue

pytest.importorskip("numba")


def test_slower_growth_costs_steps_and_buys_accuracy(rng):
    u = catalogue.noise(rng, 1, 1, 24, 24, dtype=torch.float32, scale=20.0)
    slow, fast = compare("eed", 10.0, u, (20.0,), (1.02, 2.0), finer=4)
    assert slow["fewer_steps"] < fast["fewer_steps"]
    assert slow["error"] < fast["error"]
    assert slow["error"] / slow["to_explicit"] == pytest.approx(fast["error"] / fast["to_explicit"])


def test_the_reference_passes_through_every_time(rng):
    u = catalogue.noise(rng, 1, 1, 16, 16, dtype=torch.float32, scale=20.0)
    both = compare("perona-malik", 10.0, u, (4.0, 8.0), (1.2,), finer=2)
    alone = compare("perona-malik", 10.0, u, (8.0,), (1.2,), finer=2)
    assert [row["time"] for row in both] == [4.0, 8.0]
    assert both[1]["error"] == pytest.approx(alone[0]["error"], rel=1e-3)
