"""The compiled engine for CUDA devices: forms in, tensors out."""

import logging
from collections.abc import Iterator, Sequence
from contextvars import copy_context
from dataclasses import replace
from functools import cache, lru_cache

import torch
import triton
from torch import Tensor

from whorl.energies import EnergyAt
from whorl.engines.base import Steps
from whorl.engines.capabilities import VOLUME
from whorl.engines.cuda.learned.gated import applied, lacks_room
from whorl.engines.cuda.plane.launches import Launches
from whorl.engines.cuda.space.launches import VolumeLaunches
from whorl.engines.differentiable import CompiledEngine, form_of
from whorl.engines.reference import ReferenceEngine
from whorl.steps import Form, GatedNumbers, GatedStep, Numbers, Step

LARGEST = 2**28
"""Pixels of all scales in one launch; more images need several. Offsets inside an image are 32 bits wide."""


LARGE = 1024
"""Kernels are checked on images of at most this side."""

TRUSTED = 1e-3
"""The relative error of a step's change above which kernels are wrong; rounding stays below 2e-5."""

_log = logging.getLogger("whorl.engines")


class TritonEngine(CompiledEngine):
    """Kernels compiled by Triton at first use and kept on disk; float32.

    Nothing here waits for the device: steps can be recorded as a CUDA graph. With ``TRITON_INTERPRET=1`` in the
    environment Triton interprets its kernels on the processor, slowly: for tests.
    """

    name = "triton"

    def __init__(self) -> None:
        self._found: dict[tuple[object, ...], str] = {}

    def refusal(self, step: Step | GatedStep | EnergyAt, u: Tensor, *, learning: bool = False) -> str:
        lacking = super().refusal(step, u, learning=learning)
        if isinstance(step, GatedStep):
            return lacking or lacks_room(step, u)
        if lacking or u.dim() == VOLUME or isinstance(step, EnergyAt):
            return lacking
        scales, size = len(form_of(step).flux.taps), u[0].numel()
        if u.is_cuda:
            lacking = self.checked(step, u, learning=learning)
        if not lacking and size * scales > LARGEST:
            return f"an image of {size} values at {scales} scales is too large for a launch"
        return lacking

    def checked(self, step: Step, u: Tensor, *, learning: bool = False) -> str:
        """Why the kernels are not to be trusted on this device: compared with the reference, once for each form.

        The comparison takes an image of the size of ``u``, or a smaller one that is cut into tiles alike, so that the
        same kernels are tested.
        """
        key = form_of(step), u.shape[1], u.shape[2:], u.device, learning
        if key not in self._found:
            if u.is_cuda and torch.cuda.is_current_stream_capturing():
                return "its kernels have not been checked before a CUDA graph was recorded"
            try:
                self._found[key] = self._difference(step, u, learning)
            except triton.CompilationError as fault:
                self._found[key] = f"its kernels do not compile by Triton {triton.__version__}"
                _log.error("%s (%s). Please report this: %s", self._found[key], form_of(step), fault)
        return self._found[key]

    def _difference(self, step: Step, u: Tensor, learning: bool) -> str:
        size = [n if n <= LARGE else LARGE // 2 + n % (LARGE // 2) for n in u.shape[2:]]
        draw = torch.Generator().manual_seed(0)
        contrast = step.complete(Numbers(0.0)).contrast.mean().detach()
        noise = torch.randn(1, u.shape[1], *size, generator=draw).to(u.device, u.dtype)
        probe = (2 * contrast * noise).detach().to(u.dtype)
        bare, found = replace(step, fidelity=None), []
        if u.is_cuda:
            part = _turns(form_of(step), probe)[0]
            coefficients = _coefficients(step, Numbers(0.05)).detach()
            # A copy of the context: what Triton changes in it must not stay when a kernel does not compile.
            copy_context().run(Launches(form_of(step), part).compile_together, part, coefficients, learning=learning)
        for engine in (self, ReferenceEngine()):
            with torch.enable_grad():
                x = probe.clone().requires_grad_(learning)
                numbers = step.complete(Numbers(0.05)).detached()
                steps = Steps(bare, [numbers])
                after = engine.chain(steps, x) if learning else engine.advance(steps, x)
                parts = [(after - x).detach()]
                if learning:
                    parts.append(torch.autograd.grad((after * noise).sum(), x)[0] - noise)
            found.append(parts)
        gaps = [float((a - b).norm() / b.norm().clamp(min=1e-30)) for a, b in zip(*found, strict=True)]
        if max(gaps) <= TRUSTED:
            return ""
        reason = f"its kernels differ from the reference by {max(gaps):.1e} on this device"
        _log.error("%s (%s). Please report this.", reason, form_of(step))
        return reason

    def in_plane(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        step, form = steps.step, form_of(steps.step)
        numbers = cache(lambda each: _coefficients(step, each))  # equal steps share them
        tensors: list[Tensor | None] = [None] * len(_turns(form, u))
        if steps.frozen:
            first = numbers(steps.numbers[0])
            tensors = [Launches(form, part).tensor(part, first) for part in _turns(form, u)]

        room = _room(steps, u, out)

        def one(u: Tensor, k: int) -> Tensor:
            after, coefficients = next(room), numbers(steps.numbers[k])
            for source, target, cells in zip(_turns(form, u), _turns(form, after), tensors, strict=True):
                Launches(form, source).step(source, target, coefficients, cells)
            return after

        return steps.one_by_one(u, one)

    def in_space(self, steps: Steps, u: Tensor, out: Tensor | None) -> Tensor:
        launches = VolumeLaunches(form_of(steps.step, 3), u.device)
        if steps.frozen and not launches.passes:
            return ReferenceEngine().advance(steps, u)
        steer = launches.smoothed(u.flatten(0, 1)) if steps.frozen else None
        numbers = cache(lambda each: launches.coefficients(*steps.step.complete(each)[:2]).to(u.device))
        room = _room(steps, u, out)

        def one(u: Tensor, k: int) -> Tensor:
            after = next(room)
            launches.step(u.flatten(0, 1), after.flatten(0, 1), numbers(steps.numbers[k]), steer)
            return after

        return steps.one_by_one(u, one)

    def apply(self, step: GatedStep, u: Tensor, numbers: GatedNumbers) -> Tensor:
        return applied(step, u, numbers)

    def pull_back(self, step: Step, u: Tensor, w: Tensor, numbers: Numbers) -> tuple[Tensor, Numbers]:
        form, coefficients, out = form_of(step), _coefficients(step, numbers), torch.empty_like(u)
        sums = []
        for source, cotangent, target in zip(_turns(form, u), _turns(form, w), _turns(form, out), strict=True):
            sums.append(Launches(form, source).step_adjoint(source, cotangent, target, coefficients))
        return out, _derivatives(form, numbers, torch.stack(sums).sum(0, dtype=torch.float64))


def _room(steps: Steps, u: Tensor, out: Tensor | None) -> Iterator[Tensor]:
    """Where each step writes its image: the last one to ``out``, unless that is the image itself."""
    for _ in steps.numbers[1:]:
        yield torch.empty_like(u)
    yield torch.empty_like(u) if out is None or out.data_ptr() == u.data_ptr() else out


def _turns(form: Form, u: Tensor) -> Sequence[Tensor]:
    """The images in parts that one launch takes; channels that are not coupled count as images."""
    parts = u if form.couple_channels else u.flatten(0, 1).unsqueeze(1)
    split: Sequence[Tensor] = parts.split(max(1, LARGEST // (parts[0].numel() * len(form.flux.taps))))
    return split


def _unit(form: Form) -> float:
    """X = 1/(4 h_x²), the factor that step size and squared contrast carry in the kernels."""
    return 0.25 / form.flux.spacing[1] ** 2


def _coefficients(step: Step, numbers: Numbers) -> Tensor:
    """The numbers of a step as kernels take them: ``(tau X, X / contrast², outer weights, inner weights)``."""
    form, (tau, contrast, beta, seen) = form_of(step), step.complete(numbers)
    X = _unit(form)
    tau = tau / contrast if form.diffusivity == "tv" else tau
    rows = (
        (X * tau)[None],
        (X / contrast**2)[None],
        beta**2 * _table(form.omega, beta.device),
        seen**2 * _table(form.inside, seen.device),
    )
    return torch.cat(rows).float()


@lru_cache(maxsize=64)
def _table(weights: tuple[float, ...], device: torch.device) -> Tensor:
    """Copied once: while a CUDA graph is recorded nothing can be copied to the device."""
    return torch.tensor(weights, dtype=torch.float64, device=device)


def _derivatives(form: Form, numbers: Numbers, sums: Tensor) -> Numbers:
    """Derivatives by the numbers, from sums over pixels by outer and inner weights."""
    tau, contrast, beta, seen = numbers
    by_outer, by_inner = -_unit(form) * sums
    front = 1 / contrast if form.diffusivity == "tv" else 1.0
    omega, inside = _table(form.omega, beta.device), _table(form.inside, seen.device)
    by_tau = front * (omega * beta**2 * by_outer).sum()
    by_contrast = -2 * front * tau * (inside * seen**2 * by_inner).sum() / contrast
    if form.diffusivity == "tv":
        by_contrast = by_contrast - tau * by_tau / contrast
    return Numbers(
        by_tau, by_contrast, 2 * front * tau * omega * beta * by_outer, 2 * front * tau * inside * seen * by_inner
    )
