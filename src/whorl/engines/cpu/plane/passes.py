"""Steps without smoothing: many of them in one pass over the image, with the rows of all of them in the cache."""

from functools import cache, lru_cache
from typing import Any

import numpy as np
from torch import Tensor

from whorl.engines.cpu.plane.by_strips import Tensors, scale_of
from whorl.engines.cpu.plane.fields import Array, constants, fields_of, kind
from whorl.engines.cpu.plane.pipeline import GIVEN, LINE, pipeline, pitch, slots
from whorl.engines.cpu.plane.rows import LANE
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, fresh, precision, room
from whorl.steps import Form, Numbers, Step

CACHE = 2**20
"""Bytes of row buffers a pipeline may use: a usual second-level cache."""

DEPTH = min(12, LINE)
"""The most steps taken in one pass over the image; windows look ``LINE`` columns beyond their own."""

NARROW = 1024
"""Columns below which a pass takes fewer steps rather than fewer columns."""


def in_passes(
    form: Form,
    u: Tensor,
    numbers: list[Numbers],
    mixes: list[float],
    into: Tensor | None,
    bound: tuple[Array, ...],
    tensors: Tensors | None = None,
) -> Tensor:
    """The image after all steps, which have one contrast; ``tensors`` stand for those of the image where given.

    A step of fourth order is two of second order, whose sizes are plus and minus the square root of its own.
    """
    n, C, H, W = u.shape
    if not numbers:
        return u.clone() if into is None else into.copy_(u)
    members = C if form.couple_channels else 1
    groups = n * C // members
    together = GIVEN if tensors is not None else members if members in (1, 3) else 0
    halves = form.flux.order
    kernel = pipeline(*kind(form), together, halves)
    sizes, shares, pulls, *same = _numbers(form, C, precision(u), tuple(numbers), tuple(mixes))
    real, taus = sizes.dtype, len(sizes)
    depth, width = _window(W, members * u.element_size(), len(numbers), halves)
    width = min(width, LANE - 5 * LINE) if together == 3 else width
    columns = split(W, width, LINE)

    def work(arrays: tuple[Any, ...], some: slice, g: int, r0: int, r1: int, c0: int, c1: int) -> None:
        left, right = max(0, c0 - LINE), min(W, c1 + LINE)
        line, lanes = LANE if together == 3 else pitch(right - left), depth * members
        sizes_of_room = (lanes * slots(halves) + members) * line, lanes * line, lanes * line, line, line, line
        rows, across, down, *J = room(sizes_of_room, real)
        where = keep, g * members, members, H, W, r0, r1, c0, c1, left, right, line
        of_steps = sizes[some], shares[some], pulls[some], *same
        kernel(arrays, where, of_steps, bound, (rows, across, down), tensors or tuple(J))

    free: list[Tensor] = []
    before = source = u
    for first in range(0, taus, depth):
        # The iterate before the last is wanted only if the next piece starts by looking back.
        last = first + depth >= taus
        keep = bool(depth > halves and not last and shares[first + depth] != 1)
        out = into if last and into is not None else free.pop() if free else fresh(u)
        spare = (free.pop() if free else fresh(u)) if keep else source
        arrays = flat(source), flat(before), flat(out), flat(spare)
        tasks = [
            (arrays, slice(first, first + depth), g, r0, r1, c0, c1)
            for g in range(groups)
            for r0, r1 in bands(H, groups * len(columns), 8 * depth, depth * members * W)
            for c0, c1 in columns
        ]
        run(work, tasks)
        free += [old for old in (before, source) if not any(old is kept for kept in (u, into, spare, out, *free))]
        before, source = spare, out
    return source


@lru_cache(maxsize=64)
def _numbers(
    form: Form, channels: int, dtype: str, numbers: tuple[Numbers, ...], mixes: tuple[float, ...]
) -> tuple[Any, ...]:
    """Of every half of a step its size, its share in the mixture and the weight of data; then what all share."""
    where, halves = fields_of(form, channels, dtype), form.flux.order
    real, taus = where.taps.dtype, np.array([each.tau for each in numbers])
    # All steps have the same contrast.
    weight, factor, rate, unit = constants(form, where, numbers[0]._replace(tau=1.0))
    # With one scale the weight is common to all fields and can join the rate.
    scale = scale_of(form, float(unit) * float(weight[-1]))
    inner, more = real.type(rate * weight[-1] / real.type(scale)), real.type(scale)
    sizes = taus if halves == 1 else np.outer(np.sqrt(taus), (1, -1)).ravel()
    shares = np.array(mixes or [1.0] * len(numbers))
    return (
        (sizes * float(factor[where.moved[0, 0]])).astype(real),
        shares.repeat(halves).astype(real),
        taus.repeat(halves).astype(real),
        where.flux,
        inner,
        more,
    )


def _window(W: int, pixel: int, steps: int, halves: int) -> tuple[int, int]:
    """How many halves of steps to take in one pass, on how many columns, so that the rows of all stay in the cache."""
    room = CACHE // ((slots(halves) + 2) * pixel)
    depth = max(1, min(DEPTH, room // min(W, NARROW)) // halves)
    depth = -(-steps // -(-steps // min(depth, steps))) * halves
    return depth, max(room // depth, NARROW)


def held(step: Step | None, u: Tensor) -> tuple[Array, ...]:
    """The arrays ``data, weights, weighed, known, masked`` of the pipeline; an empty one stands for a missing one."""
    data, weights, weighed, known, masked = _nothing(precision(u))
    term, kept = (None, None) if step is None else (step.fidelity, step.kept)
    if term is not None:
        f, w = term.on(u)
        data, (weights, weighed) = flat(f.to(u.dtype).contiguous()), _planes(w, u)
        weights = weights.astype(data.dtype, copy=False)
    if kept is not None:
        known, masked = _planes(kept.get_buffer("known"), u)
        known = known.view(np.uint8)
    return data, weights, weighed, known, masked


@cache
def _nothing(dtype: str) -> tuple[Array, ...]:
    return (*(np.empty(0, kind) for kind in (dtype, dtype, np.int64, np.uint8, np.int64)),)


def _planes(part: Tensor, u: Tensor) -> tuple[Array, Array]:
    """The flat planes of what broadcasts over images or channels, and which of them every field has."""
    n, c = u.shape[:2]
    images, channels = part.shape[:2]
    image, channel = np.divmod(np.arange(n * c), c)
    plane = (image % images) * channels + channel % channels
    return flat(part.contiguous()), plane.astype(np.int64)
