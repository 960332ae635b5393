"""Honest clocks: warm-up first, everyone interleaved, best, median and spread kept.

Methods of one case take turns: round 1 runs each once, round 2 each once more, and so on, in an order that is turned by
one place each round; who is slow takes fewer turns, at least two. A neighbour's load, a frequency drop or a full cache
then hits all alike, and ratios survive what absolute times do not. The *best* time is the figure compared (it is the
one with the least of others' work in it); median and spread tell how quiet the machine was.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Any

__all__ = ["Timing", "best_time", "interleave"]


@dataclass(frozen=True)
class Timing:
    """Wall-clock seconds of one call; ``spread`` is (worst - best) / best; ``cpu`` sums over threads."""

    best: float
    median: float
    spread: float
    cpu: float
    repeats: int

    def as_row(self) -> dict[str, Any]:
        names = {"best": "best_s", "median": "median_s", "cpu": "cpu_s"}
        return {names.get(k, k): v for k, v in asdict(self).items()}


def interleave(
    calls: Mapping[str, Callable[[], object]], repeats: int = 5, budget_s: float = 20.0, warm: bool = False
) -> dict[str, Timing]:
    """Time every call ``repeats`` times in turns, after one unmeasured call each (unless they are ``warm`` already).

    Every call has an equal share of ``budget_s``; one that would exceed it takes no further turn once it has had two.
    """
    if not warm:
        for call in calls.values():
            call()
    share = budget_s / len(calls)
    wall: dict[str, list[float]] = {name: [] for name in calls}
    cpu: dict[str, list[float]] = {name: [] for name in calls}
    names = list(calls)
    for turn in range(repeats):
        shift = turn % len(names)
        for name in names[shift:] + names[:shift]:
            if turn >= 2 and sum(wall[name]) + min(wall[name]) > share:
                continue
            cpu_before, before = process_time(), perf_counter()
            calls[name]()
            wall[name].append(perf_counter() - before)
            cpu[name].append(process_time() - cpu_before)
    return {
        name: Timing(min(w), median(w), (max(w) - min(w)) / min(w), min(cpu[name]), len(w)) for name, w in wall.items()
    }


def best_time(call: Callable[[], object], repeats: int = 5) -> float:
    """Best of ``repeats`` after a warm-up; for quantities that are compared with nothing."""
    return interleave({"": call}, repeats)[""].best
