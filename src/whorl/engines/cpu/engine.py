"""The compiled engine for processors: forms in, tensors out."""

import math
import platform
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.engines.base import Row, Steps
from whorl.engines.cpu.coherent import coherent
from whorl.engines.cpu.derivative import derivative
from whorl.engines.cpu.fields import Array, Values, constants, directions, fields_of, gradients, kind
from whorl.engines.cpu.held import Held, held
from whorl.engines.cpu.pipeline import GIVEN, LINE, SLOTS, pipeline, pitch
from whorl.engines.cpu.rows import LANE
from whorl.engines.cpu.steering import steering
from whorl.engines.cpu.strips import strip
from whorl.engines.cpu.tangents import tangents
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.volumes import advance_volume, lacks
from whorl.engines.cpu.workspace import fresh, room
from whorl.engines.differentiable import ForwardEngine, plane_form
from whorl.steps import BIHARMONIC, Form, Known, SpaceForm, Step

__all__ = ["NumbaEngine"]

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


class NumbaEngine(ForwardEngine):
    """Kernels compiled by Numba at first use and kept on disk; on all threads that torch uses."""

    name = "numba"

    def refusal(self, step: Step, u: Tensor, *, learning: bool = False) -> str:
        missing = super().refusal(step, u, learning=learning)
        return missing or ("" if _has_fma() else "this processor has no fused multiply-add")

    def lacks_in_space(self, form: SpaceForm, u: Tensor) -> str:
        return lacks(form)

    def in_plane(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        step, start, C, frozen = steps.step, u, u.shape[1], steps.frozen
        form, values, mixes = plane_form(step), _values(step, steps.numbers), list(steps.mixes)
        if form.law == BIHARMONIC:
            return _fourth_order(steps, u)
        if len({each[1:] for each in values}) <= 1:
            if frozen and form.flux.plain and not form.rho and values:
                return _piped(form, u, values, mixes, out, held(step, u), _tensors(form, u, values[0]))
            if form.pointwise and not frozen:
                return _piped(form, u, values, mixes, out, held(step, u))
        bound = step.fidelity is not None or step.kept is not None
        if frozen:
            # Further channels hold the first image. The tensor comes from them, and the steps leave them as they are.
            form, u = replace(form, frozen=True), u if bound else torch.cat([u, u], 1)

        def one(u: Tensor, each: Row) -> Tensor:
            into = out if len(values) == 1 and not frozen else None
            given = Values.of(step.complete(each))
            if frozen and bound:  # data and masks know the channels of the image alone
                return _smoothed(form, torch.cat([u, start], 1), given, None)[:, :C]
            if form.pointwise:
                return _piped(form, u, [given], [], into, held(None, u))
            return _smoothed(form, u, given, into)

        done = steps.one_by_one(u, one)
        return done[:, :C].contiguous() if frozen else done

    def in_space(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        form, steer = steps.step.space, u if steps.frozen else None
        assert isinstance(form, SpaceForm)
        pairs = [Values.of(steps.step.complete(each))[:2] for each in steps.numbers]
        if steps.step.fidelity is None and steps.step.kept is None:
            return advance_volume(form, u, pairs, steps.mixes, steer=steer, out=out)
        known = dict(zip(map(id, steps.numbers), pairs, strict=True))

        def one(u: Tensor, each: Row) -> Tensor:
            return advance_volume(form, u, [known[id(each)]], steer=steer)

        return steps.one_by_one(u, one)

    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Known) -> tuple[Tensor, Known]:
        n, C, H, W = u.shape
        form, given = plane_form(step), Values.of(numbers)
        where = fields_of(form, C, _real(u))
        values = constants(form, where, given)
        kernel = derivative(*kind(form))
        out = torch.empty_like(u)
        flat, cotangent, result = _flat(u), _flat(w), _flat(out)
        sums = np.zeros((n, H + 1, where.fields, 2))
        ones = np.ones(where.fields, where.taps.dtype)
        halo = where.halo(where.both) + 1

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
        return out, gradients(form, where, sums.sum((0, 1)), given).tensors()

    def push_forward(self, step: Step, u: Tensor, du: Tensor, numbers: Known, moves: Sequence[Known]) -> Tensor:
        n, C, H, W = u.shape
        form, given = plane_form(step), Values.of(numbers)
        where = fields_of(form, C, _real(u))
        values = constants(form, where, given)
        moved = [directions(form, where, given, Values.of(move)) for move in moves]
        d_weight, d_factor = (np.concatenate(parts).astype(where.taps.dtype) for parts in zip(*moved, strict=True))
        kernel = tangents(*kind(form))
        out = torch.empty_like(du)
        flat, moving, result = _flat(u), _flat(du), _flat(out)
        ones = np.ones(where.fields, where.taps.dtype)
        halo = where.halo(where.moved) + 1

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


def _values(step: Step, numbers: Sequence[Row]) -> list[Values]:
    """The numbers of every step; those of the step itself are read once."""
    own: Values | None = None
    found = []
    for each in numbers:
        if isinstance(each.tau, Tensor) or any(part is not None for part in each[1:]):
            found.append(Values.of(step.complete(each)))
        else:
            own = own or Values.of(step.complete(each))
            found.append(own._replace(tau=float(each.tau)))
    return found


def _fourth_order(steps: Steps, u: Tensor) -> Tensor:
    """Every step as two of second order, there and back by the root of its size."""
    form = plane_form(steps.step)

    def one(u: Tensor, each: Row) -> Tensor:
        given = Values.of(steps.step.complete(each))
        pair = [given._replace(tau=sign * math.sqrt(given.tau)) for sign in (1, -1)]
        return _piped(form, u, pair, [], None, held(None, u))

    return steps.one_by_one(u, one)


Tensors = tuple[Array, Array, Array]
"""The entries of one diffusion tensor for each cell and group of fields."""


def _tensors(form: Form, u: Tensor, numbers: Values) -> Tensors:
    """The diffusion tensors of the image."""
    n, C, H, W = u.shape
    where = fields_of(form, C, _real(u))
    values, real = constants(form, where, numbers), where.taps.dtype
    used = np.unique(where.seen)
    seen, kernel, flat = np.searchsorted(used, where.seen), steering(*kind(form)), _flat(u)
    scale = real.type(_scale(form, float(values.unit)))
    count = n * len(seen) * (H + 1) * (W + 1)
    lacking = {"isotropic": (1, 2), "uncoupled": (1,)}.get(form.law, ())
    A, B, D = (np.empty(0 if entry in lacking else count, real) for entry in range(3))

    def work(image: int, r0: int, r1: int) -> None:
        (fields,) = room((len(used) * (r1 - r0 + 1) * (W + 2),), real)
        kernel(
            flat, image, C, H, W, r0, r1, where.channel[used], where.scale[used], seen, values.weight[used] * scale,
            where.taps, where.start, where.radius, where.structure, values.rate / scale, real.type(1), fields, A, B, D,
        )  # fmt: skip

    run(work, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H + 1, n, 32)])
    return A, B, D


