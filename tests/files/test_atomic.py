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
from whorl.files.atomic import beside

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
    program = "import sys, time; from pathlib import Path; from whorl.files.atomic import beside\n"
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
