"""Whole pictures in memory: read, look at, write."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError, ShapeError
from whorl.files.base import MAX_PIXELS, check_size
from whorl.files.formats import open_reader, open_writer
from whorl.files.layout import Layout, Metadata

__all__ = ["Picture", "read", "read_pages", "write"]


@dataclass(frozen=True)
class Picture:
    """Samples ``(y, x, channel)`` with their layout and metadata."""

    samples: NDArray[Any]
    layout: Layout
    metadata: Metadata = field(default_factory=Metadata)

    @property
    def colours(self) -> NDArray[Any]:
        """The channels to filter, without alpha: ``(y, x, colour)``."""
        return self.samples[..., : self.layout.filtered]

    def with_colours(self, values: NDArray[Any]) -> "Picture":
        """The picture with other colours, rounded to its type; alpha and metadata stay."""
        if values.shape != self.colours.shape:
            raise ShapeError(f"colours of shape {values.shape} do not fit a picture with {self.colours.shape}.")
        kept = self.samples[..., self.layout.filtered :]
        return replace(self, samples=np.concatenate((self.layout.round(values), kept), axis=-1))


def read(path: str | Path, max_pixels: int = MAX_PIXELS) -> Picture:
    """The only picture in a file.

    Raises :class:`~whorl.errors.FileError` for what cannot be read, and for several pages (:func:`read_pages`).
    """
    pages = read_pages(path, max_pixels)
    if len(pages) != 1:
        raise FileError(f"{path}: holds {len(pages)} pages. Use read_pages, which gives them all.")
    return pages[0]


def read_pages(path: str | Path, max_pixels: int = MAX_PIXELS) -> list[Picture]:
    """All pages of a file, each a picture."""
    with open_reader(path, max_pixels) as reader:
        pictures = []
        for page in reader.pages:
            layout = page.layout
            check_size(Path(path), layout.width, layout.height, max_pixels)
            pictures.append(Picture(page.read(0, layout.height, 0, layout.width), layout, page.metadata))
        return pictures


def write(path: str | Path, pictures: Picture | Sequence[Picture], force: bool = False) -> None:
    """Write a picture, or several as pages; the file appears when it is complete, or not at all."""
    pages = [pictures] if isinstance(pictures, Picture) else list(pictures)
    with open_writer(path, [(page.layout, page.metadata) for page in pages], force) as writer:
        for canvas, page in zip(writer.canvases, pages, strict=True):
            canvas.write(0, 0, page.samples)