def _piped(
    form: Form,
    u: Tensor,
    numbers: list[Values],
    mixes: list[float],
    into: Tensor | None,
    bound: Held,
    tensors: Tensors | None = None,
) -> Tensor:
    n, C, H, W = u.shape
    if not numbers:
        return u.clone() if into is None else into.copy_(u)
    members = C if form.couple_channels else 1
    groups = n * C // members
    where = fields_of(form, C, _real(u))
    together = GIVEN if tensors is not None else members if members in (1, 3) else 0
    kernel = pipeline(*kind(form), together)
    real = where.taps.dtype
    taus, mixes = [each.tau for each in numbers], mixes or [1.0] * len(numbers)
    # All steps have the same contrast.
    unit = constants(form, where, numbers[0]._replace(tau=1.0))
    # With one scale the weight is common to all fields and can join the rate.
    scale = _scale(form, float(unit.unit) * float(unit.weight[-1]))
    inner, more = real.type(unit.rate * unit.weight[-1] / real.type(scale)), real.type(scale)
    sizes = (np.array(taus) * float(unit.factor[where.moved[0, 0]])).astype(real)
    pulls = np.array(taus if bound.pulled else [], real)
    shares = np.array(mixes, real)
    depth, width = _window(W, members * u.element_size(), len(taus))
    width = min(width, LANE - 5 * LINE) if together == 3 else width
    columns = split(W, width, LINE)

    def work(arrays: tuple[Any, ...], some: slice, g: int, r0: int, r1: int, c0: int, c1: int) -> None:
        left, right = max(0, c0 - LINE), min(W, c1 + LINE)
        line, lanes = LANE if together == 3 else pitch(right - left), depth * members
        sizes_of_room = (lanes * SLOTS + members) * line, lanes * line, lanes * line, line, line, line
        rows, across, down, *J = room(sizes_of_room, real)
        kernel(
            *arrays, g * members, members, H, W, r0, r1, c0, c1, left, right, sizes[some], shares[some],
            where.flux, inner, more, rows, across, down, *(tensors or J), line, pulls[some], *bound.arrays,
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


def _scale(form: Form, unit: float) -> float:
    """The power of two that brings structures of the size of the squared contrast, ``1 / unit``, to the size of 1."""
    return 2.0 ** math.floor(math.log2(unit)) if form.law == "anisotropic" else 1.0


def _window(W: int, pixel: int, steps: int) -> tuple[int, int]:
    """How many steps to take in one pass, and on how many columns, so that the rows of all steps stay in the cache."""
    room = CACHE // ((SLOTS + 2) * pixel)
    depth = max(1, min(DEPTH, steps, room // min(W, NARROW)))
    depth = -(-steps // -(-steps // depth))
    return depth, max(room // depth, NARROW)


def _smoothed(form: Form, u: Tensor, numbers: Values, into: Tensor | None) -> Tensor:
    n, C, H, W = u.shape
    out = fresh(u) if into is None else into
    where = fields_of(form, C, _real(u))
    values = constants(form, where, numbers)
    kernel = (coherent if form.rho else strip)(*kind(form))
    scale = where.taps.dtype.type(_scale(form, float(values.unit)))
    flat, result, real = _flat(u), _flat(out), where.taps.dtype
    R = len(form.rho[0]) - 1 if form.rho else 0
    rho = np.array([w for taps in form.rho for w in taps], real)
    halo = where.halo(where.moved) + 1 + R

    def work(image: int, r0: int, r1: int) -> None:
        rows = min(H, r1 + halo) - max(0, r0 - halo)
        each = where.fields * rows * (W + 2)
        planes = 3 * (r1 - r0 + 2 * halo + 1) * (W + 1) if form.rho else 0
        fields, sources, entries = room((each, each, planes), real)
        last = (
            (real.type(form.floor if form.law == "coherence-enhancing" else 1), rho, R + 1, entries)
            if form.rho
            else (CHUNK,)
        )
        kernel(
            flat, result, image, C, H, W, r0, r1,
            where.channel, where.scale, where.seen, where.moved, values.weight * scale, values.factor,
            where.taps, where.start, where.radius, where.flux, where.structure, values.rate / scale, fields, sources,
            *last,
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
