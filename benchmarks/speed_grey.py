"""Perona–Malik on a grey picture: one explicit step, everyone who offers it, in and beyond the caches."""

from functools import partial

from benchmarks.peers import catalogue
from benchmarks.speed import compare
from benchmarks.suite import Case, Suite

__all__ = ["SUITE"]

# The fixed variant of ITK is the same code as the plain one, the Gaussian one of DIPlib another filter.
_LEFT_OUT = ("itk-gradient-fixed",)


def cases() -> dict[str, Case]:
    methods = [
        m
        for m in catalogue()
        if m.timed
        and m.takes(2)
        and m.name not in _LEFT_OUT
        and (m.name == "whorl-perona-malik" or (m.library != "whorl" and m.model in ("perona-malik", "gerig")))
    ]
    return {
        f"{size}² grey, {threads} threads": partial(
            compare, methods, size, 1, threads, repeats=repeats, budget_s=budget
        )
        for size, threads, repeats, budget in ((1024, 2, 7, 20), (1024, 1, 7, 20), (4096, 2, 5, 30), (4096, 1, 5, 30))
    }


SUITE = Suite("speed_grey", "One explicit Perona–Malik step", cases)
