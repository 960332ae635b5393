"""Perona–Malik on a grey picture: one explicit step, everyone who offers it, in and beyond the caches."""

from functools import partial

from benchmarks.peers import catalogue
from benchmarks.speed import compare
from benchmarks.suite import Case, Suite

__all__ = ["SUITE"]

# The fixed variant of ITK is the same code as the plain one, the Gaussian one of DIPlib another filter.
_LEFT_OUT = ("itk-gradient-fixed",)
_FASTEST = ("whorl-perona-malik", "numpy-loop-tuned", "opencv")  # 4096² on one thread: the rest would take a minute


def cases() -> dict[str, Case]:
    methods = [
        m
        for m in catalogue()
        if m.timed
        and m.takes(2)
        and m.name not in _LEFT_OUT
        and (m.name == "whorl-perona-malik" or (m.library != "whorl" and m.model in ("perona-malik", "gerig")))
    ]
    fastest = [m for m in methods if m.name in _FASTEST]
    return {
        f"{size}² grey, {threads} threads": partial(compare, chosen, size, 1, threads)
        for size, threads, chosen in ((1024, 2, methods), (1024, 1, methods), (4096, 2, methods), (4096, 1, fastest))
    }


SUITE = Suite("speed_grey", "One explicit Perona–Malik step", cases)
