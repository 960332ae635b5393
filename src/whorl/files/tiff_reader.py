"""TIFF and BigTIFF: pages read by window, strip by strip or tile by tile."""

import math
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import MAX_PIXELS, Page, Reader, check_segment, check_size, needed
from whorl.files.layout import Colour, Layout, Metadata
from whorl.files.tiff_codecs import jpeg_holds
from whorl.files.tiff_directory import directories, orientation_in
from whorl.files.tiff_tags import IPTC, XMP, carried_tags, exif_in, only_tiff, other_tags, resolution, spacing

COLOURS: dict[int, tuple[Colour, int]] = {0: ("grey", 1), 1: ("grey", 1), 2: ("rgb", 3), 5: ("cmyk", 4), 6: ("rgb", 3)}
PALETTE, YCBCR = 3, 6
ASSOCIATED = 1  # the first of the extra samples is an alpha by which the colours were multiplied
MAX_SAMPLES = 2**14  # of one pixel
JPEG = (6, 7, 33007, 34892)  # compressions whose decoder turns YCbCr into RGB
CACHE = 2**26  # bytes of decoded segments kept, so that neighbouring windows need not decode them again


class TiffReader(Reader):
    """A TIFF file with all its pages; pages of reduced resolution (previews, pyramids) are left out.

    A window costs the strips or tiles it touches; uncompressed rows are read where they lie, however long the strip.
    """

    def __init__(self, path: Path, max_pixels: int = MAX_PIXELS) -> None:
        tifffile = needed("tifffile", path, "TIFF")
        directories(path)
        self.file = tifffile.TiffFile(path)
        try:
            full, cache = _full_pages(path, self.file), _Cache()
            reduced, levels = len(full) < len(self.file.pages), _flat_levels(self.file)
            self.pages = tuple(_TiffPage(path, page, cache, reduced, levels) for page in full)
            step = count = 1  # of pages that show one channel, and of channels
            for name, size in outer_axes(self.file, len(self.pages)) if len(self.pages) > 1 else ():
                step, count = (1, size) if name == "C" else (step * size, count)
            for number, page in enumerate(self.pages):
                page.dye = number // step % count
            if self.file.is_svs:
                sizes = {(height, width) for height, width, _ in levels}
                alone = (page for page in self.file.pages[1:] if page.shape[:2] not in sizes)
                others = tuple(_whole(_TiffPage(path, page, cache, False, ())) for page in alone)
                self.pages[0].metadata = replace(self.pages[0].metadata, others=others)
            if not self.pages:
                raise FileError(f"{path}: a TIFF file without any page of full resolution. Nothing can be filtered.")
        except BaseException:
            self.file.close()
            raise

    def close(self) -> None:
        self.file.close()


def outer_axes(file: Any, count: int) -> list[tuple[str, int]]:
    """The axes that count so many pages, slowest first, with their sizes; one without a name where none are known."""
    if len(file.series) == 1:
        named = [(name, int(size)) for name, size in zip(file.series[0].axes, file.series[0].shape, strict=True)]
        named = [(name, size) for name, size in named if name not in "YXS" and size > 1]
        if math.prod(size for _, size in named) == count:
            return named
    return [("I", count)]


class _Cache:
    """The segments decoded last, of all pages together."""

    def __init__(self) -> None:
        self.segments: OrderedDict[tuple[int, int], NDArray[Any]] = OrderedDict()
        self.size = 0

    def get(self, key: tuple[int, int], decode: Callable[[], NDArray[Any]]) -> NDArray[Any]:
        if key not in self.segments:
            self.segments[key] = decode()
            self.size += self.segments[key].nbytes
            while len(self.segments) > 1 and self.size > CACHE:
                self.size -= self.segments.popitem(last=False)[1].nbytes
        self.segments.move_to_end(key)
        return self.segments[key]


