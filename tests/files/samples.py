"""Small pictures of every kind for the tests of files."""

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageCms

from whorl.files import Layout, Picture
from whorl.files.layout import Metadata

KINDS = [("grey", 1, 0), ("grey", 2, 1), ("rgb", 3, 0), ("rgb", 4, 1)]


def noise(height: int, width: int, channels: int, dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return rng.normal(size=(height, width, channels)).astype(kind)
    limits = np.iinfo(kind)
    return rng.integers(limits.min, limits.max, (height, width, channels), kind, endpoint=True)


def picture(colour="grey", channels=1, kept=0, dtype="u1", size=(37, 53), metadata=None) -> Picture:
    samples = noise(*size, channels, dtype)
    return Picture(samples, Layout(*size, channels, np.dtype(dtype), colour, kept), metadata or Metadata())


@cache  # a new one would carry another time of making
def profile() -> bytes:
    return ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes()


def exif(orientation: int) -> bytes:
    block = Image.Exif()
    block[0x0112] = orientation
    block[0x010F] = "Maker"
    return block.tobytes().removeprefix(b"Exif\0\0")


def listing(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))
