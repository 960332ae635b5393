"""Layers come out filtered as arrays do: planes, colours, pixel size, lazy data; and a computation can be stopped."""

import re
import tomllib
from importlib.resources import files as package_files
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import dask.array as da
import numpy as np
import pytest
import torch

import whorl
from whorl import plugin
from whorl.automatic import automatic_settings, samples_of


def layer(data, rgb=False, scale=(2.0, 2.0), translate=(7.0, -3.0)):
    return SimpleNamespace(data=data, rgb=rgb, name="cells", scale=scale, translate=translate)


def test_manifest_names_what_exists():
    manifest = (package_files("whorl") / "napari.yaml").read_text()
    named = re.findall(r'python_name: "whorl\.plugin\.widgets:(\w+)"', manifest)
    source = (Path(plugin.__file__).parent / "widgets.py").read_text()
    assert len(named) == 3
    assert all(f"class {name}(" in source for name in named)
    assert set(re.findall(r"command: ([\w.-]+)", manifest)) == set(re.findall(r"id: ([\w.-]+)", manifest))
    # napari finds a plugin by the name of its distribution, and commands by that of their plugin.
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert f"name: {project['name']}\n" in manifest
    assert manifest.count(f"id: {project['name']}.") == manifest.count("id: ")
    assert "readers" not in manifest  # napari reads pictures itself


@pytest.mark.parametrize("lazy", [False, True])
def test_planes_and_colours(lazy):
    data = np.random.default_rng(0).integers(0, 255, (2, 3, 40, 30), np.uint8)
    given = da.from_array(data, chunks=(1, 1, 20, 20)) if lazy else data
    job = plugin.Job()
    result, how, kind = plugin.filter_layer(layer(given), "perona-malik", contrast=9.0, time=1.0, job=job)
    assert (kind, how["scale"], isinstance(result, da.Array)) == ("image", (2.0, 2.0), lazy)
    assert job.share == pytest.approx(1)
    expected = whorl.diffuse(data[1, 2], "perona-malik", contrast=9.0, time=1.0)
    assert np.array_equal(np.asarray(result)[1, 2], expected)


def test_lazy_layers_are_read_window_by_window():
    seen = []

    def block(block_info=None):
        seen.append(block_info[None]["chunk-location"])
        return np.ones((512, 512), np.uint16)

    data = da.map_blocks(block, chunks=((512,) * 6, (512,) * 6), dtype=np.uint16)
    seen.clear()
    result, _, _ = plugin.filter_layer(layer(data), "perona-malik", contrast=9.0, time=0.4)
    assert not seen  # nothing is computed before somebody looks
    part = result[600:700, 600:700].compute()
    assert part.shape == (100, 100)
    assert len(set(seen)) <= 9  # the chunk and its neighbours, of thirty-six


def test_rgb_is_filtered_together_and_alpha_is_not():
    data = np.random.default_rng(0).integers(0, 255, (40, 30, 4), np.uint8)
    result, how, _ = plugin.filter_layer(layer(data, rgb=True), contrast=9.0, time=1.0)
    expected = whorl.diffuse(data[..., :3], "weickert-brox", contrast=9.0, time=1.0, channel_axis=-1)
    assert np.array_equal(result[..., :3], expected)
    assert np.array_equal(result[..., 3], data[..., 3])
    assert how["rgb"]


def test_contrast_follows_from_the_noise():
    noisy = np.random.default_rng(0).normal(1000, 50, (64, 64)).astype(np.float32)
    _, how, _ = plugin.filter_layer(layer(noisy), "perona-malik", time=1.0)
    chosen = automatic_settings("perona-malik", samples_of(torch.from_numpy(noisy)[None, None]), time=1.0)
    assert f"contrast {chosen.contrast:.4g}," in how["name"]


def test_results_lie_where_the_layer_lies():
    data = np.random.default_rng(0).normal(100, 20, (3, 30, 20)).astype(np.float32)
    where = dict(scale=(3.0, 2.0, 0.5), translate=(40.0, 7.5, -3.0))
    for made in (
        plugin.filter_layer(layer(data, **where), contrast=9.0, time=0.2),
        plugin.denoise_layer(layer(np.full_like(data, 4), **where)),
    ):
        assert {name: made[1][name] for name in where} == where


