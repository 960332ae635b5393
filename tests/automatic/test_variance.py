"""The noise of a picture as it is: found in gain, offset and correlation, whichever way the picture is turned."""

import dataclasses
import math

import numpy as np
import pytest
import torch

import whorl
from whorl.automatic import NoiseModel
from whorl.automatic.variance import _strength, noise_model
from whorl.evaluation.noise_chart import spectrum
from whorl.invariance.symmetries import CUBE_SYMMETRIES, SYMMETRIES


def scene(*shape: int) -> torch.Tensor:
    """Discs of several grey values on a ramp."""
    axes = torch.meshgrid(*[torch.linspace(0, 1, size, dtype=torch.float64) for size in shape], indexing="ij")
    radius = sum((axis - 0.4).square() for axis in axes).sqrt()
    return (30 + 100 * axes[-1] + 60 * torch.sigmoid((0.25 - radius) * 60))[None, None]


@pytest.mark.parametrize("truth", [(2.0, 30.0, 0.0), (0.0, 100.0, 0.0), (0.5, 60.0, 0.7), (-0.3, 90.0, 0.0)], ids=str)
@pytest.mark.parametrize("shape", [(320, 300), (60, 64, 70)], ids=str)
def test_variance_and_correlation_are_found(truth, shape):
    gain, offset, width = truth
    noisy = NoiseModel((gain,), (offset,), (width,), -400.0, 700.0).simulate(scene(*shape), seed=3)
    model = noise_model([noisy])
    values = torch.linspace(40, 180, 5).double()
    found, true = model.standard_deviation_at(values), (gain * values + offset).sqrt()
    # Ten windows in the middle of a bin tell the deviation to some 5 %; of correlated noise the ring misses a part.
    assert float((found / true - 1).abs().max()) < (0.12 if width == 0 else 0.2)
    assert model.correlation[0] == pytest.approx(width, abs=0.05)
    assert model.uncertainty < 0.1


@pytest.mark.parametrize("shape", [(97, 83), (25, 29, 27)], ids=str)
def test_turned_pictures_have_the_same_model(shape):
    noisy = NoiseModel((1.0,), (20.0,), (0.6,), 0.0, 200.0).simulate(scene(*shape), seed=1)
    model = noise_model([noisy])
    for move in (SYMMETRIES if len(shape) == 2 else CUBE_SYMMETRIES).values():
        turned = noise_model([move(noisy)])
        for name, value in dataclasses.asdict(turned).items():
            assert value == pytest.approx(getattr(model, name), rel=1e-8, abs=1e-8)


def test_channels_have_their_own_noise_and_pages_one_together():
    clean = torch.cat([scene(128, 140), scene(128, 140)], 1)
    noisy = NoiseModel((0.0, 2.0), (9.0, 0.0), (0.0, 0.0), -400.0, 700.0).simulate(clean, seed=5)[0].numpy()
    model = whorl.noise(noisy, channel_axis=0)
    assert model.offset[0] == pytest.approx(9, rel=0.25)
    assert model.gain == pytest.approx((0, 2), abs=0.3)
    film = whorl.noise(noisy[[1, 1]], page_axis=0)
    assert film.gain == pytest.approx(model.gain[1:], rel=1e-2)


def test_what_tells_nothing_says_so():
    for image in (np.full((40, 40), 7.0), np.arange(4.0).reshape(2, 2), np.random.default_rng(0).normal(size=(8, 8))):
        assert "too small or too busy a picture to tell" in str(whorl.noise(image))
    with pytest.raises(ValueError, match="NaN"):
        whorl.noise(np.full((9, 9), math.nan))


@pytest.mark.parametrize("width", [0.4, 0.7, 1.0])
def test_the_width_of_a_gaussian_follows_from_the_two_filters(width):
    """The strength to the ring over that to the narrow filter, written out pixel by pixel."""
    model = NoiseModel((0.0,), (1.0,), (width,), -400.0, 700.0)
    u = model.simulate(torch.zeros(1, 1, 600, 600).double(), seed=2)[0, 0]
    second = (u[:, 2:] - 2 * u[:, 1:-1] + u[:, :-2]) / 6**0.5
    narrow = ((second[2:] - 2 * second[1:-1] + second[:-2]) / 6**0.5).square().mean()
    windows = u.unfold(0, 7, 1).unfold(1, 7, 1)
    ring = (windows.sum((2, 3)) - windows[..., 2:5, 2:5].sum((2, 3))) / 40
    seen = (windows[..., 3, 3] - ring).square().mean() / (1 + 1 / 40)
    assert _strength(width, 2) == pytest.approx(float((seen / narrow).sqrt()), rel=0.03)


def test_the_spectrum_of_white_noise_is_flat_and_that_of_smoothed_noise_falls():
    for width, falls in ((0.0, False), (0.8, True)):
        model = NoiseModel((1.0,), (20.0,), (width,), -400.0, 700.0)
        _, power = spectrum([model.simulate(scene(256, 256), seed=0)], model)
        assert bool(power[-1] < 0.2 * power[1]) == falls
        assert falls or float((power[2:] - 1).abs().max()) < 0.3


def test_correlation_between_channels_is_found():
    between = ((1.0, 0.7, 0.0), (0.7, 1.0, 0.3), (0.0, 0.3, 1.0))
    clean = torch.cat([scene(220, 200), 0.5 * scene(220, 200), 200 - 0.8 * scene(220, 200)], 1)
    model = NoiseModel((0.5, 0.0, 0.2), (10.0, 50.0, 5.0), (0.0,) * 3, -400.0, 700.0, between=between)
    found = noise_model([model.simulate(clean, seed=6)])
    # Two levels of some 3 % each.
    torch.testing.assert_close(torch.tensor(found.between), torch.tensor(between), rtol=0, atol=0.08)


def test_channels_that_are_equal_have_a_model_that_is_possible():
    noisy = NoiseModel.constant(9.0).simulate(scene(100, 100), seed=7).expand(1, 3, 100, 100)
    found = noise_model([noisy])
    assert 0.95 < found.between[0][1] < 1
    assert bool(found.simulate(noisy.double()).isfinite().all())
