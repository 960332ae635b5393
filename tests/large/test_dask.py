"""dask arrays come out with the bits of the whole, also from a cluster of two processes."""

from pathlib import Path

import dask.array as da
import numpy as np
import pytest

import whorl
from whorl import large, models


@pytest.fixture
def image():
    return np.random.default_rng(0).integers(0, 60000, (150, 170), np.uint16)


@pytest.mark.parametrize("name", ["perona-malik", "lysaker", "eed", "weickert-integration", "multiscale-isotropic"])
@pytest.mark.parametrize("chunks", [(150, 170), (64, 50), ((20, 130), (100, 1, 69))])
def test_bits_of_the_whole(image, name, chunks):
    model = models.build(name, contrast=3000.0)
    lazy = large.map(da.from_array(image, chunks=chunks), model, time=0.8)
    assert isinstance(lazy, da.Array)
    assert (lazy.dtype, lazy.chunks) == (image.dtype, da.from_array(image, chunks=chunks).chunks)
    assert np.array_equal(lazy.compute(scheduler="synchronous"), whorl.diffuse(image, model, time=0.8))


@pytest.mark.parametrize("axis", [0, -1])
def test_colours_are_filtered_together(axis):
    colours = np.random.default_rng(0).random((60, 70, 3), np.float32)
    image = np.moveaxis(colours, -1, axis)
    lazy = large.map(
        da.from_array(image, chunks=2 * (25,) + (25,)), "weickert-brox", contrast=0.2, time=2.0, channel_axis=axis
    )
    whole = whorl.diffuse(image, "weickert-brox", contrast=0.2, time=2.0, channel_axis=axis)
    assert np.array_equal(lazy.compute(scheduler="synchronous"), whole)


def test_two_worker_processes(image, monkeypatch):
    distributed = pytest.importorskip("distributed")
    monkeypatch.setenv("PYTHONPATH", str(Path(whorl.__file__).parents[1]))
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        assert len(client.scheduler_info()["workers"]) == 2
        for name in ("weickert-brox", "multiscale-isotropic"):
            model = models.build(name, contrast=3000.0)
            lazy = large.map(da.from_array(image, chunks=(64, 64)), model, time=0.8)
            assert np.array_equal(lazy.compute(), whorl.diffuse(image, model, time=0.8))
        assert len({str(worker) for workers in client.who_has().values() for worker in workers}) <= 2
