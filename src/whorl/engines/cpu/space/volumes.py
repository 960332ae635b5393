"""Steps on whole volumes: windows for the kernels, on all threads, with little more than the input and the result.

Large volumes slide: a step reads them slab after slab and writes the result some planes further up in the same memory,
over planes that no later slab reads; the next step goes the other way and slides back. So any number of steps needs one
volume and a share of another. Small volumes, coupled fields and extrapolated steps alternate between two volumes.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from whorl.engines.cpu.diffusivities import amplitude, rate
from whorl.engines.cpu.plane.fields import Array, kind
from whorl.engines.cpu.plane.pipeline import LINE
from whorl.engines.cpu.space.cells import LANE
from whorl.engines.cpu.space.planes import planes
from whorl.engines.cpu.space.steering import MARGIN
from whorl.engines.cpu.threads import bands, run, split
from whorl.engines.cpu.workspace import flat, fresh, room
from whorl.steps import Form

WIDEST = LANE - 2 * MARGIN
"""The most columns of a window; its rows carry mirrored ones on either side."""

CACHE = 2**22
"""Bytes of planes a window may use."""

STEERING = 2**24
"""Bytes of planes and layers a window may use where a smoothed structure steers."""

LARGE = 2**24
"""Bytes of a field from which on it slides."""

SLABS = 4
"""Slabs of a field that slides; more need less memory, and take longer."""


def advance_volume(
    form: Form, u: Tensor, steps: Sequence[tuple[float, float]], mixes: Sequence[float] = (), *,
    steer: Tensor | None = None, out: Tensor | None = None,
) -> Tensor:  # fmt: skip
    """The volume ``(n, c, z, y, x)`` after explicit steps, each with its size and contrast.

    ``steer`` keeps the tensor of another volume throughout. Steps with a mix other than 1 are extrapolated from the
    iterate before the last, which is overwritten where it is read.
    """
    if not steps:
        return u.clone() if out is None else out.copy_(u)
    thickness, distance = _slide(form, u.shape[2])
    alone = u.shape[1] == 1 or not form.couple_channels
    large = u[0, 0].numel() * u.element_size() >= LARGE and 2 * distance <= u.shape[2]
    if out is None and len(steps) > 1 and alone and large and all(mix == 1 for mix in mixes):
        return _sliding(form, u, steps, steer, thickness, distance)
    mixes = mixes or [1.0] * len(steps)
    pair: list[Tensor | None] = [None, None]
    pair[(len(steps) - 1) % 2] = out
    before = source = u
    for index, (numbers, mix) in enumerate(zip(steps, mixes, strict=True)):
        target = pair[index % 2]
        if target is None:
            target = pair[index % 2] = fresh(u)
        given = flat(source)
        arrays = [given, given if steer is None else flat(steer), flat(before), flat(target)]
        _step(form, u.shape, arrays, numbers, mix)
        before, source = source, target
    return source


def _slide(form: Form, depth: int) -> tuple[int, int]:
    """How thick a slab is, and by how many planes the result slides: what a slab reads lies behind what it writes."""
    thickness = max(1, -(-depth // SLABS))
    return thickness, thickness + _halo(form)


def _halo(form: Form) -> int:
    """Planes that a step looks at on either side."""
    taps = form.steering
    return 1 + (len(taps[0]) + len(taps[3]) - 2 if taps else 0)


def _sliding(
    form: Form, u: Tensor, steps: Sequence[tuple[float, float]], steer: Tensor | None, thickness: int, planes: int
) -> Tensor:
    given, voxels, gap = flat(u), u.numel(), planes * u.shape[3] * u.shape[4]
    kept = np.empty(voxels + gap, given.dtype)
    source = given
    for index, numbers in enumerate(steps):
        # The last step ends at the start of the memory, the one before it at its end, and so on.
        upwards = (len(steps) - 1 - index) % 2 == 1
        target = kept[gap:] if upwards else kept[:voxels]
        arrays = [source, source if steer is None else flat(steer), source, target]
        _step(form, u.shape, arrays, numbers, 1.0, thickness if index else 0, upwards)
        source = target
    del arrays, source, target
    kept.resize(voxels, refcheck=False)  # gives the gap back; nothing else refers to this memory
    return torch.from_numpy(kept).view(u.shape)


def _even(length: int, longest: int, times: int) -> list[tuple[int, int]]:
    """Equal parts, not longer than ``longest``; so many that threads share ``times`` of them evenly, if they can."""
    count, threads = -(-length // longest), torch.get_num_threads()
    while count * times % threads and count < length:
        count += 1
    return split(length, -(-length // count), 1)


def constants(form: Form, numbers: tuple[float, float], real: Any, unit: float) -> tuple[Any, ...]:
    """The size of a step, the geometry of flux and structure, and the numbers of the law, as kernels take them.

    Structure and flux are ``unit`` times what the cells say.
    """
    (h_z, h_y, h_x), (tau, contrast) = form.flux.spacing, numbers
    front, _ = amplitude(form.diffusivity, contrast)
    k, k_seen = (np.array([h_x / h_y, h_x / h_z, 1 - 2 * a], real) for a in (form.flux.alpha, form.structure.alpha))
    inside = real.type(rate(form.diffusivity, contrast) * unit)
    return real.type(tau * front * unit), k, k_seen, inside, real.type(form.floor)


def _step(
    form: Form, shape: Sequence[int], arrays: Sequence[Array], numbers: tuple[float, float], mix: float,
    thickness: int = 0, upwards: bool = False,
) -> None:  # fmt: skip
    """One step from the first array, steered by the second, extrapolated from the third, into the fourth.

    A volume steers itself where the first two are the same array.
    With a ``thickness``, field after field and slab after slab, from the last to the first if ``upwards``.
    """
    n, C, D, H, W = shape
    real = arrays[0].dtype
    members = C if form.couple_channels else 1
    size, *of_kernel = constants(form, numbers, real, 1 / (16 * form.flux.spacing[2] ** 2))
    steered = arrays[1] is not arrays[0] or bool(form.steering)
    sets = form.steering or ((1.0,),) * 6
    taps = np.array([w for weights in sets for w in weights], real)
    radius = np.array([len(weights) - 1 for weights in sets], np.int64)
    starts = [sum(map(len, sets[:s])) for s in range(6)]
    # Along z and y four sums are taken at once: all weights of the kernel, with three zeros before and six after.
    both = [[0.0] * 3 + [*weights[:0:-1], *weights] + [0.0] * 6 for weights in sets[3:5]]
    start = np.array([*starts, 0, len(both[0])], np.int64)
    kernel, given = planes(*kind(form), steered), (size, real.type(mix), *of_kernel)
    S_z, S_y, S_x, R_z, R_y, R_x = (int(r) for r in radius)
    columns = split(W, WIDEST, LINE)
    widest = max(c1 - c0 for c0, c1 in columns)
    each = members * 4 + ((6 * (2 * R_z + 8) * (R_z > 0) + 2 * members) if steered else 0)
    tallest = (STEERING if steered else CACHE) // (each * (widest + 2) * real.itemsize)
    if thickness:
        deep, together = split(D, thickness, 1), len(columns)
    else:
        deep = bands(D, n * C // members * len(columns), 8 * (R_z + S_z + 1))
        together = n * C // members * len(columns) * len(deep)
    high = _even(H, max(tallest, 16), together)

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
        gaussians = taps, start, radius, np.array(both[0] + both[1], real), np.empty(2 * max(radius) + 4, np.int64)
        window, rooms = (first, members, D, H, W, z0, z1, r0, r1, c0, c1), tuple(room(tuple(sizes), real))
        kernel(tuple(arrays), window, given, gaussians, rooms[:5], rooms[5:])

    slabs = [(first, z0, z1) for first in range(0, n * C, members) for z0, z1 in deep]
    windows = [(r0, r1, c0, c1) for r0, r1 in high for c0, c1 in columns]
    if thickness:
        for slab in reversed(slabs) if upwards else slabs:
            run(work, [(*slab, *window) for window in windows])
    else:
        run(work, [(*slab, *window) for slab in slabs for window in windows])
