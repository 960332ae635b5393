"""A volume goes on where it was stopped only if all that decides its result is the same."""

import json
import os

import numpy as np
import pytest
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
                patch.setattr("whorl.large.volumes.Journal", Stopping)
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
