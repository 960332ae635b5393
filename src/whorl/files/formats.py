"""Which reader and writer a file takes: by its first bytes when reading, by its suffix when writing.

:func:`read` and :func:`write` do it with whole pictures in memory.
"""

import io
import os
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError, ShapeError
from whorl.files.base import MAX_PIXELS, Frame, Reader, Writer, check_size, one_line
from whorl.files.layout import Layout, Metadata
from whorl.files.pillow import JpegWriter, PillowReader
from whorl.files.png import SIGNATURE, PngReader, PngWriter
from whorl.files.tiff_reader import TiffReader
from whorl.files.tiff_writer import TiffWriter
from whorl.files.zarr_arrays import ZarrReader, ZarrWriter
from whorl.foundations.atomic import beside, check_regular

SUFFIXES = {
    ".png": "png",
    ".jpg": "jpeg",
    ".jpeg": "jpeg",
    ".tif": "tiff",
    ".tiff": "tiff",
    ".btf": "tiff",
    ".svs": "tiff",
    ".zarr": "zarr",
}
READ_ONLY = (".webp", ".bmp")
RAW = (".cr2", ".cr3", ".crw", ".nef", ".nrw", ".arw", ".sr2", ".dng", ".raf", ".orf", ".rw2", ".pef", ".srw", ".x3f",
       ".3fr", ".iiq", ".rwl", ".mrw", ".kdc", ".erf")  # fmt: skip
"""Endings of raw files of cameras: samples of a sensor, with one colour at each pixel, which are no picture yet."""

READERS: dict[str, Callable[[Path, int], Reader]] = {
    "png": PngReader,
    "jpeg": partial(PillowReader, kind="JPEG"),
    "webp": partial(PillowReader, kind="WEBP"),
    "bmp": partial(PillowReader, kind="BMP"),
    "tiff": TiffReader,
    "zarr": ZarrReader,
}
WRITERS: dict[str, Callable[[Any, str, Sequence[Frame]], Writer]] = {
    "png": PngWriter,
    "jpeg": JpegWriter,
    "tiff": TiffWriter,
    "zarr": ZarrWriter,
}
MAGIC = {
    SIGNATURE: "png",
    b"\xff\xd8\xff": "jpeg",
    b"BM": "bmp",
    b"II*\0": "tiff",
    b"MM\0*": "tiff",
    b"II+\0": "tiff",
    b"MM\0+": "tiff",
}
ZARR_FILES = ("zarr.json", ".zarray", ".zgroup")


def open_reader(path: str | Path, max_pixels: int = MAX_PIXELS) -> Reader:
    """Open a picture for reading; the format is told by its contents, not by its name.

    Raises :class:`~whorl.errors.FileError` for what is missing, empty, truncated, damaged, or no picture.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, open_reader, Picture, write
    >>> picture = Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a.png", picture)
    ...     open_reader(f"{folder}/a.png").pages[0].layout.colour
    'grey'
    """
    path = Path(path)
    with one_line(path):
        return READERS[kind_of(path)](path, max_pixels)


@contextmanager
def open_writer(path: str | Path, frames: Sequence[Frame], force: bool = False) -> Iterator[Writer]:
    """Open a picture for writing; it appears under its name when the block ends well, and not at all otherwise.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, Metadata, read
    >>> frame = Layout(2, 3, 1, np.dtype("u1"), "grey"), Metadata()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with open_writer(f"{folder}/a.png", [frame]) as writer:
    ...         writer.canvases[0].write(0, 0, np.zeros((2, 3, 1), "u1"))
    ...     read(f"{folder}/a.png").samples.shape
    (2, 3, 1)
    """
    path = Path(path)
    kind = _kind(path, frames)
    zarr = kind == "zarr"
    with beside(path, force, folder=zarr) as part, nullcontext(part) if zarr else part.open("w+b") as place:
        writer = WRITERS[kind](place, str(path), frames)
        yield writer
        writer.finish()
    if lost := list(dict.fromkeys(name for _, metadata in frames for name in writer.not_kept(metadata))):
        warnings.warn(f"{path}: not kept: {', '.join(lost)}.", stacklevel=3)


