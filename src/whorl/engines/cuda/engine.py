"""The compiled engine for CUDA devices: plans in, tensors out."""

import os
from collections.abc import Sequence
from functools import lru_cache

import torch
from torch import Tensor

from whorl.engines.base import Engine, Gradients, Numbers
from whorl.engines.plan import Plan

from . import diffusivity
from .launches import Design, Launches, Tiling

__all__ = ["TritonEngine", "engine"]

KINDS = {
    "Homogeneous": diffusivity.HOMOGENEOUS,
    "Exponential": diffusivity.EXPONENTIAL,
    "Rational": diffusivity.RATIONAL,
    "Charbonnier": diffusivity.CHARBONNIER,
    "RegularisedTV": diffusivity.CHARBONNIER,
    "Weickert": diffusivity.WEICKERT,
}
"""The regularised total variation is Charbonnier's diffusivity over the contrast; that factor joins the step size."""

COUPLINGS = {
    "uncoupled": diffusivity.UNCOUPLED,
    "isotropic": diffusivity.ISOTROPIC,
    "anisotropic": diffusivity.ANISOTROPIC,
}

LARGEST = 2**28
"""Pixels of all scales in one launch; more images take turns. Offsets inside an image are 32 bits wide."""


def engine() -> Engine:
    """The engine."""
    return TritonEngine()


class TritonEngine(Engine):
    """Kernels compiled by Triton at first use and kept on disk; float32.

    With ``TRITON_INTERPRET=1`` in the environment Triton interprets its kernels on the processor, slowly: for tests.
    """

    name = "triton"
    cycles = False

    def refusal(self, plan: Plan, u: Tensor, learning: bool) -> str:
        if u.device.type != "cuda" and os.environ.get("TRITON_INTERPRET") != "1":
            return f"the engine 'triton' works on CUDA devices, the image is on {u.device}"
        if u.dtype != torch.float32:
            return f"{u.dtype} has no compiled form on CUDA devices"
        if len(plan.seen.taps) > 1 and not plan.couple_scales:
            return "scales that are not coupled have no compiled form on CUDA devices"
        if u[0].numel() * len(plan.flux.taps) > LARGEST:
            return f"an image of {u[0].numel()} values at {len(plan.flux.taps)} scales is too large for one launch"
        if plan.structure is None or plan.structure == plan.flux:
            return ""
        if plan.flux.taps != ((1.0,),) or len(plan.seen.taps) > 1 or plan.seen.spacing != plan.flux.spacing:
            return "a structure on scales of its own has no compiled form on CUDA devices"
        if learning:
            return "the derivative of a structure with its own Gaussian has no compiled form on CUDA devices"
        return ""

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
        out = torch.empty_like(u) if out is None else out
        if not taus:
            return out.copy_(u)
        design = _design(plan, u.shape[1])
        rows = [_coefficients(plan, design, tau, numbers) for tau in taus]
        coefficients = torch.tensor(rows, dtype=torch.float64).to(u.device, torch.float32)
        for source, target in zip(_turns(plan, u), _turns(plan, out), strict=True):
            launches = _launches(design, source)
            spare = torch.empty_like(source) if len(taus) > 1 else source
            here = source
            for k, row in enumerate(coefficients):
                there = target if (len(taus) - k) % 2 else spare
                launches.step(here, there, row)
                here = there
        return out

    def pull_back(self, plan: Plan, u: Tensor, w: Tensor, tau: float, numbers: Numbers) -> Gradients:
        design = _design(plan, u.shape[1])
        row = _coefficients(plan, design, tau, numbers)
        coefficients = torch.tensor(row, dtype=torch.float64).to(u.device, torch.float32)
        out = torch.empty_like(u)
        totals = torch.zeros(2, design.scales, dtype=torch.float64, device=u.device)
        for source, cotangent, target in zip(_turns(plan, u), _turns(plan, w), _turns(plan, out), strict=True):
            launches = _launches(design, source)
            sums = launches.new_sums()
            launches.step_adjoint(torch.stack([source, cotangent]), target, sums, coefficients)
            totals += sums[0].sum(-1, dtype=torch.float64)
        by_outer, by_inner = totals.tolist()
        return Gradients(out, *_derivatives(plan, row, by_outer, by_inner, tau, numbers))


@lru_cache(maxsize=32)
def _design(plan: Plan, channels: int) -> Design:
    own = plan.structure is not None and plan.structure != plan.flux
    return Design(
        coupling=COUPLINGS[plan.coupling],
        kind=KINDS[plan.diffusivity],
        alpha=plan.flux.alpha,
        gamma=plan.gamma,
        spacing=plan.flux.spacing,
        taps=() if plan.flux.taps == ((1.0,),) else plan.flux.taps,
        channels=channels if plan.couple_channels else 1,
        structure=plan.seen.taps[0] if own else (),
        structure_alpha=plan.seen.alpha if own else None,
    )


def _turns(plan: Plan, u: Tensor) -> Sequence[Tensor]:
    """The images in parts that one launch takes; channels that are not coupled count as images."""
    parts = u if plan.couple_channels else u.flatten(0, 1).unsqueeze(1)
    split: Sequence[Tensor] = parts.split(max(1, LARGEST // (parts[0].numel() * len(plan.flux.taps))))
    return split


def _launches(design: Design, u: Tensor) -> Launches:
    # Weights from a table: images of many models and sizes pass, and kernels compile within seconds.
    return Launches(design, u.shape[0], u.shape[-2], u.shape[-1], u.device, Tiling.of(design, unroll=0))


def _coefficients(plan: Plan, design: Design, tau: float, numbers: Numbers) -> list[float]:
    """The numbers of a step as kernels take them; where there are no scales, all is in the first two."""
    X, contrast = design.unit, numbers.contrast
    tau = tau / contrast if plan.diffusivity == "RegularisedTV" else tau
    outer = [omega * beta**2 for omega, beta in zip(plan.omega, numbers.beta, strict=True)]
    inner = [chi * beta**2 for chi, beta in zip(plan.inside, numbers.seen, strict=True)]
    if not design.taps:
        return [tau * X * outer[0], X / contrast**2 * inner[0], 1.0, 1.0]
    return [tau * X, X / contrast**2, *outer, *inner]


def _derivatives(
    plan: Plan, row: list[float], Q: list[float], P: list[float], tau: float, numbers: Numbers
) -> tuple[float, Numbers]:
    """From the sums over pixels to tau, contrast, and the weights of the scales in flux and structure."""
    scales = len(Q)
    outer, inner = row[2 : 2 + scales], row[2 + scales :]
    by_log_outer = [-row[0] * c * q for c, q in zip(outer, Q, strict=True)]
    by_log_inner = [-row[0] * w * p for w, p in zip(inner, P, strict=True)]
    by_log_tau = sum(by_log_outer)
    by_log_contrast = -2.0 * sum(by_log_inner)
    if plan.diffusivity == "RegularisedTV":
        by_log_contrast -= by_log_tau
    by_beta, by_seen = (
        # At zero the derivative of a square is zero, whatever the quotient.
        tuple(2.0 * d / beta if beta else 0.0 for d, beta in zip(found, values, strict=True))
        for found, values in ((by_log_outer, numbers.beta), (by_log_inner, numbers.seen))
    )
    return by_log_tau / tau, Numbers(by_log_contrast / numbers.contrast, by_beta, by_seen)
