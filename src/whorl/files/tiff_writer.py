"""TIFF written tile by tile, in any order: classic up to 4 GiB, BigTIFF beyond, decided when all is written."""

import math
import zlib
from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import Canvas, Frame, Writer
from whorl.files.layout import Layout, Metadata, Tag
from whorl.files.tiff_tags import INCHES

__all__ = ["TiffWriter"]

TILE = 256
HEADER = 16  # bytes of a BigTIFF header; a classic one leaves half of them unused
PHOTOMETRIC = {"grey": 1, "rgb": 2, "cmyk": 5, "channels": 1}
SAMPLE_FORMATS = {"u": 1, "i": 2, "f": 3}
NO_UNIT = 1  # of the resolution: only the ratio counts
SHORT, LONG, RATIONAL, UNDEFINED, LONG8 = 3, 4, 5, 7, 16


class TiffWriter(Writer):
    """Tiled TIFF, deflate-compressed with the horizontal predictor for whole numbers.

    Tiles are appended as they come and the directory follows at the end, so memory holds one tile. Small pictures are
    one strip, which every reader takes.
    """

    def __init__(self, stream: BinaryIO, name: str, frames: Sequence[Frame]) -> None:
        for layout, _ in frames:
            if layout.dtype.kind not in SAMPLE_FORMATS:
                raise FileError(
                    f"{name}: TIFF cannot hold samples of type {layout.dtype}. Convert them to numbers first."
                )
        self.stream = stream
        self.pages = tuple(_TiffCanvas(stream, layout, metadata) for layout, metadata in frames)
        self.canvases = self.pages
        stream.write(bytes(HEADER))

    def finish(self) -> None:
        """Write directories and header."""
        tables = [page.tags() for page in self.pages]
        length = self.stream.tell() + sum(sum(len(tag.data) + 40 for tag in tags) + 64 for tags in tables)
        big = length >= 2**32
        link = 8 if big else 4  # where the offset of the next directory is to be written
        for tags in tables:
            start = self.stream.tell() + self.stream.tell() % 2
            self._patch(link, start.to_bytes(8 if big else 4, "little"))
            link = self._directory(start, tags, big)
        self._patch(0, b"II+\0\x08\0\0\0" if big else b"II*\0")

    def _patch(self, place: int, data: bytes) -> None:
        self.stream.seek(place)
        self.stream.write(data)
        self.stream.seek(0, 2)

    def _directory(self, start: int, tags: list[Tag], big: bool) -> int:
        """Write one directory at ``start`` and give the place of its link to the next."""
        wide, counter = (8, 8) if big else (4, 2)
        entries, rest = bytearray(), bytearray()
        behind = start + counter + len(tags) * (4 + 2 * wide) + wide
        for tag in sorted(tags, key=lambda tag: tag.code):
            tag = tag if big else _classic(tag)
            value = tag.data.ljust(wide, b"\0")
            if len(value) > wide:
                value = (behind + len(rest)).to_bytes(wide, "little")
                rest += tag.data + bytes(len(tag.data) % 2)
            entries += tag.code.to_bytes(2, "little") + tag.kind.to_bytes(2, "little")
            entries += tag.count.to_bytes(wide, "little") + value
        self.stream.seek(start)
        self.stream.write(len(tags).to_bytes(counter, "little") + entries + bytes(wide) + rest)
        return behind - wide


