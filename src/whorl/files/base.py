"""The two sides of every format: a :class:`Reader` of pages by window, and a :class:`Writer` of pages by block."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Self

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.layout import Layout, Metadata, plain_samples
from whorl.foundations.samples import rounded

BLOCKS = {"icc": "colour profile", "exif": "EXIF", "xmp": "XMP", "iptc": "IPTC", "comment": "comment"}
MAX_PIXELS = 2**29  # the most pixels that a format decoded in one piece may declare: 23170 x 23170
MAX_SEGMENT = 2**28  # bytes of one decoded strip, tile or chunk
MAX_PAGES = 2**16  # pages of one file


class Page(ABC):
    """One image in a file, read by window.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, open_reader, Picture, write
    >>> picture = Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a.png", picture)
    ...     open_reader(f"{folder}/a.png").pages[0].read(0, 2, 0, 3).shape
    (2, 3, 1)
    """

    path: Path
    layout: Layout
    metadata: Metadata
    banded: bool = False
    """Whether rows come in strips of the full width, so that narrow windows would decode each strip many times."""
    dye: int = 0
    """Which channel of the file the page shows, where channels have pages of their own."""

    def read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        """Samples ``(bottom - top, right - left, channel)`` in native byte order; a fresh or read-only array.

        Whatever goes wrong is a :class:`~whorl.errors.FileError` that names the file.
        """
        with one_line(self.path):
            return self._read(top, bottom, left, right)

    @abstractmethod
    def _read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        """The samples, with any error."""


class WholePage(Page):
    """A page of a format that is decoded in one piece: once, and then kept."""

    samples: NDArray[Any] | None = None

    def _read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        if self.samples is None:
            self.samples = self._decode().reshape(self.layout.shape)
        return self.samples[top:bottom, left:right]

    @abstractmethod
    def _decode(self) -> NDArray[Any]:
        """All samples."""


class OpenFile:
    """A file that is open inside a ``with`` statement."""

    def close(self) -> None:
        """Let go of the file, where one is held open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


class Reader(OpenFile):
    """Pages to read.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, open_reader, Picture, write
    >>> picture = Picture(np.zeros((2, 3, 1), "u1"), Layout(2, 3, 1, np.dtype("u1"), "grey"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(f"{folder}/a.png", picture)
    ...     len(open_reader(f"{folder}/a.png").pages)
    1
    """

    pages: Sequence[Page]


Frame = tuple[Layout, Metadata]
"""What a writer must know about a page before its samples come."""


class Canvas(ABC):
    """One image being written. Blocks start at multiples of ``grain`` and end there or at the border of the image.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, Metadata, open_writer
    >>> frame = Layout(2, 3, 1, np.dtype("u1"), "grey"), Metadata()
    >>> with tempfile.TemporaryDirectory() as folder, open_writer(f"{folder}/a.png", [frame]) as writer:
    ...     writer.canvases[0].write(0, 0, np.zeros((2, 3, 1), "u1"))
    """

    grain: tuple[int, int] = (1, 1)

    @abstractmethod
    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        """Put the samples ``(y, x, channel)`` at ``(top, left)``; every sample is written once, in any order."""


class WholeCanvas(Canvas):
    """Keeps all samples in memory, with black as 0, for formats that are encoded in one piece."""

    def __init__(self, layout: Layout, metadata: Metadata) -> None:
        self.layout, self.metadata = layout, metadata
        self.samples: NDArray[Any] = np.zeros(layout.shape, layout.dtype)

    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        samples = plain_samples(block, self.layout, self.metadata)
        self.samples[top : top + block.shape[0], left : left + block.shape[1]] = samples


