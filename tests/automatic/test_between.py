"""Noise that channels have in common: found, and removed with nothing told."""

import numpy as np
import pytest
import torch

import whorl
from whorl.automatic.between import common


@pytest.fixture(scope="module")
def scene():
    y, x = np.mgrid[:128, :144] / 128
    discs = [np.hypot(x - 0.3 * k, y - 0.5) < 0.2 + 0.05 * k for k in (1, 2, 3)]
    return np.stack([90 + 70 * x, 140 - 60 * y, 60 + 40 * (x + y)], -1) + 40 * np.stack(discs, -1)


def with_noise(clean, correlation, deviation=15.0):
    random = np.random.default_rng(3)
    own, shared = random.normal(size=clean.shape), random.normal(size=(*clean.shape[:-1], 1))
    return clean + deviation * (np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own)


def error(found, clean):
    return np.sqrt(np.square(np.asarray(found, float) - clean).mean())


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8, 1.0])
def test_the_correlation_between_colours_is_found_and_turns(scene, correlation):
    u = torch.from_numpy(with_noise(scene, correlation)).movedim(-1, 0)[None]
    found = common([u])
    assert found == pytest.approx(correlation, abs=0.06)
    assert common([u.rot90(1, (2, 3)).flip(1)]) == pytest.approx(found, abs=1e-9)


@pytest.mark.parametrize("correlation", [0.0, 0.5, 0.8, 1.0])
def test_noise_in_common_is_removed_with_nothing_told(scene, correlation):
    """A network for colour pictures alone takes noise without colour for detail, and leaves 11 of 15."""
    noisy = with_noise(scene, correlation)
    assert error(whorl.denoise(noisy, channel_axis=-1), scene) < 0.25 * 15
    assert error(whorl.denoise(noisy, 15.0, channel_axis=-1), scene) < 0.25 * 15
    assert error(whorl.diffuse(noisy, channel_axis=-1), scene) < 0.4 * 15


def test_a_grey_picture_in_a_file_of_three_channels_is_a_grey_picture(scene):
    noisy = with_noise(scene, 1.0).mean(-1)
    grey, colour = whorl.denoise(noisy), whorl.denoise(np.repeat(noisy[..., None], 3, -1), channel_axis=-1)
    assert np.abs(colour - colour[..., :1]).max() < 1e-3
    assert error(colour[..., 0], grey) < 0.02 * 15
