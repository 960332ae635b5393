"""Diffusion tensors: EED, CED and Weickert–Brox beside the neighbours' tensor and curvature filters."""

from functools import partial

from benchmarks.peers import catalogue
from benchmarks.speed import compare
from benchmarks.suite import Case, Suite

__all__ = ["SUITE"]

_TENSOR = ("eed", "weickert-brox", "ced")


def cases() -> dict[str, Case]:
    grey = [m for m in catalogue() if m.model in _TENSOR and m.takes(2)]
    colour = [m for m in catalogue() if m.model in _TENSOR and m.takes(3)]
    return {
        f"1024² {kind}, {threads} threads": partial(compare, methods, 1024, channels, threads)
        for kind, methods, channels in (("grey", grey, 1), ("colour", colour, 3))
        for threads in (2, 1)
    }


SUITE = Suite("speed_tensor", "One explicit step with a diffusion tensor", cases)