class Writer(ABC):
    """A file being written, with one canvas for each of the frames it was made with.

    A format that cannot hold the frames refuses them when it is made, before anything is computed. Nothing is promised
    to be on disk before :meth:`finish`.

    >>> import tempfile, numpy as np
    >>> from whorl.files import Layout, Metadata, open_writer
    >>> frame = Layout(2, 3, 1, np.dtype("u1"), "grey"), Metadata()
    >>> with tempfile.TemporaryDirectory() as folder, open_writer(f"{folder}/a.png", [frame]) as writer:
    ...     len(writer.canvases)
    ...     writer.canvases[0].write(0, 0, np.zeros((2, 3, 1), "u1"))
    1
    """

    canvases: tuple[Canvas, ...]
    holds: tuple[str, ...] = ()
    """Which of BLOCKS the format can hold."""

    carries: str = ""
    """Which of ``chunks``, ``tags`` and ``array`` the format hands on."""

    longest: float = math.inf
    """The most bytes that a block may have."""

    @abstractmethod
    def finish(self) -> None:
        """Write what is still missing."""

    @classmethod
    def not_kept(cls, metadata: Metadata) -> list[str]:
        """The parts of the metadata that such a file cannot hold, in words."""
        blocks = {name: len(getattr(metadata, name) or b"") for name in BLOCKS}
        fits = {name: cls.longest if name != "icc" else math.inf for name in cls.holds}  # profiles come in pieces
        lost = [BLOCKS[name] for name, size in blocks.items() if size > fits.get(name, 0)]
        own = () if cls.carries and getattr(metadata, cls.carries) else metadata.own
        return [*lost, *own, *metadata.lost]


class WholeWriter(Writer):
    """A file of one image that is encoded in one piece, by :meth:`finish`."""

    def __init__(self, stream: BinaryIO, name: str, frames: Sequence[Frame]) -> None:
        kind = type(self).__name__.removesuffix("Writer").upper()
        if len(frames) != 1:
            raise FileError(f"{name}: a {kind} holds one image, not {len(frames)}. Write .tif or .zarr.")
        self.check(frames[0][0], name)
        self.stream, self.canvas = stream, WholeCanvas(*frames[0])
        self.canvases = (self.canvas,)

    @abstractmethod
    def check(self, layout: Layout, name: str) -> None:
        """Refuse what the format cannot hold."""


def check_size(path: Path, width: int, height: int, max_pixels: int = MAX_PIXELS) -> None:
    """Refuse by its header a picture that is empty, or larger than a whole picture in memory should be."""
    if width < 1 or height < 1:
        raise FileError(
            f"{path}: declares {width} x {height} pixels, which is no picture. Nothing can be filtered in it."
        )
    if width * height > max_pixels:
        raise FileError(
            f"{path}: declares {width} x {height} pixels, above the limit of {max_pixels} for pictures decoded whole. "
            "If that size is real, convert it to a tiled TIFF or to zarr, which are read in windows."
        )


def check_segment(path: Path, what: str, width: int, height: int, size: int) -> None:
    """Refuse a strip, tile or chunk of ``size`` bytes that would fill the memory when it is decoded."""
    if size > MAX_SEGMENT:
        raise FileError(
            f"{path}: one {what} of {width} x {height} pixels would take {size} bytes of memory. "
            "Save it with tiles, or with strips of fewer rows."
        )


@contextmanager
def one_line(path: Path, remedy: str = "Convert it to a tiled TIFF or to zarr.") -> Iterator[None]:
    """Whatever goes wrong with a file is a FileError of one line; ``remedy`` helps where memory is too small."""
    try:
        yield
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path}: does not fit into memory. {remedy}") from None
    except OSError as error:
        why = error.strerror or reason(error)
        raise FileError(f"{path}: cannot be read ({why}). Check the file and its permissions.") from None
    except Exception as error:  # decoders fail in many ways: zlib.error, IndexError, RuntimeError, ...
        raise FileError(f"{path}: damaged or unreadable ({reason(error)}). Get the file again.") from None


def needed(package: str, path: Path | str, what: str) -> Any:
    """The package of that name, or an error that says that ``what`` cannot be read or written without it."""
    try:
        return import_module(package)
    except ModuleNotFoundError:
        raise FileError(f"{path}: {what} needs {package}. Install it with: pip install {package}") from None


def reason(error: BaseException) -> str:
    """The message of an error, in one line."""
    return " ".join(str(error).split()) or type(error).__name__


def reduced(finer: Any, region: Sequence[slice], shape: Sequence[int]) -> NDArray[Any]:
    """A region of the array ``finer`` shrunk to ``shape``: every sample is the mean of those that fall together.

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
