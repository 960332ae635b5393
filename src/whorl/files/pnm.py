"""PGM and PPM (Netpbm): binary grey and RGB in 8 or 16 bit, behind a header of a few words."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import Reader, WholePage, WholeWriter, check_size
from whorl.files.layout import Layout, Metadata

HEADER = 2**12  # bytes that hold the header, comments included
CHANNELS = {b"P5": 1, b"P6": 3}
_WORDS = re.compile(rb"(P[56])" + 3 * rb"(?:\s+#[^\n]*|\s)+(\d+)" + rb"\s")


class PnmReader(Reader):
    """A file with one picture; of several pictures in a file the first one."""

    def __init__(self, path: Path, max_pixels: int) -> None:
        self.pages: Sequence[_PnmPage] = (_PnmPage(path, max_pixels),)


class _PnmPage(WholePage):
    def __init__(self, path: Path, max_pixels: int) -> None:
        with path.open("rb") as file:
            found = _WORDS.match(file.read(HEADER))
        if found is None:
            raise FileError(f"{path}: the header of this PGM or PPM file is damaged.")
        width, height, white = (int(word) for word in found.groups()[1:])
        check_size(path, width, height, max_pixels)
        if white not in (255, 65535):
            raise FileError(f"{path}: its white is {white}; only 255 and 65535 can be read. Convert it to PNG.")
        self.path, self.start, channels = path, found.end(), CHANNELS[found[1]]
        kind = np.dtype(np.uint8 if white == 255 else np.uint16)
        self.layout = Layout(height, width, channels, kind, "grey" if channels == 1 else "rgb")
        self.metadata = Metadata()
        if path.stat().st_size < self.start + self.layout.nbytes:
            raise FileError(f"{path}: truncated: {width} x {height} pixels do not fit its size. Get the file again.")

    def _decode(self) -> NDArray[Any]:
        stored = self.layout.dtype.newbyteorder(">")
        samples = np.fromfile(self.path, stored, int(np.prod(self.layout.shape)), offset=self.start)
        return samples.astype(self.layout.dtype)


class PnmWriter(WholeWriter):
    """Writes grey as PGM and RGB as PPM, in 8 or 16 bit."""

    def check(self, layout: Layout, name: str) -> None:
        if layout.dtype not in (np.uint8, np.uint16):
            raise FileError(f"{name}: PGM and PPM hold 8 or 16 bit, not {layout.dtype}. Write .tif or .zarr.")
        if layout.kept or layout.colour not in ("grey", "rgb"):
            raise FileError(f"{name}: PGM and PPM hold grey or RGB without alpha. Write .png or .tif.")

    def finish(self) -> None:
        """Write header and samples, the high byte first."""
        layout, samples = self.canvas.layout, self.canvas.samples
        magic, white = "P5" if layout.channels == 1 else "P6", np.iinfo(layout.dtype).max
        self.stream.write(f"{magic}\n{layout.width} {layout.height}\n{white}\n".encode())
        self.stream.write(samples.astype(layout.dtype.newbyteorder(">")).tobytes())
