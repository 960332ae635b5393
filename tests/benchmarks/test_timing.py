"""The clock: turns are taken, budgets kept, figures consistent."""

import pytest
from benchmarks.timing import interleave

from benchmarks import timing


def test_methods_take_turns_and_warm_up_once() -> None:
    calls: list[str] = []
    timings = interleave({name: (lambda n=name: calls.append(n)) for name in "abc"}, repeats=3)
    assert calls[:3] == ["a", "b", "c"]  # warm-up
    assert calls[3:] == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert all(t.repeats == 3 and 0 <= t.best <= t.median and t.spread >= 0 for t in timings.values())


def test_budget_ends_the_rounds_after_two() -> None:
    timings = interleave({"a": lambda: None}, repeats=50, budget_s=0.0)
    assert timings["a"].repeats == 2


def test_who_is_slow_takes_two_turns_and_nobody_else_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal shares of the budget: 40 ms each, so that the third turn of a call of 30 ms is not taken."""
    now = [0.0]
    monkeypatch.setattr(timing, "perf_counter", lambda: now[0])  # a clock that other programs do not disturb

    def work(seconds: float) -> None:
        now[0] += seconds

    calls = {"slow": lambda: work(0.03), "fast": lambda: work(0.001)}
    timings = timing.interleave(calls, repeats=7, budget_s=0.08, warm=True)
    assert (timings["slow"].repeats, timings["fast"].repeats) == (2, 7)
    assert timings["slow"].best == pytest.approx(0.03)
