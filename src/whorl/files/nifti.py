"""NIfTI files by nibabel: scanners. Header and extensions come along byte for byte, scaling included."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.raw_volume import RawVolume, read_head
from whorl.files.volume import check_perpendicular, known_spacing


class NiftiFile(RawVolume):
    """The stored samples, and how the header scales them. A series in time is several volumes."""

    kind = "nifti"

    def __init__(self, path: Path, asked: bool = False) -> None:
        import nibabel

        self.path = path
        header = self._header(path, nibabel)
        sizes = tuple(int(size) for size in header.get_data_shape())
        columns, rows, sections = (*sizes[:3], *[1] * (3 - len(sizes)))
        self.shape, self.count = (sections, rows, columns), int(np.prod(sizes[3:], dtype=int))
        check_perpendicular(path, np.asarray(header.get_best_affine())[:3, :3].T)
        self.stored = header.get_data_dtype()
        self.dtype = self.stored.newbyteorder("=")
        if self.stored.fields is not None:
            raise FileError(f"{path}: colours in one sample each cannot be filtered. Save them as separate volumes.")
        slope, shift = header.get_slope_inter()
        self.scale, self.shift = float(slope or 1.0), float(shift or 0.0)
        zooms = (*header.get_zooms()[:3], 1.0, 1.0)[:3]
        self.spacing = known_spacing(zooms[::-1])
        self.head = read_head(path, int(header.get_data_offset()))
        self.place(path, len(self.head))

    @staticmethod
    def _header(path: Path, nibabel: Any) -> Any:
        """The header of a file of either version that holds its samples, too."""
        for kind in (nibabel.Nifti1Header, nibabel.Nifti2Header):
            length = kind.template_dtype.itemsize
            head = read_head(path, length, most=True)
            if kind.may_contain_header(head):
                header = kind(head)
                if header.is_single and bytes(header["magic"].tobytes()).startswith((b"n+1", b"n+2")):
                    return header
        raise FileError(f"{path}: a NIfTI pair, an ANALYZE file or no NIfTI. Save it as one .nii or .nii.gz file.")


def new_head(shape: Sequence[int], dtype: np.dtype[Any], axes: NDArray[Any], origin: NDArray[Any]) -> bytes:
    """A header for samples ``(z, y, x)`` on a grid in millimetres to the left, to the back and up, as DICOM counts.

    The shape of several such volumes begins with their number. The rows of ``axes`` lead from a voxel to the next along
    z, y and x. NIfTI counts to the right and to the front.
    """
    import nibabel

    affine = np.eye(4)
    affine[:3, :3], affine[:3, 3] = axes[::-1].T, origin
    affine[:2] *= -1
    header: Any = nibabel.Nifti1Header()  # type: ignore[no-untyped-call]
    header.set_data_dtype(dtype)
    header.set_data_shape(shape[::-1])
    header.set_qform(affine, code="scanner")
    header.set_sform(affine, code="scanner")
    header.set_xyzt_units("mm")
    header["vox_offset"] = header.single_vox_offset
    return bytes(header.binaryblock) + bytes(4)  # no extensions
