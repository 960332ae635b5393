"""NRRD files by pynrrd. The header comes along byte for byte."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.raw_volume import MAX_HEADER, PACKERS, RawVolume, read_head
from whorl.files.volume import Result, check_perpendicular, known_spacing

PACKINGS = {"raw": "", "gzip": "gz", "gz": "gz", "bzip2": "bz2", "bz2": "bz2"}
SPATIAL = ("domain", "space", "none", "???", "stub")  # kinds of axes; a stub has one sample
DETACHED = ("data file", "datafile")
SKIPS = ("line skip", "lineskip", "byte skip", "byteskip")


class NrrdFile(RawVolume):
    """A volume of three axes, its data in the same file behind the header."""

    kind = "nrrd"

    def __init__(self, path: Path, asked: bool = False) -> None:
        import nrrd.reader

        self.path = path
        with BytesIO(read_head(path, MAX_HEADER, most=True)) as file:
            header = nrrd.read_header(file)
            start = file.tell()
            if start == MAX_HEADER:
                raise FileError(f"{path}: its header does not end within {MAX_HEADER} bytes; damaged.")
            self.head = file.getvalue()[:start]
        if any(field in header for field in DETACHED):
            raise FileError(f"{path}: its data lie in another file. Save both as one .nrrd file.")
        self.encoded = PACKINGS.get(str(header["encoding"]).lower())
        if self.encoded is None or any(int(header.get(field, 0)) for field in SKIPS):
            raise FileError(f"{path}: encoded as {header['encoding']}, or with a skip. Save it as raw or gzip.")
        sizes = [int(size) for size in header["sizes"]]
        if len(sizes) != 3:
            raise FileError(f"{path}: has {len(sizes)} axes; only volumes of three axes can be filtered. Split it.")
        for axis, kind in enumerate(_kinds(header)):
            if kind.lower() not in SPATIAL:
                raise FileError(
                    f"{path}: axis {axis + 1} is of kind {kind}, not of space, and must not be smoothed across. "
                    "Save what it holds as separate volumes."
                )
        self.shape = (sizes[2], sizes[1], sizes[0])
        self.spacing = _spacing(path, header)
        self.stored = np.dtype(nrrd.reader._determine_datatype(header))
        if self.stored.byteorder == "|" and self.stored.itemsize > 1:
            raise FileError(f"{path}: samples of type {header['type']} cannot be filtered, only real numbers.")
        self.dtype = self.stored.newbyteorder("=")
        self.place(path, start, start, self.encoded)

    def packing(self, name: str) -> str:
        """The file as a whole is never packed, whatever its name: the header says how the samples behind it are."""
        return ""

    def write(self, part: Path, name: str, result: Result) -> None:
        """The header as it is, and behind it the samples, packed as it says."""
        if not self.encoded:
            super().write(part, name, result)
            return
        with part.open("wb") as file:
            file.write(self.head)
            with PACKERS[self.encoded](file, "wb", 6) as packed:
                self.pour(packed, result)


def _kinds(header: Any) -> list[str]:
    """The kind of each axis; one whose samples have no direction in space is a list, whatever else it is called."""
    directions = np.asarray(header.get("space directions", np.zeros((3, 3))), float)
    lists = np.isnan(directions).all(axis=1) & (np.asarray(header["sizes"]) > 1)
    kinds = header.get("kinds", ["none"] * 3)
    return ["list" if listed and kind.lower() in SPATIAL else kind for kind, listed in zip(kinds, lists, strict=True)]


def _spacing(path: Path, header: Any) -> tuple[float, ...] | None:
    if "space directions" in header:
        directions = np.asarray(header["space directions"], float)
        check_perpendicular(path, directions)
        return known_spacing([float(np.linalg.norm(axis)) for axis in directions[::-1]])
    if "spacings" in header:
        return known_spacing([float(size) for size in header["spacings"]][::-1])
    return None


def new_head(shape: Sequence[int], dtype: np.dtype[Any], axes: NDArray[Any], origin: NDArray[Any]) -> bytes:
    """A header for samples ``(z, y, x)`` on a grid in millimetres to the left, to the back and up.

    The rows of ``axes`` lead from a voxel to the next along z, y and x.
    """
    kinds = {"f4": "float", "f8": "double"}
    vectors = ["({})".format(",".join(f"{number:.17g}" for number in row)) for row in (*axes[::-1], origin)]
    lines = [
        "NRRD0004",
        f"type: {kinds.get(dtype.str[1:], dtype.name)}",
        "dimension: 3",
        "space: left-posterior-superior",
        f"sizes: {' '.join(str(size) for size in shape[::-1])}",
        f"space directions: {' '.join(vectors[:3])}",
        "kinds: domain domain domain",
        "endian: little",
        "encoding: raw",
        f"space origin: {vectors[3]}",
    ]
    return ("\n".join(lines) + "\n\n").encode()
