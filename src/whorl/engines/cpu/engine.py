"""The compiled engine for processors: plans in, tensors out."""

import platform
from collections.abc import Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from whorl.engines.base import Engine, Gradients, Numbers
from whorl.engines.cpu.derivative import derivative
from whorl.engines.cpu.layout import Array, constants, gradients, kind, layout
from whorl.engines.cpu.pipeline import CHUNK, pipeline
from whorl.engines.cpu.strips import strip
from whorl.engines.cpu.threads import bands, run
from whorl.engines.plan import Plan

__all__ = ["NumbaEngine", "engine"]

CACHE = 2**19
"""Bytes of row buffers a pipeline may use: half of a usual second-level cache."""

WORKSPACE = 2**26
"""Bytes of smoothed fields a strip may use."""


def engine() -> Engine:
    """The engine."""
    return NumbaEngine()


class NumbaEngine(Engine):
    """Kernels compiled by Numba at first use and kept on disk; on all threads that torch uses."""

    name = "numba"

    def refusal(self, plan: Plan, u: Tensor, learning: bool) -> str:
        if u.device.type != "cpu":
            return f"the engine 'numba' works on the processor, the image is on {u.device}"
        if u.dtype not in (torch.float32, torch.float64):
            return f"{u.dtype} has no compiled form"
        if learning and plan.diffusivity == "Weickert" and plan.coupling == "anisotropic":
            return "the derivative of Weickert's diffusivity as a matrix function has no compiled form"
        return "" if _has_fma() else "this processor has no fused multiply-add"

    def advance(self, plan: Plan, u: Tensor, taus: Sequence[float], numbers: Numbers) -> Tensor:
        if plan.pointwise:
            return _piped(plan, u, list(taus), numbers)
        for tau in taus:
            u = _smoothed(plan, u, tau, numbers)
        return u

    def pull_back(self, plan: Plan, u: Tensor, w: Tensor, tau: float, numbers: Numbers) -> Gradients:
        n, C, H, W = u.shape
        where = layout(plan, C, _real(u))
        values = constants(plan, where, tau, numbers)
        kernel = derivative(*kind(plan))
        out = torch.empty_like(u)
        flat, cotangent, result = _flat(u), _flat(w), _flat(out)
        sums = np.zeros((n, H + 1, where.fields, 2))
        ones = np.ones(where.fields, where.taps.dtype)
        halo = int(where.radius.max()) + 1

        def work(image: int, r0: int, r1: int) -> None:
            rows = min(H, r1 + halo) - max(0, r0 - halo)
            x, y, sources = (np.empty(where.fields * rows * (W + 2), where.taps.dtype) for _ in range(3))
            kernel(
                flat, cotangent, result, sums[image], image, C, H, W, r0, r1,
                where.channel, where.scale, where.seen, where.moved, where.both, values.weight, values.factor, ones,
                where.taps, where.start, where.radius, where.flux, where.structure, values.rate, values.unit,
                x, y, sources, CHUNK,
            )  # fmt: skip

        run(work, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H, n, 4 * halo)])
        return Gradients(out, *gradients(plan, where, sums.sum((0, 1)), tau, numbers))


def _piped(plan: Plan, u: Tensor, taus: list[float], numbers: Numbers) -> Tensor:
    n, C, H, W = u.shape
    members = C if plan.couple_channels else 1
    where = layout(plan, C, _real(u))
    kernel = pipeline(*kind(plan))
    depth = max(1, min(8, CACHE // (4 * members * (W + 2) * u.element_size())))
    for first in range(0, len(taus), depth):
        some = [constants(plan, where, tau, numbers) for tau in taus[first : first + depth]]
        sizes = np.array([one.factor[-1] for one in some], where.taps.dtype)
        k = np.append(where.flux, some[0].weight[-1])
        out = torch.empty_like(u)
        flat, result = _flat(u), _flat(out)
        groups = n * C // members
        run(
            kernel,
            [
                (flat, result, g * members, members, H, W, r0, r1, sizes, k, some[0].rate, CHUNK)
                for g in range(groups)
                for r0, r1 in bands(H, groups, 8 * len(sizes))
            ],
        )
        u = out
    return u


def _smoothed(plan: Plan, u: Tensor, tau: float, numbers: Numbers) -> Tensor:
    n, C, H, W = u.shape
    where = layout(plan, C, _real(u))
    values = constants(plan, where, tau, numbers)
    kernel = strip(*kind(plan))
    out = torch.empty_like(u)
    flat, result = _flat(u), _flat(out)
    halo = int(where.radius[where.scale[where.moved]].max()) + 1

    def work(image: int, r0: int, r1: int) -> None:
        rows = min(H, r1 + halo) - max(0, r0 - halo)
        fields = np.empty(where.fields * rows * (W + 2), where.taps.dtype)
        sources = np.empty(where.fields * rows * W, where.taps.dtype)
        kernel(
            flat, result, image, C, H, W, r0, r1,
            where.channel, where.scale, where.seen, where.moved, values.weight, values.factor,
            where.taps, where.start, where.radius, where.flux, where.structure, values.rate, fields, sources, CHUNK,
        )  # fmt: skip

    run(work, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H, n, 4 * halo)])
    return out


def _real(u: Tensor) -> str:
    return "float32" if u.dtype == torch.float32 else "float64"


@cache
def _has_fma() -> bool:
    """Without the instruction every multiply-add would be a slow call."""
    from llvmlite.binding import get_host_cpu_features

    return platform.machine().lower() in ("arm64", "aarch64") or bool(get_host_cpu_features().get("fma", False))


def _flat(u: Tensor) -> Array:
    return u.numpy().reshape(-1)
