"""The compiled engine for processors: forms in, tensors out."""

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from whorl.engines.base import Row, Steps
from whorl.engines.cpu.coherent import coherent
from whorl.engines.cpu.derivative import derivative
from whorl.engines.cpu.fields import Array, Fields, Values, constants, directions, fields_of, gradients, kind
from whorl.engines.cpu.held import held
from whorl.engines.cpu.passes import diffusion_tensors, fourth_order, in_passes, scale_of
from whorl.engines.cpu.strips import strip
from whorl.engines.cpu.tangents import tangents
from whorl.engines.cpu.threads import bands, run
from whorl.engines.cpu.volumes import advance_volume, lacks
from whorl.engines.cpu.workspace import flat, fresh, precision, room
from whorl.engines.differentiable import ForwardEngine, plane_form
from whorl.steps import BIHARMONIC, Form, Known, SpaceForm, Step

__all__ = ["NumbaEngine"]

CHUNK = 1023
"""Pixels per chunk of a row in a strip; its cells and their buffers fit into the first-level cache."""


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
            return fourth_order(steps, u)
        if len({each[1:] for each in values}) <= 1:
            if frozen and form.flux.plain and not form.rho and values:
                return in_passes(form, u, values, mixes, out, held(step, u), diffusion_tensors(form, u, values[0]))
            if form.pointwise and not frozen:
                return in_passes(form, u, values, mixes, out, held(step, u))
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
                return in_passes(form, u, [given], [], into, held(None, u))
            return _smoothed(form, u, given, into)

        done = steps.one_by_one(u, one)
        return done[:, :C].contiguous() if frozen else done

    def in_space(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        form, steer = steps.step.space, u if steps.frozen else None
        assert isinstance(form, SpaceForm)

        def pair(each: Row) -> tuple[float, float]:
            return Values.of(steps.step.complete(each))[:2]

        if steps.step.fidelity is None and steps.step.kept is None:
            return advance_volume(form, u, [pair(each) for each in steps.numbers], steps.mixes, steer=steer, out=out)
        return steps.one_by_one(u, lambda u, each: advance_volume(form, u, [pair(each)], steer=steer))

    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Known) -> tuple[Tensor, Known]:
        n, C, H, W = u.shape
        form, given = plane_form(step), Values.of(numbers)
        where = fields_of(form, C, precision(u))
        values = constants(form, where, given)
        kernel = derivative(*kind(form))
        out = torch.empty_like(u)
        pixels, cotangent, result = flat(u), flat(w), flat(out)
        sums = np.zeros((n, H + 1, where.fields, 2))
        ones = np.ones(where.fields, where.taps.dtype)

        def work(image: int, r0: int, r1: int, *rooms: Array) -> None:
            kernel(
                pixels, cotangent, result, sums[image], image, C, H, W, r0, r1,
                where.channel, where.scale, where.seen, where.moved, where.both, values.weight, values.factor, ones,
                where.taps, where.start, where.radius, where.flux, where.structure, values.rate, values.unit,
                *rooms, CHUNK,
            )  # fmt: skip

        _by_strips(work, where, where.halo(where.both) + 1, u)
        return out, gradients(form, where, sums.sum((0, 1)), given).tensors()

    def push_forward(self, step: Step, u: Tensor, du: Tensor, numbers: Known, moves: Sequence[Known]) -> Tensor:
        n, C, H, W = u.shape
        form, given = plane_form(step), Values.of(numbers)
        where = fields_of(form, C, precision(u))
        values = constants(form, where, given)
        moved = [directions(form, where, given, Values.of(move)) for move in moves]
        d_weight, d_factor = (np.concatenate(parts).astype(where.taps.dtype) for parts in zip(*moved, strict=True))
        kernel = tangents(*kind(form))
        out = torch.empty_like(du)
        pixels, moving, result = flat(u), flat(du), flat(out)
        ones = np.ones(where.fields, where.taps.dtype)

        def work(image: int, r0: int, r1: int, *rooms: Array) -> None:
            kernel(
                pixels, moving, result, len(du), n, image, C, H, W, r0, r1,
                where.channel, where.scale, where.seen, where.moved, values.weight, values.factor, ones,
                d_weight, d_factor, where.taps, where.start, where.radius, where.flux, where.structure,
                values.rate, values.unit, *rooms, CHUNK,
            )  # fmt: skip

        _by_strips(work, where, where.halo(where.moved) + 1, u)
        return out


def _by_strips(work: Callable[..., None], where: Fields, halo: int, u: Tensor) -> None:
    """Call ``work(image, first row, last row, *rooms)`` for all strips, with three rooms for the fields of a strip."""
    n, _, H, W = u.shape

    def one(image: int, r0: int, r1: int) -> None:
        rows = min(H, r1 + halo) - max(0, r0 - halo)
        work(image, r0, r1, *room((where.fields * rows * (W + 2),) * 3, where.taps.dtype))

    run(one, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H, n, 4 * halo)])


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


def _smoothed(form: Form, u: Tensor, numbers: Values, into: Tensor | None) -> Tensor:
    n, C, H, W = u.shape
    out = fresh(u) if into is None else into
    where = fields_of(form, C, precision(u))
    values = constants(form, where, numbers)
    kernel = (coherent if form.rho else strip)(*kind(form))
    scale = where.taps.dtype.type(scale_of(form, float(values.unit)))
    pixels, result, real = flat(u), flat(out), where.taps.dtype
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
            pixels, result, image, C, H, W, r0, r1,
            where.channel, where.scale, where.seen, where.moved, values.weight * scale, values.factor,
            where.taps, where.start, where.radius, where.flux, where.structure, values.rate / scale, fields, sources,
            *last,
        )  # fmt: skip

    run(work, [(image, r0, r1) for image in range(n) for r0, r1 in bands(H, n, 4 * halo)])
    return out


@cache
def _has_fma() -> bool:
    """Without the instruction every multiply-add would be a slow call."""
    from llvmlite.binding import get_host_cpu_features

    return platform.machine().lower() in ("arm64", "aarch64") or bool(get_host_cpu_features().get("fma", False))