def test_pixels_have_the_layers_size():
    data = np.random.default_rng(0).normal(100, 20, (30, 20))
    result, _, _ = plugin.filter_layer(layer(data, scale=(0.4, 0.1)), "gerig", contrast=9.0, time=1.0)
    expected = whorl.diffuse(data, "gerig", contrast=9.0, time=1.0, spacing=(4.0, 1.0))
    assert np.allclose(result, expected)
    square, _, _ = plugin.filter_layer(layer(data, scale=(0.1, 0.1)), "gerig", contrast=9.0, time=1.0)
    assert not np.allclose(result, square)


def test_sigma_reaches_the_models_that_have_one():
    data = np.random.default_rng(0).normal(100, 20, (30, 20))
    result, _, _ = plugin.filter_layer(layer(data), "eed", contrast=9.0, time=1.0, sigma=2.0)
    assert np.array_equal(result, whorl.diffuse(data, "eed", contrast=9.0, time=1.0, sigma=2.0))
    plain, _, _ = plugin.filter_layer(layer(data), "gerig", contrast=9.0, time=1.0, sigma=2.0)
    assert np.array_equal(plain, whorl.diffuse(data, "gerig", contrast=9.0, time=1.0))


def test_denoising_scales_to_the_level_the_network_knows():
    data = np.random.default_rng(0).normal(100, 25, (40, 30)).astype(np.float32)
    result, how, _ = plugin.denoise_layer(layer(data), "isotropic-0.41", noise=25.0)
    with torch.no_grad():
        u = torch.from_numpy(data)[None, None] * 2.4
        expected = whorl.load("isotropic-0.41")(u)[0, 0].numpy() / 2.4
    assert np.allclose(result, expected, atol=1e-3)
    assert "noise 25" in how["name"]
    estimated, how, _ = plugin.denoise_layer(layer(data), "isotropic-0.41")
    assert estimated.std() < 0.5 * data.std()
    clean, how, _ = plugin.denoise_layer(layer(data), noise=25.0)
    assert np.allclose(clean, whorl.denoise(data, 25.0), atol=1e-3)
    assert "photo-grey" in how["name"]
    _, how, _ = plugin.denoise_layer(layer(data))
    assert how["name"].endswith("(denoised by photo-grey)")
    assert "variance" in how["metadata"]["noise"]
    flat = np.full((20, 20), 7, np.uint8)
    copied, how, _ = plugin.denoise_layer(layer(flat))
    assert np.array_equal(copied, flat)
    assert "copied" in how["name"]


def test_a_job_can_be_cancelled():
    job = plugin.Job()
    job.cancelled = True
    data = np.random.default_rng(0).normal(100, 20, (3, 60, 50))
    with pytest.raises(plugin.Cancelled):
        plugin.filter_layer(layer(data), "perona-malik", contrast=9.0, time=1.0, job=job)


@pytest.mark.parametrize(
    ("dtype", "largest"),
    [(np.uint8, 255), (np.uint16, 65535), (np.int16, 65535), (np.float32, 12.0), (np.bool_, 1)],
)
def test_the_contrast_offered_fits_the_type(dtype, largest):
    assert plugin.contrast_range(dtype, (-2.0, 10.0)) == largest


def test_the_scale_of_a_stack_counts():
    data = np.random.default_rng(0).integers(0, 255, (2, 40, 30), np.uint8)
    result, how, _ = plugin.filter_layer(layer(data, scale=(9.0, 0.8, 0.2)), contrast=30.0, time=2.0)
    expected = whorl.diffuse(data[1], "weickert-brox", contrast=30.0, time=2.0, spacing=(4.0, 1.0))
    assert np.array_equal(result[1], expected)
    assert how["scale"] == (9.0, 0.8, 0.2)


