"""From file to file in three dimensions: volumes in windows, within a bound on memory, resumable after a kill."""

import math
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.automatic.samples import samples_read
from whorl.errors import FileError
from whorl.files.volume import VolumeFile, check_format
from whorl.foundations.atomic import beside
from whorl.large.plan import RESERVE, USUALLY, How, Plan, size_in_words, window_bytes, working_bytes
from whorl.large.resuming import check_room, identity, journals
from whorl.large.run import run
from whorl.large.scratch import Journal, Scratch
from whorl.large.stages import Stage
from whorl.large.windows import Window, window_at

SAMPLED = 2
"""How many volumes of a series are looked at to measure what all of them share."""


def sample_boxes(file: VolumeFile) -> Iterator[NDArray[Any]]:
    """Blocks ``(c, z, y, x)`` that stand for the volumes of a file when something is measured on them."""
    count = min(file.count, SAMPLED)
    for number in (index * file.count // count for index in range(count)):
        read = partial(file.read, number)
        yield from samples_read(file.shape, lambda place, read=read: file.values(read(place)))  # type: ignore[misc]


def plan_volume(file: VolumeFile, stages: Sequence[Stage], how: How = USUALLY) -> Plan:
    """How the volumes of a file would be cut."""
    more = 2 * file.channels * file.dtype.itemsize  # as read, and as rounded for writing
    chosen = how.planned(file.shape, stages, file.channels, file.dtype, more=more)
    voxel, (budget, _) = working_bytes(stages, file.channels, file.dtype, 3)[0] + more, window_bytes(how.memory)
    grown = [min(side + 2 * chosen.halo, size) for side, size in zip(chosen.sides, file.shape, strict=True)]
    needed = math.prod(grown) * voxel
    if how.memory is not None and needed > budget:
        sides, need = " x ".join(map(str, grown[::-1])), size_in_words(needed + RESERVE)
        raise ValueError(
            f"--memory {size_in_words(how.memory)}: windows of {sides} voxels, halo included, take {need}. "
            "Give so much, or smaller windows (--tile), or --scheme explicit."
        )
    return chosen


def filter_volume(
    file: VolumeFile,
    target: Path,
    stages: Sequence[Stage],
    how: How = USUALLY,
) -> tuple[Plan, bool]:
    """Filter the volumes of a file into another of the same format; it appears when it is complete, or not at all.

    Parameters
    ----------
    file : VolumeFile
        From :func:`whorl.files.volume.open_volume`.
    target : Path
        Where to write. While a volume of several windows is filtered, a hidden folder beside it holds what is done; a
        run that was killed goes on from there when it is started again with the same stages and the same source.
    stages : sequence of Stage
        The filter.
    how : How
        Windows, memory, device, and whom to tell.

    Returns
    -------
    plan, resumed
        How the volume was cut, and whether a former run was gone on with.
    """
    check_format(target, file)
    chosen = plan_volume(file, stages, how)
    resumed = False
    with beside(target, how.force, folder=file.is_folder(target)) as part, ExitStack() as stack:
        voxels = file.channels * math.prod(file.shape)
        check_room(target, chosen, file.count * voxels * file.dtype.itemsize, voxels, file.dtype)
        begin = stack.enter_context(journals(target))
        known = (str(how.device), file.dtype, file.count, file.channels, file.scale, file.shift)
        results = []
        for number in range(file.count):
            journal = begin(identity(chosen, file.path, number, *known)) if chosen.count > 1 else None
            resumed = resumed or (journal is not None and journal.resumed)
            place = target.parent if journal is None else journal.folder
            results.append(Scratch(place, file.shape, None if journal is None else "result"))
            stack.callback(results[-1].release)
            _filter_one(file, number, chosen, results[-1], replace(how, advance=how.part(1 / file.count)), journal)
        file.write(part, target.name, lambda number, place: results[number].read(window_at(place)))
    return chosen, resumed


def _filter_one(
    file: VolumeFile, number: int, chosen: Plan, result: Scratch, how: How, journal: Journal | None
) -> None:
    """Filter one volume into a scratch file, its samples rounded to the type of the file."""
    finish = chosen.finish
    result.reopen(file.channels, file.dtype)

    def read(window: Window) -> NDArray[Any]:
        block = file.read(number, window.slices)
        if finish is None and block.dtype.kind == "f" and not np.isfinite(block).all():
            broken = np.argwhere(~np.isfinite(block))[0, 1:] + window[::2]
            where = ", ".join(str(n) for n in broken[::-1])
            raise FileError(
                f"{file.path}: holds NaN or infinite voxels; one is at x, y, z = {where}. Fill them in first, "
                "or cut them off."
            )
        return file.values(block)

    def write(window: Window, block: NDArray[Any]) -> None:
        samples = file.samples_of(block)
        result.write(window, samples if finish is None else finish(file.read(number, window.slices), samples))
        if journal is not None:
            result.flush()

    run(chosen, read, write, device=how.device, folder=result.folder, advance=how.advance, journal=journal)
