"""Volumes written by the libraries of their formats come back with header, type and voxel size."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from files.volumes import read_volume, write_volume
from whorl.errors import FileError

mrcfile = pytest.importorskip("mrcfile")
nibabel = pytest.importorskip("nibabel")
nrrd = pytest.importorskip("nrrd")

SHAPE = (5, 6, 7)


def samples(kind: str) -> np.ndarray:
    return (100 * np.random.default_rng(0).random(SHAPE)).astype(kind)


def an_mrc(path: Path, kind: str = "int8") -> np.ndarray:
    data = samples(kind)
    with mrcfile.new(path) as file:
        file.set_data(data)
        file.voxel_size = (2.0, 3.0, 4.0)
        file.header.origin.x = 7
        file.add_label("from a microscope")
        file.set_extended_header(np.frombuffer(b"x" * 128, dtype="V128"))
        file.header.exttyp = b"SERI"
    return data


@pytest.mark.parametrize("kind", ["int8", "int16", "uint16", "float32"])
def test_mrc_keeps_mode_header_and_extended_header(tmp_path: Path, kind: str) -> None:
    data = an_mrc(tmp_path / "in.mrc", kind)
    volume = read_volume(tmp_path / "in.mrc")
    assert volume.spacing == (4.0, 3.0, 2.0)
    write_volume(tmp_path / "out.mrc", volume.with_samples(volume.samples.astype(float) + 1))
    assert mrcfile.validate(str(tmp_path / "out.mrc"))
    with mrcfile.open(tmp_path / "in.mrc") as old, mrcfile.open(tmp_path / "out.mrc") as new:
        np.testing.assert_array_equal(new.data, (data.astype(float) + 1).astype(kind))
        assert new.data.dtype == old.data.dtype
        assert bytes(new.extended_header) == bytes(old.extended_header)
        for name in old.header.dtype.names:
            if name not in ("dmin", "dmax", "dmean", "rms"):
                assert new.header[name].tobytes() == old.header[name].tobytes(), name


def a_nifti(path: Path, kind: str = "int16", affine: np.ndarray | None = None) -> None:
    image = nibabel.Nifti1Image(samples(kind).T, np.diag([2.0, 3.0, 4.0, 1.0]) if affine is None else affine)
    image.header.set_xyzt_units("mm", "sec")
    image.header["descrip"] = b"from a scanner"
    nibabel.save(image, path)


@pytest.mark.parametrize("name", ["v.nii", "v.nii.gz"])
@pytest.mark.parametrize("kind", ["int16", "uint8", "float32"])
def test_nifti_keeps_every_byte_of_its_header(tmp_path: Path, name: str, kind: str) -> None:
    a_nifti(tmp_path / name, kind)
    volume = read_volume(tmp_path / name)
    assert volume.spacing == (4.0, 3.0, 2.0)
    write_volume(tmp_path / f"new-{name}", volume)
    old, new = nibabel.load(tmp_path / name), nibabel.load(tmp_path / f"new-{name}")
    assert new.header.binaryblock == old.header.binaryblock
    np.testing.assert_array_equal(new.get_fdata(), old.get_fdata())


def test_nifti_with_shear_is_refused(tmp_path: Path) -> None:
    sheared = np.diag([2.0, 3.0, 4.0, 1.0])
    sheared[0, 1] = 1.0
    a_nifti(tmp_path / "v.nii", affine=sheared)
    with pytest.raises(FileError, match="not perpendicular"):
        read_volume(tmp_path / "v.nii")


@pytest.mark.parametrize("kind", ["uint8", "int16", "float32"])
def test_nrrd_keeps_its_fields(tmp_path: Path, kind: str) -> None:
    fields = {"space": "left-posterior-superior", "space directions": np.diag([2.0, 3.0, 4.0]), "made by": "us"}
    nrrd.write(str(tmp_path / "v.nrrd"), samples(kind).T, {**fields, "space origin": [1.0, 2.0, 3.0]})
    volume = read_volume(tmp_path / "v.nrrd")
    assert volume.spacing == (4.0, 3.0, 2.0)
    write_volume(tmp_path / "w.nrrd", volume)
    (old, before), (new, after) = (nrrd.read(str(tmp_path / name)) for name in ("v.nrrd", "w.nrrd"))
    np.testing.assert_array_equal(new, old)
    assert {key: str(value) for key, value in before.items()} == {key: str(value) for key, value in after.items()}


def test_truncated_and_damaged_files_are_one_line(tmp_path: Path) -> None:
    an_mrc(tmp_path / "v.mrc")
    a_nifti(tmp_path / "v.nii")
    nrrd.write(str(tmp_path / "v.nrrd"), samples("float32").T, {"encoding": "raw"})
    for name in ("v.mrc", "v.nii", "v.nrrd"):
        path = tmp_path / name
        path.write_bytes(path.read_bytes()[:-50])
        with pytest.raises(FileError, match=rf"{name}: .*(truncated|damaged)") as caught:
            read_volume(path)
        assert "\n" not in str(caught.value)
    (tmp_path / "n.mrc").write_bytes(b"no volume at all")
    with pytest.raises(FileError, match=r"n\.mrc: "):
        read_volume(tmp_path / "n.mrc")


def test_the_command_filters_a_volume(tmp_path: Path) -> None:
    an_mrc(tmp_path / "tomo.mrc", "int16")
    command = [sys.executable, "-m", "whorl", "filter", "--model", "eed", "--contrast", "20", "--time", "1"]
    paths = [str(tmp_path / "tomo.mrc"), str(tmp_path / "out.mrc")]
    done = subprocess.run([*command, "--json", *paths], capture_output=True, text=True, check=True)
    page = json.loads(done.stdout)["files"][0]["pages"][0]
    assert (page["depth"], page["spacing"]) == (5, [2.0, 1.5, 1.0])
    old, new = read_volume(tmp_path / "tomo.mrc"), read_volume(tmp_path / "out.mrc")
    assert new.samples.dtype == np.int16
    assert 0 < new.samples.std() < old.samples.std()
    refused = subprocess.run([*command, paths[0], str(tmp_path / "out.nii")], capture_output=True, text=True)
    assert refused.returncode == 2
    assert "keeps its header only in its own format" in refused.stderr
    assert not (tmp_path / "out.nii").exists()


def test_bytes_of_imod_have_no_sign_unless_it_says_so(tmp_path: Path) -> None:
    data = np.arange(5 * 6 * 7, dtype=np.uint8).reshape(SHAPE) + np.uint8(40)
    with mrcfile.new(tmp_path / "v.mrc") as file:
        file.set_data(data.view(np.int8))
    raw = bytearray((tmp_path / "v.mrc").read_bytes())
    raw[152:160] = (1146047817).to_bytes(4, "little") + (0).to_bytes(4, "little")
    (tmp_path / "v.mrc").write_bytes(raw)
    volume = read_volume(tmp_path / "v.mrc")
    np.testing.assert_array_equal(volume.samples, data)
    write_volume(tmp_path / "w.mrc", volume)
    assert (tmp_path / "w.mrc").read_bytes()[1024:] == bytes(raw[1024:])
    raw[156] = 1
    (tmp_path / "v.mrc").write_bytes(raw)
    assert read_volume(tmp_path / "v.mrc").samples.dtype == np.int8


@pytest.mark.parametrize("name", ["v.mrc.gz", "v.mrc.bz2"])
def test_packed_mrc(tmp_path: Path, name: str) -> None:
    packing = {"gz": "gzip", "bz2": "bzip2"}[name.rpartition(".")[2]]
    with mrcfile.new(tmp_path / name, compression=packing) as file:
        file.set_data(samples("int16"))
        file.voxel_size = 3.0
    volume = read_volume(tmp_path / name)
    assert volume.spacing == (3.0, 3.0, 3.0)
    write_volume(tmp_path / f"new-{name}", volume)
    assert mrcfile.validate(str(tmp_path / f"new-{name}"))
    np.testing.assert_array_equal(mrcfile.read(tmp_path / f"new-{name}"), samples("int16"))


def test_big_endian_files_stay_so(tmp_path: Path) -> None:
    header = nibabel.Nifti1Header(endianness=">")
    nibabel.save(nibabel.Nifti1Image(samples("int16").T, np.eye(4), header), tmp_path / "v.nii")
    with mrcfile.new(tmp_path / "v.mrc") as file:
        file.set_data(samples("float32").astype(">f4"))
    for name in ("v.nii", "v.mrc"):
        write_volume(tmp_path / f"new-{name}", read_volume(tmp_path / name))
        assert (tmp_path / f"new-{name}").read_bytes()[1024:] == (tmp_path / name).read_bytes()[1024:]


def test_a_series_of_nifti_is_filtered_moment_by_moment(tmp_path: Path) -> None:
    import whorl
    from whorl import large, models
    from whorl.files.volume import open_volume
    from whorl.large.volumes import filter_volume

    series = np.stack([samples("float32"), samples("float32")[::-1]])  # (t, z, y, x)
    nibabel.save(nibabel.Nifti1Image(series.T, np.diag([1.0, 1.0, 2.0, 1.0])), tmp_path / "v.nii.gz")
    steps = large.stages(models.build("eed", contrast=30.0, spacing=(2.0, 1.0, 1.0)), 0.5, dimension=3)
    with open_volume(tmp_path / "v.nii.gz") as file:
        assert (file.count, file.spacing) == (2, (2.0, 1.0, 1.0))
        filter_volume(file, tmp_path / "out.nii.gz", steps)
    result = np.asarray(nibabel.load(tmp_path / "out.nii.gz").dataobj).T
    for number in range(2):
        expected = whorl.diffuse(series[number], "eed", contrast=30.0, time=0.5, spacing=(2.0, 1.0, 1.0))
        np.testing.assert_array_equal(result[number], expected)


def test_mrc_sizes_follow_the_order_of_its_axes(tmp_path: Path) -> None:
    """Columns, rows and sections may be any of x, y and z; the cell is told along x, y and z."""
    with mrcfile.new(tmp_path / "v.mrc") as file:
        file.set_data(samples("float32"))
        header = file.header
        header.mapc, header.mapr, header.maps = 2, 3, 1
        header.mx, header.my, header.mz = 5, 7, 6  # sections run along x, columns along y, rows along z
        header.cella.x, header.cella.y, header.cella.z = 5 * 1.5, 7 * 2.5, 6 * 3.5
    volume = read_volume(tmp_path / "v.mrc")
    assert volume.samples.shape == SHAPE
    assert volume.spacing == pytest.approx((1.5, 3.5, 2.5))


TURN = np.array([[0.6, -0.8, 0.0], [0.8, 0.6, 0.0], [0.0, 0.0, 1.0]])
"""A scanner turned by the angle of the triangle 3, 4, 5."""


def test_a_turned_scanner_has_straight_axes_and_its_own_sizes(tmp_path: Path) -> None:
    sizes = np.diag([2.0, 3.0, 4.0])  # along the fastest axis first
    affine = np.eye(4)
    affine[:3, :3] = TURN @ sizes
    a_nifti(tmp_path / "v.nii", affine=affine)
    assert read_volume(tmp_path / "v.nii").spacing == pytest.approx((4.0, 3.0, 2.0))
    directions = (TURN @ sizes).T  # one row for each axis
    header = {"encoding": "raw", "space": "left-posterior-superior", "space directions": directions}
    nrrd.write(str(tmp_path / "v.nrrd"), samples("float32").T, header)
    assert read_volume(tmp_path / "v.nrrd").spacing == pytest.approx((4.0, 3.0, 2.0))
    # What is perpendicular by rows but not by columns is a shear, and the other way round.
    affine[:3, :3] = (TURN @ sizes).T
    a_nifti(tmp_path / "s.nii", affine=affine)
    with pytest.raises(FileError, match="not perpendicular"):
        read_volume(tmp_path / "s.nii")
    nrrd.write(str(tmp_path / "s.nrrd"), samples("float32").T, header | {"space directions": directions.T})
    with pytest.raises(FileError, match="not perpendicular"):
        read_volume(tmp_path / "s.nrrd")
