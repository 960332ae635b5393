"""Trained networks scale pictures to the noise they know, and take arrays as people have them."""

from contextlib import nullcontext

import numpy as np
import pytest
import torch

import whorl
from whorl.errors import ShapeError
from whorl.export import network_chain
from whorl.networks import NetworkSpec, TrainedNetwork, available, build_network, photo_networks
from whorl.networks.denoiser import trained_for

NAMES = ("anisotropic-0.41", "whorl-28", "photo-grey", "photo-colour")


def picture(colour: bool, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """A disc on a ramp, clean and noisy, as a file of 8 bits holds it."""
    y, x = np.mgrid[:64, :80].astype(float)
    clean = 60 + x + 80 * ((y - 30) ** 2 + (x - 40) ** 2 < 300)
    clean = np.stack([clean, 255 - clean, clean / 2], -1) if colour else clean
    noisy = clean + noise * np.random.default_rng(1).normal(size=clean.shape)
    return clean, np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def error(found: np.ndarray, clean: np.ndarray) -> float:
    return float(np.sqrt(np.mean((found.astype(float) - clean) ** 2)))


@pytest.mark.parametrize("name", [*available(), *photo_networks()])
def test_every_network_says_which_noise_it_was_trained_for(name):
    low, high = whorl.load(name).noise_range
    assert 0 < low <= high
    assert (low, high) == (60.0, 60.0) or name in photo_networks()


@pytest.mark.parametrize("noise", [8.0, 25.0])
@pytest.mark.parametrize("name", NAMES)
def test_a_network_called_with_an_array_removes_the_noise_of_that_array(name, noise):
    clean, noisy = picture(name == "photo-colour", noise)
    network, axis = whorl.load(name), -1 if name == "photo-colour" else None
    found = network(noisy, channel_axis=axis)
    assert (found.dtype, found.shape) == (noisy.dtype, noisy.shape)
    assert error(found, clean) < 0.7 * error(noisy, clean)
    np.testing.assert_array_equal(found, whorl.denoise(noisy, network=name, channel_axis=axis))
    np.testing.assert_array_equal(found, whorl.diffuse(noisy, network, channel_axis=axis))
    tensor = network.denoise(torch.from_numpy(noisy), channel_axis=axis)  # with 8 bits, like the array
    assert tensor.dtype == torch.uint8
    np.testing.assert_array_equal(found, tensor)
    np.testing.assert_array_equal(
        network(noisy, noise, channel_axis=axis), network.denoise(noisy, noise, channel_axis=axis)
    )


@pytest.mark.parametrize("name", NAMES)
def test_units_do_not_matter(name):
    """Sixteen bits and floats from 0 to 1 give what eight bits give, up to how the range is found and to rounding."""
    _, noisy = picture(name == "photo-colour", 20.0)
    axis, network = -1 if name == "photo-colour" else None, whorl.load(name)
    plain = network(noisy.astype(np.float64), channel_axis=axis)
    deep = network(noisy.astype(np.uint16) * 257, channel_axis=axis) / 257
    assert np.abs(deep - plain).max() < 0.05
    assert np.abs(255 * network(noisy / 255, channel_axis=axis) - plain).max() < 0.05


def test_a_tensor_meets_the_network_as_it_was_trained_unless_a_level_is_given():
    network = whorl.load("isotropic-0.41")
    u = 100 * torch.rand(1, 1, 20, 24, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    factor = 60 / 15
    scaled = network(factor * u) / factor
    assert torch.allclose(network(u, 15.0), scaled, rtol=1e-12)
    assert not torch.allclose(network(u), scaled, rtol=1e-3)


def test_files_of_networks_carry_the_noise():
    assert network_chain(whorl.load("isotropic-0.5")).about["noise"] == "60"
    assert "noise" not in network_chain(build_network(NetworkSpec())).about


def test_what_a_network_cannot_do_is_said_with_the_remedy():
    _, grey = picture(False, 20.0)
    network = whorl.load("anisotropic-0.41")
    with pytest.raises(ShapeError, match="name the channel_axis"):
        network(np.zeros((8, 8, 3)))
    with pytest.raises(ShapeError, match="leave channel_axis out"):
        network(torch.zeros(1, 1, 8, 8), channel_axis=-1)
    with pytest.raises(ValueError, match="own steps. Leave contrast, time out"):
        whorl.diffuse(grey, network, contrast=3.0, time=2.0)
    with pytest.raises(ValueError, match=r"is a trained network. Call whorl.denoise"):
        whorl.diffuse(grey, "photo-grey")
    with pytest.raises(ValueError, match="got int"):
        whorl.diffuse(grey, 3)
    with pytest.raises(ValueError, match="Set its trained_noise"):
        build_network(NetworkSpec())(grey)
    with pytest.raises(ShapeError, match="takes pictures with 3 channels, got 1. Use one for grey"):
        whorl.load("photo-colour")(grey)
    with pytest.raises(ValueError, match="There is no network 'foo'"):
        whorl.denoise(grey, network="foo")
    with pytest.raises(ValueError, match=r"whorl.diffuse measures it"):
        whorl.models.build("gerig", contrast="auto")


def test_a_flat_picture_is_copied_and_the_network_left_as_it_is():
    network = whorl.load("anisotropic-0.41")
    assert isinstance(network, TrainedNetwork)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    flat = np.full((20, 20), 7, np.uint8)
    np.testing.assert_array_equal(network(flat), flat)
    assert all(torch.equal(value, before[name]) for name, value in network.state_dict().items())


@pytest.mark.parametrize("name", photo_networks())
def test_a_tensor_with_noise_that_a_network_was_not_trained_for_is_refused(name):
    network = whorl.load(name)
    low, high = network.noise_range
    u = 255 * torch.rand(2, network.channels, 12, 12, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected, maps = network(u, low), torch.tensor([low, 0.5 * low]).view(2, 1, 1, 1)
        for wrong in (25 / 255, 0.9 * low, 1.1 * high, torch.tensor(25 / 255), maps):
            with pytest.raises(ValueError, match=r"trained for noise .* in grey values from 0 to 255.*whorl\.denoise"):
                network(u, wrong)
        # What rounding leaves of a level that was scaled to the end of the range is taken as that end.
        assert torch.equal(network(u, low * (1 - 1e-7)), expected)
    whole = network.remove(u / 255, 25 / 255)
    assert float((255 * whole - network.remove(u, 25.0)).abs().max()) < 0.05


@pytest.mark.parametrize("name", NAMES)
def test_noise_told_in_other_units_than_those_of_the_picture_is_doubted(name, recwarn):
    colour = name == "photo-colour"
    axis, network = -1 if colour else None, whorl.load(name)
    clean, _ = picture(colour, 0.0)
    noisy = clean + np.random.default_rng(2).normal(0, 25, clean.shape)
    network(noisy, 25.0, channel_axis=axis)
    network(noisy, 70.0, channel_axis=axis)  # within a factor of four anything may be meant
    assert len(recwarn) == 0
    for image, noise in ((noisy / 255, 25.0), (noisy, 25 / 255)):
        with pytest.warns(UserWarning, match=r"noise=(25|0\.098\d*)\): the noise measured .* is [\d.]+\. Give") as told:
            whorl.denoise(image, noise, network=network, channel_axis=axis)
        assert told[0].filename == __file__  # it names the line of the caller


@pytest.mark.parametrize("noise", [None, 15.0])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_refused_with_noise_told_or_not(name, noise, bad):
    colour = name == "photo-colour"
    image = picture(colour, 15.0)[1].astype(float)
    image[3, 4] = bad
    with pytest.raises(ValueError, match=r"denoise: the image holds \d NaN or infinite value"):
        whorl.denoise(image, noise, network=name, channel_axis=-1 if colour else None)


def test_nothing_looks_at_a_level_while_a_graph_is_recorded(monkeypatch):
    """A level on a CUDA device has no value then: to ask for it would end the recording."""

    class Elsewhere(torch.Tensor):
        is_cuda = True

    level, network = torch.tensor(1000.0).as_subclass(Elsewhere), whorl.load("photo-grey")
    for recording in (True, False):
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda told=recording: told)
        with nullcontext() if recording else pytest.raises(ValueError, match="trained for noise"):
            trained_for(network, level)
