"""A derived series in DICOM: the headers of the source, changed where a file with changed pixels must differ."""

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whorl import __version__
from whorl.errors import FileError
from whorl.files.volume import Result

if TYPE_CHECKING:
    from whorl.files.dicom import DicomVolume

STALE = ("SmallestImagePixelValue", "LargestImagePixelValue", "IconImageSequence", "DigitalSignaturesSequence",
         "MACParametersSequence")  # fmt: skip
"""Attributes that describe the pixels of the source, and signatures of them."""
SOURCE = ("121322", "Source image for image processing operation")
MODIFYING = ("109103", "Modifying Equipment")
SERIES = 1000
"""Added to the number of a series, so that viewers list the result apart from the source."""


def write_derived(volume: "DicomVolume", part: Path, result: Result) -> None:
    """Write one file, or one for each file of the source into the folder ``part``.

    Every file keeps its patient, study, frame of reference and place. It gets a new identity in a new series, says that
    it is derived, from which file and by which program, and holds samples without the rescaling, uncompressed.
    """
    import pydicom
    from pydicom.uid import generate_uid

    series = generate_uid(prefix=None)
    files = {frame.file: frame.header for frame in volume.frames}
    for number, file in enumerate(files, start=1):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            data = pydicom.dcmread(file, force=True)
            frames = sorted((frame.number, index) for index, frame in enumerate(volume.frames) if frame.file == file)
            samples = [_stored(volume, index, result, data) for _, index in frames]
            _derive(data, series, generate_uid(prefix=None))
            grey = data.PhotometricInterpretation
            kept = data.SOPInstanceUID
            stack = samples[0] if len(samples) == 1 else np.stack(samples)
            data.set_pixel_data(stack, grey, int(data.BitsStored), generate_instance_uid=False)
            data.file_meta.MediaStorageSOPInstanceUID = kept
            data.save_as(part / f"{number:05d}.dcm" if part.is_dir() else part, enforce_file_format=True)


def _stored(volume: "DicomVolume", index: int, result: Result, data: Any) -> Any:
    """The samples of one slice as the file stores them: rounded, within its bits."""
    bits = int(data.get("BitsStored", 32))
    if bits > 16 or int(data.get("BitsAllocated", 32)) not in (8, 16):
        raise FileError(f"{volume.path}: only samples of 8 and 16 bits are written as DICOM. Write .nii.gz or .nrrd.")
    moment, at = divmod(index, volume.shape[0])
    _, y, x = volume.whole()
    slope, intercept = volume.scaling[index]
    values = (result(moment, (slice(at, at + 1), y, x))[0, 0].astype(np.float64) - intercept) / slope
    signed = int(data.PixelRepresentation)
    low = -(2 ** (bits - 1)) if signed else 0
    kind = np.dtype(f"{'i' if signed else 'u'}{int(data.BitsAllocated) // 8}")
    return np.clip(np.rint(values), low, low + 2**bits - 1).astype(kind)


def _derive(data: Any, series: str, instance: str) -> None:
    """Add to a header what a derived image must say about itself."""
    import pydicom
    from pydicom.dataset import Dataset

    source = Dataset()
    source.ReferencedSOPClassUID, source.ReferencedSOPInstanceUID = data.SOPClassUID, data.SOPInstanceUID
    source.PurposeOfReferenceCodeSequence = _code(*SOURCE)
    tool = Dataset()
    tool.Manufacturer, tool.ManufacturerModelName, tool.SoftwareVersions = "whorl", "whorl filter", __version__
    tool.PurposeOfReferenceCodeSequence = _code(*MODIFYING)
    data.SourceImageSequence = [source]
    data.ContributingEquipmentSequence = [*data.get("ContributingEquipmentSequence", []), tool]
    data.DerivationDescription = f"Nonlinear diffusion filter, whorl {__version__}"
    data.ImageType = _derived(data.get("ImageType"))
    data.SeriesInstanceUID, data.SOPInstanceUID = series, instance
    data.SeriesNumber = int(data.get("SeriesNumber") or 0) + SERIES
    data.SeriesDescription = f"{str(data.get('SeriesDescription') or '')[:55]} filtered".strip()
    for name in STALE:
        if name in data:
            delattr(data, name)
    groups = [*data.get("SharedFunctionalGroupsSequence", []), *data.get("PerFrameFunctionalGroupsSequence", [])]
    for element in (element for group in groups for element in group if element.keyword.endswith("FrameTypeSequence")):
        element.value[0].FrameType = _derived(element.value[0].get("FrameType"))
    if not hasattr(data, "file_meta"):
        data.file_meta = pydicom.dataset.FileMetaDataset()


def _derived(image_type: Any) -> list[str]:
    kept = [str(word) for word in image_type or ["", "PRIMARY"]]
    return ["DERIVED", *(kept[1:] or ["PRIMARY"])]


def _code(value: str, meaning: str) -> list[Any]:
    from pydicom.dataset import Dataset

    code = Dataset()
    code.CodeValue, code.CodingSchemeDesignator, code.CodeMeaning = value, "DCM", meaning
    return [code]
