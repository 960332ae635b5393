"""Times on the device, and relative errors."""

import math
from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["DEVICE", "distance", "timed"]

DEVICE = torch.device("cuda")


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


def distance(found: Tensor, exact: Tensor) -> float:
    """Relative error; huge where anything is not finite."""
    error = ((found.double() - exact.double()).norm() / exact.double().norm()).item()
    return error if math.isfinite(error) else 1e30
