"""TIFF stacks as volumes: which axis is z, how large a voxel is, and pages as slices."""

import math
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.raw_volume import RawSamples
from whorl.files.tiff_reader import TiffReader, outer_axes
from whorl.files.tiff_tags import ome_spacing, spacing
from whorl.files.tiff_writer import TiffWriter
from whorl.files.volume import Box, Result, VolumeFile, known_spacing

UNKNOWN = "IQ"
"""How tifffile calls axes of which a file says nothing."""


def tiff_stack(path: Path, asked: bool) -> "TiffStack | None":
    """The volume in a TIFF file, or None where no axis of it is z and none was ``asked`` for."""
    reader = TiffReader(path)
    try:
        axes = _outer_axes(reader, asked)
        if axes is not None:
            return TiffStack(path, reader, axes)
    except BaseException:
        reader.close()
        raise
    reader.close()
    if asked:
        raise FileError(f"{path}: a single page is no volume. Leave --volume out.")
    return None


Outer = dict[str, int]
"""The axes that count the pages of a file, slowest first, such as T, Z and C, and their sizes."""


class TiffStack(VolumeFile):
    """Pages as slices. Tags and descriptions of every page come along, OME-XML among them.

    Channels are those of a pixel, or pages of a channel axis; other axes, such as time, count volumes.
    """

    kind = "tiff"

    def __init__(self, path: Path, reader: TiffReader, axes: Outer) -> None:
        self.path, self.reader, self.axes = path, reader, axes
        layout = reader.pages[0].layout
        if any(page.layout != layout for page in reader.pages):
            raise FileError(
                f"{path}: pages of different size or type are no volume. Filter them with --pages separate."
            )
        self.layout, self.dtype = layout, layout.dtype
        self.shape = (axes["Z"], layout.height, layout.width)
        self.paged = layout.filtered == 1 and "C" in axes  # channels lie in pages of their own
        self.channels = axes["C"] if self.paged else layout.filtered
        self.outer = [name for name in axes if name != "Z" and not (self.paged and name == "C")]
        self.count = math.prod(axes[name] for name in self.outer)
        self.spacing = _spacing(reader)
        self.copy: RawSamples | None = None

    def _read(self, number: int, place: Box) -> NDArray[Any]:
        z, y, x = place
        if self.reader.pages[0].banded and (y.stop - y.start, x.stop - x.start) != self.shape[1:]:
            copied: NDArray[Any] = self._unpacked().read((slice(number, number + 1), slice(0, self.channels), *place))
            return copied.reshape(copied.shape[1:])
        slices = [self._slice(number, section, y, x) for section in range(z.start, z.stop)]
        together: NDArray[Any] = np.stack(slices, axis=1)
        return together

    def _slice(self, number: int, section: int, y: slice, x: slice) -> NDArray[Any]:
        """``(c, y, x)`` of one section."""
        pages = [self.reader.pages[index] for index in self._pages(number, section)]
        blocks = [page.read(y.start, y.stop, x.start, x.stop)[..., : self.layout.filtered] for page in pages]
        together: NDArray[Any] = np.concatenate(blocks, axis=-1)
        return together.transpose(2, 0, 1)

    def _pages(self, number: int, section: int) -> list[int]:
        """The numbers of the pages that hold a section: one, or one for each channel."""
        outer = np.unravel_index(number, [self.axes[name] for name in self.outer])
        at = {**dict(zip(self.outer, map(int, outer), strict=True)), "Z": section}
        places = [at | {"C": channel} for channel in range(self.channels)] if self.paged else [at]
        sizes = tuple(self.axes.values())
        return [int(np.ravel_multi_index([place[name] for name in self.axes], sizes)) for place in places]

    def _unpacked(self) -> RawSamples:
        """A copy on disk, where windows would have to decode every strip of a page many times."""
        if self.copy is None:
            file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (closed by close)
            self.copy = RawSamples(file, (self.count, self.channels, *self.shape), self.dtype)
            _, y, x = self.whole()
            for number, section in product(range(self.count), range(self.shape[0])):
                block = self._slice(number, section, y, x)[None, :, None]
                place = slice(number, number + 1), slice(0, self.channels), slice(section, section + 1), y, x
                self.copy.write(place, block)
        return self.copy

    def write(self, part: Path, name: str, result: Result) -> None:
        """Every page in its place, with its tags; nothing is lost by compression."""
        frames = [(page.layout, replace(page.metadata, compression=None)) for page in self.reader.pages]
        _, y, x = self.whole()
        with part.open("w+b") as stream:
            writer = TiffWriter(stream, name, frames)
            for number, section in product(range(self.count), range(self.shape[0])):
                block = result(number, (slice(section, section + 1), y, x))[:, 0].transpose(1, 2, 0)
                pages = self._pages(number, section)
                for index, samples in zip(pages, np.split(block, len(pages), axis=-1), strict=True):
                    if self.layout.kept:
                        page = self.reader.pages[index].read(0, self.layout.height, 0, self.layout.width)
                        samples = np.concatenate((samples, page[..., self.layout.filtered :]), axis=-1)
                    writer.canvases[index].write(0, 0, samples)
            writer.finish()

    def close(self) -> None:
        self.reader.close()
        if self.copy is not None:
            self.copy.file.close()


def _outer_axes(reader: TiffReader, asked: bool) -> Outer | None:
    """The axes that count the pages, where one of them is z; with ``asked`` an unnamed one is z."""
    series, count = reader.file.series, len(reader.pages)
    found = outer_axes(reader.file, count)
    axes, path = dict(found), reader.pages[0].path
    if "Z" in axes and len(axes) == len(found):
        in_order = [page.index for page in series[0].pages if page is not None]
        if in_order != sorted(in_order):
            raise FileError(f"{path}: its pages are not in the order of its axes. Save it again.")
        return axes
    if not asked or count == 1:
        return None
    unnamed = [name for name, _ in found if name in UNKNOWN]
    if len(unnamed) != 1:
        names = "".join(name for name, _ in found)
        raise FileError(f"{path}: its axes are {names}, none of which is z. Filter it with --pages separate.")
    return {"Z" if name in unnamed else name: size for name, size in found}


def _spacing(reader: TiffReader) -> tuple[float, ...] | None:
    """Depth, height and width of a voxel: from OME-XML, or from ImageJ's note beside the resolution."""
    first = reader.file.pages.first
    if "<OME" in first.description:
        return ome_spacing(first.description, "ZYX")
    note, plane = reader.file.imagej_metadata or {}, spacing(first)
    return known_spacing((note["spacing"], *plane)) if "spacing" in note and plane is not None else None
