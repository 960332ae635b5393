"""zarr arrays and OME-Zarr images as volumes, read and written by chunk; the pyramid is built anew."""

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.ome_zarr import Multiscale
from whorl.files.volume import Box, Result, VolumeFile
from whorl.files.zarr_arrays import ZarrReader, ZarrWriter, place_of


def zarr_volume(path: Path, asked: bool) -> "ZarrVolume | None":
    """The volume in a zarr array or group, or None where no axis is called z and none was ``asked`` for."""
    reader = ZarrReader(path)
    how = reader.pages[0].metadata.array
    assert how is not None
    names = [(name or "").lower() for name in how["names"] or ()]
    y, x, c = how["axes"]
    if {"z", "y", "x"} <= {*names}:
        z = names.index("z")
    elif not asked:
        return None
    else:
        left = [
            axis for axis in range(len(how["shape"])) if axis not in (y, x, c) and not (names and names[axis] == "t")
        ]
        if c is not None and not left and not (names and names[c] == "c"):
            z, y, x, c = y, x, c, None  # three axes without names, the last of them short: all of them are space
        elif left:
            z = left[-1]
        else:
            raise FileError(f"{path}: an array of shape {how['shape']} is no volume. Leave --volume out.")
    return ZarrVolume(path, reader, (z, y, x), c)


class ZarrVolume(VolumeFile):
    """An array with axes z, y, x and perhaps channels; other axes, such as time, count volumes."""

    kind = "zarr"

    def __init__(self, path: Path, reader: ZarrReader, space: tuple[int, int, int], channel: int | None) -> None:
        self.path, self.array, self.page = path, reader.array, reader.pages[0]
        self.space, self.channel = space, channel
        shape = self.array.shape
        depth, height, width = (int(shape[axis]) for axis in space)
        self.shape = (depth, height, width)
        self.channels = 1 if channel is None else int(shape[channel])
        self.outer = [axis for axis in range(len(shape)) if axis not in space and axis != channel]
        self.count = math.prod(int(shape[axis]) for axis in self.outer)
        self.dtype = self.page.layout.dtype
        assert self.page.metadata.array is not None
        image: Multiscale | None = self.page.metadata.array["image"]
        self.spacing = None if image is None else image.spacing(("z", "y", "x"))

    def _place(self, number: int, place: Box) -> tuple[tuple[Any, ...], list[int]]:
        """The index of a box in a volume, and the order of the axes there that makes them z, y, x and channel."""
        outer = np.unravel_index(number, [self.array.shape[axis] for axis in self.outer])
        return place_of(self.array.ndim, (*self.space, self.channel), outer, place)  # type: ignore[arg-type]

    def _read(self, number: int, place: Box) -> NDArray[Any]:
        index, order = self._place(number, place)
        block = np.asarray(self.array[index]).transpose(order)
        return (block[None] if self.channel is None else np.moveaxis(block, -1, 0)).astype(self.dtype, copy=False)

    def write(self, part: Path, name: str, result: Result) -> None:
        """The array chunk by chunk, then the smaller sizes of an OME-Zarr image."""
        writer = ZarrWriter(part, name, [(self.page.layout, self.page.metadata)])
        for number, place in itertools.product(range(self.count), self._chunks()):
            block, (index, order) = result(number, place), self._place(number, place)
            samples = block[0] if self.channel is None else np.moveaxis(block, 0, -1)
            writer.array[index] = samples.transpose(np.argsort(order))
        writer.finish()

    def _chunks(self) -> list[Box]:
        """Boxes of whole chunks, up to four along x: fewer and larger writes."""
        chunks = [int(self.array.chunks[axis]) for axis in self.space]
        chunks[2] *= 4
        spans = [
            [slice(start, min(start + side, size)) for start in range(0, size, side)]
            for size, side in zip(self.shape, chunks, strict=True)
        ]
        return list(itertools.product(*spans))
