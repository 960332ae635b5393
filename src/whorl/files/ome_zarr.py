"""OME-Zarr: a group that holds an image in several sizes, with the names of its axes and the size of its pixels."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from whorl.files.pyramid import reduced
from whorl.files.units import in_one_unit

__all__ = ["Multiscale", "multiscale_of", "write_levels"]


@dataclass(frozen=True)
class Multiscale:
    """What a group says of its image; ``paths`` and ``shapes`` begin with the full size."""

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
        coarser = group.create_array(path, shape=shape, chunks=size, dtype=finer.dtype, **how)
        for corner in itertools.product(*(range(0, end, step) for end, step in zip(shape, size, strict=True))):
            region = tuple(slice(at, min(at + step, end)) for at, step, end in zip(corner, size, shape, strict=True))
            coarser[region] = reduced(finer, region, shape)
        finer = coarser
