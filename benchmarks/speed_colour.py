"""Colour coupled through one diffusivity (Gerig): one explicit step."""

from functools import partial

from benchmarks.peers import catalogue
from benchmarks.speed import compare
from benchmarks.suite import Case, Suite

__all__ = ["SUITE"]


def cases() -> dict[str, Case]:
    methods = [
        m
        for m in catalogue()
        if m.timed
        and m.takes(3)
        and (m.name == "whorl-gerig" or (m.library != "whorl" and m.model in ("perona-malik", "gerig")))
    ]
    return {
        f"{size}² colour, {threads} threads": partial(compare, methods, size, 3, threads)
        for size, threads in ((1024, 2), (1024, 1), (4096, 2))
    }


SUITE = Suite("speed_colour", "One explicit step, three coupled channels", cases)
