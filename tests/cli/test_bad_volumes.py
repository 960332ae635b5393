"""What can be wrong with a volume: one line that names it and the remedy, and nothing half written."""

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tifffile
import zarr

import whorl
from files.samples import listing
from peak import run_alone

mrcfile = pytest.importorskip("mrcfile")
nibabel = pytest.importorskip("nibabel")
nrrd = pytest.importorskip("nrrd")

SRC = Path(whorl.__file__).parents[1]
WHORL = "import sys; from whorl.cli.main import run; run(sys.argv[1:])"
SETTINGS = ("--model", "perona-malik", "--contrast", "300", "--time", "0.4")


def samples(shape=(8, 12, 14), kind="float32"):
    return (1000 * np.random.default_rng(0).random(shape)).astype(kind)


def an_mrc(path: Path, data=None, **fields) -> None:
    with mrcfile.new(path) as file:
        file.set_data(samples() if data is None else data)
        for name, value in fields.items():
            file.header[name] = value


@pytest.fixture
def refused(whorl_command, tmp_path):
    """Run a command that must fail with one line about its input, and leave the folder as it was."""

    def call(source: Path, *more: str, target: str | None = None) -> str:
        before = listing(tmp_path)
        out = tmp_path / (target or f"out{''.join(source.suffixes)}")
        answer = whorl_command("filter", *SETTINGS, *more, source, out)
        assert answer.code == 2, answer.out
        assert answer.err.count("\n") == 1
        assert listing(tmp_path) == before
        return answer.err

    return call


@pytest.mark.filterwarnings("ignore:Data array contains NaN")
@pytest.mark.parametrize("more", [(), ("--tile", "6")], ids=["whole", "windows"])
def test_a_block_of_nan(tmp_path, refused, more):
    data = samples()
    data[5:7, 9:, 10:] = np.nan
    an_mrc(tmp_path / "v.mrc", data)
    message = refused(tmp_path / "v.mrc", *more)
    assert "NaN or infinite voxels; one is at x, y, z = 10, 9, 5" in message
    assert "Fill them in" in message


def test_an_empty_volume(tmp_path, refused):
    an_mrc(tmp_path / "v.mrc")
    with open(tmp_path / "v.mrc", "r+b") as file:
        file.seek(8)
        file.write((0).to_bytes(4, "little"))  # nz
    assert "14 x 12 x 0 voxels, which is no volume" in refused(tmp_path / "v.mrc")
    zarr.create_array(str(tmp_path / "v.zarr"), shape=(0, 5, 5), chunks=(1, 5, 5), dtype="u2", dimension_names="zyx")
    assert "holds no picture" in refused(tmp_path / "v.zarr")


@pytest.mark.parametrize("shape", [(1, 30, 40), (40, 1, 30), (30, 40, 1), (1, 1, 50), (1, 1, 1), (2, 2, 2)])
def test_thin_volumes_are_filtered(tmp_path, whorl_command, shape):
    data = samples(shape)
    with mrcfile.new(tmp_path / "v.mrc") as file:
        file.set_data(data)
        file.set_volume()
    answer = whorl_command("filter", *SETTINGS, tmp_path / "v.mrc", tmp_path / "out.mrc")
    assert answer.code == 0, answer.err
    expected = whorl.diffuse(data, "perona-malik", contrast=300.0, time=0.4, spacing=(1.0, 1.0, 1.0))
    with mrcfile.open(tmp_path / "out.mrc") as file:
        assert np.array_equal(file.data, expected)


def test_a_slice_one_voxel_thin_has_noise_to_measure(tmp_path, whorl_command):
    data = (100 + 7 * np.random.default_rng(0).standard_normal((1, 90, 80))).astype(np.float32)
    with mrcfile.new(tmp_path / "v.mrc") as file:
        file.set_data(data)
        file.set_volume()
    answer = whorl_command("filter", "--model", "perona-malik", tmp_path / "v.mrc", tmp_path / "out.mrc")
    assert answer.code == 0, answer.err
    with mrcfile.open(tmp_path / "out.mrc") as file:
        assert float(file.data.std()) < 4  # the slice is flat but for its noise of 7, so any smoothing is right


