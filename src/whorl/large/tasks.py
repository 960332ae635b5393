"""One window of a zarr array as a task for any machine: it reads, filters and writes its own chunks."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from whorl.files.base import Page
from whorl.files.layout import Layout, Metadata
from whorl.files.zarr_arrays import ZarrReader, address, place_of
from whorl.files.zarr_volume import ZarrVolume, zarr_volume
from whorl.foundations.samples import rounded, working_dtype
from whorl.large.plan import How, Plan
from whorl.large.run import check, in_window
from whorl.large.stages import Stage, halo
from whorl.large.windows import Window

Chosen = list[tuple[Sequence[Stage], dict[str, Any]]]
Choose = Callable[[ZarrVolume | Sequence[Page]], Chosen]
"""Gives stages and their description for each of the volumes or pages; it is sent to a worker and measures there."""


@dataclass(frozen=True)
class Source:
    """An array with images along some of its axes, and what else its store says."""

    array: str
    space: tuple[int, ...]
    channel: int | None
    outer: tuple[int, ...]
    layout: Layout
    metadata: Metadata
    sizes: tuple[int, ...]
    chunks: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The size of an image."""
        return tuple(self.sizes[axis] for axis in self.space)

    @property
    def count(self) -> int:
        """The number of images."""
        return math.prod(self.sizes[axis] for axis in self.outer)

    @property
    def filtered(self) -> int:
        """How many of the channels are filtered; others, such as alpha, are copied."""
        channels = 1 if self.channel is None else self.sizes[self.channel]
        return channels - self.layout.kept if len(self.space) == 2 else channels

    def planned(self, stages: tuple[Stage, ...], how: How) -> Plan:
        """How an image is cut, along the chunks of the array."""
        grain = [self.chunks[axis] for axis in self.space]
        return how.planned(self.shape, stages, self.filtered, self.layout.dtype, grain, whole=False)


def looked(source: Path, choose: Choose, volume: bool | None, _: int) -> tuple[Source, Chosen]:
    """Open the store, measure, and choose."""
    found = None if volume is None else zarr_volume(source, volume)
    reader = ZarrReader(source)
    page = reader.pages[0]
    how: Any = page.metadata.array
    y, x, channel = how["axes"]
    space = (y, x) if found is None else found.space
    channel = channel if found is None else found.channel
    outer = tuple(axis for axis in range(len(how["shape"])) if axis not in (*space, channel))
    place = address(source) if how["image"] is None else f"{address(source)}/{how['image'].paths[0]}"
    units = reader.array.shards or reader.array.chunks
    about = Source(place, space, channel, outer, page.layout, page.metadata, how["shape"], tuple(units))
    chosen = choose(reader.pages if found is None else found)
    return about, [(tuple(stages), record) for stages, record in chosen]


@dataclass(frozen=True)
class Task:
    """One window of one pass over one image: ``number`` counts them all."""

    number: int
    step: int
    image: int
    window: Window
    plan: Plan
    source: Source
    folder: str
    target: str
    device: str

    @property
    def last(self) -> bool:
        """Whether this pass is the last one over the image."""
        return self.step == len(self.plan.passes) - 1


def filter_window(task: Task) -> None:
    """Read a window with its halo, filter it, write it, and then say so."""
    import zarr

    source, stages, shape = task.source, task.plan.passes[task.step], task.source.shape
    grown = task.window.grown(halo(stages), *shape)
    if task.step == 0:
        samples = _read(source, task.image, grown)[: source.filtered]
    else:
        between = zarr.open_array(f"{task.folder}/{task.image}-{task.step - 1}", mode="r")
        samples = np.asarray(between[(slice(None), *grown.slices)])
    u = torch.from_numpy(np.ascontiguousarray(samples.astype(working_dtype(source.layout.dtype))))[None].to(task.device)
    if task.step == 0:
        check(u, stages)
    with torch.no_grad():
        values = in_window(u, stages, grown, task.window, shape)[0].cpu().numpy()
    if not task.last:
        between = zarr.open_array(f"{task.folder}/{task.image}-{task.step}", mode="r+")
        between[(slice(None), *task.window.slices)] = values
    else:
        result = rounded(values, source.layout.dtype)
        rest = _read(source, task.image, task.window)[source.filtered :]
        result = np.concatenate((result, rest)) if len(rest) else result
        array = zarr.open_array(task.target, mode="r+")
        place, order = _place(source, task.image, task.window)
        block = result[0] if source.channel is None else np.moveaxis(result, 0, -1)
        array[place] = block.transpose(np.argsort(order))
    zarr.open_array(f"{task.folder}/done", mode="r+")[task.number] = 1


def _place(source: Source, image: int, window: Window) -> tuple[tuple[Any, ...], list[int]]:
    outer = np.unravel_index(image, [source.sizes[axis] for axis in source.outer])
    return place_of(len(source.sizes), (*source.space, source.channel), [int(n) for n in outer], window.slices)


def _read(source: Source, image: int, window: Window) -> Any:
    """All channels of a window, channels first."""
    import zarr

    place, order = _place(source, image, window)
    block = np.asarray(zarr.open_array(source.array, mode="r")[place]).transpose(order)
    return block[None] if source.channel is None else np.moveaxis(block, -1, 0)
