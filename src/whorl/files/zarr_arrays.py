"""zarr: arrays of any number of axes, read and written chunk by chunk."""

import itertools
import math
import os
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import BLOCKS, MAX_PAGES, Canvas, Frame, Page, Reader, Writer, check_segment, check_size, needed
from whorl.files.layout import Colour, Layout, Metadata, plain_samples
from whorl.files.ome_zarr import KEY, Multiscale, attributes_of, described, multiscale_of, turned, upright, write_levels
from whorl.foundations.atomic import check_regular

CHUNK = 512
MAX_CHUNKS = 2**20  # of one page
MAX_DESCRIPTION = 2**24  # bytes of the text that describes an array
DESCRIPTIONS = ("zarr.json", ".zarray", ".zattrs", ".zgroup", ".zmetadata")


class ZarrReader(Reader):
    """A zarr array, or the full size of the image in an OME-Zarr group.

    Axes named ``y``, ``x`` and ``c`` are what they say; the others count pages. Without names the last two axes are y
    and x, or the last three are y, x and channels where the last one has at most four entries. Four channels are RGB
    and alpha, except in OME-Zarr, where channels have no colours.
    """

    def __init__(self, path: Path, max_pixels: int = 0) -> None:
        array, image = _opened(path)
        if array.dtype.kind not in "uif" or array.dtype.itemsize > 8:
            raise FileError(f"{path}: samples of type {array.dtype} cannot be filtered. Convert them to float.")
        names = _named(array) if image is None else image.names
        axes = axes_of(array.shape, names)
        height, width = array.shape[axes[0]], array.shape[axes[1]]
        check_size(path, width, height, max_pixels=2**62)
        outer = [size for axis, size in enumerate(array.shape) if axis not in axes]
        _check_bounds(path, array, axes, math.prod(outer))
        channels = 1 if axes[2] is None else array.shape[axes[2]]
        colour: Colour = {1: "grey", 3: "rgb", 4: "rgb"}.get(channels, "channels")  # type: ignore[assignment]
        if image is not None and channels > 1:
            colour = "channels"
        kept = int(channels == 4 and image is None)
        layout = Layout(height, width, channels, array.dtype.newbyteorder("="), colour, kept)
        structure = {"shape": array.shape, "chunks": array.chunks, "names": names, "axes": axes, "image": image}
        metadata = Metadata(
            spacing=None if image is None else image.spacing(("y", "x")),
            pyramid=image is not None and len(image.paths) > 1,
            array={**structure, "attributes": dict(array.attrs)},
            own=("attributes",) if {*array.attrs} - {KEY, "_ARRAY_DIMENSIONS"} or image is not None else (),
        )
        if (told := array.attrs.get(KEY)) is not None and image is None:
            layout, metadata = described(told, layout, metadata)
        self.array = array
        pages = itertools.product(*map(range, outer))
        self.pages = tuple(_ZarrPage(path, array, layout, metadata, axes, page) for page in pages)


