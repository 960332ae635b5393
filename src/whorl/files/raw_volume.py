"""Volumes whose samples lie one after the other behind a header: what MRC, NIfTI and NRRD have in common."""

import bz2
import gzip
import shutil
import tempfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.raw import RawSamples
from whorl.files.volume import Box, Result, VolumeFile

__all__ = ["RawVolume", "open_packed", "open_plain"]

PACKERS: dict[str, Any] = {"gz": gzip.open, "bz2": bz2.open}
MAGIC = {b"\x1f\x8b": "gz", b"BZ": "bz2"}


class RawVolume(VolumeFile):
    """A header, kept byte for byte in ``head``, and samples of type ``stored`` (with its byte order) behind it."""

    head: bytes
    stored: np.dtype[Any]
    plain: IO[bytes]

    def place(self, path: Path, plain: IO[bytes], start: int) -> None:
        """Take the samples from there on; they must be as many as the header says."""
        self.plain = plain
        self.samples = RawSamples(plain, (self.count, *self.shape), self.stored, start)
        wanted = start + self.count * int(np.prod(self.shape)) * self.stored.itemsize
        size = plain.seek(0, 2)
        if size < wanted:
            plain.close()
            raise FileError(
                f"{path}: truncated: it holds {size} bytes, its header declares {wanted}. Get the file again."
            )

    def _read(self, number: int, place: Box) -> NDArray[Any]:
        return self.samples.read((slice(number, number + 1), *place)).astype(self.dtype, copy=False)

    def close(self) -> None:
        """Close the file, or give back the disk space of its unpacked copy."""
        self.plain.close()

    def header(self, result: Result) -> bytes:
        """The header for other samples; the same, unless it tells of them."""
        return self.head

    def packing(self, name: str) -> str:
        """How a file of that name is packed: ``gz``, ``bz2`` or not at all."""
        ending = name.lower().rpartition(".")[2]
        return ending if ending in PACKERS else ""

    def write(self, part: Path, name: str, result: Result) -> None:
        """The header, then the samples slab by slab."""
        with open_packed(part, "wb", self.packing(name)) as file:
            file.write(self.header(result))
            self.pour(file, result)

    def pour(self, file: IO[Any], result: Result) -> None:
        """Write the samples of all volumes, slab by slab."""
        for number in range(self.count):
            for place in self.slabs():
                file.write(np.ascontiguousarray(result(number, place)[0], self.stored).tobytes())


def open_plain(path: Path, skip: int = 0, packing: str | None = None) -> IO[bytes]:
    """The bytes of a file from ``skip`` on; a packed one is unpacked into a file without a name first.

    ``packing`` is told by the first bytes unless it is given.
    """
    if packing is None:
        with path.open("rb") as file:
            packing = MAGIC.get(file.read(2), "")
    if not packing:
        return path.open("rb", buffering=0)
    copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (closed by the caller)
    try:
        with path.open("rb") as file:
            copy.write(file.read(skip))
            with PACKERS[packing](file, "rb") as unpacked:
                shutil.copyfileobj(unpacked, copy, 2**22)
        copy.seek(0)
    except BaseException:
        copy.close()
        raise
    return copy


def open_packed(path: Path, mode: str, packing: str) -> IO[Any]:
    """A file to write into that packs what it gets."""
    file: IO[Any] = PACKERS[packing](path, mode, 6) if packing else path.open(mode)
    return file
