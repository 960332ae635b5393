"""The search finds a known optimum; ratios, targets and growth are the arithmetic they claim."""

import json
from math import log

import numpy as np
import pytest
from benchmarks.peers.base import Method
from benchmarks.scaling import growth_exponent
from benchmarks.search import best_setting
from benchmarks.speed_time import relative_error
from benchmarks.table import as_rst, render, with_ratios
from benchmarks.targets import TAKEN_BACK, TARGETS, report, verdicts
from benchmarks.tune import SETTINGS, contestants, slow


def made_up(chains: bool = True) -> Method:
    """A "filter" whose state counts time and contrast, so that the best setting is known."""

    def run(image: np.ndarray, contrast: float, steps: int, tau: float) -> np.ndarray:
        return np.array([image[0] + steps * tau, contrast], np.float32)

    return Method(
        name="made-up", library="numpy", distribution="numpy", model="perona-malik", layout="grey", tau=0.25,
        tau_reason="", contrast="lambda", contrast_range=(1.0, 64.0), boundary="", precision="float32", settings="",
        load=lambda: run, chains=chains,
    )  # fmt: skip


def score(u: np.ndarray) -> float:
    """Highest at time 3 and contrast 10."""
    return 30.0 - (float(u[0]) - 3.0) ** 2 - log(float(u[1]) / 10.0) ** 2 if u[1] else -100.0


@pytest.mark.parametrize("chains", [True, False])
def test_search_finds_the_best_contrast_and_time(chains: bool) -> None:
    best = best_setting(made_up(chains), np.zeros(2, np.float32), score, rounds=6)
    assert best.time == pytest.approx(3.0, abs=0.1)  # half a step of 0.2
    assert best.contrast == pytest.approx(10.0, rel=0.03)
    assert not best.at_edge


def test_search_says_when_the_best_lies_at_the_end_of_its_range() -> None:
    assert best_setting(made_up(), np.zeros(2, np.float32), lambda u: float(u[1]), rounds=0).at_edge


def test_growth_and_error() -> None:
    assert growth_exponent([1, 10, 100], [2.0, 20.0, 200.0]) == pytest.approx(1.0)
    start, reference = np.zeros(4), np.ones(4)
    assert relative_error(1.1 * np.ones(4), reference, start) == pytest.approx(0.1)


def test_ratios_are_to_the_fastest_whorl_method_and_to_the_copy() -> None:
    times = {"whorl-a": 2.0, "whorl-b": 1.0, "peer": 8.0, "copy": 0.5}
    rows = with_ratios([{"method": name, "ms_per_mpix_step": t} for name, t in times.items()])
    assert [r["to_whorl"] for r in rows] == [2.0, 1.0, 8.0, 0.5]
    assert [r["to_copy"] for r in rows] == [4.0, 2.0, 16.0, 1.0]
    assert "8.00x" in as_rst(rows, "title")
    content = {"machine": {"processor": "p", "cores": 2}, "version": "0", "cases": {"case": rows}}
    assert "peer" in render(content, "title")


def test_a_target_reads_its_figure_off_the_rows() -> None:
    target = next(t for t in TARGETS if "over the fastest library, 1024²" in t.text and t.suite == "speed_grey")
    times = {"whorl-perona-malik": 1.0, "numpy-loop": 5.0, "medpy": 6.0, "itk-gradient": 60.0, "copy": 0.1}
    rows = [{"method": name, "ms_per_mpix_step": t} for name, t in times.items()]
    value = target.measure({"1024² grey, 2 threads": rows})
    assert value == 6.0
    assert target.met(value)
    assert not target.met(4.9)


def test_every_target_is_read_off_committed_results() -> None:
    assert not [target for _, target, value in verdicts() if value is None]


def test_what_was_missed_without_a_graphics_card_is_taken_back_with_a_reason() -> None:
    """And nothing else: a target that is met is no longer given up."""
    found = list(verdicts())
    missed = {target.text for _, target, value in found if value is not None and not target.met(value)}
    assert {text for text in missed if "GPU" not in text} == set(TAKEN_BACK)
    assert report(found).count("taken back: ") == len(TAKEN_BACK)


def test_the_report_groups_targets_and_counts_misses() -> None:
    fast, slow = (next(t for t in TARGETS if t.suite == suite) for suite in ("speed_grey", "latency"))
    text = report([("m", fast, 6.0), ("m", slow, 9.0), ("m", slow, None)])
    assert text.index("One explicit step") < text.index(fast.text) < text.index("Waiting") < text.index(slow.text)
    assert "1 met, 1 MISSED, 1 not measured" in text
    assert len({line.index("=") for line in text.splitlines() if "=" in line}) == 1  # one column for all signs


def test_gauss_newton_that_never_reaches_the_goal_misses() -> None:
    target = next(t for t in TARGETS if "loss of 250 Adam epochs" in t.text)
    rows = [{"method": "Gauss–Newton", "epochs": epochs} for epochs in (3.0, None)]
    assert not target.met(target.measure({"a": rows}))
    assert target.met(target.measure({"a": rows[:1]}))


def test_a_setting_at_the_end_of_its_range_is_marked() -> None:
    rows = [{"method": "a", "psnr": 1.0, "at_edge": True}, {"method": "b", "psnr": 0.0, "at_edge": False}]
    assert "at its end" in as_rst(rows, "")
    assert "range" not in as_rst(rows[1:], "")


def test_every_method_of_a_quality_suite_is_tuned() -> None:
    """So that a run of the benchmarks measures and does not search; peers that are not installed here count too."""
    kept = json.loads(SETTINGS.read_text())
    for picture, colour in (("camera", False), ("astronaut", True), ("sheet", False)):
        missing = [m.name for m in contestants(colour, installed=False) if not slow(m) and m.name not in kept[picture]]
        assert missing == [], picture
