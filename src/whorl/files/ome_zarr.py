"""The attributes of zarr: OME-Zarr for a group that holds an image in several sizes, and our own for an array.

OME-Zarr has the names of the axes and the size of a pixel. Our own attribute says what the samples of an array are,
since zarr itself knows neither colours nor EXIF.
"""

import base64
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np  # noqa: F401  (the example below)
from numpy.typing import NDArray

from whorl.files.base import BLOCKS, reduced
from whorl.files.layout import Colour, Layout, Metadata, in_one_unit
from whorl.files.tiff_directory import upright_exif


@dataclass(frozen=True)
class Multiscale:
    """What a group says about its image; ``paths`` and ``shapes`` begin with the full size."""

    attributes: Mapping[str, Any]
    names: tuple[str, ...]
    paths: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    zarr_format: int

    def spacing(self, axes: Sequence[str]) -> Any:
        """The size of a pixel of the full size along these axes, in one unit; None where the image does not say."""
        return _sizes(self.attributes.get("ome", self.attributes)["multiscales"][0], self.names, axes)


def multiscale_of(group: Any) -> Multiscale | None:
    """The first image of a group in the versions 0.4 and 0.5 of the format; None where the group is something else."""
    attributes = dict(group.attrs)
    holder = attributes.get("ome", attributes)
    try:
        image = holder["multiscales"][0]
        names = tuple(str(axis["name"]).lower() for axis in image["axes"])
        paths = tuple(str(level["path"]) for level in image["datasets"])
        shapes = tuple(tuple(group[path].shape) for path in paths)
    except (KeyError, TypeError, IndexError, AttributeError):
        return None
    if not paths or any(len(shape) != len(names) for shape in shapes):
        return None
    return Multiscale(attributes, names, paths, shapes, int(group.metadata.zarr_format))


def _sizes(image: Any, names: Sequence[str], wanted: Sequence[str]) -> tuple[float, ...] | None:
    """The size of a pixel along some axes: the scale of the full size, times that of the whole image if it has one."""
    try:
        axes = [names.index(name) for name in wanted]
        scale = _scale(image["datasets"][0]["coordinateTransformations"])
        outer = _scale(image.get("coordinateTransformations") or [{"type": "scale", "scale": [1.0] * len(names)}])
        sizes = [float(scale[axis]) * float(outer[axis]) for axis in axes]
        units = [image["axes"][axis].get("unit") for axis in axes]
    except (KeyError, TypeError, IndexError, ValueError, StopIteration, AttributeError):
        return None
    return in_one_unit(sizes, units)


def _scale(steps: Any) -> Any:
    return next(step["scale"] for step in steps if step["type"] == "scale")


def write_levels(group: Any, image: Multiscale, chunks: Sequence[int], **how: Any) -> None:
    """Fill the smaller sizes of the image from its full size, each from the one before, chunk by chunk."""
    finer = group[image.paths[0]]
    for path, shape in zip(image.paths[1:], image.shapes[1:], strict=True):
        size = tuple(min(pair) for pair in zip(chunks, shape, strict=True))
        coarser = group.create_array(path, shape=shape, chunks=size, dtype=finer.dtype, overwrite=True, **how)
        for corner in itertools.product(*(range(0, end, step) for end, step in zip(shape, size, strict=True))):
            region = tuple(slice(at, min(at + step, end)) for at, step, end in zip(corner, size, shape, strict=True))
            coarser[region] = reduced(finer, region, shape)
        finer = coarser


KEY = "whorl"
PAIRS = ("resolution", "spacing")
COLOURS: dict[Colour, int] = {"grey": 1, "rgb": 3, "cmyk": 4, "channels": 1}  # samples that each of them needs
FLIPPED_Y, FLIPPED_X, SWAPPED = (3, 4, 7, 8), (2, 3, 6, 7), (5, 6, 7, 8)
"""What turns a picture upright, by its EXIF orientation: first the axes are swapped, then flipped."""


def upright(layout: Layout, metadata: Metadata) -> tuple[Layout, Metadata]:
    """Layout and metadata of a picture once its samples are turned and counted as every program expects them."""
    plain = replace(metadata, orientation=1, white_is_zero=False, premultiplied=False, exif=upright_exif(metadata.exif))
    if metadata.orientation not in SWAPPED:
        return layout, plain
    pairs: dict[str, Any] = {name: pair and (pair[1], pair[0]) for name in PAIRS if (pair := getattr(plain, name))}
    return replace(layout, height=layout.width, width=layout.height), replace(plain, **pairs)


def turned(top: int, left: int, block: NDArray[Any], orientation: int, size: tuple[int, int]) -> Any:
    """Place and samples of a block in the upright picture, which has that size.

    >>> turned(0, 0, np.array([[[1], [2]]]), 6, (2, 5))[:2]
    (0, 4)
    """
    if orientation in SWAPPED:
        top, left, block = left, top, block.transpose(1, 0, 2)
    if orientation in FLIPPED_Y:
        top, block = size[0] - top - block.shape[0], block[::-1]
    if orientation in FLIPPED_X:
        left, block = size[1] - left - block.shape[1], block[:, ::-1]
    return top, left, block


def attributes_of(layout: Layout, metadata: Metadata) -> dict[str, Any]:
    """Layout and metadata that the array does not show, as plain values."""
    found: dict[str, Any] = {"colour": layout.colour, "kept": layout.kept}
    found |= {name: list(pair) for name in PAIRS if (pair := getattr(metadata, name))}
    blocks = {name: getattr(metadata, name) for name in BLOCKS}
    return found | {name: base64.b64encode(block).decode() for name, block in blocks.items() if block}


def described(found: Any, layout: Layout, metadata: Metadata) -> tuple[Layout, Metadata]:
    """Layout and metadata as the attributes say; unchanged where the attributes make no sense."""
    try:
        colour, kept = found["colour"], int(found["kept"])
        pairs = {name: (float(found[name][0]), float(found[name][1])) for name in PAIRS if name in found}
        blocks = {name: base64.b64decode(found[name], validate=True) for name in BLOCKS if name in found}
        if COLOURS[colour] > layout.channels - kept or not 0 <= kept < layout.channels:
            raise ValueError
    except (KeyError, TypeError, ValueError, IndexError):
        return layout, metadata
    return replace(layout, colour=colour, kept=kept), replace(metadata, **pairs, **blocks)  # type: ignore[arg-type]
