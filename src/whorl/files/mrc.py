"""MRC files by mrcfile: tomograms and maps. The header and what follows it come along byte for byte."""

from pathlib import Path

import numpy as np

from whorl.errors import FileError
from whorl.files.volume import Volume, known_spacing

__all__ = ["read", "write"]

STATISTICS = ("dmin", "dmax", "dmean", "rms")


def read(path: Path) -> Volume:
    """The volume; its data must be as long as its header says."""
    import mrcfile

    with mrcfile.open(path, mode="r", permissive=False, header_only=True) as file:
        header = file.header.copy()
        wanted = 1024 + int(header.nsymbt) + int(header.nx) * int(header.ny) * int(header.nz) * _size(path, header)
    if _uncompressed(path) and path.stat().st_size < wanted:
        raise FileError(f"{path}: truncated: {path.stat().st_size} bytes, its header declares {wanted}.")
    with mrcfile.open(path, mode="r", permissive=False) as file:
        samples = np.array(file.data)
        header, extended = file.header.copy(), np.array(file.extended_header)
    samples = samples[None] if samples.ndim == 2 else samples
    sizes = {1: header.cella.x / max(header.mx, 1), 2: header.cella.y / max(header.my, 1)}
    sizes[3] = header.cella.z / max(header.mz, 1)
    axes = [sizes.get(int(axis), 0.0) for axis in (header.maps, header.mapr, header.mapc)]
    return Volume(samples, known_spacing(axes), "mrc", (header, extended))


def write(part: Path, volume: Volume, compressed: bool) -> None:
    """The samples under the header they were read with; only the statistics are those of the new samples."""
    header, extended = volume.header
    header = header.copy()
    samples = volume.samples.astype(volume.samples.dtype.newbyteorder(header.mode.dtype.byteorder), copy=False)
    exact = samples.astype(np.float64)
    numbers = exact.min(), exact.max(), exact.mean(), exact.std()
    for name, number in zip(STATISTICS, numbers, strict=True):
        header[name] = number
    with part.open("wb") as file:
        file.write(header.tobytes())
        file.write(extended.tobytes())
        file.write(np.ascontiguousarray(samples).tobytes())


def _size(path: Path, header: np.recarray) -> int:
    import mrcfile.utils

    return int(mrcfile.utils.dtype_from_mode(int(header.mode)).itemsize)


def _uncompressed(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(2)
    return start not in (b"\x1f\x8b", b"BZ")
