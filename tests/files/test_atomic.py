import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import whorl
from files.samples import listing, picture
from whorl import files
from whorl.errors import FileError
from whorl.foundations import atomic
from whorl.foundations.atomic import beside, check_regular, move

SRC = Path(whorl.__file__).parents[1]


def test_existing_output_is_kept_unless_forced(tmp_path):
    for name in ("a.png", "a.zarr"):
        files.write(tmp_path / name, picture(dtype="u2"))
        before = files.read(tmp_path / name).samples
        with pytest.raises(FileError, match="--force"):
            files.write(tmp_path / name, picture(size=(5, 5)))
        assert (files.read(tmp_path / name).samples == before).all()
        files.write(tmp_path / name, picture(size=(5, 5)), force=True)
        assert files.read(tmp_path / name).layout.height == 5
    assert {Path(name).parts[0] for name in listing(tmp_path)} == {"a.png", "a.zarr"}


@pytest.mark.parametrize("name", ["a.png", "a.zarr", "deep/er/a.tif"])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_the_folder_as_it_was(tmp_path, name, error):
    (tmp_path / "other.txt").write_text("here")

    def fail():
        with files.open_writer(tmp_path / name, [(picture().layout, picture().metadata)]) as writer:
            writer.canvases[0].write(0, 0, picture().samples[:20])
            assert len(listing(tmp_path)) > 1
            raise error

    with pytest.raises(error):
        fail()
    assert listing(tmp_path) == ["other.txt"]


