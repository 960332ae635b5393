"""DICOM series and multi-frame files: places, units, derived series, and sentences for what is no volume."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from whorl import files, models
from whorl.cli.jobs import jobs
from whorl.errors import FileError
from whorl.files.dicom import _frames
from whorl.files.volume import check_format, open_volume
from whorl.foundations.atomic import beside
from whorl.large import stages
from whorl.large.volumes import filter_volume, sample_boxes

pydicom = pytest.importorskip("pydicom")
nibabel = pytest.importorskip("nibabel")
nrrd = pytest.importorskip("nrrd")

from pydicom.dataset import Dataset, FileDataset, FileMetaDataset  # noqa: E402
from pydicom.uid import CTImageStorage, EnhancedCTImageStorage, ExplicitVRLittleEndian, generate_uid  # noqa: E402

INSIDE = Path(pydicom.__file__).parent / "data" / "test_files"
ROW, COLUMN = np.array([0.6, 0.8, 0.0]), np.array([0.0, 0.0, -1.0])  # an oblique, nearly coronal stack
NORMAL = np.cross(ROW, COLUMN)
ORIGIN, STEP, PIXEL = np.array([-20.0, 30.0, 5.0]), 2.5, (0.5, 0.75)
SERIES, STUDY, FRAME = generate_uid(), generate_uid(), generate_uid()


def stored(count: int = 5) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 3000, (count, 6, 7), np.uint16)


def a_header(path: Path, sop: str = CTImageStorage) -> FileDataset:
    meta = FileMetaDataset()
    meta.TransferSyntaxUID, meta.MediaStorageSOPClassUID = ExplicitVRLittleEndian, sop
    data = FileDataset(str(path), {}, file_meta=meta, preamble=bytes(128))
    data.SOPClassUID, data.SOPInstanceUID, data.SeriesInstanceUID = sop, generate_uid(), SERIES
    data.StudyInstanceUID, data.FrameOfReferenceUID, data.Modality = STUDY, FRAME, "CT"
    data.PatientName, data.SeriesNumber, data.SeriesDescription = "Drawn^By us", 3, "bone"
    data.ImageType = ["ORIGINAL", "PRIMARY", "AXIAL"]
    meta.MediaStorageSOPInstanceUID = data.SOPInstanceUID
    return data


def a_slice(folder: Path, number: int, samples: np.ndarray, **changes) -> Path:
    """Slice ``number`` along the normal, in a file whose name tells nothing of that."""
    path = folder / f"IM{(number * 7) % 11:04d}"
    data = a_header(path)
    data.InstanceNumber = 100 - number
    data.ImagePositionPatient = [f"{value:.10g}" for value in ORIGIN + number * STEP * NORMAL]
    data.ImageOrientationPatient = [*ROW, *COLUMN]
    data.PixelSpacing, data.SliceThickness = [*PIXEL], 9.0  # the thickness is not the distance
    data.RescaleSlope, data.RescaleIntercept, data.RescaleType = 1, -1024, "HU"
    data.SmallestImagePixelValue = 0
    data.set_pixel_data(samples, "MONOCHROME2", 12, generate_instance_uid=False)
    for name, value in changes.items():
        setattr(data, name, value)
    data.save_as(path, enforce_file_format=True)
    return path


@pytest.fixture
def series(tmp_path: Path) -> Path:
    folder = tmp_path / "series"
    folder.mkdir()
    for number, samples in enumerate(stored()):
        a_slice(folder, number, samples)
    (folder / "notes.txt").write_text("not a slice")
    return folder


def the_samples(path: Path, asked: bool = False) -> tuple[np.ndarray, tuple[float, ...] | None]:
    with open_volume(path, asked) as file:
        return file.read(0, file.whole())[0], file.spacing


def copied(source: Path, target: Path) -> None:
    with open_volume(source) as file, beside(target, folder=file.is_folder(target)) as part:
        check_format(target, file)
        file.write(part, target.name, file.read)


def the_places(shape: tuple[int, ...]) -> np.ndarray:
    """Where the voxels lie, by the definition in the standard (PS3.3 C.7.6.2.1.1): ``(z, y, x, 3)``."""
    z, y, x = np.indices(shape)[..., None]
    return ORIGIN + z * STEP * NORMAL + y * PIXEL[0] * COLUMN + x * PIXEL[1] * ROW


def test_slices_lie_where_their_positions_say(series: Path, tmp_path: Path) -> None:
    samples, spacing = the_samples(series)
    np.testing.assert_array_equal(samples, stored().astype(np.int16) - 1024)
    assert samples.dtype == np.int16
    assert spacing == pytest.approx((STEP, *PIXEL))
    for name in ("out.nii.gz", "out.nrrd"):
        copied(series, tmp_path / name)
    image = nibabel.load(tmp_path / "out.nii.gz")
    np.testing.assert_array_equal(np.asarray(image.dataobj).T, samples)
    index = np.moveaxis(np.indices(image.shape), 0, -1)
    places = nibabel.affines.apply_affine(image.affine, index).transpose(2, 1, 0, 3)
    # NIfTI stores float32; the largest coordinate is below 64, so its rounding is below 64 eps.
    np.testing.assert_allclose(places * [-1, -1, 1], the_places(samples.shape), atol=64 * np.finfo(np.float32).eps)
    assert image.header["sform_code"] == image.header["qform_code"] == 1
    np.testing.assert_allclose(image.header.get_qform(), image.affine, atol=1e-4)  # a quaternion, in float32
    values, header = nrrd.read(str(tmp_path / "out.nrrd"))
    np.testing.assert_array_equal(values.T, samples)
    assert header["space"] == "left-posterior-superior"
    places = header["space origin"] + np.moveaxis(np.indices(values.shape), 0, -1) @ header["space directions"]
    np.testing.assert_allclose(places.transpose(2, 1, 0, 3), the_places(samples.shape), atol=1e-12)


@pytest.mark.parametrize("name", ["dicomdirtests/98892001/CT5N", "drawn"])
def test_the_same_volume_as_simpleitk(name: str, series: Path, tmp_path: Path) -> None:
    """Samples in the same order and places: a series of a real scanner, and an oblique one."""
    itk = pytest.importorskip("SimpleITK")
    folder = series if name == "drawn" else INSIDE / name
    itk.ProcessObject.SetGlobalWarningDisplay(False)
    reader = itk.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    image = reader.Execute()
    copied(folder, tmp_path / "out.nii.gz")
    ours = itk.ReadImage(str(tmp_path / "out.nii.gz"))
    np.testing.assert_array_equal(itk.GetArrayFromImage(ours), itk.GetArrayFromImage(image))
    corners = [[0, 0, 0], [size - 1 for size in image.GetSize()]]
    for corner in corners:
        theirs = image.TransformIndexToPhysicalPoint(corner)
        assert ours.TransformIndexToPhysicalPoint(corner) == pytest.approx(
            theirs, abs=1e-4
        )  # float32 in NIfTI, six digits in DICOM


def test_frames_of_one_file_are_slices(tmp_path: Path) -> None:
    """An enhanced CT: every frame with a place and a scaling of its own, stored out of order."""
    data = a_header(tmp_path / "multi.dcm", EnhancedCTImageStorage)
    samples, order = stored(4), [2, 0, 3, 1]
    shared = Dataset()
    shared.PlaneOrientationSequence, shared.PixelMeasuresSequence = [Dataset()], [Dataset()]
    shared.PlaneOrientationSequence[0].ImageOrientationPatient = [*ROW, *COLUMN]
    shared.PixelMeasuresSequence[0].PixelSpacing = [*PIXEL]
    data.SharedFunctionalGroupsSequence = [shared]
    groups = []
    for number in order:
        own = Dataset()
        own.PlanePositionSequence, own.PixelValueTransformationSequence = [Dataset()], [Dataset()]
        own.CTImageFrameTypeSequence = [Dataset()]
        own.CTImageFrameTypeSequence[0].FrameType = ["ORIGINAL", "PRIMARY", "VOLUME", "NONE"]
        own.PlanePositionSequence[0].ImagePositionPatient = [f"{v:.10g}" for v in ORIGIN + number * STEP * NORMAL]
        own.PixelValueTransformationSequence[0].RescaleSlope = 0.5 * (1 + number)
        own.PixelValueTransformationSequence[0].RescaleIntercept = -10
        groups.append(own)
    data.PerFrameFunctionalGroupsSequence = groups
    data.set_pixel_data(samples[order], "MONOCHROME2", 12, generate_instance_uid=False)
    data.save_as(tmp_path / "multi.dcm", enforce_file_format=True)
    values, spacing = the_samples(tmp_path / "multi.dcm")
    np.testing.assert_array_equal(values, samples * (0.5 * (1 + np.arange(4)))[:, None, None] - 10)
    assert (values.dtype, spacing) == (np.float32, pytest.approx((STEP, *PIXEL)))
    copied(tmp_path / "multi.dcm", tmp_path / "again.dcm")
    again = pydicom.dcmread(tmp_path / "again.dcm")
    np.testing.assert_array_equal(again.pixel_array, samples[order])
    types = [g.CTImageFrameTypeSequence[0].FrameType[0] for g in again.PerFrameFunctionalGroupsSequence]
    assert types == ["DERIVED"] * 4


@pytest.mark.parametrize("told", ["spacing", "offsets"])
def test_two_frames_with_one_position_lie_one_step_apart(told: str) -> None:
    header = pydicom.Dataset()
    header.NumberOfFrames = 2
    header.ImagePositionPatient, header.ImageOrientationPatient = [1, 2, 3], [1, 0, 0, 0, 1, 0]
    if told == "spacing":
        header.SpacingBetweenSlices = 4
    else:
        header.GridFrameOffsetVector = [10, 14]
    places = [frame.place for frame in _frames(Path("a.dcm"), header)]
    assert np.array_equal(places, [[1, 2, 3], [1, 2, 7]])


def test_a_dose_lies_on_its_offsets() -> None:
    values, spacing = the_samples(INSIDE / "rtdose.dcm")
    data = pydicom.dcmread(INSIDE / "rtdose.dcm")
    np.testing.assert_allclose(values, data.pixel_array * float(data.DoseGridScaling), rtol=1e-6)
    assert spacing == (5.0, 10.0, 10.0)


@pytest.mark.parametrize("name", ["CT_small", "MR_small", "MR_small_RLE", "MR_small_bigendian", "MR_small_implicit"])
def test_single_slices_of_scanners(name: str) -> None:
    values, spacing = the_samples(INSIDE / f"{name}.dcm")
    data = pydicom.dcmread(INSIDE / f"{name}.dcm")
    shift = int(data.get("RescaleIntercept", 0))
    np.testing.assert_array_equal(values[0], data.pixel_array.astype(int) + shift)
    assert values.dtype == np.int16
    assert spacing == pytest.approx((float(data.SliceThickness), *map(float, data.PixelSpacing)))


def moments(folder: Path, *, by_place: bool) -> np.ndarray:
    """Three moments of a volume in one series, numbered moment by moment or place by place: ``(t, z, y, x)``."""
    samples = np.random.default_rng(1).integers(0, 3000, (3, 4, 6, 7), np.uint16)
    for t, z in np.ndindex(3, 4):
        number = 3 * z + t if by_place else 4 * t + z
        a_slice(folder, z, samples[t, z], InstanceNumber=number + 1).rename(folder / f"{(5 * number) % 13:02d}.dcm")
    return samples.astype(np.int16) - 1024


@pytest.mark.parametrize("by_place", [False, True])
def test_moments_of_a_series_are_volumes(tmp_path: Path, by_place: bool) -> None:
    (tmp_path / "film").mkdir()
    expected = moments(tmp_path / "film", by_place=by_place)
    with open_volume(tmp_path / "film") as file:
        assert (file.count, file.shape) == (3, (4, 6, 7))
        np.testing.assert_array_equal([file.read(t, file.whole())[0] for t in range(3)], expected)
        for name in ("out.nii.gz", "out.dcm"):
            filter_volume(file, tmp_path / name, stages(models.build("gerig", contrast=200.0), 0.5, dimension=3))
        with pytest.raises(FileError, match="holds 3 volumes, and NRRD files hold one"):
            file.write(tmp_path / "out.nrrd", "out.nrrd", file.read)
    image = nibabel.load(tmp_path / "out.nii.gz")
    assert image.shape == (7, 6, 4, 3)
    with open_volume(tmp_path / "out.nii.gz") as one, open_volume(tmp_path / "out.dcm") as other:
        for t in range(3):
            filtered = one.read(t, one.whole())[0]
            np.testing.assert_array_equal(filtered, other.read(t, other.whole())[0])
            assert 0 < filtered.std() < expected[t].std()


def test_frames_say_to_which_moment_they_belong(tmp_path: Path) -> None:
    """One file whose frames come place by place; a frame tells its moment."""
    samples = stored(6).reshape(3, 2, 6, 7)  # place, moment
    data = a_header(tmp_path / "film.dcm", EnhancedCTImageStorage)
    data.PerFrameFunctionalGroupsSequence = [Dataset() for _ in range(6)]
    for (z, t), group in zip(np.ndindex(3, 2), data.PerFrameFunctionalGroupsSequence, strict=True):
        place, content = Dataset(), Dataset()
        place.ImagePositionPatient = [f"{value:.10g}" for value in ORIGIN + z * STEP * NORMAL]
        content.TemporalPositionIndex = 2 - t  # the later moment comes first
        group.PlanePositionSequence, group.FrameContentSequence = [place], [content]
    data.ImageOrientationPatient, data.PixelSpacing = [*ROW, *COLUMN], [*PIXEL]
    data.set_pixel_data(samples.reshape(6, 6, 7), "MONOCHROME2", 12, generate_instance_uid=False)
    data.save_as(tmp_path / "film.dcm", enforce_file_format=True)
    with open_volume(tmp_path / "film.dcm") as file:
        found = [file.read(t, file.whole())[0] for t in range(2)]
    np.testing.assert_array_equal(found, samples.transpose(1, 0, 2, 3)[::-1])


def test_a_derived_series_says_so(series: Path, tmp_path: Path) -> None:
    model = models.build("perona-malik", contrast=200.0)
    target = tmp_path / "out.dcm"
    with open_volume(series) as file:
        steps = stages(model, 0.5, dimension=3)
        filter_volume(file, target, steps)
        filter_volume(file, tmp_path / "out.nii", steps)
    result, spacing = the_samples(target)
    np.testing.assert_array_equal(result, the_samples(tmp_path / "out.nii")[0])
    assert result.std() < the_samples(series)[0].std()
    assert spacing == pytest.approx((STEP, *PIXEL))
    before = {str(data.SOPInstanceUID): data for data in map(pydicom.dcmread, series.glob("IM*"))}
    after = [pydicom.dcmread(path) for path in target.iterdir()]
    assert len(after) == len(before) == len({data.SOPInstanceUID for data in after})
    assert len({data.SeriesInstanceUID for data in after}) == 1
    for data in after:
        old = before.pop(data.SourceImageSequence[0].ReferencedSOPInstanceUID)
        assert data.SeriesInstanceUID != old.SeriesInstanceUID
        assert data.SOPInstanceUID == data.file_meta.MediaStorageSOPInstanceUID != old.SOPInstanceUID
        assert list(data.ImageType) == ["DERIVED", "PRIMARY", "AXIAL"]
        assert "SmallestImagePixelValue" not in data
        for name in ("StudyInstanceUID", "FrameOfReferenceUID", "PatientName", "ImagePositionPatient", "RescaleSlope"):
            assert data[name].value == old[name].value
        assert (data.SeriesNumber, data.SeriesDescription) == (1003, "bone filtered")


def replaced(series: Path, number: int, **changes) -> None:
    a_slice(series, number, stored()[number], **changes)


BAD = {
    "a slice is missing": (
        lambda folder: (folder / "IM0003").unlink(),
        r"from IM0007 to IM0010 it is 5 mm, .* 2\.5 mm",
    ),
    "sizes": (
        lambda folder: a_slice(folder, 3, stored()[3][:4]),
        "IM0010 has 7 x 4 pixels, most have 7 x 6. Take out",
    ),
    "two series": (
        lambda folder: replaced(folder, 4, SeriesInstanceUID=generate_uid(), SeriesDescription="scout"),
        r"4 slices of series 3 \(bone\), 1 slice of series 3 \(scout\)\. Put",
    ),
    "directions": (lambda f: replaced(f, 2, ImageOrientationPatient=[1, 0, 0, 0, 1, 0]), "IM0003 lies in another"),
    "one place twice": (
        lambda f: replaced(f, 1, ImagePositionPatient=[*(ORIGIN + 2 * STEP * NORMAL)]),
        "lie at the same place: several moments",
    ),
    "the same picture twice": (
        lambda f: (f / "copy").write_bytes((f / "IM0003").read_bytes()),
        "IM0003 and copy are the same picture",
    ),
    "no place": (lambda f: replaced(f, 1, ImagePositionPatient=None), "--volume to take them for a volume"),
    "a tilted gantry": (
        lambda f: [
            replaced(f, n, ImagePositionPatient=[f"{v:.10g}" for v in ORIGIN + n * (STEP * NORMAL + 0.4 * ROW)])
            for n in range(5)
        ],
        "not perpendicular",
    ),
    "truncated": (lambda f: (f / "IM0003").write_bytes((f / "IM0003").read_bytes()[:-20]), "damaged, truncated"),
    "no picture": (lambda f: [replaced(f, n, Rows=0) for n in range(5)], "no picture"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_series_are_told_in_a_sentence(series: Path, what: str) -> None:
    spoil, sentence = BAD[what]
    spoil(series)
    with pytest.raises(FileError, match=sentence) as caught:
        open_volume(series)
    assert "\n" not in str(caught.value)
    assert str(series) in str(caught.value)


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("dicomdirtests/77654033/CT2", r"from 17106 to 17136 it is 202\.5 mm, between others 1\.25 mm"),
        ("dicomdirtests/98892003/MR700", "4528 lies in another direction"),
        ("dicomdirtests/98892003/MR2", r"1 slice of series 2 \(FAST LOCALIZER\), 3 slices of series 2"),
        ("SC_rgb_rle.dcm", "colours are no volume"),
        ("liver_1frame.dcm", "a mask of single bits"),
        ("rtstruct.dcm", "it holds no picture"),
        ("rtplan_truncated.dcm", "it holds no picture"),
        ("MR_truncated.dcm", "damaged, truncated"),
    ],
)
def test_other_objects_are_told_in_a_sentence(name: str, sentence: str) -> None:
    with pytest.raises(FileError, match=sentence):
        open_volume(INSIDE / name)


def test_slices_without_places_in_the_order_of_their_numbers(series: Path) -> None:
    for number in range(5):
        replaced(series, number, ImagePositionPatient=None, InstanceNumber=number)
    values, spacing = the_samples(series, asked=True)
    np.testing.assert_array_equal(values, stored().astype(int) - 1024)
    assert spacing is None


def test_numbers_are_in_hounsfield_units(series: Path, tmp_path: Path) -> None:
    """The contrast of the command, the noise it measures and what it writes; for NIfTI with a scaling, too."""
    copied(series, tmp_path / "ct.nii")
    image = nibabel.load(tmp_path / "ct.nii")
    scaled = nibabel.Nifti1Image(np.asarray(image.dataobj) // 2, image.affine, image.header)
    scaled.header.set_slope_inter(2.0, 1.0)
    nibabel.save(scaled, tmp_path / "scaled.nii")
    boxes = {}
    for path in (series, tmp_path / "scaled.nii"):
        with open_volume(path) as file:
            boxes[path] = np.concatenate([box.ravel() for box in sample_boxes(file)])
            steps = stages(models.build("perona-malik", contrast=300.0), 0.5, dimension=3)
            filter_volume(file, tmp_path / f"{path.stem}-out.nii", steps)
    hounsfield = the_samples(series)[0]
    np.testing.assert_array_equal(boxes[tmp_path / "scaled.nii"], boxes[series] // 2 * 2 + 1)
    results = [nibabel.load(tmp_path / f"{name}-out.nii") for name in ("series", "scaled")]
    assert np.asarray(results[0].dataobj).std() < hounsfield.std()
    # What is read differs by up to 1 HU, and what is stored is rounded to 2 HU; the filter spreads no error.
    np.testing.assert_allclose(results[1].get_fdata(), results[0].get_fdata(), atol=2.5)


def test_the_command_takes_a_folder_of_slices(series: Path, tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "whorl",
        "filter",
        "--model",
        "gerig",
        "--contrast",
        "150",
        "--time",
        "1",
        "--json",
    ]
    done = subprocess.run([*command, str(series), str(tmp_path / "out.nii.gz")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    page = json.loads(done.stdout)["files"][0]["pages"][0]
    assert (page["depth"], page["dtype"], page["contrast"]) == (5, "int16", 150.0)
    assert page["spacing"] == pytest.approx([5.0, 1.0, 1.5])
    result = np.asarray(nibabel.load(tmp_path / "out.nii.gz").dataobj).T
    assert 0 < result.std() < the_samples(series)[0].std()


def test_folders_of_series_become_nifti(series: Path, tmp_path: Path) -> None:
    files.write(series.parent / "photo.png", files.Picture(np.zeros((4, 4, 1), np.uint8), _grey()))
    found = jobs([series.parent, tmp_path / "out"]).pairs
    names = {(source.name, target.name) for source, target in found}
    assert names == {("photo.png", "photo.png"), ("series", "series.nii.gz")}
    with pytest.raises(FileError, match="NIFTI or NRRD or DICOM"), open_volume(series) as file:
        check_format(tmp_path / "out.mrc", file)


def _grey() -> files.Layout:
    return files.Layout(4, 4, 1, np.dtype("u1"), "grey")
