"""NIfTI files by nibabel: scanners. Header and extensions come along byte for byte, scaling included."""

import gzip
from pathlib import Path
from typing import IO, Any

import numpy as np

from whorl.errors import FileError
from whorl.files.volume import Volume, check_perpendicular, known_spacing

__all__ = ["read", "write"]


def read(path: Path) -> Volume:
    """The stored samples, before the header's scaling, which only stretches them; contrasts are in stored units."""
    import nibabel

    image: Any = nibabel.load(path)
    single: type[Any] = nibabel.Nifti1Image
    if not isinstance(image, single) or not hasattr(image.dataobj, "get_unscaled"):
        raise FileError(f"{path}: a NIfTI pair or ANALYZE file. Save it as one .nii or .nii.gz file.")
    stored = np.asanyarray(image.dataobj.get_unscaled())
    while stored.ndim > 3 and stored.shape[-1] == 1:
        stored = stored[..., 0]
    check_perpendicular(path, np.asarray(image.header.get_best_affine())[:3, :3].T)
    with _opened(path, "rb") as file:
        start = file.read(int(image.dataobj.offset))
    zooms = image.header.get_zooms()[2::-1]
    samples = stored.T.astype(stored.dtype.newbyteorder("="), copy=False)
    return Volume(samples, known_spacing(zooms), "nifti", (start, stored.dtype.byteorder))


def write(part: Path, volume: Volume, compressed: bool) -> None:
    """The samples behind the very bytes that stood before them."""
    start, order = volume.header
    samples = volume.samples.astype(volume.samples.dtype.newbyteorder(order), copy=False)
    with _opened(part, "wb", compressed) as file:
        file.write(start)
        file.write(np.ascontiguousarray(samples).tobytes())


def _opened(path: Path, mode: str, compressed: bool | None = None) -> IO[Any]:
    if compressed is None:
        with path.open("rb") as file:
            compressed = file.read(2) == b"\x1f\x8b"
    opened: Any = gzip.open(path, mode) if compressed else path.open(mode)  # noqa: SIM115 - the caller closes it
    file_object: IO[Any] = opened
    return file_object
