"""Volumes whose samples lie one after the other behind a header: what MRC, NIfTI and NRRD have in common."""

import bz2
import gzip
import itertools
import math
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.volume import Box, Result, VolumeFile

PACKERS: dict[str, Any] = {"": open, "gz": gzip.open, "bz2": bz2.open}
MAGIC = {b"\x1f\x8b": "gz", b"BZ": "bz2"}
MAX_HEADER = 2**24  # bytes in front of the samples


class RawVolume(VolumeFile):
    """A header, kept byte for byte in ``head``, and samples of type ``stored`` (with its byte order) behind it."""

    head: bytes
    stored: np.dtype[Any]
    plain: IO[bytes]

    def place(self, path: Path, start: int, packed_from: int = 0, packing: str | None = None) -> None:
        """Take the samples from there on; they must be as many as the header says."""
        wanted = start + self.count * math.prod(self.shape) * self.stored.itemsize
        self.plain = _open_plain(path, wanted, packed_from, packing)
        self.samples = RawSamples(self.plain, (self.count, *self.shape), self.stored, start)
        size = self.plain.seek(0, 2)
        if size < wanted:
            self.plain.close()
            raise FileError(
                f"{path}: truncated: it holds {size} bytes, its header declares {wanted}. Get the file again."
            )

    def _read(self, number: int, place: Box) -> NDArray[Any]:
        return self.samples.read((slice(number, number + 1), *place)).astype(self.dtype, copy=False)

    def close(self) -> None:
        """Close the file, or give back the disk space of its unpacked copy."""
        self.plain.close()

    def header(self, result: Result) -> bytes:
        """The header to write before other samples: the old one, unless it holds figures of the samples."""
        return self.head

    def packing(self, name: str) -> str:
        """How a file of that name is packed: ``gz``, ``bz2`` or not at all."""
        ending = name.lower().rpartition(".")[2]
        return ending if ending in PACKERS else ""

    def write(self, part: Path, name: str, result: Result) -> None:
        """The header, then the samples slab by slab."""
        packing = self.packing(name)
        with PACKERS[packing](part, "wb", 6) if packing else part.open("wb") as file:
            file.write(self.header(result))
            self.pour(file, result)

    def pour(self, file: IO[Any], result: Result) -> None:
        """Write the samples of all volumes, slab by slab."""
        for number in range(self.count):
            for place in self.slabs():
                file.write(np.ascontiguousarray(result(number, place)[0], self.stored).tobytes())


def read_head(path: Path, length: int, *, most: bool = False) -> bytes:
    """The first ``length`` bytes of a file, unpacked: all of them, or with ``most`` as many as there are.

    Headers are small. One that says otherwise is damaged, or made to fill the memory.
    """
    if not 0 <= length <= MAX_HEADER:
        raise FileError(f"{path}: declares a header of {length} bytes, above the limit of {MAX_HEADER}; damaged.")
    with PACKERS[_packing(path)](path, "rb") as file:
        head: bytes = file.read(length)
    if len(head) < length and not most:
        raise FileError(f"{path}: truncated: it ends inside its header of {length} bytes. Get the file again.")
    return head


def _packing(path: Path) -> str:
    """How a file is packed, by its first bytes."""
    with path.open("rb") as file:
        return MAGIC.get(file.read(2), "")


def _open_plain(path: Path, wanted: int, skip: int, packing: str | None) -> IO[bytes]:
    """The bytes of a file; a packed one is unpacked first into a file without a name, no further than ``wanted``.

    The first ``skip`` bytes are never packed. ``packing`` is told by the first bytes unless it is given.
    """
    packing = _packing(path) if packing is None else packing
    if not packing:
        return path.open("rb", buffering=0)
    free = shutil.disk_usage(tempfile.gettempdir()).free
    if wanted > free:
        raise FileError(
            f"{path}: its header declares {wanted} bytes, unpacked; {free} are free in {tempfile.gettempdir()}. "
            "Make room there, or set TMPDIR to another folder."
        )
    copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (closed by the caller)
    try:
        with path.open("rb") as file:
            copy.write(file.read(skip))
            with PACKERS[packing](file, "rb") as unpacked:
                left = wanted - skip
                while left > 0 and (piece := unpacked.read(min(left, 2**22))):
                    left -= copy.write(piece)
                unpacked.read(1)  # at the end of the data their checksum is compared
    except BaseException:
        copy.close()
        raise
    return copy


class RawSamples:
    """An array in an open file, from ``start`` on, the last axis fastest.

    It is read and written by plain calls, not by memory mapping, whose pages would count as memory of the process.
    """

    def __init__(self, file: IO[bytes], shape: Sequence[int], dtype: np.dtype[Any], start: int = 0) -> None:
        self.file, self.shape, self.dtype, self.start = file, tuple(shape), dtype, start

    def read(self, place: Sequence[slice]) -> NDArray[Any]:
        """The samples in a box, in the byte order of the file."""
        block = np.empty([part.stop - part.start for part in place], self.dtype)
        for at, piece in self._pieces(place, block):
            self.file.seek(at)
            view = piece.view(np.uint8).data
            while view:  # an unbuffered read may give less than asked for
                view = view[self.file.readinto(view) or _end_of_file() :]  # type: ignore[attr-defined]
        return block

    def write(self, place: Sequence[slice], block: NDArray[Any]) -> None:
        """Put samples into a box."""
        for at, piece in self._pieces(place, np.ascontiguousarray(block, self.dtype)):
            self.file.seek(at)
            view = piece.view(np.uint8).data
            while view:
                view = view[self.file.write(view) :]

    def _pieces(self, place: Sequence[slice], block: NDArray[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Place in the file and piece of the block, for every run of samples that lies together in both."""
        axis = len(self.shape) - 1  # the first axis of a run: all axes behind it are taken whole
        while axis > 0 and place[axis].start == 0 and place[axis].stop == self.shape[axis]:
            axis -= 1
        inner = math.prod(self.shape[axis + 1 :])
        steps = [math.prod(self.shape[number + 1 :]) for number in range(axis)]
        if not block.size:
            return
        for index in itertools.product(*(range(part.stop - part.start) for part in place[:axis])):
            first = sum((part.start + n) * step for part, n, step in zip(place, index, steps, strict=False))
            at = first + place[axis].start * inner
            yield self.start + at * self.dtype.itemsize, block[index].reshape(-1)


def _end_of_file() -> int:
    raise OSError("the file ended early")