def test_old_output_stays_whole_until_the_new_one_is(tmp_path):
    files.write(tmp_path / "a.tif", picture())

    def fail():
        with beside(tmp_path / "a.tif", force=True) as part:
            part.write_bytes(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert files.read(tmp_path / "a.tif").layout.height == 37


def test_killed_run_is_swept_by_the_next_and_a_living_one_is_not(tmp_path):
    program = "import sys, time; from pathlib import Path; from whorl.foundations.atomic import beside\n"
    program += "with beside(Path(sys.argv[1])) as part: print(part, flush=True); time.sleep(60)"
    env = {**os.environ, "PYTHONPATH": str(SRC)}
    command = [sys.executable, "-c", program, str(tmp_path / "a.tif")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=env) as other:
        part = Path(other.stdout.readline().strip())
        with beside(tmp_path / "a.tif"):
            assert part.exists()  # it is being written by a living process
        (tmp_path / "a.tif").unlink()
        other.send_signal(signal.SIGKILL)
    assert listing(tmp_path) == [part.name]
    files.write(tmp_path / "a.tif", picture())
    assert listing(tmp_path) == ["a.tif"]


def test_unwritable_folder_is_one_clear_error(unprivileged):
    (unprivileged / "closed").mkdir(mode=0o500)
    with pytest.raises(FileError, match="cannot be written"):
        files.write(unprivileged / "closed" / "a.png", picture())
    (unprivileged / "closed").chmod(0)
    with pytest.raises(FileError, match="cannot be written"):
        files.write(unprivileged / "closed" / "deeper" / "a.png", picture())
    (unprivileged / "closed").chmod(0o700)


def test_a_file_where_a_folder_is_needed(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot be written"):
        files.write(tmp_path / "file" / "a.png", picture())
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        files.write(tmp_path / "folder.png", picture(), force=True)


def test_what_appears_meanwhile_is_kept(tmp_path):
    def write_twice():
        with beside(tmp_path / "a.txt") as part:
            part.write_text("late")
            (tmp_path / "a.txt").write_text("somebody else's")

    with pytest.raises(FileError, match="exists already"):
        write_twice()
    assert (tmp_path / "a.txt").read_text() == "somebody else's"
    assert listing(tmp_path) == ["a.txt"]


def test_only_parts_of_the_same_name_are_swept(tmp_path):
    mine = [".b.png.notes.part", ".oxx.png.1.part", ".o9.tif.1.part", ".b.png.12.partly"]
    for name in mine:
        (tmp_path / name).write_text("mine")
    (tmp_path / ".o[9].tif.1.part").write_text("left by a killed run")
    for name in ("b.png", "o*.png", "o**.png", "o[9].tif", "o?.tif"):
        files.write(tmp_path / name, picture())
    assert {name for name in listing(tmp_path) if name.startswith(".")} == set(mine)


def replace_folder(target: Path) -> None:
    with beside(target, force=True, folder=True) as part:
        (part / "new").write_text("")


def test_a_folder_that_cannot_be_replaced_stays(tmp_path, monkeypatch):
    (tmp_path / "a.zarr").mkdir()
    (tmp_path / "a.zarr" / "old").write_text("")
    genuine = os.replace

    def fail(source, target):
        if Path(source).suffix == ".part":
            raise OSError(5, "Input/output error")
        genuine(source, target)

    monkeypatch.setattr(atomic.os, "replace", fail)
    with pytest.raises(FileError, match=r"a\.zarr: cannot be written \(Input/output error\)"):
        replace_folder(tmp_path / "a.zarr")
    assert listing(tmp_path) == ["a.zarr", "a.zarr/old"]


def test_a_folder_whose_replacement_was_killed_comes_back(tmp_path):
    (tmp_path / ".a.zarr.7.old").mkdir()
    (tmp_path / ".a.zarr.7.old" / "old").write_text("")
    with pytest.raises(FileError, match="exists already"), beside(tmp_path / "a.zarr", folder=True):
        pass
    assert listing(tmp_path) == ["a.zarr", "a.zarr/old"]
    replace_folder(tmp_path / "a.zarr")
    assert listing(tmp_path) == ["a.zarr", "a.zarr/new"]


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
from whorl.cli.main import run
run(sys.argv[1:])
"""


@pytest.mark.parametrize("name", ["b.png", "b.tif", "b.jpg", "b.zarr"])
def test_a_full_disk_is_one_line_with_the_name(tmp_path, name):
    """Files end at 60,000 bytes, which fails as a full disk does, half-way through."""
    files.write(tmp_path / "a.tif", picture("rgb", 3, size=(1100, 1100)))
    words = ["filter", "-q", "--time", "0", "--contrast", "9", str(tmp_path / "a.tif"), str(tmp_path / name)]
    env = {**os.environ, "PYTHONPATH": str(SRC), "PYTHONDONTWRITEBYTECODE": "1", "NUMBA_CACHE_DIR": str(tmp_path / "x")}
    answer = subprocess.run(
        [sys.executable, "-c", LIMITED, *words], capture_output=True, text=True, env=env, check=False
    )
    assert (answer.returncode, answer.stderr.count("\n")) == (2, 1), answer.stderr
    assert f"{name}: cannot be written (File too large)" in answer.stderr
    assert [entry for entry in listing(tmp_path) if not entry.startswith("x")] == ["a.tif"]


def test_contents_reach_the_disk_before_the_name_and_the_name_before_the_end(tmp_path, monkeypatch):
    flushed = []
    real = os.fsync

    def fsync(descriptor):
        flushed.append(
            (Path(os.readlink(f"/proc/self/fd/{descriptor}")), (tmp_path / "two" / "deep" / "a.txt").exists())
        )
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    with beside(tmp_path / "two" / "deep" / "a.txt") as part:
        part.write_text("one")
    assert flushed == [(part, False), (tmp_path / "two" / "deep", True)]
    with beside(tmp_path / "two" / "deep" / "b.txt") as part:  # the folder exists by now
        part.write_text("two")
    assert (tmp_path / "two" / "deep" / "b.txt").read_text() == "two"


def test_a_folder_is_replaced_though_the_old_one_cannot_be_removed(unprivileged):
    """What is left of the old one is swept later: the new one is complete, and that counts."""
    part, target = unprivileged / "new", unprivileged / "out"
    for folder in (part, target / "locked"):
        folder.mkdir(parents=True)
        (folder / "file").write_text(folder.name)
    (target / "locked").chmod(0o500)
    move(part, target)
    assert (target / "file").read_text() == "new"
    (unprivileged / "new.old" / "locked").chmod(0o700)


@pytest.mark.parametrize(
    ("name", "reason"), [("missing.png", "No such file or directory"), ("\0", "embedded null byte")]
)
def test_a_file_that_cannot_be_looked_at_is_named_with_the_reason(tmp_path, name, reason):
    with pytest.raises(FileError, match=rf"cannot be read \({reason}\)\. Check the path"):
        check_regular(tmp_path / name)
