"""Volumes of microscopes, tomographs and scanners: read by box, and written with the header they came with."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import OpenFile, one_line, reason
from whorl.files.formats import SUFFIXES, kind_of
from whorl.foundations.atomic import check_regular
from whorl.foundations.samples import rounded, working_dtype


class Format(NamedTuple):
    """A kind of file: the endings of its names, the module and the package that read it, and our class for it."""

    suffixes: tuple[str, ...]
    module: str
    package: str
    reader: str


FORMATS = {
    "mrc": Format(
        (".mrc", ".map", ".rec", ".st", ".mrc.gz", ".map.gz", ".rec.gz", ".mrc.bz2"),
        "mrcfile",
        "mrcfile",
        "mrc.MrcFile",
    ),
    "nifti": Format((".nii", ".nii.gz"), "nibabel", "nibabel", "nifti.NiftiFile"),
    "nrrd": Format((".nrrd",), "nrrd", "pynrrd", "nrrd_files.NrrdFile"),
    "dicom": Format((".dcm",), "pydicom", "pydicom", "dicom.DicomVolume"),
}
"""The kinds of volumes that a library of their own reads."""
VOLUME_SUFFIXES = {suffix: kind for kind, found in FORMATS.items() for suffix in found.suffixes}
SHEAR = 1e-3
"""Cosine of the angle between two axes from which on they do not count as perpendicular."""

SLAB = 2**24
"""Bytes that are passed on at a time."""

Box = tuple[slice, ...]
"""The voxels from a first to before a last one along z, y and x."""

Result = Callable[[int, Box], NDArray[Any]]
"""Gives the samples ``(c, z, y, x)`` of a volume, by its number, in a box, in the type of the file."""


class VolumeFile(OpenFile, ABC):
    """An open file with ``count`` volumes of one shape ``(z, y, x)``, each of ``channels`` channels.

    ``spacing`` is the size of a voxel along z, y and x in one unit, where the file says so. What else the file says is
    carried on by :meth:`write`, in its own kind unless ``written_as`` says otherwise. ``scale`` and ``shift`` make of
    the samples the values that people know, such as Hounsfield units; filters and measurements take these.
    """

    path: Path
    kind: str
    shape: tuple[int, int, int]
    dtype: np.dtype[Any]
    spacing: tuple[float, ...] | None
    count: int = 1
    channels: int = 1
    written_as: tuple[str, ...] = ()
    scale: float = 1.0
    shift: float = 0.0

    def values(self, samples: NDArray[Any]) -> NDArray[Any]:
        """Samples as floats, in the units of the header."""
        plain = samples.astype(working_dtype(self.dtype))
        return plain if (self.scale, self.shift) == (1.0, 0.0) else plain * plain.dtype.type(self.scale) + self.shift

    def samples_of(self, values: NDArray[Any]) -> NDArray[Any]:
        """The samples that a file stores for these values, rounded to its type."""
        scaled = values if (self.scale, self.shift) == (1.0, 0.0) else (values - self.shift) / self.scale
        return rounded(scaled, self.dtype)

    def is_folder(self, target: Path) -> bool:
        """Whether a volume of that name is written as a folder."""
        return SUFFIXES.get(target.suffix.lower()) == "zarr"

    def read(self, number: int, place: Box) -> NDArray[Any]:
        """Samples ``(c, z, y, x)`` in native byte order; whatever goes wrong is a FileError that names the file."""
        with one_line(self.path, "Use smaller windows (--memory)."):
            return self._read(number, place)

    def whole(self) -> Box:
        """The box that holds all voxels."""
        return tuple(slice(0, size) for size in self.shape)

    def slabs(self) -> Iterator[Box]:
        """Boxes of whole slices, one after the other, of some megabytes each."""
        slices = max(1, SLAB // (self.channels * self.shape[1] * self.shape[2] * self.dtype.itemsize))
        _, y, x = self.whole()
        for start in range(0, self.shape[0], slices):
            yield slice(start, min(start + slices, self.shape[0])), y, x

    @abstractmethod
    def _read(self, number: int, place: Box) -> NDArray[Any]:
        """The samples, with any error."""

    @abstractmethod
    def write(self, part: Path, name: str, result: Result) -> None:
        """Write another file like this one, with other samples; ``name`` is the name it will have."""


def volume_kind(path: Path) -> str:
    """The format of a volume by its name, or DICOM by its contents; empty for anything else.

    >>> volume_kind(Path("brain.nii.gz")), volume_kind(Path("photo.png"))
    ('nifti', '')
    """
    name = path.name.lower()
    known = next((kind for suffix, kind in VOLUME_SUFFIXES.items() if name.endswith(suffix)), "")
    return known or ("dicom" if is_dicom(path) else "")


def is_dicom(path: Path) -> bool:
    """Whether a file is DICOM, or a folder holds some."""
    try:
        return any(map(dicom_inside, path.iterdir())) if path.is_dir() else dicom_inside(path)
    except OSError:  # a folder that is closed to us
        return False


def dicom_inside(path: Path) -> bool:
    """Whether a file is DICOM, by its mark or its name; lists of files on DICOM discs do not count."""
    try:
        other = path.name.startswith(".") or path.name.upper() == "DICOMDIR" or path.suffix.lower() in SUFFIXES
        if other or not path.is_file():
            return False
        if path.suffix.lower() == ".dcm":
            return True
        with path.open("rb") as file:
            return file.read(132)[128:] == b"DICM"
    except OSError:
        return False


def open_volume(path: Path, asked: bool = False) -> VolumeFile | None:
    """The volume in a file; None for a picture, and for a stack of pictures whose axes do not say that one is z.

    ``asked`` takes such a stack for a volume too. Whatever is wrong is a :class:`~whorl.errors.FileError` of one line.
    """
    kind = volume_kind(path)
    if not path.is_dir():
        check_regular(path)
    try:
        file = _opened(path, kind, asked)
    except FileError:
        raise
    except MemoryError:
        raise FileError(f"{path}: does not fit into memory.") from None
    except Exception as error:  # libraries fail in many ways: ValueError, ImageFileError, NRRDError, EOFError, ...
        if not kind:
            return None  # the reader of pictures says what is wrong with the file
        raise FileError(
            f"{path}: damaged, truncated or no {kind.upper()} file ({reason(error)}). Get the file again."
        ) from None
    if file is None:
        return None
    wrong = ""
    if 0 in (*file.shape, file.count, file.channels):
        size = " x ".join(map(str, file.shape[::-1]))
        wrong = f"declares {size} voxels, which is no volume. Nothing can be filtered in it."
    elif file.dtype.kind not in "iuf":
        wrong = f"samples of type {file.dtype} cannot be filtered, only real numbers."
    if wrong:
        file.close()
        raise FileError(f"{path}: {wrong}")
    return file


def check_format(path: Path, file: VolumeFile) -> None:
    """Refuse a name of another format: each has a header of its own."""
    kinds = file.written_as or (file.kind,)
    if (volume_kind(path) or SUFFIXES.get(path.suffix.lower())) not in kinds:
        words = " or ".join(kind.upper() for kind in kinds)
        own = "keeps its header only in its own format" if kinds == (file.kind,) else "can be written in some formats"
        raise FileError(f"{path}: a volume {own}, {words}. Choose such a name.")


def check_perpendicular(path: Path, axes: NDArray[Any]) -> None:
    """Refuse a grid whose axes, the rows of a matrix, are not perpendicular: distances would be wrong."""
    lengths = np.linalg.norm(axes, axis=1)
    if not np.isfinite(axes).all() or (lengths == 0).any():
        return
    cosines = (axes / lengths[:, None]) @ (axes / lengths[:, None]).T - np.eye(len(axes))
    if np.abs(cosines).max() > SHEAR:
        raise FileError(f"{path}: its axes are not perpendicular (shear). Resample it to a straight grid first.")


def known_spacing(sizes: Sequence[Any]) -> tuple[float, ...] | None:
    """The size of a voxel, if a header says anything sensible about it."""
    spacing = tuple(abs(float(size)) for size in sizes)
    return spacing if all(np.isfinite(size) and size > 0 for size in spacing) else None


def _opened(path: Path, kind: str, asked: bool) -> VolumeFile | None:
    if kind:
        known = FORMATS[kind]
        if find_spec(known.module) is None:
            raise FileError(f"{path}: {kind.upper()} needs the package {known.package}: pip install {known.package}.")
        home, _, name = known.reader.partition(".")
        file: VolumeFile = getattr(import_module(f"whorl.files.{home}"), name)(path, asked)
        return file
    content = kind_of(path)
    if content == "zarr":
        from whorl.files.zarr_volume import zarr_volume

        return zarr_volume(path, asked)
    if content == "tiff":
        from whorl.files.tiff_stack import tiff_stack

        return tiff_stack(path, asked)
    if asked:
        raise FileError(f"{path}: {content.upper()} holds no volume. Leave --volume out.")
    return None
