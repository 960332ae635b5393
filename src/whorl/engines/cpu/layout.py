"""The plan of a step as the arrays its kernels take."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from whorl.engines.cpu.cells import ANISOTROPIC, ISOTROPIC, UNCOUPLED
from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate
from whorl.engines.plan import Cells, Plan

__all__ = ["COUPLINGS", "Layout", "Numbers", "coefficients", "gradients", "kind", "layout", "numbers"]

COUPLINGS = {"uncoupled": UNCOUPLED, "isotropic": ISOTROPIC, "anisotropic": ANISOTROPIC}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Layout:
    """Which field is which; see the strips. Fields that steer come first where they are not those that flow."""

    channel: Array
    scale: Array
    seen: Array
    moved: Array
    both: Array
    taps: Array
    start: Array
    radius: Array
    flux: Array
    structure: Array

    @property
    def fields(self) -> int:
        """How many smoothed fields there are."""
        return len(self.channel)


@dataclass(frozen=True)
class Numbers:
    """The numbers that may be trained: per field the weight in the structure and the factor of the flux."""

    weight: Array
    factor: Array
    rate: Any
    unit: Any


@lru_cache(maxsize=64)
def layout(plan: Plan, channels: int, dtype: str) -> Layout:
    """The arrays that do not change in training."""
    scales = len(plan.flux.taps)
    flowing = [(c, s) for c in range(channels) for s in range(scales)]
    steering = [] if plan.structure is None else [(c, scales) for c in range(channels)]
    places = steering + flowing
    index = {place: f for f, place in enumerate(places)}
    groups = _groups(plan, channels, scales)
    seen = [[(c, scales) for c in sorted({c for c, _ in group})] for group in groups] if steering else groups
    taps = [*plan.flux.taps, *(plan.structure.taps if plan.structure is not None else ())]
    both = [above + group for above, group in zip(seen, groups, strict=True)] if steering else groups
    return Layout(
        channel=np.array([c for c, _ in places], np.int64),
        scale=np.array([s for _, s in places], np.int64),
        seen=np.array([[index[place] for place in group] for group in seen], np.int64),
        moved=np.array([[index[place] for place in group] for group in groups], np.int64),
        both=np.array([[index[place] for place in group] for group in both], np.int64),
        taps=np.array([w for weights in taps for w in weights], dtype),
        start=np.array([sum(map(len, taps[:s])) for s in range(len(taps))], np.int64),
        radius=np.array([len(weights) - 1 for weights in taps], np.int64),
        flux=coefficients(plan.flux, plan.gamma, dtype),
        structure=coefficients(plan.structure or plan.flux, 0.0, dtype),
    )


def numbers(plan: Plan, where: Layout, tau: float, contrast: float, beta: tuple[float, ...] | None) -> Numbers:
    """The numbers of one call, from the values of its parameters."""
    scales, real = len(plan.flux.taps), where.taps.dtype
    b = np.array([*((1.0,) * scales if beta is None else beta), 1.0])[where.scale]
    front, _ = amplitude(plan.diffusivity, contrast)
    steers, flows = _roles(plan, where)
    return Numbers(
        weight=(steers * b**2).astype(real),
        factor=(tau * front * flows * b**2).astype(real),
        rate=real.type(rate(plan.diffusivity, contrast)),
        unit=real.type(contrast**-2),
    )


def gradients(
    plan: Plan, where: Layout, sums: Array, tau: float, contrast: float, beta: tuple[float, ...] | None
) -> tuple[float, float, tuple[float, ...]]:
    """Derivatives with respect to tau, contrast and beta.

    ``sums[f]`` holds the derivatives with respect to ``factor[f]`` and ``weight[f]``, with the opposite sign.
    """
    scales = len(plan.flux.taps)
    b = np.array([*((1.0,) * scales if beta is None else beta), 1.0])[where.scale]
    front, power = amplitude(plan.diffusivity, contrast)
    steers, flows = _roles(plan, where)
    to_factor, to_weight = -sums[:, 0], -sums[:, 1]
    by_tau = (to_factor * front * flows * b**2).sum()
    # The tensor depends on J / lambda², so that a larger contrast acts like smaller weights.
    by_contrast = (power * tau * by_tau - 2 * (to_weight * steers * b**2).sum()) / contrast
    by_field = 2 * b * (tau * front * flows * to_factor + steers * to_weight)
    by_beta = tuple(float(by_field[where.scale == s].sum()) for s in range(scales))
    return float(by_tau), float(by_contrast), by_beta


def _roles(plan: Plan, where: Layout) -> tuple[Array, Array]:
    """Per field, what it counts in the structure and in the flux, before beta."""
    flows = np.array([*plan.omega, 0.0])[where.scale]
    inside = [*plan.inside, 0.0] if plan.structure is None else [*[0.0] * len(plan.flux.taps), 1.0]
    return np.array(inside)[where.scale], flows


def coefficients(cells: Cells, gamma: float, dtype: str) -> Array:
    """The factors of p, q, r in structure and flux; see the cells."""
    h_y, h_x = cells.spacing
    xx, yy, xy, detail = 0.25 / h_x**2, 0.25 / h_y**2, 0.25 / (h_x * h_y), 1 - 2 * cells.alpha
    return np.array([xx, yy, xy, detail * xx, detail * yy, 2 * gamma * detail * xy], dtype)


def kind(plan: Plan) -> tuple[int, int]:
    """The literals that choose a kernel: coupling and diffusivity."""
    return COUPLINGS[plan.coupling], KINDS[plan.diffusivity]


def _groups(plan: Plan, channels: int, scales: int) -> list[list[tuple[int, int]]]:
    """The fields that flow under a common tensor."""
    together_c = [range(channels)] if plan.couple_channels else [range(c, c + 1) for c in range(channels)]
    joined = plan.couple_scales or plan.structure is not None
    together_s = [range(scales)] if joined else [range(s, s + 1) for s in range(scales)]
    return [[(c, s) for c in cs for s in ss] for cs in together_c for ss in together_s]
