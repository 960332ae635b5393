"""The compiled engine for processors: forms in, tensors out. Rooms that a picture does not need are not imported."""

import platform
from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import cache

import torch
from torch import Tensor

from whorl.energies.learned import EnergyAt, Regulariser
from whorl.engines.base import Steps
from whorl.engines.capabilities import VOLUME
from whorl.engines.cpu.plane.by_strips import by_strips, diffusion_tensors
from whorl.engines.cpu.plane.fields import fields_of, gradients
from whorl.engines.cpu.plane.passes import held, in_passes
from whorl.engines.cpu.plane.second_derivatives import by_second_derivatives
from whorl.engines.cpu.plane.strips import ALONG, BACK, STEP
from whorl.engines.cpu.plane.wide import wide_steps
from whorl.engines.cpu.threads import alone
from whorl.engines.cpu.workspace import flat, fresh, precision, turns
from whorl.engines.differentiable import ForwardEngine, form_of
from whorl.engines.reference import ReferenceEngine
from whorl.steps import Form, GatedNumbers, GatedStep, Numbers, Step


class NumbaEngine(ForwardEngine):
    """Kernels compiled by Numba at first use and kept on disk; on all threads that torch uses."""

    name = "numba"

    def refusal(self, step: Step | GatedStep | EnergyAt, u: Tensor, *, learning: bool = False) -> str:
        missing = super().refusal(step, u, learning=learning)
        return missing or ("" if _has_fma() else "this processor has no fused multiply-add")

    def undisturbed(self) -> AbstractContextManager[None]:
        return alone()

    def in_plane(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        step, steer, only = steps.step, u if steps.frozen else None, len(steps.numbers) == 1
        form, values, mixes = form_of(step), _values(step, steps.numbers), list(steps.mixes)
        if form.flux.cell == "wide":
            take, images = wide_steps(form, u, steer), _turns(steps, u, out)
            return steps.one_by_one(u, lambda u, k: take(u, values[k], images[k]))
        if form.flux.order == 2 and (form.flux.name, form.diffusivity) != ("laplacian", "homogeneous"):
            into = out if only else None
            if steps.frozen:
                return ReferenceEngine().advance(steps, u)
            return steps.one_by_one(u, lambda u, k: by_second_derivatives(form, u, values[k], into))
        if len({each[1:] for each in values}) <= 1:
            if steps.frozen and form.flux.plain and values:
                return in_passes(form, u, values, mixes, out, held(step, u), diffusion_tensors(form, u, values[0]))
            if form.pointwise and not steps.frozen:
                return in_passes(form, u, values, mixes, out, held(step, u))

        def one(u: Tensor, k: int) -> Tensor:
            into = out if only else None
            if form.pointwise and steer is None:
                return in_passes(form, u, [values[k]], [], into, held(None, u))
            return _smoothed(form, u, values[k], into, steer)

        return steps.one_by_one(u, one).contiguous()

    def in_space(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        from whorl.engines.cpu.space.composed import by_laplacians, by_scales
        from whorl.engines.cpu.space.hessian import by_hessian
        from whorl.engines.cpu.space.volumes import advance_volume
        from whorl.engines.cpu.space.wide import wide_volume_step

        form, steer = form_of(steps.step, 3), u if steps.frozen else None
        values = _values(steps.step, steps.numbers)
        if form.flux.order == 2 or not form.flux.plain:
            if steps.frozen or not all(all(each.seen) for each in values):  # a scale that steers nothing
                return ReferenceEngine().advance(steps, u)
            made = {"laplacian": by_laplacians, "hessian": by_hessian}.get(form.flux.name, by_scales)
            return steps.one_by_one(u, lambda u, k: made(form, u, values[k]))
        pairs = [each[:2] for each in values]
        if form.flux.cell == "wide":
            images = _turns(steps, u, out)
            return steps.one_by_one(u, lambda u, k: wide_volume_step(form, u, pairs[k], steer, images[k]))
        if steps.step.fidelity is None and steps.step.kept is None:
            return advance_volume(form, u, pairs, steps.mixes, steer=steer, out=out)
        return steps.one_by_one(u, lambda u, k: advance_volume(form, u, [pairs[k]], steer=steer))

    def apply(self, step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
        if u.dim() == VOLUME:
            from whorl.engines.cpu.learned.volumes import applied_in_space

            return applied_in_space(step, u, numbers)
        from whorl.engines.cpu.learned.gated import applied

        return applied(step, u, numbers)

    def energy(self, term: EnergyAt) -> Regulariser:
        from whorl.engines.cpu.learned.compiled_energy import CompiledEnergy

        return CompiledEnergy(term)

    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Numbers) -> tuple[Tensor, Numbers]:
        form, given, out = form_of(step), numbers.plain(), torch.empty_like(u)
        sums = by_strips(BACK, form, u, w, flat(out), given)
        return out, gradients(form, fields_of(form, u.shape[1], precision(u)), sums, given)

    def push_forward(self, step: Step, u: Tensor, du: Tensor, numbers: Numbers, moves: Sequence[Numbers]) -> Tensor:
        out = torch.empty_like(du)
        by_strips(ALONG, form_of(step), u, du, flat(out), numbers.plain(), [move.plain() for move in moves])
        return out


def _values(step: Step, numbers: Sequence[Numbers]) -> list[Numbers]:
    """The plain numbers of every step; those of the step itself are read once."""
    own: Numbers | None = None
    found = []
    for each in numbers:
        if isinstance(each.tau, Tensor) or each[1:] != (None,) * 3:
            found.append(step.complete(each).plain())
        else:
            own = own or Numbers(1.0, *step.own()).plain()
            found.append(own._replace(tau=float(each.tau)))
    return found


def _turns(steps: Steps, u: Tensor, out: Tensor | None) -> list[Tensor]:
    """Where the steps put their results: mixed ones look back two images, and no memory is asked for anew."""
    return turns(u, out, len(steps.numbers), 3 if steps.mixes else 2)


def _smoothed(form: Form, u: Tensor, numbers: Numbers, into: Tensor | None, steer: Tensor | None) -> Tensor:
    """The image after one step; where another image steers, it stands in further channels, which stay as they are."""
    if steer is not None:
        both = torch.cat([u, steer], 1)
        by_strips(STEP, form, both, both, flat(after := fresh(both)), numbers, apart=True)
        return after[:, : u.shape[1]]
    out = fresh(u) if into is None else into
    by_strips(STEP, form, u, u, flat(out), numbers)
    return out


@cache
def _has_fma() -> bool:
    """Without the instruction every multiply-add would be a slow call."""
    from llvmlite.binding import get_host_cpu_features

    return platform.machine().lower() in ("arm64", "aarch64") or bool(get_host_cpu_features().get("fma", False))
