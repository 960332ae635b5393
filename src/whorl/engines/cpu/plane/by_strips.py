"""Tasks on whole batches of images, strip by strip on all threads: steps, their derivatives, and diffusion tensors."""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from torch import Tensor

from whorl.engines.cpu.plane.fields import Array, Fields, constants, directions, fields_of, kind
from whorl.engines.cpu.plane.strips import BACK, TENSORS, strip
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, precision, room
from whorl.steps import Form, Numbers

CHUNK = 1023
"""Pixels per chunk of a row in a strip; its cells and their buffers fit into the first-level cache."""

STRIP = 160
"""Rows of cells whose tensors are found at once; more would take more room."""

Tensors = tuple[Array, Array, Array]
"""The entries of one diffusion tensor for each cell and group of fields; a law may leave the last two unset."""


def by_strips(
    task: int, form: Form, u: Tensor, v: Tensor, out: Array, numbers: Numbers, moves: Sequence[Numbers] = (), *,
    apart: bool = False,
) -> Array:  # fmt: skip
    """Carry out a task on all strips of all images; see :func:`strip`. Returns the sums of the transposed derivative.

    ``v`` and ``out`` hold a batch like ``u``: one, or one for each of the ``moves`` of the numbers. ``apart`` says that
    the second half of the channels steers and the first half flows.
    """
    n, C, H, W = u.shape
    where, (*given, rho), halo = _prepared(task, form, C, precision(u), numbers, apart)
    kernel, real, fields = strip(task, *kind(form), bool(form.rho)), where.taps.dtype, len(where.channel)
    moved = [directions(form, where, numbers, move) for move in moves]
    along = (np.concatenate(parts).astype(real) for parts in zip(*moved, strict=True)) if moves else (rho[:0], rho[:0])
    arrays, of_kernel = tuple(where), (*given, *along, rho)
    sums = np.zeros((n, H + 1, fields, 2) if task == BACK else (n, 1, 1, 1))
    pixels, others, chunk = flat(u), flat(v), W if form.rho or task == TENSORS else CHUNK

    def work(image: int, r0: int, r1: int) -> None:
        each = fields * (min(H, r1 + halo) - max(0, r0 - halo)) * (W + 2)
        planes = 3 * (r1 - r0 + 2 * halo + 1) * (W + 1) if form.rho else 0
        rooms = tuple(room((each, each if task >= BACK else 0, 0 if task == TENSORS else each, planes), real))
        part = len(moves) or 1, n, image, C, H, W, r0, r1, chunk, len(form.rho[0]) if form.rho else 1
        kernel(pixels, others, out, sums[image], part, arrays, of_kernel, rooms)

    rows = split(H + 1, STRIP, 1) if task == TENSORS else bands(H, n, 4 * halo, 4 * fields * W)
    run(work, [(image, r0, r1) for image in range(n) for r0, r1 in rows])
    return sums if task != BACK else np.asarray(sums.sum((0, 1)))


@lru_cache(maxsize=64)
def _prepared(
    task: int, form: Form, channels: int, dtype: str, numbers: Numbers, apart: bool
) -> tuple[Fields, tuple[Any, ...], int]:
    """The fields of a task, the numbers of its kernel, the taps of rho last, and how far it looks beyond its rows."""
    where = fields_of(form, channels, dtype, apart)
    (weight, factor, rate, unit), real = constants(form, where, numbers), where.taps.dtype
    halo = int(where.radius[2 * where.scale[where.both if task == BACK else where.moved]].max())
    if task == TENSORS:  # the fields that only flow are not needed
        used, halo = np.unique(where.seen), 0
        seen = np.searchsorted(used, where.seen)
        where = where._replace(channel=where.channel[used], scale=where.scale[used], seen=seen, moved=seen)
        weight = weight[used]
    scale = real.type(1 if task >= BACK else scale_of(form, float(unit)))
    more = real.type(1 if form.law == "anisotropic" else form.floor)
    front = np.ones(len(where.channel), real) if task >= BACK else factor
    rho = np.array([w for taps in form.rho for w in taps], real)
    given = weight * scale, factor, front, rate / scale, unit, more, rho
    return where, given, halo + (len(form.rho[0]) if form.rho else 1)


def diffusion_tensors(form: Form, u: Tensor, numbers: Numbers) -> Tensors:
    """The diffusion tensors of the image."""
    n, C, H, W = u.shape
    where = fields_of(form, C, precision(u))
    count = n * len(where.seen) * (H + 1) * (W + 1)
    entries = np.empty(3 * count, where.taps.dtype)
    by_strips(TENSORS, form, u, u, entries, numbers)
    return entries[:count], entries[count : 2 * count], entries[2 * count :]


def scale_of(form: Form, unit: float) -> float:
    """The power of two that brings structures of the size of the squared contrast, ``1 / unit``, to the size of 1."""
    return 2.0 ** math.floor(math.log2(unit)) if form.law == "anisotropic" else 1.0