def check_writable(path: str | Path, frames: Sequence[Frame]) -> None:
    """Refuse frames that the format of ``path`` cannot hold; nothing is written."""
    kind = _kind(Path(path), frames)
    if kind != "zarr":
        WRITERS[kind](io.BytesIO(), str(path), frames)


def _check_developed(path: Path) -> None:
    """Refuse a camera's raw file with what helps; many begin like a TIFF that holds a small preview only."""
    if path.suffix.lower() in RAW and path.is_file():
        raise FileError(
            f"{path}: a camera's raw file, not yet a picture. Convert it to 16-bit TIFF with darktable, RawTherapee or "
            f"'dcraw -T -6 {path.name}', without their noise reduction, and give that."
        )


def is_zarr(path: Path) -> bool:
    """Whether a folder is a zarr array or group."""
    return any(os.path.exists(path / name) for name in ZARR_FILES)  # False in a folder closed to us, without an error


def kind_of(path: Path) -> str:
    """The format of a file or folder, by its first bytes."""
    _check_developed(path)
    if path.is_dir():
        kind = "zarr" if is_zarr(path) else ""
    else:
        check_regular(path)
        with path.open("rb") as file:
            start = file.read(12)
        if not start:
            raise FileError(f"{path}: is empty (0 bytes). Get the file again.")
        kind = next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), "")
        if start.startswith(b"RIFF") and start[8:] == b"WEBP":
            kind = "webp"
    if not kind:
        raise FileError(f"{path}: its contents are not a picture in any of the formats {', '.join(READERS)}.")
    return kind


def _kind(path: Path, frames: Sequence[Frame]) -> str:
    kind = SUFFIXES.get(path.suffix.lower())
    if not frames:
        raise FileError(f"{path}: there is no page to write.")
    if kind is None:
        known = ", ".join(SUFFIXES)
        raise FileError(f"{path}: no format to write has the suffix {path.suffix!r}. Use one of {known}.")
    return kind


@dataclass(frozen=True)
class Picture:
    """Samples ``(y, x, channel)`` with their layout and metadata.

    >>> import numpy as np
    >>> from whorl.files import Layout
    >>> Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey")).colours.shape
    (2, 3, 1)
    """

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

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, Picture, read, write
    >>> picture = Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a.png", picture)
    ...     read(f"{folder}/a.png").samples.shape
    (2, 3, 1)
    """
    pages = read_pages(path, max_pixels)
    if len(pages) != 1:
        raise FileError(f"{path}: holds {len(pages)} pages. Use read_pages, which gives them all.")
    return pages[0]


def read_pages(path: str | Path, max_pixels: int = MAX_PIXELS) -> list[Picture]:
    """All pages of a file, each a picture.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, Picture, read_pages, write
    >>> picture = Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a.png", picture)
    ...     len(read_pages(f"{folder}/a.png"))
    1
    """
    with open_reader(path, max_pixels) as reader:
        pictures = []
        for page in reader.pages:
            layout = page.layout
            check_size(Path(path), layout.width, layout.height, max_pixels)
            pictures.append(Picture(page.read(0, layout.height, 0, layout.width), layout, page.metadata))
        return pictures


def write(path: str | Path, pictures: Picture | Sequence[Picture], force: bool = False) -> None:
    """Write a picture, or several as pages; the file appears when it is complete, or not at all.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, Picture, read, write
    >>> picture = Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a.png", picture)
    ...     read(f"{folder}/a.png").layout.dtype
    dtype('uint8')
    """
    pages = [pictures] if isinstance(pictures, Picture) else list(pictures)
    with open_writer(path, [(page.layout, page.metadata) for page in pages], force) as writer:
        for canvas, page in zip(writer.canvases, pages, strict=True):
            canvas.write(0, 0, page.samples)
