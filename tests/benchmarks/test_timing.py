"""The clock: turns are taken, budgets kept, figures consistent."""

from time import sleep

from benchmarks.timing import interleave


def test_methods_take_turns_and_warm_up_once() -> None:
    calls: list[str] = []
    timings = interleave({name: (lambda n=name: calls.append(n)) for name in "abc"}, repeats=3)
    assert calls[:3] == ["a", "b", "c"]  # warm-up
    assert calls[3:] == ["a", "b", "c", "b", "c", "a", "c", "a", "b"]
    assert all(t.repeats == 3 and 0 <= t.best <= t.median and t.spread >= 0 for t in timings.values())


def test_budget_ends_the_rounds_after_two() -> None:
    timings = interleave({"a": lambda: None}, repeats=50, budget_s=0.0)
    assert timings["a"].repeats == 2


def test_who_is_slow_takes_two_turns_and_nobody_else_fewer() -> None:
    """Equal shares of the budget: 40 ms each, so that the third turn of a call of 30 ms is not taken."""
    timings = interleave({"slow": lambda: sleep(0.03), "fast": lambda: None}, repeats=7, budget_s=0.08, warm=True)
    assert (timings["slow"].repeats, timings["fast"].repeats) == (2, 7)
