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
from whorl.files.zarr_arrays import ZarrReader, ZarrWriter

__all__ = ["ZarrVolume", "zarr_volume"]


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

    def _index(self, number: int, place: Box) -> tuple[Any, ...]:
        index: list[Any] = [slice(None)] * self.array.ndim
        for axis, part in zip(self.space, place, strict=True):
            index[axis] = part
        for axis in reversed(self.outer):
            number, index[axis] = divmod(number, self.array.shape[axis])
        return tuple(index)

    def _order(self) -> list[int]:
        """Where channel, z, y and x stand when the other axes are gone."""
        kept = sorted((*self.space, *([] if self.channel is None else [self.channel])))
        wanted = (*([] if self.channel is None else [self.channel]), *self.space)
        return [kept.index(axis) for axis in wanted]

    def _read(self, number: int, place: Box) -> NDArray[Any]:
        block = np.asarray(self.array[self._index(number, place)]).transpose(self._order())
        return (block[None] if self.channel is None else block).astype(self.dtype, copy=False)

    def write(self, part: Path, name: str, result: Result) -> None:
        """The array chunk by chunk, then the smaller sizes of an OME-Zarr image."""
        writer = ZarrWriter(part, name, [(self.page.layout, self.page.metadata)])
        back = np.argsort(self._order())
        for number, place in itertools.product(range(self.count), self._chunks()):
            block = result(number, place)
            samples = block[0] if self.channel is None else block
            writer.array[self._index(number, place)] = samples.transpose(back)
        writer.finish()

    def _chunks(self) -> list[Box]:
        """Boxes of whole chunks, up to four along x: fewer and larger writes."""
        chunks = [int(self.array.chunks[axis]) for axis in self.space]
        chunks[2] *= 4
        corners = itertools.product(*(range(0, size, side) for size, side in zip(self.shape, chunks, strict=True)))
        boxes = []
        for corner in corners:
            ends = zip(corner, chunks, self.shape, strict=True)
            z, y, x = (slice(start, min(start + side, size)) for start, side, size in ends)
            boxes.append((z, y, x))
        return boxes
