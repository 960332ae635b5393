"""A run goes on where it was stopped only if all that decides its result is the same: volumes and pictures."""

import json
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

from whorl.large.scratch import Journal

CHANGES = {
    "nothing": (),
    "diffusivity": ("--diffusivity", "tukey"),
    "alpha": ("--alpha", "0.2"),
    "sigma": ("--sigma", "1.000000001"),
    "contrast": ("--contrast", "300.00000001"),
    "time": ("--time", "0.9000000001"),
    "scheme": ("--scheme", "fed"),
    "spacing": ("--spacing", "1.5,1,1"),
    "model": ("--model", "perona-malik"),
}


class Stopping(Journal):
    """Stands for the end of the process after eight windows."""

    def mark(self, entry):
        super().mark(entry)
        if len(self.done) == 8:
            raise KeyboardInterrupt


@pytest.fixture
def filtering(tmp_path, whorl_command, monkeypatch):
    """Filter a volume of many windows, to the end or stopped on the way; tells whether it went on, and the result."""
    data = np.random.default_rng(0).integers(0, 60000, (20, 21, 22), "u2")
    zarr.create_array(str(tmp_path / "v.zarr"), data=data, chunks=(8,) * 3, dimension_names=("z", "y", "x"))

    def run(name, *more, stopped=False):
        given = {"-m": "eed", "-c": "300", "-t": "0.9", "--tile": "11"}
        short = {"--model": "-m", "--contrast": "-c", "--time": "-t"}
        given |= {short.get(key, key): value for key, value in zip(more[::2], more[1::2], strict=True)}
        words = [word for pair in given.items() for word in pair]
        with monkeypatch.context() as patch:
            if stopped:
                patch.setattr("whorl.large.resuming.Journal", Stopping)
            answer = whorl_command("filter", "--json", *words, tmp_path / "v.zarr", tmp_path / name)
        assert bool(answer.code) == stopped == (tmp_path / f".{name}.whorl").exists()
        if not stopped:
            return json.loads(answer.out)["files"][0]["resumed"], zarr.open(tmp_path / name, mode="r")[...]

    return run


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_option_begins_anew(filtering, change):
    """A filter that went on with the windows of another one mixed the two."""
    filtering("out.zarr", stopped=True)
    resumed, result = filtering("out.zarr", *change)
    assert resumed == (not change)
    assert np.array_equal(result, filtering("fresh.zarr", *change)[1])


@pytest.mark.parametrize("put_back", [False, True], ids=["new date", "old date"])
def test_another_source_begins_anew(tmp_path, filtering, put_back):
    """A chunk of the source is written again, as long as it was, and with its old date."""
    filtering("out.zarr", stopped=True)
    first, second = sorted(path for path in (tmp_path / "v.zarr" / "c").rglob("*") if path.is_file())[:2]
    before = first.stat()
    first.write_bytes(second.read_bytes())
    if put_back:
        os.utime(first, ns=(before.st_atime_ns, before.st_mtime_ns))
    resumed, result = filtering("out.zarr")
    assert not resumed
    assert np.array_equal(result, filtering("fresh.zarr")[1])


@pytest.fixture
def picture(tmp_path, whorl_command):
    """A command for a picture in colour with alpha, in 20 windows; run to the end it tells whether it went on."""
    samples = np.random.default_rng(0).integers(0, 256, (250, 280, 4), np.uint8)
    tifffile.imwrite(tmp_path / "in.tif", samples, photometric="rgb", tile=(64, 64), extrasamples=["unassalpha"])

    def words(name, contrast="30", verb="filter"):
        own = ("-m", "gerig", "-c", contrast, "-t", "3") if verb == "filter" else ("--noise", "20")
        return [verb, "--json", *own, "--tile", "64", str(tmp_path / "in.tif"), str(tmp_path / name)]

    def run(*how, **more):
        answer = whorl_command(*words(*how, **more))
        assert answer.code == 0, answer.err
        assert not (tmp_path / f".{how[0]}.whorl").exists()
        return json.loads(answer.out)["files"][0]["resumed"], tifffile.imread(tmp_path / how[0])

    def killed(name, **more):
        command = [sys.executable, "-m", "whorl", *words(name, **more)]
        done = tmp_path / f".{name}.whorl" / "0" / "done"
        with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            while not done.exists() or done.read_text().count("\n") < 3:
                assert process.poll() is None, process.stderr.read()
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
        assert process.returncode == -signal.SIGKILL
        assert not (tmp_path / name).exists()

    return run, killed


@pytest.mark.parametrize("verb", ["filter", "denoise"])
def test_a_killed_picture_goes_on(picture, verb):
    run, killed = picture
    killed("out.tif", verb=verb)
    resumed, result = run("out.tif", verb=verb)
    assert resumed
    again, fresh = run("fresh.tif", verb=verb)
    assert not again
    assert np.array_equal(result, fresh)


def test_a_killed_picture_begins_anew_with_other_options_or_another_source(picture, tmp_path):
    run, killed = picture
    killed("out.tif")
    resumed, result = run("out.tif", "30.000001")
    assert not resumed
    assert np.array_equal(result, run("fresh.tif", "30.000001")[1])
    killed("other.tif")
    source = tmp_path / "in.tif"
    before, content = source.stat(), bytearray(source.read_bytes())
    content[-1000] ^= 255  # inside a tile
    Path(source).write_bytes(content)
    os.utime(source, ns=(before.st_atime_ns, before.st_mtime_ns))
    resumed, result = run("other.tif")
    assert not resumed
    assert np.array_equal(result, run("new.tif")[1])
