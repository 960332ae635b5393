"""Volumes of microscopes, tomographs and scanners: MRC, NIfTI and NRRD, each with its header."""

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError, ShapeError
from whorl.files.base import reason
from whorl.foundations.atomic import beside
from whorl.foundations.samples import rounded

__all__ = ["VOLUME_SUFFIXES", "Volume", "read_volume", "volume_kind", "write_volume"]

VOLUME_SUFFIXES = {
    ".mrc": "mrc",
    ".map": "mrc",
    ".rec": "mrc",
    ".st": "mrc",
    ".nii": "nifti",
    ".nii.gz": "nifti",
    ".nrrd": "nrrd",
}
PACKAGES = {"mrc": "mrcfile", "nifti": "nibabel", "nrrd": "nrrd"}
SHEAR = 1e-3
"""Cosine of the angle between two axes from which on they do not count as perpendicular."""


@dataclass(frozen=True)
class Volume:
    """Samples ``(z, y, x)``, the size of a voxel along these axes where it is known, and the header of the file."""

    samples: NDArray[Any]
    spacing: tuple[float, ...] | None
    kind: str
    header: Any

    def with_samples(self, values: NDArray[Any]) -> "Volume":
        """The volume with other samples, rounded to its type; the header stays."""
        if values.shape != self.samples.shape:
            raise ShapeError(f"samples of shape {values.shape} do not fit a volume with {self.samples.shape}.")
        return replace(self, samples=rounded(values, self.samples.dtype))


def volume_kind(path: Path) -> str:
    """The format of a volume by its name; empty for anything else.

    >>> volume_kind(Path("brain.nii.gz")), volume_kind(Path("photo.png"))
    ('nifti', '')
    """
    name = path.name.lower()
    return next((kind for suffix, kind in VOLUME_SUFFIXES.items() if name.endswith(suffix)), "")


def read_volume(path: Path) -> Volume:
    """The volume in a file; whatever is wrong with it is a :class:`~whorl.errors.FileError` of one line."""
    kind = volume_kind(path)
    try:
        volume: Volume = _module(path, kind).read(path)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path}: does not fit into memory.") from None
    except FileNotFoundError:
        raise FileError(f"{path}: No such file.") from None
    except Exception as error:  # libraries fail in many ways: ValueError, ImageFileError, NRRDError, EOFError, ...
        raise FileError(
            f"{path}: damaged, truncated or no {kind.upper()} file ({reason(error)}). Get the file again."
        ) from None
    if volume.samples.ndim != 3 or not volume.samples.size:
        shape = " x ".join(map(str, volume.samples.shape[::-1]))
        raise FileError(f"{path}: holds {shape} samples; only single volumes of three axes can be filtered. Split it.")
    if volume.samples.dtype.kind not in "iuf":
        raise FileError(f"{path}: samples of type {volume.samples.dtype} cannot be filtered, only real numbers.")
    if volume.samples.dtype.kind == "f" and not np.isfinite(volume.samples).all():
        raise FileError(f"{path}: holds NaN or infinite voxels. Fill them in first, or cut them off.")
    return volume


def write_volume(path: Path, volume: Volume, force: bool = False) -> None:
    """Write a volume in the format it was read from; the file appears when it is complete, or not at all."""
    if volume_kind(path) != volume.kind:
        raise FileError(
            f"{path}: a volume keeps its header only in its own format, {volume.kind.upper()}. Choose such a name."
        )
    with beside(path, force) as part:
        _module(path, volume.kind).write(part, volume, path.name.lower().endswith(".gz"))


def check_perpendicular(path: Path, axes: NDArray[Any]) -> None:
    """Refuse a grid whose axes, the rows of a matrix, are not perpendicular: distances would be wrong."""
    lengths = np.linalg.norm(axes, axis=1)
    if not np.isfinite(axes).all() or (lengths == 0).any():
        return
    cosines = (axes / lengths[:, None]) @ (axes / lengths[:, None]).T - np.eye(len(axes))
    if np.abs(cosines).max() > SHEAR:
        raise FileError(f"{path}: its axes are not perpendicular (shear). Resample it to a straight grid first.")


def known_spacing(sizes: Any) -> tuple[float, ...] | None:
    """The size of a voxel, if a header says anything sensible about it."""
    spacing = tuple(abs(float(size)) for size in sizes)
    return spacing if all(np.isfinite(size) and size > 0 for size in spacing) else None


def _module(path: Path, kind: str) -> Any:
    if find_spec(PACKAGES[kind]) is None:
        raise FileError(f"{path}: {kind.upper()} needs the package {PACKAGES[kind]}: pip install 'whorl[volumes]'.")
    from whorl.files import mrc, nifti, nrrd_files

    modules: dict[str, Any] = {"mrc": mrc, "nifti": nifti, "nrrd": nrrd_files}
    return modules[kind]
