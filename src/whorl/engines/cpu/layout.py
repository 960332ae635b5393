"""The plan of a step as the arrays its kernels take."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from whorl.engines.base import Numbers
from whorl.engines.cpu.cells import ANISOTROPIC, ISOTROPIC, UNCOUPLED
from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate
from whorl.engines.plan import Cells, Plan

__all__ = ["COUPLINGS", "Constants", "Layout", "coefficients", "constants", "directions", "gradients", "kind", "layout"]

COUPLINGS = {"uncoupled": UNCOUPLED, "isotropic": ISOTROPIC, "anisotropic": ANISOTROPIC}

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Layout:
    """Which field is which; see the strips."""

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
class Constants:
    """The numbers of one call: per field the weight in the structure and the factor of the flux."""

    weight: Array
    factor: Array
    rate: Any
    unit: Any


@lru_cache(maxsize=64)
def layout(plan: Plan, channels: int, dtype: str) -> Layout:
    """The arrays that do not change in training."""
    taps = list(plan.flux.taps)
    first = _first(plan)
    if first:
        taps += plan.seen.taps
    moved, seen = _groups(plan, channels, first)
    places = sorted({place for group in (*moved, *seen) for place in group})
    index = {place: f for f, place in enumerate(places)}
    both = [sorted({*a, *b}) for a, b in zip(moved, seen, strict=True)]
    return Layout(
        channel=np.array([c for c, _ in places], np.int64),
        scale=np.array([s for _, s in places], np.int64),
        seen=_indices(seen, index),
        moved=_indices(moved, index),
        both=_indices(both, index),
        taps=np.array([w for weights in taps for w in weights], dtype),
        start=np.array([sum(map(len, taps[:s])) for s in range(len(taps))], np.int64),
        radius=np.array([len(weights) - 1 for weights in taps], np.int64),
        flux=coefficients(plan.flux, plan.gamma, dtype),
        structure=coefficients(plan.seen, 0.0, dtype),
    )


def constants(plan: Plan, where: Layout, tau: float, numbers: Numbers) -> Constants:
    """The numbers of one call, from the values of its parameters."""
    real = where.taps.dtype
    front, _ = amplitude(plan.diffusivity, numbers.contrast)
    flows, b = _roles(plan, where, plan.omega, numbers.beta, flux=True)
    steers, b_seen = _roles(plan, where, plan.inside, numbers.seen, flux=False)
    return Constants(
        weight=(steers * b_seen**2).astype(real),
        factor=(tau * front * flows * b**2).astype(real),
        rate=real.type(rate(plan.diffusivity, numbers.contrast)),
        unit=real.type(numbers.contrast**-2),
    )


def gradients(plan: Plan, where: Layout, sums: Array, tau: float, numbers: Numbers) -> tuple[float, Numbers]:
    """Derivatives with respect to tau and the numbers.

    ``sums[f]`` holds the derivatives with respect to ``factor[f]`` and ``weight[f]``, with the opposite sign.
    """
    front, power = amplitude(plan.diffusivity, numbers.contrast)
    flows, b = _roles(plan, where, plan.omega, numbers.beta, flux=True)
    steers, b_seen = _roles(plan, where, plan.inside, numbers.seen, flux=False)
    to_factor, to_weight = -sums[:, 0], -sums[:, 1]
    by_tau = float((to_factor * front * flows * b**2).sum())
    # The tensor depends on J / lambda², so that a larger contrast acts like smaller weights.
    by_contrast = (power * tau * by_tau - 2 * float((to_weight * steers * b_seen**2).sum())) / numbers.contrast
    by_beta = 2 * b * tau * front * flows * to_factor
    by_seen = 2 * b_seen * steers * to_weight
    first = _first(plan)
    return by_tau, Numbers(
        by_contrast,
        tuple(float(by_beta[where.scale == s].sum()) for s in range(len(numbers.beta))),
        tuple(float(by_seen[where.scale == first + s].sum()) for s in range(len(numbers.seen))),
    )


def coefficients(cells: Cells, gamma: float, dtype: str) -> Array:
    """The geometry (Y, Z, d, dY, e); see the cells."""
    h_y, h_x = cells.spacing
    Z, d = h_x / h_y, 1 - 2 * cells.alpha
    return np.array([Z**2, Z, d, d * Z**2, 2 * gamma * d * Z], dtype)


def kind(plan: Plan) -> tuple[int, int]:
    """The literals that choose a kernel: coupling and diffusivity."""
    return COUPLINGS[plan.coupling], KINDS[plan.diffusivity]


def directions(
    plan: Plan, where: Layout, tau: float, dtau: float, numbers: Numbers, moved: Numbers
) -> tuple[Array, Array]:
    """How weights and factors of the fields move when tau and the numbers do; the contrast moves the weights."""
    front, power = amplitude(plan.diffusivity, numbers.contrast)
    flows, b = _roles(plan, where, plan.omega, numbers.beta, flux=True)
    steers, b_seen = _roles(plan, where, plan.inside, numbers.seen, flux=False)
    _, db = _roles(plan, where, plan.omega, moved.beta, flux=True)
    _, db_seen = _roles(plan, where, plan.inside, moved.seen, flux=False)
    growth = moved.contrast / numbers.contrast
    d_weight = steers * (2 * b_seen * db_seen - 2 * growth * b_seen**2)
    d_factor = front * flows * (dtau * b**2 + 2 * tau * b * db + power * growth * tau * b**2)
    return d_weight, d_factor


Place = tuple[int, int]


def _groups(plan: Plan, channels: int, first: int) -> tuple[list[list[Place]], list[list[Place]]]:
    """The fields that flow, and the fields that steer, under each common tensor; a field is (channel, scale)."""
    channels = channels // 2 if plan.frozen else channels
    together = [range(channels)] if plan.couple_channels else [range(c, c + 1) for c in range(channels)]
    flowing, steering = range(len(plan.flux.taps)), range(first, first + len(plan.seen.taps))
    if plan.couple_scales or len(steering) == 1:
        scales = [(flowing, steering)]
    else:
        scales = [(range(s, s + 1), range(t, t + 1)) for s, t in zip(flowing, steering, strict=True)]
    moved = [[(c, s) for c in some for s in flow] for some in together for flow, _ in scales]
    shift = channels if plan.frozen else 0
    seen = [[(c + shift, s) for c in some for s in steer] for some in together for _, steer in scales]
    return moved, seen


def _indices(groups: list[list[Place]], index: dict[Place, int]) -> Array:
    return np.array([[index[place] for place in group] for group in groups], np.int64)


def _first(plan: Plan) -> int:
    """Where the scales of the structure start."""
    return 0 if plan.seen.taps == plan.flux.taps else len(plan.flux.taps)


def _roles(
    plan: Plan, where: Layout, weights: tuple[float, ...], beta: tuple[float, ...], *, flux: bool
) -> tuple[Array, Array]:
    """Per field, its weight in flux or structure (X times, less beta), and beta; zero for fields of the other kind."""
    table = np.zeros((2, len(where.radius)))
    first = 0 if flux else _first(plan)
    table[:, first : first + len(weights)] = weights, beta
    unit = 0.25 / (plan.flux if flux else plan.seen).spacing[1] ** 2
    return unit * table[0, where.scale], table[1, where.scale]
