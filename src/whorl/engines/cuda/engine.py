"""The compiled engine for CUDA devices: forms in, tensors out."""

from collections.abc import Sequence

import torch
from torch import Tensor

from whorl.engines.base import Engine, Row
from whorl.engines.capabilities import VOLUME
from whorl.engines.differentiable import CompiledEngine
from whorl.engines.reference import ReferenceEngine
from whorl.steps import Form, Known, SpaceForm, Step

from .launches import Launches
from .volumes import VolumeLaunches, lacks

__all__ = ["TritonEngine", "engine"]

LARGEST = 2**28
"""Pixels of all scales in one launch; more images take turns. Offsets inside an image are 32 bits wide."""


def engine() -> Engine:
    """The engine."""
    return TritonEngine()


class TritonEngine(CompiledEngine):
    """Kernels compiled by Triton at first use and kept on disk; float32.

    Nothing here waits for the device: steps can be recorded as a CUDA graph. With ``TRITON_INTERPRET=1`` in the
    environment Triton interprets its kernels on the processor, slowly: for tests.
    """

    name = "triton"

    def refusal(self, step: Step, u: Tensor, *, learning: bool = False) -> str:
        if u.dim() == VOLUME:
            missing = self.capabilities.cannot_hold(u) or lacks(step.space, u)
            return missing or ("the derivative of a step in space has no compiled form" if learning else "")
        lacking = super().refusal(step, u, learning=learning)
        if not lacking and u[0].numel() * len(_form(step).flux.taps) > LARGEST:
            return f"an image of {u[0].numel()} values at {len(_form(step).flux.taps)} scales is too large for a launch"
        return lacking

    def advance(
        self,
        step: Step,
        u: Tensor,
        numbers: Sequence[Row],
        *,
        mixes: Sequence[float] = (),
        frozen: bool = False,
        out: Tensor | None = None,
    ) -> Tensor:
        if u.dim() == VOLUME:
            return self._in_space(step, u, numbers, mixes, frozen, out)
        form = _form(step)
        tensors: list[Tensor | None] = [None] * len(_turns(form, u))
        if frozen:
            first = _coefficients(step, numbers[0])
            tensors = [_launches(form, part).tensor(part, first) for part in _turns(form, u)]

        def one(u: Tensor, each: Row) -> Tensor:
            after, coefficients = torch.empty_like(u), _coefficients(step, each)
            for k, (source, target) in enumerate(zip(_turns(form, u), _turns(form, after), strict=True)):
                _launches(form, source).step(source, target, coefficients, tensors[k])
            return after

        done = self.one_by_one(one, step, u, numbers, mixes)
        return done if out is None else out.copy_(done)

    def _in_space(
        self, step: Step, u: Tensor, numbers: Sequence[Row], mixes: Sequence[float], frozen: bool, out: Tensor | None
    ) -> Tensor:
        assert isinstance(step.space, SpaceForm)
        launches = VolumeLaunches(step.space, u.device)
        if frozen and not launches.taps:
            return ReferenceEngine().advance(step, u, numbers, mixes=mixes, frozen=True, out=out)
        steer = launches.smoothed(u.flatten(0, 1)) if frozen else None

        def one(u: Tensor, each: Row) -> Tensor:
            after, (tau, contrast, _, _) = torch.empty_like(u), step.complete(each)
            coefficients = launches.coefficients(tau, contrast).to(u.device)
            launches.step(u.flatten(0, 1), after.flatten(0, 1), coefficients, steer)
            return after

        done = self.one_by_one(one, step, u, numbers, mixes)
        return done if out is None else out.copy_(done)

    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Known) -> tuple[Tensor, Known]:
        form, coefficients, out = _form(step), _coefficients(step, numbers), torch.empty_like(u)
        sums = []
        for source, cotangent, target in zip(_turns(form, u), _turns(form, w), _turns(form, out), strict=True):
            sums.append(_launches(form, source).step_adjoint(source, cotangent, target, coefficients))
        return out, _derivatives(form, numbers, torch.stack(sums).sum(0, dtype=torch.float64))


def _form(step: Step) -> Form:
    assert isinstance(step.form, Form)
    return step.form


def _turns(form: Form, u: Tensor) -> Sequence[Tensor]:
    """The images in parts that one launch takes; channels that are not coupled count as images."""
    parts = u if form.couple_channels else u.flatten(0, 1).unsqueeze(1)
    split: Sequence[Tensor] = parts.split(max(1, LARGEST // (parts[0].numel() * len(form.flux.taps))))
    return split


def _launches(form: Form, u: Tensor) -> Launches:
    n, c, y, x = u.shape
    return Launches(form, n, c, y, x, u.device)


def _unit(form: Form) -> float:
    """X = 1/(4 h_x²), the factor that step size and squared contrast carry in the kernels."""
    return 0.25 / form.flux.spacing[1] ** 2


def _coefficients(step: Step, numbers: Row) -> Tensor:
    """The numbers of a step as kernels take them: ``(tau X, X / contrast², outer weights, inner weights)``."""
    form, (tau, contrast, beta, seen) = _form(step), step.complete(numbers)
    X = _unit(form)
    tau = tau / contrast if form.diffusivity == "tv" else tau
    rows = (
        (X * tau)[None],
        (X / contrast**2)[None],
        beta**2 * _table(form.omega, beta),
        seen**2 * _table(form.inside, seen),
    )
    return torch.cat(rows).float()


def _table(weights: tuple[float, ...], like: Tensor) -> Tensor:
    return torch.tensor(weights, dtype=like.dtype, device=like.device)


def _derivatives(form: Form, numbers: Known, sums: Tensor) -> Known:
    """From the sums over pixels, by outer and inner weights, to the numbers."""
    tau, contrast, beta, seen = numbers
    by_outer, by_inner = -_unit(form) * sums
    front = 1 / contrast if form.diffusivity == "tv" else 1.0
    omega, inside = _table(form.omega, beta), _table(form.inside, seen)
    by_tau = front * (omega * beta**2 * by_outer).sum()
    by_contrast = -2 * front * tau * (inside * seen**2 * by_inner).sum() / contrast
    if form.diffusivity == "tv":
        by_contrast = by_contrast - tau * by_tau / contrast
    return Known(
        by_tau, by_contrast, 2 * front * tau * omega * beta * by_outer, 2 * front * tau * inside * seen * by_inner
    )
