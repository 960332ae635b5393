"""What a step of each of whorl's models costs."""

from functools import partial

from benchmarks.peers import catalogue
from benchmarks.speed import compare
from benchmarks.suite import Case, Suite

__all__ = ["SUITE"]


def cases() -> dict[str, Case]:
    ours = [m for m in catalogue() if m.library == "whorl"]
    return {
        f"512² {kind}, 2 threads": partial(compare, ours, 512, channels, 2, repeats=7)
        for kind, channels in (("grey", 1), ("colour", 3))
    }


SUITE = Suite("speed_models", "One explicit step of every whorl model", cases)
