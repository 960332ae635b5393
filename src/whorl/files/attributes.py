"""Attributes of a zarr array that say what its samples are, since zarr itself knows neither colours nor EXIF."""

import base64
from dataclasses import replace
from typing import Any

import numpy as np  # noqa: F401  (the example below)
from numpy.typing import NDArray

from whorl.files.base import BLOCKS
from whorl.files.layout import Colour, Layout, Metadata
from whorl.files.tiff_directory import upright_exif

__all__ = ["KEY", "attributes_of", "described", "turned", "upright"]

KEY = "whorl"
PAIRS = ("resolution", "spacing")
COLOURS: dict[Colour, int] = {"grey": 1, "rgb": 3, "cmyk": 4, "channels": 1}  # samples that each needs
FLIPPED_Y, FLIPPED_X, SWAPPED = (3, 4, 7, 8), (2, 3, 6, 7), (5, 6, 7, 8)
"""What turns a picture upright, by its EXIF orientation: first the axes are swapped, then flipped."""


def upright(layout: Layout, metadata: Metadata) -> tuple[Layout, Metadata]:
    """What a picture is once its samples are turned and counted as every program expects them."""
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
    """What cannot be seen from the array, as plain values."""
    found: dict[str, Any] = {"colour": layout.colour, "kept": layout.kept}
    found |= {name: list(pair) for name in PAIRS if (pair := getattr(metadata, name))}
    blocks = {name: getattr(metadata, name) for name in BLOCKS}
    return found | {name: base64.b64encode(block).decode() for name, block in blocks.items() if block}


def described(found: Any, layout: Layout, metadata: Metadata) -> tuple[Layout, Metadata]:
    """Layout and metadata as the attributes say; as they are, where the attributes make no sense."""
    try:
        colour, kept = found["colour"], int(found["kept"])
        pairs = {name: (float(found[name][0]), float(found[name][1])) for name in PAIRS if name in found}
        blocks = {name: base64.b64decode(found[name], validate=True) for name in BLOCKS if name in found}
        if COLOURS[colour] > layout.channels - kept or not 0 <= kept < layout.channels:
            raise ValueError
    except (KeyError, TypeError, ValueError, IndexError):
        return layout, metadata
    return replace(layout, colour=colour, kept=kept), replace(metadata, **pairs, **blocks)  # type: ignore[arg-type]
