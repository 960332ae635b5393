"""The napari plugin: its manifest names what exists, and layers come out filtered."""

import re
from importlib import import_module
from importlib.resources import files as package_files
from types import SimpleNamespace
from typing import get_args

import dask.array as da
import numpy as np
import pytest
import torch

import whorl
from whorl import files, models, plugin
from whorl.automatic import automatic_settings, samples_of
from whorl.files.formats import SUFFIXES


def layer(data, rgb=False, scale=(2.0, 2.0)):
    return SimpleNamespace(data=data, rgb=rgb, name="cells", scale=scale, translate=(0.0, 0.0))


def test_manifest_names_what_exists():
    manifest = (package_files("whorl") / "napari.yaml").read_text()
    for module, function in re.findall(r'python_name: "([\w.]+):(\w+)"', manifest):
        assert callable(getattr(import_module(module), function))
    assert set(re.findall(r'"\*(\.\w+)"', manifest)) == set(SUFFIXES)
    assert set(get_args(plugin.Name)) < set(models.names())


@pytest.mark.parametrize("lazy", [False, True])
def test_planes_and_colours(lazy):
    data = np.random.default_rng(0).integers(0, 255, (2, 3, 40, 30), np.uint8)
    given = da.from_array(data, chunks=(1, 1, 20, 20)) if lazy else data
    result, how, kind = plugin.filter_layer(layer(given), "perona-malik", contrast=9.0, time=1.0)
    assert (kind, how["scale"], isinstance(result, da.Array)) == ("image", (2.0, 2.0), lazy)
    expected = whorl.diffuse(data[1, 2], "perona-malik", contrast=9.0, time=1.0)
    assert np.array_equal(np.asarray(result)[1, 2], expected)


def test_rgb_is_filtered_together_and_alpha_is_not():
    data = np.random.default_rng(0).integers(0, 255, (40, 30, 4), np.uint8)
    result, how, _ = plugin.filter_layer(layer(data, rgb=True), contrast=9.0, time=1.0)
    expected = whorl.diffuse(data[..., :3], "weickert-brox", contrast=9.0, time=1.0, channel_axis=-1)
    assert np.array_equal(result[..., :3], expected)
    assert np.array_equal(result[..., 3], data[..., 3])
    assert how["rgb"]


def test_contrast_is_measured():
    noisy = np.random.default_rng(0).normal(1000, 50, (64, 64)).astype(np.float32)
    _, how, _ = plugin.filter_layer(layer(noisy), "perona-malik", time=1.0)
    chosen = automatic_settings("perona-malik", samples_of(torch.from_numpy(noisy).double()[None, None]), time=1.0)
    assert f"contrast {chosen.contrast:.4g}," in how["name"]


def test_reader_takes_pictures_and_nothing_else(tmp_path):
    made = np.random.default_rng(0).integers(0, 65535, (9, 8, 3)).astype(np.uint16)
    files.write(tmp_path / "a.png", files.Picture(made, files.Layout(9, 8, 3, np.dtype("u2"), "rgb")))
    (tmp_path / "b.png").write_text("text")
    assert plugin.get_reader(str(tmp_path / "b.png")) is None
    ((samples, how, kind),) = plugin.get_reader(str(tmp_path / "a.png"))(str(tmp_path / "a.png"))
    assert np.array_equal(samples, made)
    assert (how, kind) == ({"rgb": True, "scale": (1.0, 1.0)}, "image")


def test_the_scale_of_the_layer_counts():
    data = np.random.default_rng(0).integers(0, 255, (2, 40, 30), np.uint8)
    result, how, _ = plugin.filter_layer(layer(data, scale=(9.0, 0.8, 0.2)), contrast=30.0, time=2.0)
    expected = whorl.diffuse(data[1], "weickert-brox", contrast=30.0, time=2.0, spacing=(4.0, 1.0))
    assert np.array_equal(result[1], expected)
    assert how["scale"] == (9.0, 0.8, 0.2)
    assert not np.array_equal(expected, whorl.diffuse(data[1], "weickert-brox", contrast=30.0, time=2.0))


def test_one_contrast_for_all_planes():
    planes = np.random.default_rng(1).normal(1000, 50, (3, 40, 40)).astype(np.float32)
    _, how, _ = plugin.filter_layer(layer(planes), "perona-malik", time=1.0)
    parts = [torch.from_numpy(plane).double()[None, None] for plane in planes]
    assert f"contrast {automatic_settings('perona-malik', parts, time=1.0).contrast:.4g}," in how["name"]