@pytest.mark.parametrize("name", ["v.mrc", "v.nii", "v.nrrd"])
@pytest.mark.parametrize("cut", [1, 700])
def test_header_and_data_disagree(tmp_path, refused, name, cut):
    """A file that ends before what its header declares, as a broken copy does."""
    if name == "v.mrc":
        an_mrc(tmp_path / name)
    elif name == "v.nii":
        nibabel.save(nibabel.Nifti1Image(samples().T, np.eye(4)), tmp_path / name)
    else:
        nrrd.write(str(tmp_path / name), samples().T, {"encoding": "raw"})
    path = tmp_path / name
    path.write_bytes(path.read_bytes()[:-cut])
    message = refused(path)
    assert "truncated" in message
    assert "its header declares" in message


def test_a_header_that_declares_more_than_there_is(tmp_path, refused):
    an_mrc(tmp_path / "v.mrc", nz=9_000_000)
    assert "its header declares" in refused(tmp_path / "v.mrc")


@pytest.mark.parametrize("name", ["v.nii.gz", "v.mrc.gz"])
def test_a_packed_file_cut_short(tmp_path, refused, name):
    if name.startswith("v.nii"):
        nibabel.save(nibabel.Nifti1Image(samples().T, np.eye(4)), tmp_path / "v.nii")
    else:
        an_mrc(tmp_path / "v.mrc")
    plain = tmp_path / name.removesuffix(".gz")
    packed = gzip.compress(plain.read_bytes())
    plain.unlink()
    (tmp_path / name).write_bytes(packed[: len(packed) // 2])
    assert "truncated" in refused(tmp_path / name, target="out" + name[1:])


def test_nifti_with_shear(tmp_path, refused):
    sheared = np.diag([2.0, 3.0, 4.0, 1.0])
    sheared[0, 1] = 1.0
    nibabel.save(nibabel.Nifti1Image(samples().T, sheared), tmp_path / "v.nii")
    assert "not perpendicular (shear). Resample it" in refused(tmp_path / "v.nii")


def test_a_tilt_series_is_no_volume_unless_asked(tmp_path, refused, whorl_command):
    with mrcfile.new(tmp_path / "v.mrc") as file:
        file.set_data(samples())
        file.set_image_stack()
    assert "--volume" in refused(tmp_path / "v.mrc")
    assert whorl_command("filter", *SETTINGS, "--volume", tmp_path / "v.mrc", tmp_path / "out.mrc").code == 0


def test_complex_samples(tmp_path, refused):
    an_mrc(tmp_path / "v.mrc", samples().astype(np.complex64))
    assert "complex64 cannot be filtered" in refused(tmp_path / "v.mrc")


@pytest.mark.parametrize("kind", ["RGB-color", "vector", "3-vector", "complex", "list", "time", "point"])
@pytest.mark.parametrize("axis", [0, 2])
def test_axes_that_are_not_of_space(tmp_path, refused, kind, axis):
    """Colours or components of vectors lie side by side, but are no neighbours in space."""
    kinds = ["space", "domain", "space"]
    kinds[axis] = kind
    nrrd.write(str(tmp_path / "v.nrrd"), samples((8, 9, 3)).T, {"encoding": "raw", "kinds": kinds})
    message = refused(tmp_path / "v.nrrd")
    assert f"axis {axis + 1} is of kind {kind}" in message
    assert "separate volumes" in message


@pytest.mark.parametrize("axis", [0, 2])
def test_axes_without_a_direction_in_space(tmp_path, refused, axis):
    """Many writers say so in place of a kind."""
    directions = 0.5 * np.eye(3)
    directions[axis] = np.nan
    header = {"encoding": "raw", "space": "left-posterior-superior", "space directions": directions}
    nrrd.write(str(tmp_path / "v.nrrd"), samples((2, 9, 2)).T, header)
    assert f"axis {axis + 1} is of kind list" in refused(tmp_path / "v.nrrd")


def test_contradicting_options(tmp_path, refused):
    tifffile.imwrite(tmp_path / "v.tif", samples(kind="uint16"), photometric="minisblack")
    assert "contradict" in refused(tmp_path / "v.tif", "--volume", "--pages", "separate")
    assert "expected a size" in refused(tmp_path / "v.tif", "--memory", "much")
    assert "Give at least 800MB" in refused(tmp_path / "v.tif", "--volume", "--memory", "100MB")
    assert "--preview is for volumes" in refused(tmp_path / "v.tif", "--preview", "16")
    assert "depth, height and width" in refused(tmp_path / "v.tif", "--volume", "--spacing", "2,1")


def test_fast_schemes_that_no_window_can_hold(tmp_path, refused):
    zarr.create_array(
        str(tmp_path / "v.zarr"), shape=(3000, 3000, 3000), chunks=(64, 64, 64), dtype="u2", dimension_names="zyx"
    )
    message = refused(tmp_path / "v.zarr", "--memory", "1GB", "--scheme", "fsi", "--time", "400")
    assert "--scheme explicit" in message


def test_more_than_the_disk_holds_is_refused_at_once(tmp_path, refused):
    zarr.create_array(
        str(tmp_path / "v.zarr"), shape=(30_000, 30_000, 30_000), chunks=(64, 64, 64), dtype="u2", dimension_names="zyx"
    )
    assert "are needed on the disk" in refused(tmp_path / "v.zarr", "--memory", "2GB")


@pytest.mark.skipif(sys.platform != "linux", reason="limits on the size of files are those of Linux")
@pytest.mark.parametrize("more", [(), ("--tile", "24")], ids=["whole", "windows"])
def test_disk_full_in_the_middle(tmp_path, more):
    """The limit on the size of a file stands for a disk that is full: the same calls fail half-way."""
    an_mrc(tmp_path / "v.mrc", samples((48, 48, 48)))
    program = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); " + WHORL
    words = ["filter", *SETTINGS, *more, tmp_path / "v.mrc", tmp_path / "out.mrc"]
    answer = run_alone(program, *words)
    assert answer.code == 2
    assert "cannot be written" in answer.err
    assert "Make room there" in answer.err
    assert listing(tmp_path) == ["v.mrc"]


WAITING = """
import signal
from whorl.large.scratch import Journal
plain = Journal.mark
def mark(self, entry):
    plain(self, entry)
    if len(self.done) == 70:
        signal.pause()  # until it is killed
Journal.mark = mark
"""


@pytest.mark.skipif(os.name != "posix", reason="SIGKILL is a signal of Unix")
def test_a_killed_run_goes_on(tmp_path):
    data = samples((40, 48, 52), "uint16")
    zarr.create_array(str(tmp_path / "v.zarr"), data=data, chunks=(16, 16, 16), dimension_names=("z", "y", "x"))
    settings = ["--model", "eed", "--contrast", "300", "--time", "2", "--tile", "13"]
    words = ["filter", *settings, str(tmp_path / "v.zarr"), str(tmp_path / "out.zarr")]
    env = {**os.environ, "PYTHONPATH": str(SRC), "OMP_NUM_THREADS": "1"}
    log = tmp_path / ".out.zarr.whorl" / "0" / "done"
    with subprocess.Popen([sys.executable, "-c", WAITING + WHORL, *words], env=env, stdout=subprocess.DEVNULL) as first:
        while first.poll() is None and not (log.exists() and log.read_text().count("\n") == 70):
            time.sleep(0.002)
        first.kill()
    assert first.returncode == -signal.SIGKILL
    assert not (tmp_path / "out.zarr").exists()
    again = subprocess.run([sys.executable, "-c", WHORL, *words], env=env, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "went on where it was stopped" in again.stdout
    expected = whorl.diffuse(data, "eed", contrast=300.0, time=2.0)
    assert np.array_equal(zarr.open(tmp_path / "out.zarr", mode="r")[...], expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out.zarr", "v.zarr"]


def test_networks_refuse_a_volume_of_a_few_slices(tmp_path, whorl_command):
    nibabel.save(nibabel.Nifti1Image(samples((9, 9, 2)), np.eye(4)), tmp_path / "in.nii")
    answer = whorl_command("denoise", "--noise", "10", tmp_path / "in.nii", tmp_path / "out.nii")
    assert answer.code == 2
    assert "at least 5 voxels along each axis" in answer.err
    assert not (tmp_path / "out.nii").exists()
