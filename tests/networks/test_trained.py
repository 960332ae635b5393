"""Trained networks scale pictures to the noise they know, and take arrays as people have them."""

import numpy as np
import pytest
import torch

import whorl
from whorl.errors import ShapeError
from whorl.export import network_chain
from whorl.networks import NetworkSpec, TrainedNetwork, available, build_network, photo_networks

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
