"""TIFF written piece by piece, in any order: classic up to 4 GiB, BigTIFF beyond, decided when all is written.

The writer of tifffile wants all tiles of all pages in their order, must be told in advance whether a file is a BigTIFF,
knows no directories within tags (EXIF, GPS), and writes description and resolution anew instead of passing them on.
"""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import Canvas, Frame, Writer, reduced
from whorl.files.layout import Layout, Metadata, Tag
from whorl.files.tiff_codecs import COMPRESSIONS, check_compression, decoded, encoded
from whorl.files.tiff_directory import LONG, LONG8, packed
from whorl.files.tiff_tags import SHORT, description, numbers

TILE = 256
LARGE = 2**26  # bytes of a page above which it is tiled
STRIP = 2**16  # bytes of a strip, before compression
HEADER = 16  # bytes of a BigTIFF header; a classic one leaves half of them unused
SAMPLE_FORMATS = {"u": 1, "i": 2, "f": 3}
YCBCR = 6  # how JPEG holds colours
SUB_DIRECTORIES = 330


class TiffWriter(Writer):
    """TIFF in the arrangement that suits the picture.

    - Small pictures lie in strips, deflated without predictor, which every reader takes; many cannot open tiles.
    - Pictures that ImageJ wrote lie uncompressed one after the other, as ImageJ looks for its stacks.
    - Large ones, and those that came with a pyramid, are tiled, deflated with the horizontal predictor for whole
      numbers; the pyramid is built anew from the result.
    - Pictures that were compressed as JPEG become JPEG again: lossless compression would take 4 to 10 times the room of
      the input, JPEG of quality 95 takes about twice. Another compression may be told by ``Metadata.compression``.

    Strips and tiles are appended as they come and the directories follow at the end, so memory holds one of them.
    """

    holds, carries = ("icc", "exif", "xmp", "iptc", "comment"), "tags"

    def __init__(self, stream: BinaryIO, name: str, frames: Sequence[Frame]) -> None:
        for layout, metadata in frames:
            if layout.dtype.kind not in SAMPLE_FORMATS:
                raise FileError(
                    f"{name}: TIFF cannot hold samples of type {layout.dtype}. Convert them to numbers first."
                )
            check_compression(metadata.compression, layout, name)
        self.stream = stream
        stream.write(bytes(HEADER))
        self.canvases: tuple[_TiffCanvas, ...]
        if _starts(frames[0][1], b"ImageJ=") and not frames[0][1].compression:
            places = [HEADER, *(HEADER + end for end in itertools.accumulate(layout.nbytes for layout, _ in frames))]
            self.canvases = tuple(
                _Plain(stream, *frame, place) for frame, place in zip(frames, places[:-1], strict=True)
            )
        else:
            self.canvases = tuple(_segmented(stream, layout, metadata) for layout, metadata in frames)

    def finish(self) -> None:
        """Write pyramids, directories and header."""
        self.stream.seek(0, 2)
        marked = not _starts(self.canvases[0].metadata, b"Aperio")  # slides of Aperio do not mark their smaller sizes
        pages = [[page.tags(), *(level.tags(int(marked)) for level in page.pyramid())] for page in self.canvases]
        pages += [[self._other(*other)] for other in self.canvases[0].metadata.others]
        length = self.stream.tell() + sum(
            sum(len(tag.data) + 40 for tag in tags) + 128 for table in pages for tags in table
        )
        big = length >= 2**32
        link = 8 if big else 4  # where the offset of the next directory is to be written
        for tags, *levels in pages:
            flat = levels if self.canvases[0].metadata.levels else []
            offsets = [self._directory(level, big)[0] for level in levels] if not flat else []
            if offsets:
                tags.append(Tag(SUB_DIRECTORIES, LONG8, len(offsets), np.array(offsets, "<u8").tobytes()))
            for table in (tags, *flat):
                start, following = self._directory(table, big)
                self._put(link, start.to_bytes(8 if big else 4, "little"))
                link = following
        self._put(0, b"II+\0\x08\0\0\0" if big else b"II*\0")

    def _other(self, samples: NDArray[Any], layout: Layout, metadata: Metadata, kind: int) -> list[Tag]:
        """Write a small picture that is passed on as it is."""
        page = _Packed(self.stream, layout, metadata, layout.shape[:2], tiled=False)
        page.write(0, 0, samples)
        return page.tags(kind)

    def _directory(self, tags: list[Tag], big: bool) -> tuple[int, int]:
        """Write one directory at the end, at an even place: that place, and where its link to the next one lies."""
        end = self.stream.seek(0, 2)
        data, link = packed(tags, end + end % 2, big)
        self._put(end + end % 2, data)
        return end + end % 2, link

    def _put(self, place: int, data: bytes) -> None:
        self.stream.seek(place)
        self.stream.write(data)


