"""The compiled engine for processors: plans in, tensors out."""

import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.engines.base import Engine, ForwardEngine, Gradients, Numbers
from whorl.engines.cpu.derivative import derivative
from whorl.engines.cpu.layout import Array, constants, directions, gradients, kind, layout
from whorl.engines.cpu.pipeline import LINE, SLOTS, pipeline, pitch
from whorl.engines.cpu.rows import LANE
from whorl.engines.cpu.strips import strip
from whorl.engines.cpu.tangents import tangents
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import fresh, room
from whorl.engines.plan import Plan

__all__ = ["NumbaEngine", "engine"]

CACHE = 2**20
"""Bytes of row buffers a pipeline may use: a usual second-level cache."""

DEPTH = min(12, LINE)
"""The most steps taken in one pass over the image; windows look ``LINE`` columns beyond their own."""

NARROW = 1024
"""Columns below which a pass takes fewer steps rather than fewer columns."""

CHUNK = 1023
"""Pixels per chunk of a row in a strip; its cells and their buffers fit into the first-level cache."""

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
        out: Tensor | None = None,
    ) -> Tensor:
        mixes = mixes or [1.0] * len(taus)
        if frozen:
            # The image that steers travels along as further channels, which do not flow.
            C = u.shape[1]
            both = self.advance(replace(plan, frozen=True), torch.cat([u, u], 1), taus, numbers, mixes)
            return both[:, :C].contiguous() if out is None else out.copy_(both[:, :C])
        if plan.pointwise:
            return _piped(plan, u, list(taus), list(mixes), numbers, out)
        if len(taus) == 1 and out is not None:
            return _smoothed(plan, u, taus[0], numbers, out)
        before = u
        for tau, mix in zip(taus, mixes, strict=True):
            after = _smoothed(plan, u, tau, numbers, fresh(u))
            before, u = u, after if mix == 1 else torch.lerp(before, after, mix)
        return u if out is None else out.copy_(u)

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


def _piped(
    plan: Plan, u: Tensor, taus: list[float], mixes: list[float], numbers: Numbers, into: Tensor | None
) -> Tensor:
    n, C, H, W = u.shape
    members = C if plan.couple_channels else 1
    groups = n * C // members
    where = layout(plan, C, _real(u))
    kernel = pipeline(*kind(plan), members if members in (1, 3) else 0)
    real = where.taps.dtype
    unit = constants(plan, where, 1.0, numbers)
    # With one scale the weight is common to all fields and can join the rate.
    inner = real.type(unit.rate * unit.weight[-1])
    sizes = (np.array(taus) * float(unit.factor[-1])).astype(real)
    shares = np.array(mixes, real)
    depth, width = _window(W, members * u.element_size(), len(taus))
    width = min(width, LANE - 5 * LINE) if members == 3 else width
    columns = split(W, width, LINE)

    def work(arrays: tuple[Any, ...], some: slice, g: int, r0: int, r1: int, c0: int, c1: int) -> None:
        left, right = max(0, c0 - LINE), min(W, c1 + LINE)
        line, lanes = LANE if members == 3 else pitch(right - left), depth * members
        sizes_of_room = (lanes * SLOTS + members) * line, lanes * line, lanes * line, line, line, line
        kernel(
            *arrays, g * members, members, H, W, r0, r1, c0, c1, left, right, sizes[some], shares[some],
            where.flux, inner, *room(sizes_of_room, real), line,
        )  # fmt: skip

    free: list[Tensor] = []
    before = source = u
    for first in range(0, len(taus), depth):
        # The iterate before the last is wanted only if the next piece starts by looking back.
        keep = depth > 1 and first + depth < len(taus) and mixes[first + depth] != 1
        last = first + depth >= len(taus)
        out = into if last and into is not None else free.pop() if free else fresh(u)
        spare = (free.pop() if free else fresh(u)) if keep else source
        arrays = _flat(source), _flat(before), _flat(out), _flat(spare), keep
        tasks = [
            (arrays, slice(first, first + depth), g, r0, r1, c0, c1)
            for g in range(groups)
            for r0, r1 in bands(H, groups * len(columns), 8 * depth)
            for c0, c1 in columns
        ]
        run(work, tasks)
        free += [old for old in (before, source) if not any(old is kept for kept in (u, into, spare, out, *free))]
        before, source = spare, out
    return source


def _window(W: int, pixel: int, steps: int) -> tuple[int, int]:
    """How many steps to take in one pass, and on how many columns, so that the rows of all steps stay in the cache."""
    room = CACHE // ((SLOTS + 2) * pixel)
    depth = max(1, min(DEPTH, steps, room // min(W, NARROW)))
    depth = -(-steps // -(-steps // depth))
    return depth, max(room // depth, NARROW)


def _smoothed(plan: Plan, u: Tensor, tau: float, numbers: Numbers, out: Tensor) -> Tensor:
    n, C, H, W = u.shape
    where = layout(plan, C, _real(u))
    values = constants(plan, where, tau, numbers)
    kernel = strip(*kind(plan))
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
