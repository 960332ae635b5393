"""Arrays, windows, files and layers take one decision: the same noise, contrast, time, model, network and result."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
import tifffile
import torch

import whorl
from whorl import large, plugin
from whorl.automatic import RULES, Filtering, noise_level, samples_of
from whorl.denoising import Denoising

DENOISING = [name for name, rule in RULES.items() if rule is not None]
PICTURE = np.random.default_rng(3).normal(0, 12, (44, 52)).astype(np.float32)
PICTURE += 100 + 60 * np.sin(np.arange(52) / 9, dtype=np.float32)


def layer(data):
    return SimpleNamespace(data=data, rgb=False, scale=(1.0,) * data.ndim, translate=(0.0,) * data.ndim, name="a")


@pytest.mark.parametrize("told", [{}, {"noise": 9.0}, {"time": 1.5}, {"contrast": 20.0}], ids=str)
@pytest.mark.parametrize("name", ["weickert-brox", "eed", "you-kaveh"])
def test_everyone_chooses_alike(tmp_path, whorl_command, name, told):
    samples = samples_of(torch.from_numpy(PICTURE)[None, None])
    policy = Filtering(name, **told)
    model, chosen = policy.chosen(lambda: samples, policy.space(2))
    expected = model(samples[0], chosen.time).numpy()[0, 0]
    assert np.array_equal(whorl.diffuse(PICTURE, name, **told), expected)
    assert np.array_equal(large.map(PICTURE, name, **told), expected)
    tifffile.imwrite(tmp_path / "a.tif", PICTURE)
    words = [word for key, value in told.items() for word in (f"--{key}", value)]
    answer = whorl_command("filter", "--json", "-m", name, *words, tmp_path / "a.tif", tmp_path / "b.tif")
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert (page["contrast"], page["time"]) == (chosen.contrast, chosen.time)
    assert page.get("noise", 0.0) == chosen.noise
    assert np.array_equal(tifffile.imread(tmp_path / "b.tif"), expected)


@pytest.mark.parametrize("name", ["weickert-brox", "you-kaveh"])
def test_files_are_measured_with_the_size_of_their_pixels(tmp_path, whorl_command, name):
    tifffile.imwrite(tmp_path / "a.tif", PICTURE, resolution=(600, 300), resolutionunit="INCH")
    answer = whorl_command("filter", "-m", name, tmp_path / "a.tif", tmp_path / "b.tif")
    assert answer.code == 0, answer.err
    expected = whorl.diffuse(PICTURE, name, spacing=(2.0, 1.0))
    assert np.array_equal(tifffile.imread(tmp_path / "b.tif"), expected)
    assert not np.array_equal(expected, whorl.diffuse(PICTURE, name))


@pytest.mark.parametrize("name", DENOISING)
def test_the_viewer_chooses_alike(name):
    policy = Filtering(name, time=0.5)
    chosen = policy.settings(lambda: samples_of(torch.from_numpy(PICTURE)[None, None]), policy.space(2))
    result, how, _ = plugin.filter_layer(layer(PICTURE), name, time=0.5)
    assert f"contrast {chosen.contrast:.4g}, time 0.5" in how["name"]
    assert np.array_equal(result, whorl.diffuse(PICTURE, name, time=0.5))


@pytest.mark.parametrize("noise", [None, 15.0])
def test_everyone_denoises_alike(tmp_path, whorl_command, noise):
    samples = samples_of(torch.from_numpy(PICTURE)[None, None])
    policy = Denoising("photo-8k", noise)
    level = policy.level(lambda: samples)
    assert level == (noise_level(samples) if noise is None else noise)
    expected = whorl.denoise(PICTURE, level, network="photo-8k")
    assert np.array_equal(whorl.denoise(PICTURE, noise, network="photo-8k"), expected)
    assert np.array_equal(large.map(PICTURE, whorl.load("photo-8k"), noise=noise), expected)
    result, how, _ = plugin.denoise_layer(layer(PICTURE), "photo-8k", noise or 0.0)
    assert f"photo-8k, noise {level:.4g}" in how["name"]
    assert np.array_equal(result, expected)
    tifffile.imwrite(tmp_path / "a.tif", PICTURE)
    words = [] if noise is None else ["--noise", noise]
    answer = whorl_command("denoise", "--json", "--network", "photo-8k", *words, tmp_path / "a.tif", tmp_path / "b.tif")
    page = json.loads(answer.out)["files"][0]["pages"][0]
    assert (page["network"], page["noise"], page["noise_measured"]) == ("photo-8k", level, noise is None)
    assert np.array_equal(tifffile.imread(tmp_path / "b.tif"), expected)


@pytest.mark.parametrize(("channels", "name"), [(1, "photo-grey"), (2, "photo-grey"), (3, "photo-colour")])
def test_the_network_follows_the_channels(channels, name):
    assert Denoising().name(channels) == name
    assert Denoising("photo-8k").name(channels) == "photo-8k"


def test_nothing_is_measured_where_all_is_told():
    def nobody():
        raise AssertionError("asked for samples")

    policy = Filtering("eed", contrast=9.0)
    assert policy.chosen(nobody, (1.0, 1.0))[1].contrast == 9.0


def test_contradictions_are_refused_when_they_are_told():
    with pytest.raises(ValueError, match="filter: noise = 3.0 has no effect beside a contrast"):
        Filtering("eed", contrast=9.0, noise=3.0, caller="filter")
    with pytest.raises(ValueError, match="Give both"):
        Filtering("ced")
    with pytest.raises(ValueError, match="built already. Give contrast, alpha to"):
        Filtering(whorl.models.build("eed"), contrast=3.0, options={"alpha": 0.3, "gamma": None})
    with pytest.raises(ValueError, match="large.map: noise = -1.0: expected a positive standard deviation"):
        Denoising(noise=-1.0, caller="large.map")


def test_a_model_of_the_caller_stays_where_it_is():
    model, network = whorl.models.build("multiscale-isotropic", contrast=5.0, scales=2), whorl.load("photo-8k")
    for each, how in ((model, {"time": 1.0}), (network, {"noise": 15.0})):
        with pytest.raises(Exception, match=r"meta|aten"):
            large.map(PICTURE, each, device="meta", **how)
        assert {value.device.type for value in each.state_dict().values()} == {"cpu"}
