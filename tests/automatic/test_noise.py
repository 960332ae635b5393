"""The estimate of the noise: right on noise, blind to shading, not fooled by black and white."""

import math

import pytest
import torch

from whorl.automatic import noise_level
from whorl.errors import ShapeError


def noise(*shape: int, level: float = 7.0, seed: int = 0) -> torch.Tensor:
    return level * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(1, 1, 256, 256), (2, 3, 130, 170), (1, 1, 50, 60, 70)], ids=str)
def test_white_noise_is_found(shape):
    # The quantile of N blocks, each with a relative spread of at most 9 %, varies by a few of 9 % / sqrt(N).
    blocks = math.prod(shape[:2]) * math.prod((size - 2) // 16 for size in shape[2:])
    assert noise_level([noise(*shape)]) == pytest.approx(7, rel=0.02 + 5 * 0.09 / math.sqrt(blocks))


def test_a_plane_has_no_noise_and_adds_none():
    y, x = torch.meshgrid(torch.arange(96.0), torch.arange(128.0), indexing="ij")
    plane = (3 * x - 2 * y)[None, None].double()
    assert noise_level([plane]) < 1e-10
    # Two values of the plane lie at its ends; nothing else is taken for cut off.
    assert noise_level([plane + noise(1, 1, 96, 128)]) == pytest.approx(noise_level([noise(1, 1, 96, 128)]), rel=0.02)


@pytest.mark.parametrize("factor", [1e-20, 1e-3, 257.0, 1e20])
def test_the_level_follows_the_units(factor):
    u = noise(1, 1, 80, 80) + 100
    assert noise_level([factor * u]) == pytest.approx(factor * noise_level([u]), rel=1e-9)


def test_a_shift_changes_nothing():
    u = noise(1, 1, 80, 80)
    assert noise_level([u + 1000]) == pytest.approx(noise_level([u]), rel=1e-9)


def test_turned_pictures_have_the_same_noise():
    u = noise(1, 1, 82, 82)
    assert noise_level([u.rot90(1, (-2, -1))]) == pytest.approx(noise_level([u]), rel=1e-9)


@pytest.mark.parametrize("level", [25.0, 50.0])
@pytest.mark.parametrize("mean", [20.0, 60.0, 235.0])
def test_noise_cut_off_at_black_and_white_is_found(level, mean):
    cut = (mean + noise(1, 1, 256, 256, level=level)).round().clamp(0, 255)
    shown = float(cut.std())
    # Means and spreads of 256 samples solve the equations of a cut normal distribution: good to a tenth, while what is
    # seen is too low by a third where black is near.
    assert noise_level([cut]) == pytest.approx(level, rel=0.1)
    assert shown < 0.75 * level or mean == 60.0 or level == 25.0


def test_texture_over_half_of_the_picture_does_not_count():
    y, x = torch.meshgrid(torch.arange(256.0), torch.arange(256.0), indexing="ij")
    stripes = (40 * torch.sin(1.3 * x + 2.1 * y) * (x < 128))[None, None].double()
    assert noise_level([stripes + noise(1, 1, 256, 256)]) == pytest.approx(7, rel=0.05)


def test_little_pictures_tell_nothing_and_do_no_harm():
    assert noise_level([torch.ones(1, 1, 2, 9)]) == 0
    assert noise_level([torch.full((1, 1, 9, 9), 3.0)]) == 0
    assert math.isfinite(noise_level([noise(1, 1, 3, 3)]))


def test_wrong_axes_are_refused():
    with pytest.raises(ShapeError, match="images"):
        noise_level([torch.zeros(8, 8)])
