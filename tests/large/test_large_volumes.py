"""Volumes in windows: the bits of the whole, and a run that goes on where it was stopped."""

import math

import numpy as np
import pytest
import torch
import zarr

import whorl
from whorl import large, models
from whorl.errors import FileError, ShapeError
from whorl.foundations import validation
from whorl.images import from_tensor, to_tensor
from whorl.large.run import run
from whorl.large.scratch import Journal

SPACE = [name for name in models.names() if name != "weickert-integration"]
CHEAP = [name for name in SPACE if "multiscale" not in name]


def volume(shape=(23, 31, 27), dtype="u2", seed=0):
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype)
    if kind.kind == "f":
        return (1000 * rng.random(shape)).astype(kind)
    return rng.integers(0, 60000, shape, kind)


def whole_volume(samples, model, time, **how):
    u = to_tensor(samples)
    with torch.no_grad():
        return from_tensor(model(u, time, **how), samples)


@pytest.mark.parametrize("engine", ["reference", "auto"])
@pytest.mark.parametrize("name", CHEAP)
def test_bits_of_the_whole(name, engine):
    samples = volume()
    model = models.build(name, contrast=3000.0, spacing=(2.0, 1.0, 1.0))
    whole = whole_volume(samples, model, 0.3, engine=engine)
    for tile in (9, 16):
        assert np.array_equal(large.map(samples, model, time=0.3, tile=tile, engine=engine), whole)


@pytest.mark.parametrize("name", ["perona-malik", "eed"])
def test_bits_of_several_passes(name):
    samples = volume((30, 28, 33), "f4")
    model = models.build(name, contrast=100.0, spacing=(1.0, 1.0, 1.0))
    steps = large.stages(model, 2.0, dimension=3)
    several = large.plan(samples.shape, steps, tile=8, scratch_cost=0.0)
    assert len(several.passes) > 1
    assert np.array_equal(large.map(samples, model, time=2.0, tile=8), whole_volume(samples, model, 2.0))


@pytest.mark.parametrize("scheme", ["fsi", "fed"])
def test_bits_of_fast_schemes(scheme):
    samples = volume((22, 24, 26), "f4")
    model = models.build("perona-malik", contrast=100.0, spacing=(1.0, 1.0, 1.0))
    whole = whole_volume(samples, model, 0.8, scheme=scheme)
    assert np.array_equal(large.map(samples, model, time=0.8, tile=12, scheme=scheme), whole)


