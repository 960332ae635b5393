"""NRRD files by pynrrd, with all fields of their header."""

from pathlib import Path

import numpy as np

from whorl.errors import FileError
from whorl.files.volume import Volume, check_perpendicular, known_spacing

__all__ = ["read", "write"]


def read(path: Path) -> Volume:
    """The volume; the data must be in the same file."""
    import nrrd

    samples, header = nrrd.read(str(path), index_order="C")
    if "data file" in header or "datafile" in header:
        raise FileError(f"{path}: its data lie in another file. Save both as one .nrrd file.")
    sizes = None
    if "space directions" in header:
        directions = np.asarray(header["space directions"], float)
        check_perpendicular(path, directions)
        sizes = known_spacing(np.linalg.norm(directions, axis=1)[::-1])
    elif "spacings" in header:
        sizes = known_spacing(np.asarray(header["spacings"], float)[::-1])
    native = samples.astype(samples.dtype.newbyteorder("="), copy=False)
    return Volume(native, sizes, "nrrd", header)


def write(part: Path, volume: Volume, compressed: bool) -> None:
    """The samples with the header they were read with; pynrrd writes them in this machine's byte order."""
    import nrrd

    header = {key: value for key, value in volume.header.items() if key != "endian"}
    with part.open("wb") as file:
        nrrd.write(file, volume.samples, header, index_order="C")