def test_one_contrast_for_all_planes():
    planes = np.random.default_rng(1).normal(1000, 50, (3, 40, 40)).astype(np.float32)
    _, how, _ = plugin.filter_layer(layer(planes), "perona-malik", time=1.0)
    parts = [torch.from_numpy(plane)[None, None] for plane in planes]
    assert f"contrast {automatic_settings('perona-malik', parts, time=1.0).contrast:.4g}," in how["name"]


@pytest.mark.parametrize("rgb", [False, True])
def test_a_volume_is_filtered_as_one(rgb):
    data = np.random.default_rng(0).integers(0, 255, (2, 7, 9, 8) + (4,) * rgb, np.uint8)
    given, job = layer(data, rgb=rgb, scale=(1.0, 0.6, 0.2, 0.2)), plugin.Job()
    result, how, _ = plugin.filter_layer(given, "gerig", contrast=30.0, time=1.0, job=job, volume=True)
    colours = data[1, ..., :3] if rgb else data[1]
    axis = {"channel_axis": -1} if rgb else {}
    expected = whorl.diffuse(colours, "gerig", contrast=30.0, time=1.0, spacing=(3.0, 1.0, 1.0), **axis)
    assert np.array_equal(result[1, ..., :3] if rgb else result[1], expected)
    assert not rgb or np.array_equal(result[..., 3], data[..., 3])
    assert job.share == pytest.approx(1)
    assert "in space" in how["name"]


def test_axes_without_a_scale_have_that_of_pixels():
    data = np.random.default_rng(0).integers(0, 255, (5, 6, 7), np.uint8)
    result, _, _ = plugin.filter_layer(layer(data, scale=(1.0, 1.0)), "gerig", contrast=30.0, time=1.0, volume=True)
    expected = whorl.diffuse(data, "gerig", contrast=30.0, time=1.0, spacing=(1.0, 1.0, 1.0))
    assert np.array_equal(result, expected)


def test_the_contrast_of_a_volume_follows_from_its_noise():
    noisy = np.random.default_rng(0).normal(1000, 50, (24, 24, 24)).astype(np.float32)
    _, how, _ = plugin.filter_layer(layer(noisy, scale=(1, 1, 1)), "perona-malik", time=1.0, volume=True)
    samples = samples_of(torch.from_numpy(noisy)[None, None])
    chosen = automatic_settings("perona-malik", samples, time=1.0, spacing=(1.0, 1.0, 1.0))
    assert f"contrast {chosen.contrast:.4g}," in how["name"]


@pytest.mark.parametrize("volume", [False, True])
def test_a_preview_shows_the_plane_of_the_result(volume):
    data = np.random.default_rng(0).normal(100, 20, (2, 12, 9, 8)).astype(np.float32)
    given = layer(data, scale=(1.0, 2.0, 1.0, 1.0))
    whole, _, _ = plugin.filter_layer(given, "eed", contrast=9.0, time=0.8, volume=volume)
    for place in ((0, 0), (1, 5), (1, 11)):
        plane = plugin.preview_plane(given, place, "eed", contrast=9.0, time=0.8, volume=volume)
        assert np.array_equal(plane, whole[place])


def test_a_preview_looks_as_far_as_the_last_step_that_is_not_whole():
    step = whorl.models.build("gerig", contrast=9.0).automatic_step(3)
    data = np.random.default_rng(0).normal(100, 20, (9, 6, 5)).astype(np.float32)
    given = layer(data, scale=(1.0, 1.0, 1.0))
    whole, _, _ = plugin.filter_layer(given, "gerig", contrast=9.0, time=1.2 * step, volume=True)
    plane = plugin.preview_plane(given, (4,), "gerig", contrast=9.0, time=1.2 * step, volume=True)
    assert np.array_equal(plane, whole[4])


def test_the_contrast_of_colours_follows_from_all_of_them():
    noisy = np.random.default_rng(0).normal(1000, (20, 50, 90), (48, 40, 3)).astype(np.float32)
    _, how, _ = plugin.filter_layer(layer(noisy, rgb=True), "perona-malik", time=1.0)
    samples = samples_of(torch.from_numpy(noisy).movedim(-1, 0)[None].contiguous())
    chosen = automatic_settings("perona-malik", samples, time=1.0)
    assert f"contrast {chosen.contrast:.4g}," in how["name"]