@pytest.mark.parametrize("name", SPACE)
def test_reach_is_exact_in_space(name):
    model = models.build(name, contrast=0.5 if name == "ced" else 9.0, spacing=(1.0, 1.0, 1.0))
    if model.reach > 12:
        pytest.skip("a cube of this reach takes too long; the plane has the same test")
    reach = model.reach
    middle = reach + 1
    u = 20 * torch.rand(1, 1, *[2 * middle + 1] * 3, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    place = (..., middle, middle, middle)
    before = model.step(u, engine="reference")[place]
    for axis in (2, 3, 4):
        changes = []
        for distance in (reach, reach + 1):
            changed = u.clone()
            index = [0, 0, middle, middle, middle]
            index[axis] += distance
            changed[tuple(index)] += 5.0
            changes.append(float((model.step(changed, engine="reference")[place] - before).abs()))
        assert changes[1] == 0.0
        assert changes[0] > 0.0


def test_channels_in_space_are_filtered_together():
    samples = np.stack([volume((14, 15, 16), "f4", seed) for seed in range(3)], axis=1)  # (z, c, y, x)
    whole = whorl.diffuse(samples, "weickert-brox", contrast=300.0, time=0.5, channel_axis=1)
    assert np.array_equal(large.map(samples, "weickert-brox", contrast=300.0, time=0.5, channel_axis=1, tile=7), whole)


def test_without_settings_volume_and_windows_choose_alike():
    samples = volume((20, 22, 24))
    assert np.array_equal(large.map(samples, "eed", tile=10), whorl.diffuse(samples, "eed"))


def test_what_may_be_colour_is_refused():
    with pytest.raises(ShapeError, match="may be colour or a thin volume"):
        large.map(volume((20, 20, 3)), "eed", contrast=9.0, time=1.0)
    thin = large.map(volume((3, 20, 20)), "eed", contrast=900.0, time=0.2, spacing=(1.0, 1.0, 1.0), tile=8)
    assert thin.shape == (3, 20, 20)


@pytest.mark.parametrize("memory", [2**22, 2**25])
@pytest.mark.parametrize("shape", [(512, 2048, 2048), (40, 3000, 3000), (3000, 50, 20)])
def test_windows_of_volumes_fill_their_memory_and_no_more(shape, memory):
    steps = large.stages(models.build("perona-malik", contrast=9.0), 1.0, dimension=3)
    chosen = large.plan(shape, steps, bytes_per_pixel=16.0, memory=memory)
    grown = [min(side + 2 * chosen.halo, size) for side, size in zip(chosen.sides, shape, strict=True)]
    assert math.prod(grown) * 16 <= memory
    assert math.prod(grown) * 16 > memory / 3 or chosen.count == 1


def test_dask_volumes(tmp_path):
    da = pytest.importorskip("dask.array")
    samples = volume()
    model = models.build("eed", contrast=3000.0, spacing=(1.0, 1.0, 1.0))
    lazy = large.map(da.from_array(samples, chunks=(10, 16, 27)), model, time=0.3)
    assert np.array_equal(lazy.compute(scheduler="synchronous"), whole_volume(samples, model, 0.3))


@pytest.mark.slow
def test_two_worker_processes_from_zarr_to_zarr(tmp_path, monkeypatch):
    distributed = pytest.importorskip("distributed")
    da = pytest.importorskip("dask.array")
    monkeypatch.setenv("PYTHONPATH", str(whorl.__path__[0] + "/.."))
    samples = volume((40, 48, 56))
    zarr.create_array(tmp_path / "in.zarr", data=samples, chunks=(16, 16, 16))
    model = models.build("eed", contrast=3000.0, spacing=(2.0, 1.0, 1.0))
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        large.map(da.from_zarr(str(tmp_path / "in.zarr")), model, time=0.3).to_zarr(str(tmp_path / "out.zarr"))
    result = zarr.open(tmp_path / "out.zarr", mode="r")[...]
    assert np.array_equal(result, whole_volume(samples, model, 0.3))


class Stopped(Exception):
    """Stands for the end of the process at a moment of our choice."""


@pytest.mark.parametrize("stop", [1, 3, 9, 17, 30])
def test_a_run_goes_on_where_it_was_stopped(tmp_path, stop):
    samples = volume((20, 21, 22), "f4")[None]
    model = models.build("eed", contrast=100.0, spacing=(1.0, 1.0, 1.0))
    chosen = large.plan(samples.shape[1:], large.stages(model, 1.6, dimension=3), tile=11, scratch_cost=0.0)
    total = chosen.count * len(chosen.passes)
    assert total == 32
    result, written = np.zeros_like(samples), []

    def read(window):
        return samples[(slice(None), *window.slices)]

    def write(window, block):
        written.append(window)
        result[(slice(None), *window.slices)] = block

    def stopping(share):
        computed.append(share)
        if len(computed) == stop:
            raise Stopped

    computed = []
    journal = Journal(tmp_path / "work", "this test")
    with pytest.raises(Stopped):
        run(chosen, read, write, advance=stopping, journal=journal)
    journal.leave()
    again = Journal(tmp_path / "work", "this test")
    assert again.resumed == (stop > 1)
    done = []
    run(chosen, read, write, advance=done.append, journal=again)
    again.remove()
    assert len(written) == chosen.count  # none twice
    assert sum(done) == pytest.approx(1.0)
    assert np.array_equal(result[0], whole_volume(samples[0], model, 1.6))
    assert not (tmp_path / "work").exists()


def test_a_journal_of_something_else_is_emptied_and_one_in_use_is_refused(tmp_path):
    journal = Journal(tmp_path / "work", "contrast 3")
    journal.mark((1, 0))
    with pytest.raises(FileError, match="another run"):
        Journal(tmp_path / "work", "contrast 3")
    journal.leave()
    again = Journal(tmp_path / "work", "contrast 3")
    assert (1, 0) in again
    again.leave()
    other = Journal(tmp_path / "work", "contrast 4")
    assert not other.resumed
    other.remove()


def test_a_line_cut_short_does_not_count(tmp_path):
    journal = Journal(tmp_path / "work", "this test")
    journal.mark((1, 0))
    journal.leave()
    with (tmp_path / "work" / "done").open("a") as file:
        file.write("1 1")
    again = Journal(tmp_path / "work", "this test")
    assert (1, 0) in again
    assert (1, 1) not in again
    again.mark((1, 7))
    again.leave()
    last = Journal(tmp_path / "work", "this test")
    assert (1, 7) in last
    assert (1, 1) not in last
    last.remove()


def test_dimensions_known_to_validation():
    assert set(validation.DIMENSIONS) == {2, 3}
