"""Times of launches, and the settings all parts of the suite share."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from whorl.engines.cuda.diffusivity import ANISOTROPIC, ISOTROPIC, UNCOUPLED
from whorl.engines.cuda.launches import Design
from whorl.operators import sample_scales
from whorl.operators.smoothing import gaussian_weights

__all__ = ["COUPLINGS", "DEVICE", "IMAGES", "KINDS", "SIZE", "TAPS", "coefficients", "distance", "timed"]

DEVICE = torch.device("cuda")
KINDS = ("homogeneous", "exponential", "rational", "charbonnier", "weickert")
COUPLINGS = {"uncoupled": UNCOUPLED, "isotropic": ISOTROPIC, "anisotropic": ANISOTROPIC}
TAPS = tuple(tuple(gaussian_weights(sigma)) for sigma in sample_scales().sigma)
IMAGES, SIZE = 10, 256  # a batch of the paper's experiment


def timed(call: Callable[[], object], calls: int = 10, replays: int = 9) -> tuple[float, float]:
    """Best and median seconds of one call, from replays of a recorded graph of several calls."""
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(calls):
            call()
    graph.replay()
    seconds = []
    for _ in range(replays):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        seconds.append(start.elapsed_time(end) * 1e-3 / calls)
    return min(seconds), sorted(seconds)[len(seconds) // 2]


def coefficients(design: Design, tau: float, contrast: float, outer: list[float], inner: list[float]) -> Tensor:
    return torch.tensor([tau * design.unit, design.unit / contrast**2, *outer, *inner], device=DEVICE)


def distance(found: Tensor, exact: Tensor) -> float:
    """Relative error; huge where anything is not finite."""
    error = ((found.double() - exact.double()).norm() / exact.double().norm()).item()
    return error if math.isfinite(error) else 1e30