def test_a_preview_can_be_given_up():
    job = plugin.Job()
    job.cancelled = True
    with pytest.raises(plugin.Cancelled):
        plugin.preview_plane(layer(np.zeros((5, 9, 8))), (2,), contrast=9.0, time=1.0, job=job, volume=True)


def test_too_few_axes_for_a_volume_are_refused():
    with pytest.raises(ValueError, match="too few for a volume"):
        plugin.filter_layer(layer(np.zeros((9, 8))), contrast=9.0, volume=True)


def test_time_follows_from_the_noise_and_a_faint_noise_is_not_made_worse():
    clean = 100 + 60 * np.sin(np.arange(64) / 5.0) * np.cos(np.arange(64)[:, None] / 7.0)
    noisy = clean + np.random.default_rng(0).normal(0, 5, clean.shape)
    result, how, _ = plugin.filter_layer(layer(noisy, scale=(1.0, 1.0)))
    assert np.square(result - clean).mean() < 0.5 * np.square(noisy - clean).mean()
    np.testing.assert_allclose(result, whorl.diffuse(noisy), rtol=1e-6)
    assert "time 5" not in how["name"]


def test_a_layer_keeps_how_and_where_it_is_shown():
    shown = layer(np.random.default_rng(0).normal(size=(24, 25)))
    vars(shown).update({"rotate": 30.0, "shear": [0.1], "affine": np.eye(3), "units": ("um", "um"), "gamma": 0.7})
    vars(shown).update({"colormap": "magma", "metadata": {"dye": "DAPI"}, "contrast_limits": (0.0, 2.0)})
    kept = ("rotate", "shear", "affine", "units", "gamma", "colormap", "metadata", "contrast_limits")
    for _, how, _ in (plugin.filter_layer(shown, contrast=1.0, time=1.0), plugin.denoise_layer(shown, noise=1.0)):
        assert all(how[name] is getattr(shown, name) for name in kept)
    shown.rgb, shown.data = True, np.zeros((24, 25, 3), np.uint8)
    assert "colormap" not in plugin.filter_layer(shown, contrast=1.0, time=1.0)[1]


def test_layers_of_several_resolutions_are_filtered_at_the_finest():
    fine = np.random.default_rng(0).normal(100, 9, (40, 50)).astype(np.float32)
    several = layer([fine, fine[::2, ::2], fine[::4, ::4]])
    several.multiscale = True
    result, how, _ = plugin.filter_layer(several, "perona-malik", contrast=9.0, time=1.0)
    assert how["multiscale"]
    assert [level.shape for level in result] == [(40, 50), (20, 25), (10, 13)]
    np.testing.assert_array_equal(result[0], whorl.diffuse(fine, "perona-malik", contrast=9.0, time=1.0))
    np.testing.assert_array_equal(result[2], result[0][::4, ::4])


def test_labels_are_filled_in():
    ramp = np.tile(np.arange(0, 160, 10, dtype=np.uint8), (16, 1))
    marked = np.zeros((16, 16), int)
    marked[4:9, 4:9] = 3
    result, how, _ = plugin.fill_layer(layer(np.stack([np.where(marked, 0, ramp)] * 2)), layer(marked))
    assert np.abs(result.astype(int) - ramp).max() <= 3
    assert "filled in" in how["name"]
    with pytest.raises(ValueError, match="Make labels for this image"):
        plugin.fill_layer(layer(ramp), layer(marked[:5]))


def test_a_measurement_can_be_given_up():
    job, ends = plugin.Job(), Event()
    job.cancelled = True
    with pytest.raises(plugin.Cancelled):
        job.measured(ends.wait)
    ends.set()
    assert plugin.Job().measured(lambda: 7) == 7


def test_sample_data_are_layers():
    (picture, _, kind), (scratch, _, other) = plugin.noisy_scene()
    assert (kind, other) == ("image", "labels")
    assert picture.shape == scratch.shape