class _TiffPage(Page):
    def __init__(self, path: Path, page: Any, cache: _Cache, reduced: bool, levels: tuple[Any, ...]) -> None:
        self.path, self.page, self.cache = path, page, cache
        height, width = int(page.imagelength), int(page.imagewidth)
        check_size(path, width, height, max_pixels=2**62)  # read by window: no limit but that of a segment
        if page.imagedepth != 1 or page.dtype is None or page.dtype.kind not in "buif":
            raise FileError(
                f"{path}: a TIFF page with samples of type {page.dtype}, depth {page.imagedepth} is no picture."
            )
        self.planar = int(page.planarconfig) == 2
        self.photometric = int(page.photometric)
        samples = int(page.samplesperpixel)
        if samples > MAX_SAMPLES:
            raise FileError(f"{path}: declares {samples} samples a pixel, above the limit of {MAX_SAMPLES}; damaged.")
        self.palette = self._palette() if self.photometric == PALETTE else None
        if self.palette is not None:
            self.layout = Layout(height, width, 3, np.dtype(np.uint16), "rgb")
        else:
            jpeg = int(page.compression) in JPEG
            colour, kept = _colours(path, self.photometric, samples, jpeg, tuple(map(int, page.extrasamples)))
            dtype = np.dtype(np.uint8) if page.dtype.kind == "b" else page.dtype.newbyteorder("=")
            self.layout = Layout(height, width, samples, dtype, colour, kept)
        tags = carried_tags(page, palette=self.palette is not None)
        raw = {tag.code: tag.data for tag in tags}
        self.metadata = Metadata(
            resolution(page), spacing(page), orientation_in(tags), self.photometric == 0, raw.get(34675),
            exif_in(tags), raw.get(XMP), raw.get(IPTC), premultiplied=ASSOCIATED in page.extrasamples[:1], tags=tags,
            pyramid=reduced or bool(page.subifds), levels=levels, own=only_tiff(tags),
            lost=other_tags(page),
            compression="jpeg" if int(page.compression) in JPEG and jpeg_holds(self.layout) else None,
        )  # fmt: skip
        if min(self._segment_size()) < 1:
            raise FileError(f"{path}: strips or tiles without any pixel; the file is damaged.")
        self.banded = not page.is_tiled and not self._is_raw()

    def _read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        samples = int(self.page.samplesperpixel)
        window = np.empty((bottom - top, right - left, samples), self.page.dtype.newbyteorder("="))
        if self._is_raw():
            self._read_rows(window, top, left)
        else:
            for segment, plane, y, x in self._touched(top, bottom, left, right):
                upper, lower = max(top, y), min(bottom, y + segment.shape[0])
                first, last = max(left, x), min(right, x + segment.shape[1])
                target = window[..., plane : plane + 1] if self.planar else window
                part = segment[upper - y : lower - y, first - x : last - x]
                target[upper - top : lower - top, first - left : last - left] = part
        if self.palette is not None:
            return self.palette[window[..., 0].astype(np.intp)]
        return window.view(np.uint8) * np.uint8(255) if window.dtype.kind == "b" else window

    def _is_raw(self) -> bool:
        """Whole pixels, one after the other, in one piece of the file."""
        page = self.page
        whole = int(page.bitspersample) == 8 * page.dtype.itemsize and page.dtype.kind != "b"
        return bool(
            page.is_contiguous and page.fillorder == 1 and not (self.planar and page.samplesperpixel > 1) and whole
        )

    def _read_rows(self, window: NDArray[Any], top: int, left: int) -> None:
        file, stored = self.page.parent.filehandle, self.page.dtype.newbyteorder(self.page.parent.byteorder)
        pixel = self.page.samplesperpixel * stored.itemsize
        start = int(self.page.dataoffsets[0])
        for row in range(window.shape[0]):
            file.seek(start + ((top + row) * self.layout.width + left) * pixel)
            data = file.read(window.shape[1] * pixel)
            if len(data) != window.shape[1] * pixel:
                raise FileError(f"{self.path}: truncated in row {top + row}. Get the file again.")
            window[row] = np.frombuffer(data, stored).reshape(window.shape[1:])

    def _touched(self, top: int, bottom: int, left: int, right: int) -> Iterator[tuple[NDArray[Any], int, int, int]]:
        """The strips or tiles that share a pixel with the window, decoded: ``(y, x, samples)``; plane, top and left."""
        rows, columns = self._segment_size()
        across, down = math.ceil(self.layout.width / columns), math.ceil(self.layout.height / rows)
        planes = range(int(self.page.samplesperpixel) if self.planar else 1)
        places = range(top // rows, math.ceil(bottom / rows)), range(left // columns, math.ceil(right / columns))
        for plane, y, x in product(planes, *places):
            index = (plane * down + y) * across + x
            segment = self.cache.get((id(self.page), index), partial(self._decode, index, rows, columns))
            yield segment, plane, y * rows, x * columns

    def _segment_size(self) -> tuple[int, int]:
        page = self.page
        if page.is_tiled:
            return int(page.tilelength), int(page.tilewidth)
        return min(int(page.rowsperstrip), self.layout.height), self.layout.width

    def _decode(self, index: int, rows: int, columns: int) -> NDArray[Any]:
        page = self.page
        samples = 1 if self.planar else int(page.samplesperpixel)
        size = rows * columns * samples * page.dtype.itemsize
        check_segment(self.path, "compressed strip or tile", columns, rows, size)
        offset, count = int(page.dataoffsets[index]), int(page.databytecounts[index])
        data = None
        if count:
            page.parent.filehandle.seek(offset)
            data = page.parent.filehandle.read(count)
            if len(data) != count:
                raise FileError(f"{self.path}: truncated in strip or tile {index}. Get the file again.")
        segment, _, shape = page.decode(data, index, jpegtables=page.jpegtables)
        if segment is None:
            return np.full(shape[1:], page.nodata, page.dtype.newbyteorder("="))
        return np.asarray(segment[0])

    def _palette(self) -> NDArray[np.uint16]:
        colours = self.page.colormap
        if colours is None:
            raise FileError(f"{self.path}: a palette picture without palette; the file is damaged.")
        bits = int(self.page.bitspersample)
        if self.page.dtype.kind not in "bu" or bits > 16 or colours.shape != (3, 2**bits):
            raise FileError(f"{self.path}: a palette of shape {colours.shape} for {bits} bits; the file is damaged.")
        return np.ascontiguousarray(np.asarray(colours, np.uint16).T)


def _whole(page: _TiffPage) -> tuple[NDArray[Any], Layout, Metadata, int]:
    """All of a small page that is passed on as it is, and its kind."""
    check_size(page.path, page.layout.width, page.layout.height)
    samples = page.read(0, page.layout.height, 0, page.layout.width)
    return samples, page.layout, replace(page.metadata, compression=None), int(page.page.subfiletype)


def _full_pages(path: Path, file: Any) -> list[Any]:
    if file.is_imagej and len(file.pages) == 1 and math.prod(file.series[0].shape) > math.prod(file.pages[0].shape):
        raise FileError(
            f"{path}: an ImageJ stack that hides its planes from TIFF readers. Save it as BigTIFF or OME-TIFF."
        )
    file.pages.useframes = False
    if file.is_svs:  # smaller sizes, thumbnail, label and overview are pages, and not all of them are marked
        return [file.pages[0]]
    return [page for page in file.pages if not page.is_reduced and not page.is_mask]


def _flat_levels(file: Any) -> tuple[tuple[int, int, bool], ...]:
    """Heights and widths of the smaller copies of one tiled picture that are pages like itself, and which are tiled.

    Slides of Aperio have a thumbnail in strips among them. Their label and overview show something else.
    """
    first, *others = file.pages
    if not first.is_tiled or first.subifds or not (file.is_svs or all(page.is_reduced for page in others)):
        return ()
    found = []
    for page in others:
        ratio = first.imagelength / page.imagelength
        alike = abs(first.imagewidth / page.imagewidth / ratio - 1) < 0.05
        if alike and (page.is_tiled or (file.is_svs and not page.is_reduced)):
            found.append((int(page.imagelength), int(page.imagewidth), bool(page.is_tiled)))
    return tuple(found) if any(tiled for *_, tiled in found) else ()


def _colours(path: Path, photometric: int, samples: int, jpeg: bool, extra: tuple[int, ...]) -> tuple[Colour, int]:
    """What the samples of a pixel mean, and how many of the last ones are no colours."""
    if photometric not in COLOURS or (photometric == YCBCR and not jpeg):
        raise FileError(
            f"{path}: TIFF colours of kind {photometric} (Lab, raw sensor data, ...) cannot be filtered as they are. "
            "Convert it to RGB or grey first."
        )
    colour, count = COLOURS[photometric]
    if samples < count:
        raise FileError(f"{path}: {samples} samples a pixel where {colour} needs {count}; the file is damaged.")
    if colour == "grey" and samples > 1 and not any(kind in (1, 2) for kind in extra):
        return "channels", 0  # bands of equal rank, as microscopes and satellites write them
    if colour == "grey" and samples > 2:
        return "channels", sum(kind in (1, 2) for kind in extra)
    return colour, samples - count
