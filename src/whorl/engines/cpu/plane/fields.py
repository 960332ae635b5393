"""The form of a step as the arrays its kernels take: which smoothed fields there are, and what each is for."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch

from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate
from whorl.engines.cpu.laws import law_of
from whorl.operators import Derivative
from whorl.steps import Form, Numbers

Array = np.ndarray[Any, Any]


class Fields(NamedTuple):
    """Which field is which; see the strips. Taps, starts and radii of scale s along y are at 2s, along x at 2s + 1."""

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


@lru_cache(maxsize=64)
def fields_of(form: Form, channels: int, dtype: str, apart: bool = False) -> Fields:
    """The arrays that do not change in training; if ``apart``, the second half of the channels steers the first."""
    taps = list(form.flux.taps)
    first = _first(form)
    if first:
        taps += form.structure.taps
    each = [weights for scale in taps for weights in scale]
    moved, seen = _groups(form, channels, first, apart)
    places = sorted({place for group in (*moved, *seen) for place in group})
    index = {place: f for f, place in enumerate(places)}
    both = [sorted({*a, *b}) for a, b in zip(moved, seen, strict=True)]
    return Fields(
        channel=np.array([c for c, _ in places], np.int64),
        scale=np.array([s for _, s in places], np.int64),
        seen=_indices(seen, index),
        moved=_indices(moved, index),
        both=_indices(both, index),
        taps=np.array([w for weights in each for w in weights], dtype),
        start=np.array([sum(map(len, each[:s])) for s in range(len(each))], np.int64),
        radius=np.array([len(weights) - 1 for weights in each], np.int64),
        flux=coefficients(form.flux, form.gamma, dtype),
        structure=coefficients(form.structure, 0.0, dtype),
    )


def constants(form: Form, where: Fields, numbers: Numbers) -> tuple[Array, Array, Any, Any]:
    """Per field the weight in the structure and the factor of the flux; rate and unit of the diffusivity."""
    real = where.taps.dtype
    front, _, flows, b, steers, b_seen = _parts(form, where, numbers)
    return (
        (steers * b_seen**2).astype(real),
        (numbers.tau * front * flows * b**2).astype(real),
        real.type(rate(form.diffusivity, numbers.contrast)),
        real.type(numbers.contrast**-2),
    )


def gradients(form: Form, where: Fields, sums: Array, numbers: Numbers) -> Numbers:
    """Derivatives with respect to the numbers.

    ``sums[f]`` holds the derivatives with respect to ``factor[f]`` and ``weight[f]``, with the opposite sign.
    """
    front, power, flows, b, steers, b_seen = _parts(form, where, numbers)
    to_factor, to_weight = -sums[:, 0], -sums[:, 1]
    by_tau = float((to_factor * front * flows * b**2).sum())
    # The tensor depends on J / lambda², so that a larger contrast acts like smaller weights.
    by_contrast = (power * numbers.tau * by_tau - 2 * float((to_weight * steers * b_seen**2).sum())) / numbers.contrast
    by_beta = 2 * b * numbers.tau * front * flows * to_factor
    by_seen = 2 * b_seen * steers * to_weight
    first = _first(form)
    found = (
        by_tau,
        by_contrast,
        [by_beta[where.scale == s].sum() for s in range(len(numbers.beta))],
        [by_seen[where.scale == first + s].sum() for s in range(len(numbers.seen))],
    )
    return Numbers(*(torch.tensor(part, dtype=torch.float64) for part in found))


def coefficients(cells: Derivative, gamma: float, dtype: str) -> Array:
    """The geometry (Y, Z, d, dY, e); see the cells."""
    h_y, h_x = cells.spacing
    Z, d = h_x / h_y, 1 - 2 * cells.alpha
    return np.array([Z**2, Z, d, d * Z**2, 2 * gamma * d * Z], dtype)


def kind(form: Form) -> tuple[int, int]:
    """The literals that choose a kernel: law and diffusivity."""
    return law_of(form), KINDS.get(form.diffusivity, 0)


def directions(form: Form, where: Fields, numbers: Numbers, moved: Numbers) -> tuple[Array, Array]:
    """How weights and factors of the fields move when the numbers do; the contrast moves the weights."""
    tau = numbers.tau
    front, power, flows, b, steers, b_seen = _parts(form, where, numbers)
    _, _, _, db, _, db_seen = _parts(form, where, moved._replace(contrast=numbers.contrast))
    growth = moved.contrast / numbers.contrast
    d_weight = steers * (2 * b_seen * db_seen - 2 * growth * b_seen**2)
    d_factor = front * flows * (moved.tau * b**2 + 2 * tau * b * db + power * growth * tau * b**2)
    return d_weight, d_factor


Place = tuple[int, int]


def _groups(form: Form, channels: int, first: int, apart: bool) -> tuple[list[list[Place]], list[list[Place]]]:
    """The fields that flow, and the fields that steer, under each common tensor; a field is (channel, scale)."""
    channels = channels // 2 if apart else channels
    together = [range(channels)] if form.couple_channels else [range(c, c + 1) for c in range(channels)]
    flowing, steering = range(len(form.flux.taps)), range(first, first + len(form.structure.taps))
    if form.couple_scales or len(steering) == 1:
        scales = [(flowing, steering)]
    else:
        scales = [(range(s, s + 1), range(t, t + 1)) for s, t in zip(flowing, steering, strict=True)]
    moved = [[(c, s) for c in some for s in flow] for some in together for flow, _ in scales]
    shift = channels if apart else 0
    seen = [[(c + shift, s) for c in some for s in steer] for some in together for _, steer in scales]
    return moved, seen


def _indices(groups: list[list[Place]], index: dict[Place, int]) -> Array:
    return np.array([[index[place] for place in group] for group in groups], np.int64)


def _first(form: Form) -> int:
    """Where the scales of the structure start."""
    return 0 if form.structure.taps == form.flux.taps else len(form.flux.taps)


def _parts(form: Form, where: Fields, numbers: Numbers) -> tuple[float, int, Array, Array, Array, Array]:
    """The amplitude and its power of the contrast; per field, its weight and beta in the flux and in the structure."""
    flux = _roles(form, where, form.omega, numbers.beta, flux=True)
    structure = _roles(form, where, form.inside, numbers.seen, flux=False)
    return *amplitude(form.diffusivity, numbers.contrast), *flux, *structure


def _roles(
    form: Form, where: Fields, weights: tuple[float, ...], beta: tuple[float, ...], *, flux: bool
) -> tuple[Array, Array]:
    """Per field, its weight in flux or structure (X times, less beta), and beta; zero for fields of the other kind."""
    table = np.zeros((2, len(where.radius) // 2))
    first = 0 if flux else _first(form)
    table[:, first : first + len(weights)] = weights, beta
    unit = 0.25 / (form.flux if flux else form.structure).spacing[1] ** 2
    return unit * table[0, where.scale], table[1, where.scale]
