"""The compiled engine for processors: plans in, tensors out."""

import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from whorl.engines.base import Engine, ForwardEngine, Gradients, Numbers
from whorl.engines.cpu.derivative import derivative
from whorl.engines.cpu.layout import Array, constants, directions, gradients, kind, layout
from whorl.engines.cpu.pipeline import CHUNK, SLOTS, pipeline
from whorl.engines.cpu.strips import strip
from whorl.engines.cpu.tangents import tangents
from whorl.engines.cpu.threads import bands, run
from whorl.engines.cpu.workspace import room
from whorl.engines.plan import Plan

__all__ = ["NumbaEngine", "engine"]

CACHE = 2**19
"""Bytes of row buffers a pipeline may use: half of a usual second-level cache."""

WORKSPACE = 2**26
"""Bytes of smoothed fields a strip may use."""


def engine() -> Engine:
    """The engine."""
    return NumbaEngine()


class NumbaEngine(ForwardEngine):
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

    def advance(
        self,
        plan: Plan,
        u: Tensor,
        taus: Sequence[float],
        numbers: Numbers,
        mixes: Sequence[float] = (),
        frozen: bool = False,
    ) -> Tensor:
        mixes = mixes or [1.0] * len(taus)
        if frozen:
            # The image that steers travels along as further channels, which do not flow.
            C = u.shape[1]
            both = self.advance(replace(plan, frozen=True), torch.cat([u, u], 1), taus, numbers, mixes)
            return both[:, :C].contiguous()
        if plan.pointwise:
            return _piped(plan, u, list(taus), list(mixes), numbers)
        before = u
        for tau, mix in zip(taus, mixes, strict=True):
            after = _smoothed(plan, u, tau, numbers)
            before, u = u, after if mix == 1 else torch.lerp(before, after, mix)
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
            x, y, sources = room((where.fields * rows * (W + 2),) * 3, where.taps.dtype)
            kernel(
                flat, cotangent, result, sums[image], image, C, H, W, r0, r1,
                where.channel, where.scale, where.seen, where.moved, where.both, values.weight, values.factor, ones,
                where.taps, where.start, where.radius, where.flux, where.structure, values.rate, values.unit,
                x, y, sources, CHUNK,
            )  # fmt: skip

        run(work, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H, n, 4 * halo)])
        return Gradients(out, *gradients(plan, where, sums.sum((0, 1)), tau, numbers))

    def push_forward(
        self,
        plan: Plan,
        u: Tensor,
        du: Tensor,
        tau: float,
        dtau: Sequence[float],
        numbers: Numbers,
        dnumbers: Sequence[Numbers],
    ) -> Tensor:
        n, C, H, W = u.shape
        where = layout(plan, C, _real(u))
        values = constants(plan, where, tau, numbers)
        moves = [directions(plan, where, tau, dt, numbers, moved) for dt, moved in zip(dtau, dnumbers, strict=True)]
        d_weight, d_factor = (np.concatenate(parts).astype(where.taps.dtype) for parts in zip(*moves, strict=True))
        kernel = tangents(*kind(plan))
        out = torch.empty_like(du)
        flat, moving, result = _flat(u), _flat(du), _flat(out)
        ones = np.ones(where.fields, where.taps.dtype)
        halo = int(where.radius[where.scale[where.moved]].max()) + 1

        def work(image: int, r0: int, r1: int) -> None:
            rows = min(H, r1 + halo) - max(0, r0 - halo)
            x, y, sources = room((where.fields * rows * (W + 2),) * 3, where.taps.dtype)
            kernel(
                flat, moving, result, len(du), n, image, C, H, W, r0, r1,
                where.channel, where.scale, where.seen, where.moved, values.weight, values.factor, ones,
                d_weight, d_factor, where.taps, where.start, where.radius, where.flux, where.structure,
                values.rate, values.unit, x, y, sources, CHUNK,
            )  # fmt: skip

        run(work, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H, n, 4 * halo)])
        return out


def _piped(plan: Plan, u: Tensor, taus: list[float], mixes: list[float], numbers: Numbers) -> Tensor:
    n, C, H, W = u.shape
    members = C if plan.couple_channels else 1
    groups = n * C // members
    where = layout(plan, C, _real(u))
    kernel = pipeline(*kind(plan), members == 1)
    real = where.taps.dtype
    unit = constants(plan, where, 1.0, numbers)
    # With one scale the weight is common to all fields and can join the rate.
    inner = real.type(unit.rate * unit.weight[-1])
    sizes = np.array([constants(plan, where, tau, numbers).factor[-1] for tau in taus], real)
    shares = np.array(mixes, real)
    depth = max(1, min(8, CACHE // ((SLOTS + 2) * members * (W + 2) * u.element_size())))
    before = u
    for first in range(0, len(taus), depth):
        some = slice(first, first + depth)
        # The iterate before the last is wanted only if the next piece starts by looking back.
        keep = first + depth < len(taus) and mixes[first + depth] != 1
        out, spare = torch.empty_like(u), torch.empty_like(u) if keep and depth > 1 else u
        arrays = _flat(u), _flat(before), _flat(out), _flat(spare), keep and depth > 1
        run(
            kernel,
            [
                (*arrays, g * members, members, H, W, r0, r1, sizes[some], shares[some], where.flux, inner, CHUNK)
                for g in range(groups)
                for r0, r1 in bands(H, groups, 8 * depth)
            ],
        )
        before, u = spare, out
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
        fields, sources = room((where.fields * rows * (W + 2),) * 2, where.taps.dtype)
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
