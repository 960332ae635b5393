"""OME-Zarr: a group that holds an image in several sizes, with the names of its axes and the size of its pixels."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.files.units import metres
from whorl.foundations.samples import rounded

__all__ = ["Multiscale", "multiscale_of", "reduced", "voxel_size", "write_levels"]


@dataclass(frozen=True)
class Multiscale:
    """What a group says of its image; ``paths`` and ``shapes`` begin with the full size."""

    attributes: Mapping[str, Any]
    names: tuple[str, ...]
    paths: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    spacing: tuple[float, float] | None
    zarr_format: int


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
    return Multiscale(attributes, names, paths, shapes, _spacing(image, names), int(group.metadata.zarr_format))


def _spacing(image: Any, names: Sequence[str]) -> tuple[float, float] | None:
    """Height and width of a pixel, where the image states them in one unit."""
    sizes = _sizes(image, names, ("y", "x"))
    return None if sizes is None else (sizes[0], sizes[1])


def voxel_size(image: Multiscale) -> tuple[float, ...] | None:
    """Depth, height and width of a voxel of the full size, where the image states them."""
    holder = image.attributes.get("ome", image.attributes)
    return _sizes(holder["multiscales"][0], image.names, ("z", "y", "x"))


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
    if not all(0 < size < math.inf for size in sizes):
        return None
    if len({*units}) == 1:
        return tuple(sizes)
    lengths = [metres(unit) for unit in units]
    if None in lengths:
        return None
    return tuple(size * length * 1e6 for size, length in zip(sizes, lengths, strict=True) if length is not None)


def _scale(steps: Any) -> Any:
    return next(step["scale"] for step in steps if step["type"] == "scale")


def write_levels(group: Any, image: Multiscale, chunks: Sequence[int], **how: Any) -> None:
    """Fill the smaller sizes of the image from its full size, each from the one before, chunk by chunk."""
    finer = group[image.paths[0]]
    for path, shape in zip(image.paths[1:], image.shapes[1:], strict=True):
        size = tuple(min(pair) for pair in zip(chunks, shape, strict=True))
        coarser = group.create_array(path, shape=shape, chunks=size, dtype=finer.dtype, **how)
        for corner in itertools.product(*(range(0, end, step) for end, step in zip(shape, size, strict=True))):
            region = tuple(slice(at, min(at + step, end)) for at, step, end in zip(corner, size, shape, strict=True))
            coarser[region] = reduced(finer, region, shape)
        finer = coarser


def reduced(finer: Any, region: Sequence[slice], shape: Sequence[int]) -> NDArray[Any]:
    """A region of the array ``finer`` shrunk to ``shape``: along every axis the mean of as many as fall together.

    >>> reduced(np.array([[0, 2, 8], [4, 2, 8]], np.uint8), (slice(0, 1), slice(0, 2)), (1, 2))
    array([[2, 8]], dtype=uint8)
    """
    factors = [max(1, round(have / want)) for have, want in zip(finer.shape, shape, strict=True)]
    bounds = [
        (min(part.start * factor, size - 1), min(part.stop * factor, size))
        for part, factor, size in zip(region, factors, finer.shape, strict=True)
    ]
    block = np.asarray(finer[tuple(slice(*pair) for pair in bounds)]).astype(np.float64)
    wanted = [(part.stop - part.start) * factor for part, factor in zip(region, factors, strict=True)]
    block = np.pad(block, [(0, want - have) for want, have in zip(wanted, block.shape, strict=True)], mode="edge")
    split = [number for want, factor in zip(wanted, factors, strict=True) for number in (want // factor, factor)]
    mean = block.reshape(split).mean(axis=tuple(range(1, 2 * len(factors), 2)))
    return rounded(mean, np.dtype(finer.dtype).newbyteorder("="))
