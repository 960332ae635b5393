"""NIfTI files by nibabel: scanners. Header and extensions come along byte for byte, scaling included."""

from pathlib import Path
from typing import Any

import numpy as np

from whorl.errors import FileError
from whorl.files.raw_volume import RawVolume, open_plain
from whorl.files.volume import check_perpendicular, known_spacing

__all__ = ["NiftiFile"]


class NiftiFile(RawVolume):
    """The stored samples, before the header's scaling, which only stretches them; contrasts are in stored units.

    A series in time is several volumes.
    """

    kind = "nifti"

    def __init__(self, path: Path, asked: bool = False) -> None:
        import nibabel

        self.path = path
        image: Any = nibabel.load(path)
        single: type[Any] = nibabel.Nifti1Image
        if not isinstance(image, single) or not hasattr(image.dataobj, "get_unscaled"):
            raise FileError(f"{path}: a NIfTI pair or ANALYZE file. Save it as one .nii or .nii.gz file.")
        sizes = tuple(int(size) for size in image.header.get_data_shape())
        columns, rows, sections = (*sizes[:3], *[1] * (3 - len(sizes)))
        self.shape, self.count = (sections, rows, columns), int(np.prod(sizes[3:], dtype=int))
        check_perpendicular(path, np.asarray(image.header.get_best_affine())[:3, :3].T)
        self.stored = image.header.get_data_dtype()
        self.dtype = self.stored.newbyteorder("=")
        if self.stored.fields is not None:
            raise FileError(f"{path}: colours in one sample each cannot be filtered. Save them as separate volumes.")
        zooms = (*image.header.get_zooms()[:3], 1.0, 1.0)[:3]
        self.spacing = known_spacing(zooms[::-1])
        start = int(image.dataobj.offset)
        plain = open_plain(path)
        self.head = plain.read(start)
        self.place(path, plain, start)
