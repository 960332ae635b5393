"""Folders of volumes as arrays of grey values, to train on."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import OpenFile
from whorl.files.formats import SUFFIXES
from whorl.files.volume import is_dicom, open_volume, volume_kind


def scans(folder: Path, smallest: int) -> dict[str, NDArray[Any]]:
    """All volumes of a folder by name, ``(1, z, y, x)``, every channel and time point for itself.

    Values are scaled so that all but a thousandth at either end lie from 0 to 255. DICOM slices are one volume for each
    folder. A volume that cannot be read, has missing voxels or is too small is an error.
    """
    if not folder.is_dir():
        raise FileError(f"{folder}: no such folder. Give one that holds volumes (NIfTI, NRRD, MRC, TIFF, DICOM, zarr).")
    found: dict[str, NDArray[Any]] = {}
    for path in [folder] if is_dicom(folder) else sorted(folder.iterdir()):
        if not volume_kind(path) and SUFFIXES.get(path.suffix.lower()) not in ("tiff", "zarr"):
            continue
        file = open_volume(path, asked=True)
        with file or OpenFile():
            if file is None or min(file.shape) < smallest:
                size = "no volume" if file is None else " x ".join(map(str, file.shape)) + " voxels"
                raise FileError(f"{path}: {size}; at least {smallest} are needed a side. Move it, or lower --size.")
            for number in range(file.count):
                for c, values in enumerate(file.values(file.read(number, file.whole()))):
                    if not np.isfinite(values).all():
                        raise FileError(f"{path}: holds NaN or infinite voxels. Fill them in first (whorl inpaint).")
                    low, high = np.quantile(values, (0.001, 0.999))
                    if not low < high:
                        raise FileError(f"{path}: all voxels have one value, from which nothing is learned. Move it.")
                    grey = (values - low) * (255 / (high - low))
                    found[f"{path.name} {number} {c}"] = grey[None].astype(np.float32)
    if not found:
        raise FileError(f"{folder}: holds no volumes (NIfTI, NRRD, MRC, TIFF, DICOM, zarr).")
    return found