class _TiffCanvas(Canvas):
    """A page: how its samples lie in the file, and the tags that say so."""

    compression, tiled, predicted = "none", False, False

    def __init__(self, stream: BinaryIO, layout: Layout, metadata: Metadata, segment: tuple[int, int]) -> None:
        self.stream, self.layout, self.metadata, self.segment = stream, layout, metadata, segment
        self.across = math.ceil(layout.width / segment[1])
        count = self.across * math.ceil(layout.height / segment[0])
        self.offsets, self.counts = np.zeros(count, "<u8"), np.zeros(count, "<u8")

    def pyramid(self) -> "list[_TiffCanvas]":
        """Smaller and smaller copies, each half the size of the one before, where the page shall have them."""
        return []

    def tags(self, kind: int = 0) -> list[Tag]:
        """The directory of a page of that kind: 0 for whole pictures."""
        layout, rows, columns = self.layout, *self.segment
        samples, bits = layout.channels, 8 * layout.dtype.itemsize
        table = {tag.code: tag for tag in description(layout, self.metadata)}
        own = [
            numbers(254, LONG, kind),
            numbers(256, LONG, layout.width),
            numbers(257, LONG, layout.height),
            numbers(258, SHORT, *[bits] * samples),
            numbers(259, SHORT, COMPRESSIONS[self.compression]),
            numbers(277, SHORT, samples),
            numbers(284, SHORT, 1),
            numbers(317, SHORT, 2 if self.predicted else 1),
            numbers(339, SHORT, *[SAMPLE_FORMATS[layout.dtype.kind]] * samples),
        ]
        if self.compression == "jpeg" and samples == 3:
            own += [numbers(262, SHORT, YCBCR), numbers(530, SHORT, 1, 1)]
        place = (324, 325) if self.tiled else (273, 279)
        own += [Tag(place[0], LONG8, len(self.offsets), self.offsets.tobytes())]
        own += [Tag(place[1], LONG8, len(self.counts), self.counts.tobytes())]
        own += [numbers(322, LONG, columns), numbers(323, LONG, rows)] if self.tiled else [numbers(278, LONG, rows)]
        return list((table | {tag.code: tag for tag in own}).values())


class _Plain(_TiffCanvas):
    """Samples as they are, at a fixed place: one strip."""

    def __init__(self, stream: BinaryIO, layout: Layout, metadata: Metadata, place: int) -> None:
        super().__init__(stream, layout, metadata, (layout.height, layout.width))
        self.offsets[0], self.counts[0] = place, layout.nbytes

    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        samples = np.ascontiguousarray(block, self.layout.dtype.newbyteorder("<"))
        pixel = self.layout.channels * self.layout.dtype.itemsize
        for row in range(block.shape[0]):
            self.stream.seek(int(self.offsets[0]) + ((top + row) * self.layout.width + left) * pixel)
            self.stream.write(samples[row].data)


