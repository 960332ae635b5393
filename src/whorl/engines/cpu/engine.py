"""The compiled engine for processors: forms in, tensors out."""

import platform
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cache

import torch
from torch import Tensor

from whorl.engines.base import Row, Steps
from whorl.engines.cpu.learned.gated import applied
from whorl.engines.cpu.plane.by_strips import by_strips, diffusion_tensors
from whorl.engines.cpu.plane.fields import Values, fields_of, gradients
from whorl.engines.cpu.plane.held import held
from whorl.engines.cpu.plane.passes import in_passes
from whorl.engines.cpu.plane.strips import ALONG, BACK, STEP
from whorl.engines.cpu.space.volumes import advance_volume, lacks
from whorl.engines.cpu.threads import alone
from whorl.engines.cpu.workspace import flat, fresh, precision
from whorl.engines.differentiable import ForwardEngine, plane_form
from whorl.steps import Form, GatedNumbers, GatedStep, Known, SpaceForm, Step

__all__ = ["NumbaEngine"]


class NumbaEngine(ForwardEngine):
    """Kernels compiled by Numba at first use and kept on disk; on all threads that torch uses."""

    name = "numba"

    def refusal(self, step: Step | GatedStep, u: Tensor, *, learning: bool = False) -> str:
        missing = super().refusal(step, u, learning=learning)
        return missing or ("" if _has_fma() else "this processor has no fused multiply-add")

    def undisturbed(self) -> AbstractContextManager[None]:
        return alone()

    def lacks_in_space(self, form: SpaceForm, u: Tensor) -> str:
        return lacks(form)

    def in_plane(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        step, start, C, frozen, only = steps.step, u, u.shape[1], steps.frozen, len(steps.numbers) == 1
        form, values, mixes = plane_form(step), _values(step, steps.numbers), list(steps.mixes)
        if len({each[1:] for each in values}) <= 1:
            if frozen and form.flux.plain and values:
                return in_passes(form, u, values, mixes, out, held(step, u), diffusion_tensors(form, u, values[0]))
            if form.pointwise and not frozen:
                return in_passes(form, u, values, mixes, out, held(step, u))
        bound = step.fidelity is not None or step.kept is not None
        if frozen:
            # Further channels hold the first image. The tensor comes from them, and the steps leave them as they are.
            form, u = replace(form, frozen=True), u if bound else torch.cat([u, u], 1)

        def one(u: Tensor, k: int) -> Tensor:
            into = out if only and not frozen else None
            if frozen and bound:  # data and masks know the channels of the image alone
                return _smoothed(form, torch.cat([u, start], 1), values[k], None)[:, :C]
            if form.pointwise:
                return in_passes(form, u, [values[k]], [], into, held(None, u))
            return _smoothed(form, u, values[k], into)

        done = steps.one_by_one(u, one)
        return done[:, :C].contiguous() if frozen else done

    def in_space(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        form, steer = steps.step.space, u if steps.frozen else None
        assert isinstance(form, SpaceForm)

        pairs = [each[:2] for each in _values(steps.step, steps.numbers)]
        if steps.step.fidelity is None and steps.step.kept is None:
            return advance_volume(form, u, pairs, steps.mixes, steer=steer, out=out)
        return steps.one_by_one(u, lambda u, k: advance_volume(form, u, [pairs[k]], steer=steer))

    def apply(self, step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
        return applied(step, u, numbers)

    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Known) -> tuple[Tensor, Known]:
        form, given, out = plane_form(step), Values.of(*numbers), torch.empty_like(u)
        sums = by_strips(BACK, form, u, w, flat(out), given)
        return out, gradients(form, fields_of(form, u.shape[1], precision(u)), sums, given)

    def push_forward(self, step: Step, u: Tensor, du: Tensor, numbers: Known, moves: Sequence[Known]) -> Tensor:
        out = torch.empty_like(du)
        by_strips(ALONG, plane_form(step), u, du, flat(out), Values.of(*numbers), [Values.of(*move) for move in moves])
        return out


def _values(step: Step, numbers: Sequence[Row]) -> list[Values]:
    """The numbers of every step; those of the step itself are read once."""
    own: Values | None = None
    found = []
    for each in numbers:
        if isinstance(each.tau, Tensor) or each[1:] != (None,) * 3:
            found.append(Values.of(*step.complete(each)))
        else:
            own = own or Values.of(1.0, *step.own())
            found.append(Values(float(each.tau), *own[1:]))
    return found


def _smoothed(form: Form, u: Tensor, numbers: Values, into: Tensor | None) -> Tensor:
    out = fresh(u) if into is None else into
    by_strips(STEP, form, u, u, flat(out), numbers)
    return out


@cache
def _has_fma() -> bool:
    """Without the instruction every multiply-add would be a slow call."""
    from llvmlite.binding import get_host_cpu_features

    return platform.machine().lower() in ("arm64", "aarch64") or bool(get_host_cpu_features().get("fma", False))
