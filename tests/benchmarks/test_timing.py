"""The clock: turns are taken, budgets kept, figures consistent."""

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
