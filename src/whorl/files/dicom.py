"""DICOM by pydicom: the slices of one series in a folder, or a file of one or many frames.

Values are those of the modality, in Hounsfield units for CT. Places in space come from the position of every slice.
"""

import os
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whorl.errors import FileError
from whorl.files.base import check_segment, check_size
from whorl.files.raw_volume import RawSamples, RawVolume
from whorl.files.volume import Box, Result, check_perpendicular, dicom_inside, known_spacing, volume_kind

UNEVEN, NEAR = 0.02, 0.005
"""How much steps between slices may differ, as a share of a step and in millimetres: files round positions."""

INTEGERS = [np.dtype(kind) for kind in ("u1", "i2", "u2", "i4")]


@dataclass(frozen=True)
class Frame:
    """One slice: where its samples lie, and what its header says. ``axes`` are the directions of a row and a column.

    ``order`` tells which of several slices at one place comes first.
    """

    file: Path
    number: int
    order: tuple[int, ...]
    header: Any
    place: NDArray[np.float64] | None
    axes: NDArray[np.float64] | None
    spacing: tuple[float, float] | None
    slope: float
    intercept: float


class DicomVolume(RawVolume):
    """Slices in the order of their places along the normal; the first sample of all lies at ``origin``.

    Where every place has as many slices (moments, echoes), these make as many volumes, one after the other. The rows of
    ``axes`` lead from a voxel to the next along z, y and x, in millimetres to the left, to the back and up.
    """

    kind = "dicom"
    written_as = ("nifti", "nrrd", "dicom")

    def __init__(self, path: Path, asked: bool = False) -> None:
        self.path = path
        frames = [frame for file, header in _headers(path) for frame in _frames(file, header)]
        self.series = path.is_dir()
        _check_alike(path, frames)
        first = frames[0].header
        self.frames, step, self.count = _in_order(path, frames, asked)
        self.shape = (len(frames) // self.count, int(first.Rows), int(first.Columns))
        spacing, directions = self.frames[0].spacing or (1.0, 1.0), self.frames[0].axes
        if directions is None:
            directions, step = np.eye(3)[:2], np.array([0.0, 0.0, 1.0])
        self.axes = np.stack([step, directions[1] * spacing[0], directions[0] * spacing[1]])
        self.origin = np.zeros(3) if self.frames[0].place is None else self.frames[0].place
        check_perpendicular(path, self.axes)
        known = self.frames[0].spacing is not None and self.frames[0].axes is not None
        self.spacing = known_spacing(np.linalg.norm(self.axes, axis=1)) if known else None
        self.scaling = np.array([(frame.slope, frame.intercept) for frame in self.frames])
        self.plain = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115  (closed by close)
        try:
            self.stored = self.dtype = self._unpack()
        except BaseException:
            self.close()
            raise

    def _unpack(self) -> np.dtype[Any]:
        """Decode every slice once into a file without a name; also returns the type that holds all values."""
        order = {(frame.file, frame.number): index for index, frame in enumerate(self.frames)}
        ends: list[float] = []
        most, begun = 0.0, False
        for file, header in {frame.file: frame.header for frame in self.frames}.items():
            for number, samples in enumerate(_decoded(file, header)):
                index = order[file, number]
                if not begun:
                    self.samples, begun = RawSamples(self.plain, (self.count, *self.shape), samples.dtype), True
                if samples.dtype != self.samples.dtype or samples.shape != self.shape[1:]:
                    raise FileError(f"{file}: a slice of {samples.dtype} among others of {self.samples.dtype}.")
                moment, at = divmod(index, self.shape[0])
                _, y, x = self.whole()
                self.samples.write((slice(moment, moment + 1), slice(at, at + 1), y, x), samples[None, None])
                slope, intercept = self.scaling[index]
                ends += [slope * float(samples.min()) + intercept, slope * float(samples.max()) + intercept]
                most = max(most, abs(float(samples.min())), abs(float(samples.max())))
        if len(ends) != 2 * len(order):
            raise FileError(f"{self.path}: truncated: {len(ends) // 2} of {len(order)} slices are there.")
        if self.samples.dtype.kind != "f" and (self.scaling == np.rint(self.scaling)).all():
            fits = [kind for kind in INTEGERS if np.iinfo(kind).min <= min(ends) and max(ends) <= np.iinfo(kind).max]
            if fits:
                return fits[0]
        wide = self.samples.dtype == np.float64 or (self.samples.dtype.kind != "f" and most >= 2**24)
        return np.dtype(np.float64 if wide else np.float32)

    def _read(self, number: int, place: Box) -> NDArray[Any]:
        slope, intercept = self.scaling[number * self.shape[0] :][place[0]].T[..., None, None]
        block = self.samples.read((slice(number, number + 1), *place)) * slope + intercept
        values: NDArray[Any] = block.astype(self.dtype)
        return values

    def is_folder(self, target: Path) -> bool:
        """A series in DICOM is a folder of slices."""
        return self.series and volume_kind(target) == "dicom"

    def write(self, part: Path, name: str, result: Result) -> None:
        """NIfTI or NRRD with a new header that tells where the voxels lie; or a derived series in DICOM."""
        from whorl.files import dicom_series, nifti, nrrd_files

        kind = volume_kind(Path(name))
        if kind == "dicom":
            dicom_series.write_derived(self, part, result)
            return
        if self.count > 1 and kind == "nrrd":
            raise FileError(f"{self.path}: holds {self.count} volumes, and NRRD files hold one. Write .nii.gz.")
        new_head = {"nifti": nifti.new_head, "nrrd": nrrd_files.new_head}[kind]
        several = (self.count,) if self.count > 1 else ()
        self.head = new_head((*several, *self.shape), self.dtype, self.axes, self.origin)
        super().write(part, name, result)


def _headers(path: Path) -> list[tuple[Path, Any]]:
    """All files that hold pictures, each with its header."""
    import pydicom

    files = sorted(file for file in path.iterdir() if dicom_inside(file)) if path.is_dir() else [path]
    found = []
    for file in files:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about values that break small rules: nobody can mend them here
            header = pydicom.dcmread(file, stop_before_pixels=True, force=True)
            if "Rows" in header and "Columns" in header:
                found.append((file, header))
    if not found:
        what = "no file in it holds" if path.is_dir() else "it holds"
        raise FileError(f"{path}: DICOM, but {what} no picture. Name a folder with the slices of one series.")
    return found


def _frames(file: Path, header: Any) -> Iterator[Frame]:
    """The frames of a file, in the order of the file. Attributes may be given for each frame or for all."""
    count = int(header.get("NumberOfFrames") or 1)
    own, shared = (header.get(f"{word}FunctionalGroupsSequence") for word in ("PerFrame", "Shared"))
    offsets = header.get("GridFrameOffsetVector")
    for number in range(count):
        groups = [*([own[number]] if own else []), *([shared[0]] if shared else []), header]

        def told(sequence: str, name: str, groups: Sequence[Any] = groups) -> Any:
            inner = [group[sequence][0] for group in groups if group.get(sequence)]
            return next((each.get(name) for each in (*inner, header) if each.get(name) not in (None, "")), None)

        position, direction, detector = "ImagePositionPatient", "ImageOrientationPatient", "DetectorInformationSequence"
        place = _numbers(told("PlanePositionSequence", position) or told(detector, position), 3)
        axes = _numbers(told("PlaneOrientationSequence", direction) or told(detector, direction), 6)
        axes = None if axes is None else axes.reshape(2, 3)
        if count > 1 and not own and place is not None and axes is not None:
            step = header.get("SpacingBetweenSlices")
            offset = float(offsets[number]) - float(offsets[0]) if offsets else number * float(step) if step else None
            place = None if offset is None else place + offset * np.cross(*axes)
        sizes = _numbers(told("PixelMeasuresSequence", "PixelSpacing") or header.get("ImagerPixelSpacing"), 2)
        scale = told("PixelValueTransformationSequence", "RescaleSlope") or header.get("DoseGridScaling") or 1.0
        shift = told("PixelValueTransformationSequence", "RescaleIntercept") or 0.0
        spacing = None if sizes is None else (float(sizes[0]), float(sizes[1]))
        moment = told("FrameContentSequence", "TemporalPositionIndex") or header.get("TemporalPositionIdentifier")
        order = int(moment or 0), int(header.get("InstanceNumber") or 0), number
        yield Frame(file, number, order, header, place, axes, spacing, float(scale), float(shift))


def _numbers(values: Any, count: int) -> NDArray[np.float64] | None:
    if values is None or len(values) != count:
        return None
    found = np.array([float(value) for value in values])
    return found if np.isfinite(found).all() else None


def _check_alike(path: Path, frames: Sequence[Frame]) -> None:
    """Refuse slices that are not one volume of grey values, and say which file does not belong there."""
    series = Counter(str(frame.header.get("SeriesInstanceUID", "")) for frame in frames)
    if len(series) > 1:
        named = {str(frame.header.get("SeriesInstanceUID", "")): frame.header for frame in frames}
        words = []
        for uid, count in series.items():
            number, said = named[uid].get("SeriesNumber"), named[uid].get("SeriesDescription") or uid
            words.append(f"{count} slice{'s' * (count > 1)} of series {number} ({said})")
        raise FileError(f"{path}: holds {', '.join(words)}. Put the files of each series into a folder of its own.")
    sizes = Counter((int(frame.header.Columns), int(frame.header.Rows)) for frame in frames)
    check_size(path, *next(iter(sizes)))
    pictures: dict[str, Path] = {}
    for frame in frames:
        if pictures.setdefault(str(frame.header.get("SOPInstanceUID", frame.file)), frame.file) != frame.file:
            other = pictures[str(frame.header.SOPInstanceUID)]
            raise FileError(f"{path}: {other.name} and {frame.file.name} are the same picture. Take one of them out.")
    if len(sizes) > 1:
        (usual, _), *_ = sizes.most_common()
        odd = next(f for f in frames if (int(f.header.Columns), int(f.header.Rows)) != usual)
        raise FileError(
            f"{path}: slices of different sizes: {odd.file.name} has {odd.header.Columns} x {odd.header.Rows} pixels, "
            f"most have {usual[0]} x {usual[1]}. Take out those that do not belong there."
        )
    for frame in frames:
        header, wrong = frame.header, ""
        if int(header.get("SamplesPerPixel", 1)) != 1 or header.get("PhotometricInterpretation") == "PALETTE COLOR":
            wrong = "colours are no volume of grey values. Export them as PNG."
        elif header.get("ModalityLUTSequence"):
            wrong = "its values go through a table (Modality LUT). Export them with a rescale slope."
        elif int(header.get("BitsAllocated", 0)) < 8:
            wrong = "a mask of single bits cannot be filtered."
        if wrong:
            raise FileError(f"{frame.file}: {wrong}")


def _in_order(path: Path, frames: Sequence[Frame], asked: bool) -> tuple[list[Frame], NDArray[np.float64], int]:
    """The slices of one volume after the other, along their normal; the way from slice to slice; how many volumes.

    Uneven slices are refused.
    """
    first = frames[0]
    if any(frame.place is None or frame.axes is None for frame in frames):
        if len(frames) > 1 and not asked:
            raise FileError(
                f"{path}: its {len(frames)} slices do not all say where they lie, as in a film. "
                "Give --volume to take them for a volume in the order of their numbers."
            )
        ordered = sorted(frames, key=lambda frame: frame.order[1:])
        return [replace(frame, place=None, axes=None) for frame in ordered], np.zeros(3), 1
    assert first.axes is not None
    for frame in frames:
        assert frame.axes is not None
        if not np.allclose(frame.axes, first.axes, atol=1e-3) or frame.spacing != first.spacing:
            raise FileError(
                f"{path}: {frame.file.name} lies in another direction, or has pixels of another size, than "
                f"{first.file.name}. Take out localisers, and put every stack into a folder of its own."
            )
    normal = np.cross(*first.axes)
    ordered = sorted(frames, key=lambda frame: float(frame.place @ normal))
    gaps = np.diff([float(frame.place @ normal) for frame in ordered])
    begins = [0, *(np.flatnonzero(gaps >= NEAR) + 1), len(ordered)]
    stacks = [sorted(ordered[a:b], key=lambda frame: frame.order) for a, b in pairwise(begins)]
    count = len(stacks[0])
    if any(len(stack) != count for stack in stacks):
        one, other, *_ = max(stacks, key=len)
        raise FileError(
            f"{path}: {one.file.name} and {other.file.name} lie at the same place: several moments, echoes or "
            "reconstructions in one series, and not as many everywhere. Put each of them into a folder of its own."
        )
    volumes, ordered = [stack[k] for k in range(count) for stack in stacks], [stack[0] for stack in stacks]
    if len(ordered) == 1:
        thick = first.header.get("SpacingBetweenSlices") or first.header.get("SliceThickness") or 1.0
        return volumes, normal * (abs(float(thick)) or 1.0), count
    places = np.array([frame.place for frame in ordered])
    gaps = np.diff(places @ normal)
    usual = float(np.median(gaps))
    worst = int(np.abs(gaps - usual).argmax())
    if abs(gaps[worst] - usual) > UNEVEN * usual + NEAR:
        raise FileError(
            f"{path}: slices are missing or uneven: from {ordered[worst].file.name} to {ordered[worst + 1].file.name} "
            f"it is {gaps[worst]:.4g} mm, between others {usual:.4g} mm. Get the missing files, or resample the series."
        )
    return volumes, (places[-1] - places[0]) / (len(ordered) - 1), count


def _decoded(file: Path, header: Any) -> Iterator[NDArray[Any]]:
    """The stored samples of every frame."""
    from pydicom.pixels import get_decoder, iter_pixels

    width, height = int(header.Columns), int(header.Rows)
    check_segment(file, "slice", width, height, width * height * int(header.BitsAllocated) // 8)
    syntax = header.file_meta.get("TransferSyntaxUID") if hasattr(header, "file_meta") else None
    if syntax is not None and syntax.is_compressed and not get_decoder(syntax).is_available:
        raise FileError(
            f"{file}: compressed as {syntax.name}, which pydicom does not read alone: pip install 'pylibjpeg[all]'."
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield from iter_pixels(os.fspath(file), raw=True)
