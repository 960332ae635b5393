"""Folders of photographs as arrays of grey values from 0 to 255."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.foundations.atomic import check_regular

ENDINGS = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")
"""Files with these endings are read, as pictures of 8 bits."""


def photographs(folder: str | Path, channels: int = 1, smallest: int = 1) -> dict[str, NDArray[np.uint8]]:
    """All pictures of a folder by name, in alphabetical order: ``(channels, y, x)``, 1 for grey and 3 for colour.

    Colour pictures become grey by the weights of ITU-R 601 where ``channels`` is 1. A file that is no picture, or has
    fewer than ``smallest`` pixels along a side, is an error: skipped files would change a network without a word.
    """
    from PIL import Image

    if channels not in (1, 3):
        raise ValueError(f"photographs(channels={channels}): 1 for grey or 3 for colour.")
    where = Path(folder)
    if not where.is_dir():
        raise FileError(f"{where}: no such folder. Give one that holds pictures ({', '.join(ENDINGS)}).")
    found: dict[str, NDArray[np.uint8]] = {}
    for path in sorted(where.iterdir()):
        if path.suffix.lower() not in ENDINGS:
            continue
        check_regular(path)
        try:
            with Image.open(path) as picture:
                array: NDArray[Any] = np.asarray(picture.convert("L" if channels == 1 else "RGB"))
        except Exception as error:  # decoders fail in many ways: OSError, SyntaxError, DecompressionBombError, ...
            raise FileError(f"{path}: cannot be read as a picture ({error}). Move it out of the folder.") from None
        if min(array.shape[:2]) < smallest:
            size = f"{array.shape[1]} x {array.shape[0]}"
            raise FileError(f"{path}: {size} pixels; at least {smallest} are needed along each side. Move it away.")
        found[path.name] = array[None] if channels == 1 else np.ascontiguousarray(array.transpose(2, 0, 1))
    if not found:
        raise FileError(f"{where}: holds no pictures ({', '.join(ENDINGS)}).")
    return found


def set_aside(
    pictures: dict[str, NDArray[Any]], share: int = 33
) -> tuple[dict[str, NDArray[Any]], dict[str, NDArray[Any]]]:
    """Pictures to train with, and every ``share``-th (at least one, if there are two) held back for a check.

    >>> [len(part) for part in set_aside({str(i): np.zeros((1, 8, 8), np.uint8) for i in range(100)})]
    [96, 4]
    """
    names = list(pictures)
    held = set(names[::share]) if len(names) > 1 else set()
    return (
        {name: pictures[name] for name in names if name not in held},
        {name: pictures[name] for name in names if name in held},
    )
