"""Steps on whole volumes: windows for the kernels, on all threads, with no more than two volumes beside the input."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from whorl.engines.cpu.diffusivities import KINDS, amplitude, rate
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.volume_cells import ANISOTROPIC, ISOTROPIC, LANE, UNCOUPLED
from whorl.engines.cpu.volume_planes import planes
from whorl.engines.cpu.volume_steering import MARGIN
from whorl.engines.cpu.volume_tensors import COHERENCE, LINES, PLATES, RANK_ONE
from whorl.engines.cpu.workspace import fresh, room
from whorl.steps import SpaceForm

__all__ = ["advance_volume", "lacks"]

WIDEST = LANE - 2 * MARGIN
"""The most columns of a window; its rows carry mirrored ones on either side."""

CACHE = 2**22
"""Bytes of planes a window may use."""

STEERING = 2**24
"""Bytes of planes and layers a window may use where a smoothed structure steers."""

LINE = 16


LAWS = {"uncoupled": UNCOUPLED, "isotropic": ISOTROPIC, "anisotropic": ANISOTROPIC, "coherence-enhancing": COHERENCE}
EDGES = {"plates": PLATES, "lines": LINES}


def lacks(form: SpaceForm) -> str:
    """What is missing for a step; empty if nothing is."""
    if len(form.taps) == 6 and len(form.taps[5]) > MARGIN:
        return f"a structure smoothed over more than {MARGIN - 1} voxels has no compiled form in space"
    return ""


def advance_volume(
    form: SpaceForm, u: Tensor, steps: Sequence[tuple[float, float]], mixes: Sequence[float] = (), *,
    steer: Tensor | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The volume ``(n, c, z, y, x)`` after explicit steps, each with its size and contrast.

    ``steer`` keeps the tensor of another volume throughout.

    Two volumes are enough for any number of steps: the iterate before the last is overwritten where it is read.
    """
    mixes = mixes or [1.0] * len(steps)
    pair: list[Tensor | None] = [None, None]
    pair[(len(steps) - 1) % 2] = out
    before = source = u
    for index, (numbers, mix) in enumerate(zip(steps, mixes, strict=True)):
        target = pair[index % 2]
        if target is None:
            target = pair[index % 2] = fresh(u)
        _step(form, source, source if steer is None else steer, before, target, numbers, mix)
        before, source = source, target
    if not steps and out is not None:
        return out.copy_(u)
    return source if steps else u.clone()


def _even(length: int, longest: int, times: int) -> list[tuple[int, int]]:
    """Equal parts, not longer than ``longest``; so many that threads share ``times`` of them evenly, if they can."""
    count, threads = -(-length // longest), torch.get_num_threads()
    while count * times % threads and count < length:
        count += 1
    return split(length, -(-length // count), 1)


def _step(
    form: SpaceForm, u: Tensor, steer: Tensor, before: Tensor, out: Tensor, numbers: tuple[float, float], mix: float
) -> None:
    n, C, D, H, W = u.shape
    real = u.numpy().dtype
    members = C if form.couple_channels else 1
    h_z, h_y, h_x = form.spacing
    unit = 1 / (16 * h_x**2)
    k, k_seen = (np.array([h_x / h_y, h_x / h_z, 1 - 2 * a], real) for a in (form.alpha, form.alpha_seen))
    tau, contrast = numbers
    law = EDGES[form.keep] if form.keep else LAWS[form.law]
    law = RANK_ONE if form.keep and form.rank_one else law
    kind = KINDS.get(form.diffusivity, 0)
    front, _ = amplitude(form.diffusivity, contrast)
    steered = steer is not u or bool(form.taps)
    sets = form.taps or ((1.0,),) * 6
    taps = np.array([w for weights in sets for w in weights], real)
    radius = np.array([len(weights) - 1 for weights in sets], np.int64)
    starts = [sum(map(len, sets[:s])) for s in range(6)]
    # Along z and y four sums are taken at once: all weights of the kernel, with three zeros before and six after.
    both = [[0.0] * 3 + [*weights[:0:-1], *weights] + [0.0] * 6 for weights in sets[3:5]]
    weights = np.array(both[0] + both[1], real)
    start = np.array([*starts, 0, len(both[0])], np.int64)
    kernel = planes(law, kind, steered)
    flat = u.numpy().reshape(-1), steer.numpy().reshape(-1), before.numpy().reshape(-1), out.numpy().reshape(-1)
    S_z, S_y, S_x, R_z, R_y, R_x = (int(r) for r in radius)
    columns = split(W, WIDEST, LINE)
    widest = max(c1 - c0 for c0, c1 in columns)
    each = members * 4 + ((6 * (2 * R_z + 8) * (R_z > 0) + 2 * members) if steered else 0)
    tallest = (STEERING if steered else CACHE) // (each * (widest + 2) * real.itemsize)
    deep = bands(D, n * C // members * len(columns), 8 * (R_z + S_z + 1))
    high = _even(H, max(tallest, 16), n * C // members * len(columns) * len(deep))

    def work(first: int, z0: int, z1: int, r0: int, r1: int, c0: int, c1: int) -> None:
        rows, cells = r1 - r0 + 2, r1 - r0 + 1
        tall, wide = rows + 2 * (R_y + S_y), min(W, c1 - c0 + 2 + 2 * (R_x + S_x)) + 2 * S_x
        sizes = [2 * members * rows * LANE, members * cells * 2 * LANE, members * 4 * LANE, 6 * LANE, 6 * LANE]
        if steered:
            pitch = -(-(c1 - c0 + 1) // LINE) * LINE
            layer = (cells + 3) * 6 * pitch if R_x + R_y + R_z else 0
            sizes += [2 * members * (rows + 2 * R_y) * LANE, (2 * R_z + 4) * layer, 4 * layer]
            sizes += [max(tall * wide, (cells + 2 * R_y) * 6 * pitch), wide]
        else:
            sizes += [0] * 5
        where = np.empty(2 * int(radius.max()) + 4, np.int64)
        kernel(
            *flat, first, members, D, H, W, z0, z1, r0, r1, c0, c1,
            real.type(tau * front * unit), real.type(mix), k, k_seen,
            real.type(rate(form.diffusivity, contrast) * unit), real.type(form.across),
            taps, start, radius, weights, where, *room(tuple(sizes), real),
        )  # fmt: skip

    run(
        work,
        [
            (first, z0, z1, r0, r1, c0, c1)
            for first in range(0, n * C, members)
            for z0, z1 in deep
            for r0, r1 in high
            for c0, c1 in columns
        ],
    )