class _Packed(_TiffCanvas):
    """Compressed strips or tiles, appended as they come."""

    def __init__(
        self, stream: BinaryIO, layout: Layout, metadata: Metadata, segment: tuple[int, int], tiled: bool
    ) -> None:
        super().__init__(stream, layout, metadata, segment)
        self.grain = segment
        self.compression = metadata.compression or "deflate"
        predictable = layout.dtype.kind in "iu" and self.compression not in ("none", "jpeg")
        self.tiled, self.predicted = tiled, tiled and predictable

    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        rows, columns = self.grain
        for y in range(0, block.shape[0], rows):
            for x in range(0, block.shape[1], columns):
                index = (top + y) // rows * self.across + (left + x) // columns
                self._write_segment(index, block[y : y + rows, x : x + columns])

    def pyramid(self) -> list[_TiffCanvas]:
        levels: list[_TiffCanvas] = []
        finest: _Packed = self
        for height, width, _ in (size for size in self._smaller() if size[2]):
            layout = replace(finest.layout, height=height, width=width)
            factor = max(1, round(finest.layout.height / height), round(finest.layout.width / width))
            coarser = _Packed(self.stream, layout, self.metadata, (TILE, TILE), tiled=True)
            for top, left in itertools.product(range(0, height, TILE), range(0, width, TILE)):
                size = min(TILE, height - top), min(TILE, width - left), layout.channels
                wanted = factor * size[0], factor * size[1]
                block = finest.read_back(factor * top, factor * left, factor)[: wanted[0], : wanted[1]]
                missing = [(0, want - have) for want, have in zip(wanted, block.shape[:2], strict=True)]
                block = np.pad(block, (*missing, (0, 0)), mode="edge")
                coarser.write(top, left, reduced(block, [slice(0, length) for length in size], size))
            levels.append(coarser)
            finest = coarser
        for at, (height, width, tiled) in enumerate(self.metadata.levels if levels else ()):
            if not tiled:  # a thumbnail, from the smallest size
                count = math.ceil(max(finest.layout.height, finest.layout.width) / TILE)
                rows, columns = (
                    np.arange(n) * have // n for n, have in zip((height, width), finest.layout.shape, strict=False)
                )
                small = _Packed(self.stream, replace(self.layout, height=height, width=width), self.metadata,
                                  (height, width), tiled=False)  # fmt: skip
                small.write(0, 0, finest.read_back(0, 0, count)[rows][:, columns])
                levels.insert(at, small)
        return levels

    def _smaller(self) -> Iterator[tuple[int, int, bool]]:
        """Heights and widths of the smaller sizes: those of the source where they are pages, or halves."""
        height, width = self.layout.height, self.layout.width
        if self.tiled and self.metadata.levels:
            yield from self.metadata.levels
        while self.tiled and self.metadata.pyramid and not self.metadata.levels and max(height, width) > 2 * TILE:
            height, width = -(-height // 2), -(-width // 2)
            yield height, width, True

    def read_back(self, top: int, left: int, count: int) -> NDArray[Any]:
        """A number of tiles along both axes from a first one on, as far as the picture has them."""
        rows, columns = self.grain
        bottom, right = min(top + count * rows, self.layout.height), min(left + count * columns, self.layout.width)
        lines = []
        for y in range(top // rows, math.ceil(bottom / rows)):
            tiles = [
                self._read_segment(y * self.across + x) for x in range(left // columns, math.ceil(right / columns))
            ]
            lines.append(np.concatenate(tiles, axis=1))
        return np.concatenate(lines)[: bottom - top, : right - left]

    def _write_segment(self, index: int, part: NDArray[Any]) -> None:
        if self.tiled:  # tiles at the right and lower border are filled up; their edge repeated compresses well
            missing = [(0, size - have) for size, have in zip(self.grain, part.shape[:2], strict=True)]
            part = np.pad(part, (*missing, (0, 0)), mode="edge")
        part = np.ascontiguousarray(part, self.layout.dtype.newbyteorder("<"))
        if self.predicted:  # differences wrap around, as the predictor wants
            part = np.concatenate((part[:, :1], np.subtract(part[:, 1:], part[:, :-1], dtype=part.dtype)), axis=1)
            part = part.astype(self.layout.dtype.newbyteorder("<"))
        data = encoded(self.compression, part)
        self.offsets[index], self.counts[index] = self.stream.seek(0, 2), len(data)
        self.stream.write(data)

    def _read_segment(self, index: int) -> NDArray[Any]:
        self.stream.seek(int(self.offsets[index]))
        data = decoded(self.compression, self.stream.read(int(self.counts[index])))
        part = np.frombuffer(data, self.layout.dtype.newbyteorder("<")).reshape(*self.grain, self.layout.channels)
        return np.cumsum(part, axis=1, dtype=part.dtype) if self.predicted else part


def _segmented(stream: BinaryIO, layout: Layout, metadata: Metadata) -> _Packed:
    if metadata.pyramid or layout.nbytes > LARGE:
        return _Packed(stream, layout, metadata, (TILE, TILE), tiled=True)
    rows = max(1, min(STRIP // (layout.nbytes // layout.height), layout.height))
    rows = -(-rows // 8) * 8 if metadata.compression == "jpeg" else rows  # its blocks are 8 pixels high
    return _Packed(stream, layout, metadata, (rows, layout.width), tiled=False)


def _starts(metadata: Metadata, word: bytes) -> bool:
    """Whether the description begins with the word."""
    return any(tag.code == 270 and tag.data.startswith(word) for tag in metadata.tags)