class ZarrWriter(Writer):
    """Writes one array: with the axes, chunks and attributes of the array read, or ``(page, y, x, channel)``.

    Axes of length one are left out where the pages come from another format. What was read from an OME-Zarr group
    becomes such a group again, its smaller sizes built anew. Pictures of other formats are turned upright, and an
    attribute tells their colours and what else zarr does not know. ``resume`` goes on with an array that is there.
    """

    holds, carries = tuple(BLOCKS), "array"

    def __init__(self, path: Path, name: str, frames: Sequence[Frame], resume: bool = False) -> None:
        zarr, self.resume = needed("zarr", path, "zarr"), resume
        layout, metadata = frames[0]
        if len({(other, about.orientation, about.white_is_zero, about.premultiplied) for other, about in frames}) > 1:
            raise FileError(f"{name}: pages of different size, type or turn do not fit one zarr array. Write .tif.")
        how = metadata.array
        if how is None:
            layout, metadata = upright(layout, metadata)
            pages = [len(frames)] if len(frames) > 1 else []
            shape = (*pages, layout.height, layout.width, *([layout.channels] if layout.channels > 1 else []))
            names = (*(["page"] if pages else []), "y", "x", *(["c"] if layout.channels > 1 else []))
            chunks = (*(1 for _ in pages), min(CHUNK, layout.height), min(CHUNK, layout.width), layout.channels)[
                : len(shape)
            ]
            about = {KEY: attributes_of(layout, metadata)}
            how = {"shape": shape, "chunks": chunks, "names": names, "attributes": about, "axes": axes_of(shape, names)}
        self.image: Multiscale | None = how.get("image")
        self.chunks = how["chunks"]
        array = self.array = self._created(zarr, path, how, layout.dtype)
        axes = how["axes"]
        grain = (how["chunks"][axes[0]], how["chunks"][axes[1]])
        outer = itertools.product(*(range(size) for axis, size in enumerate(how["shape"]) if axis not in axes))
        self.canvases = tuple(_ZarrCanvas(array, axes, page, grain, frames[0]) for page in outer)

    def _created(self, zarr: Any, path: Path, how: Mapping[str, Any], dtype: np.dtype[Any]) -> Any:
        settings = {
            "shape": how["shape"],
            "chunks": how["chunks"],
            "dtype": dtype,
            "attributes": dict(how["attributes"]),
        }
        place = address(path)
        if self.image is None:
            if self.resume:
                return zarr.open_array(place, mode="r+")
            return zarr.create_array(store=place, dimension_names=how["names"], **settings)
        if self.resume:
            self.group = zarr.open_group(place, mode="r+")
            return self.group[self.image.paths[0]]
        self.group = zarr.create_group(
            store=place, attributes=dict(self.image.attributes), zarr_format=self.image.zarr_format
        )
        return self.group.create_array(self.image.paths[0], **self._style(), **settings)

    def _style(self) -> dict[str, Any]:
        """How arrays of the group are stored: in its version of zarr, each axis a folder, as the format wants."""
        assert self.image is not None
        if self.image.zarr_format == 2:
            return {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
        return {"dimension_names": self.image.names}

    def finish(self) -> None:
        """Write the smaller sizes of a group; all blocks are in their chunks already."""
        if self.image is not None:
            write_levels(self.group, self.image, self.chunks, **self._style())


class _ZarrPage(Page):
    def __init__(
        self, path: Path, array: Any, layout: Layout, metadata: Metadata, axes: "Axes", page: tuple[int, ...]
    ) -> None:
        self.path, self.array, self.layout, self.metadata = path, array, layout, metadata
        self.axes, self.page = axes, page

    def _read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        place, order = place_of(self.array.ndim, self.axes, self.page, (slice(top, bottom), slice(left, right)))
        block = np.asarray(self.array[place]).transpose(order)
        return block.reshape(bottom - top, right - left, self.layout.channels).astype(self.layout.dtype, copy=False)


class _ZarrCanvas(Canvas):
    def __init__(self, array: Any, axes: "Axes", page: tuple[int, ...], grain: tuple[int, int], frame: Frame) -> None:
        self.array, self.axes, self.page, self.grain, self.frame = array, axes, page, grain, frame

    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        if (metadata := self.frame[1]).array is None:
            size = self.array.shape[self.axes[0]], self.array.shape[self.axes[1]]
            block = plain_samples(block, *self.frame)
            top, left, block = turned(top, left, block, metadata.orientation, size)
        parts = slice(top, top + block.shape[0]), slice(left, left + block.shape[1])
        place, order = place_of(self.array.ndim, self.axes, self.page, parts)
        samples = block if self.axes[2] is not None else block[..., 0]
        self.array[place] = samples.transpose(np.argsort(order))


Axes = tuple[int, int, int | None]
"""Where y, x and the channels stand among the axes of an array."""


def address(path: Path) -> str:
    """A path as it was told: of the two slashes of an address a Path keeps one.

    >>> address(Path("s3://bucket/a.zarr")), address(Path("folder/a.zarr"))
    ('s3://bucket/a.zarr', 'folder/a.zarr')
    """
    return re.sub(r"^([a-z][a-z0-9+]+):/(?=[^/])", r"\1://", str(path))


def is_remote(path: Path) -> bool:
    """Whether a path is an address, such as ``http://host/a.zarr``."""
    return "://" in address(path)


def axes_of(shape: Sequence[int], names: Sequence[str | None] | None = None) -> Axes:
    """Which axes of an array are y, x and channels.

    >>> axes_of((7, 480, 640)), axes_of((480, 640, 3)), axes_of((3, 480, 640), ("c", "y", "x"))
    ((1, 2, None), (0, 1, 2), (1, 2, 0))
    """
    if len(shape) < 2:
        raise FileError(f"an array of shape {tuple(shape)} is no picture: it needs axes y and x.")
    known = [name.lower() if name else "" for name in names or ()]
    if "y" in known and "x" in known:
        return known.index("y"), known.index("x"), known.index("c") if "c" in known else None
    last = len(shape) - 1
    return (last - 2, last - 1, last) if len(shape) > 2 and shape[-1] <= 4 else (last - 1, last, None)


def _named(array: Any) -> Sequence[str | None] | None:
    """The names of the axes: in version 3 of zarr its own, in version 2 those that xarray leaves in the attributes."""
    names = getattr(array.metadata, "dimension_names", None) or array.attrs.get("_ARRAY_DIMENSIONS")
    return names if isinstance(names, list | tuple) and len(names) == array.ndim else None


def place_of(
    ndim: int, axes: Sequence[int | None], outer: Sequence[int], parts: Sequence[slice]
) -> tuple[tuple[Any, ...], list[int]]:
    """Index of a block, and the order of its axes that makes it ``axes``.

    ``parts`` are slices along the first of these axes; the rest of them are taken whole. ``outer`` has one number for
    each axis of the array that is not among them.
    """
    given, rest = dict(zip(axes, parts, strict=False)), iter(outer)
    index = tuple(given.get(axis, slice(None)) if axis in axes else int(next(rest)) for axis in range(ndim))
    kept = [axis for axis in axes if axis is not None]
    return index, [sorted(kept).index(axis) for axis in kept]


def _opened(path: Path) -> tuple[Any, Multiscale | None]:
    """The array, and the OME-Zarr image that has it as its full size, if there is such an image."""
    zarr = needed("zarr", path, "zarr")
    found = zarr.open(store=address(path) if is_remote(path) else _checked_store()(path, read_only=True), mode="r")
    if isinstance(found, zarr.Array):
        return found, None
    image = multiscale_of(found)
    if image is not None:
        return found[image.paths[0]], image
    inside = ", ".join(sorted(name for name, _ in found.members())) or "nothing"
    raise FileError(
        f"{path}: a zarr group without an OME-Zarr image. Name the array or image inside it (there: {inside})."
    )


def _check_bounds(path: Path, array: Any, axes: Axes, pages: int) -> None:
    """Refuse what an array of any size may declare, before anything of that size is allocated."""
    if pages < 1 or 0 in array.shape:
        raise FileError(f"{path}: an array of shape {tuple(array.shape)} holds no picture. Nothing can be filtered.")
    if pages > MAX_PAGES:
        raise FileError(f"{path}: declares {pages} pages, more than {MAX_PAGES}. Split it into several arrays.")
    rows, columns = array.chunks[axes[0]], array.chunks[axes[1]]
    if min(array.chunks) < 1:
        raise FileError(f"{path}: chunks of shape {array.chunks} without any sample; the array is damaged.")
    check_segment(path, "chunk", columns, rows, math.prod(array.chunks) * array.dtype.itemsize)
    count = math.ceil(array.shape[axes[0]] / rows) * math.ceil(array.shape[axes[1]] / columns)
    if count > MAX_CHUNKS:
        raise FileError(f"{path}: {count} chunks of {columns} x {rows} pixels in one page. Rechunk it to 256 x 256.")


@cache
def _checked_store() -> Any:
    """A folder of files that are files: no pipe, and no description that fills the memory."""
    from zarr.storage import LocalStore

    class CheckedStore(LocalStore):  # type: ignore[misc]
        async def get(self, key: str, *how: Any, **more: Any) -> Any:
            if os.path.exists(place := self.root / key) and not place.is_dir():
                size = check_regular(place)
                if place.name in DESCRIPTIONS and size > MAX_DESCRIPTION:
                    raise FileError(f"{place}: a description of more than {MAX_DESCRIPTION} bytes; damaged.")
            return await super().get(key, *how, **more)

    return CheckedStore