class _TiffCanvas(Canvas):
    def __init__(self, stream: BinaryIO, layout: Layout, metadata: Metadata) -> None:
        self.stream, self.layout, self.metadata = stream, layout, metadata
        self.tiled = layout.height > TILE or layout.width > 4 * TILE
        self.grain = (TILE, TILE) if self.tiled else (layout.height, layout.width)
        self.across = math.ceil(layout.width / self.grain[1])
        count = self.across * math.ceil(layout.height / self.grain[0])
        self.offsets, self.counts = np.zeros(count, "<u8"), np.zeros(count, "<u8")

    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        rows, columns = self.grain
        for y in range(0, block.shape[0], rows):
            for x in range(0, block.shape[1], columns):
                index = (top + y) // rows * self.across + (left + x) // columns
                self._write_segment(index, block[y : y + rows, x : x + columns])

    def _write_segment(self, index: int, part: NDArray[Any]) -> None:
        if self.tiled:  # tiles at the right and lower border are filled up; their edge repeated compresses well
            missing = [(0, size - have) for size, have in zip(self.grain, part.shape[:2], strict=True)]
            part = np.pad(part, (*missing, (0, 0)), mode="edge")
        part = np.ascontiguousarray(part, self.layout.dtype.newbyteorder("<"))
        if self._predicted():  # differences wrap around, as the predictor wants
            part = np.concatenate((part[:, :1], np.subtract(part[:, 1:], part[:, :-1], dtype=part.dtype)), axis=1)
            part = part.astype(self.layout.dtype.newbyteorder("<"))
        data = _deflated(part.tobytes())
        self.offsets[index], self.counts[index] = self.stream.tell(), len(data)
        self.stream.write(data)

    def _predicted(self) -> bool:
        return self.layout.dtype.kind in "iu"

    def tags(self) -> list[Tag]:
        layout, rows, columns = self.layout, *self.grain
        samples, bits = layout.channels, 8 * layout.dtype.itemsize
        table = {tag.code: tag for tag in _description(layout, self.metadata)}
        own = [
            _numbers(256, LONG, layout.width),
            _numbers(257, LONG, layout.height),
            _numbers(258, SHORT, *[bits] * samples),
            _numbers(259, SHORT, 8),  # deflate
            _numbers(277, SHORT, samples),
            _numbers(284, SHORT, 1),
            _numbers(317, SHORT, 2 if self._predicted() else 1),
            _numbers(339, SHORT, *[SAMPLE_FORMATS[layout.dtype.kind]] * samples),
        ]
        place = (324, 325) if self.tiled else (273, 279)
        own += [Tag(place[0], LONG8, len(self.offsets), self.offsets.tobytes())]
        own += [Tag(place[1], LONG8, len(self.counts), self.counts.tobytes())]
        own += [_numbers(322, LONG, columns), _numbers(323, LONG, rows)] if self.tiled else [_numbers(278, LONG, rows)]
        return list((table | {tag.code: tag for tag in own}).values())


def _deflated(data: bytes) -> bytes:
    """The data in zlib format; by libdeflate where it is installed, which is three times as fast."""
    try:
        from imagecodecs import deflate_encode
    except ModuleNotFoundError:
        return zlib.compress(data, 4)
    packed = bytes(deflate_encode(data, 4))
    return packed


def _description(layout: Layout, metadata: Metadata) -> list[Tag]:
    """The describing tags: those of the TIFF read, or new ones from what another format told."""
    if metadata.tags:
        return list(metadata.tags)
    tags = [_numbers(262, SHORT, PHOTOMETRIC[layout.colour]), _numbers(274, SHORT, metadata.orientation)]
    colours = {"rgb": 3, "cmyk": 4}.get(layout.colour, 1)
    if layout.channels > colours:
        unmarked = layout.channels - colours - layout.kept
        tags.append(_numbers(338, SHORT, *[0] * unmarked, *[2] * layout.kept))
    if metadata.icc is not None:
        tags.append(Tag(34675, UNDEFINED, len(metadata.icc), metadata.icc))
    if metadata.resolution is not None:
        for code, value in zip((282, 283), metadata.resolution, strict=True):
            tags.append(Tag(code, RATIONAL, 1, np.array(_fraction(value), "<u4").tobytes()))
        tags.append(_numbers(296, SHORT, next(unit for unit, scale in INCHES.items() if scale == 1.0)))
    elif metadata.aspect != (1.0, 1.0):
        for code, size in zip((282, 283), reversed(metadata.aspect), strict=True):
            tags.append(Tag(code, RATIONAL, 1, np.array(_fraction(1 / size), "<u4").tobytes()))
        tags.append(_numbers(296, SHORT, NO_UNIT))
    return tags


def _fraction(value: float) -> tuple[int, int]:
    """Numerator and denominator, below 2**32 each; four decimals where they fit.

    >>> _fraction(300.0), _fraction(508000.0), _fraction(1e12)
    ((3000000, 10000), (508000000, 1000), (4294967295, 1))
    """
    for denominator in (10000, 1000, 100, 10):
        if round(value * denominator) < 2**32:
            return round(value * denominator), denominator
    return min(round(value), 2**32 - 1), 1


def _numbers(code: int, kind: int, *values: int) -> Tag:
    return Tag(code, kind, len(values), np.array(values, {SHORT: "<u2", LONG: "<u4"}[kind]).tobytes())


def _classic(tag: Tag) -> Tag:
    """The tag with 4-byte offsets, which suffice below 4 GiB and are all that classic TIFF knows."""
    if tag.kind != LONG8:
        return tag
    return Tag(tag.code, LONG, tag.count, np.frombuffer(tag.data, "<u8").astype("<u4").tobytes())
