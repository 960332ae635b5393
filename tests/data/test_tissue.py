"""Drawn tissue: the same every time, each for itself, without a direction, and with the spectra that are asked for."""

import math

import pytest
import torch

from whorl.data import drawn_tissue
from whorl.data.tissue import WhiteWaves
from whorl.errors import ShapeError


def test_a_volume_depends_on_its_number_split_and_seed_alone():
    u = drawn_tissue(range(3), size=12)
    assert (u.shape, u.dtype) == ((3, 1, 12, 12, 12), torch.float32)
    assert torch.equal(u, drawn_tissue(range(3), size=12))
    torch.testing.assert_close(drawn_tissue([2], size=12)[0], u[2], rtol=0, atol=1e-2)
    for other in (drawn_tissue([1], 12), drawn_tissue([0], 12, "validation"), drawn_tissue([0], 12, seed=1)):
        assert float((other[0] - u[0]).abs().mean()) > 5


def test_grey_values_stay_in_their_range_and_contrasts_differ():
    u = drawn_tissue(range(24), size=16)
    assert 0 <= float(u.min()) < 20
    assert 235 < float(u.max()) <= 255
    ranges = u.amax((1, 2, 3, 4)) - u.amin((1, 2, 3, 4))
    assert float(ranges.min()) < 150 < 250 < float(ranges.max())


def test_no_direction_is_preferred():
    u = drawn_tissue(range(48), size=16, seed=3)
    slopes = torch.stack([u.diff(dim=axis).abs().mean((1, 2, 3, 4)) for axis in (2, 3, 4)])
    spread = slopes.std(1) / len(slopes.T) ** 0.5
    assert float((slopes.mean(1) - slopes.mean()).abs().max()) < 3 * float(spread.max())


@pytest.fixture
def waves():
    return WhiteWaves(torch.randn(4, 6, 32, 32, 32, generator=torch.Generator().manual_seed(0)))


def test_the_spectrum_of_a_field_falls_like_the_power_that_is_asked_for(waves):
    mix = torch.zeros(4, 9)
    mix[:, 0] = mix[:, 6] = 1
    power = torch.fft.rfftn(waves.field(mix, 0.0, 1.5), dim=(1, 2, 3)).abs().square().mean(0)
    means = [float(power[(waves.square > low**2) & (waves.square < (1.3 * low) ** 2)].mean()) for low in (0.8, 1.6)]
    assert math.log2(means[0] / means[1]) == pytest.approx(3.0, abs=0.3)  # twice the slope, for a doubled frequency


def test_a_field_is_drawn_out_along_its_direction(waves):
    mix = torch.zeros(4, 9)
    mix[:, 0] = mix[:, 6] = 1  # along z
    u = waves.field(mix, 2.0, 0.0, 3.0)
    along, across = (float(u.diff(dim=axis).square().mean()) for axis in (1, 3))
    assert across / along == pytest.approx(9.0, rel=0.3)


def test_a_wedge_takes_the_waves_beyond_a_tangent_and_no_others(waves):
    u = torch.randn(2, 32, 32, 32, generator=torch.Generator().manual_seed(1)) + 5
    none = [torch.zeros(2, 1, 1, 1)] * 3
    told = torch.tensor([True, False]).view(2, 1, 1, 1), torch.ones(2, 1, 1, 1, dtype=torch.long)
    imaged = waves.imaged(u, none, *told, torch.full((2, 1, 1, 1), 2.0))
    torch.testing.assert_close(imaged[1], u[1], rtol=0, atol=1e-4)
    left = torch.fft.rfftn(imaged[0]).abs()
    missing = (waves.k[0].abs() > 2 * waves.k[2].abs()).expand_as(left)
    assert float(left[missing].max()) < 1e-2
    torch.testing.assert_close(left[~missing], torch.fft.rfftn(u[0]).abs()[~missing], rtol=1e-4, atol=1e-2)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ShapeError, match="at least 8"):
        drawn_tissue([0], size=4)
    with pytest.raises(ShapeError, match="give a number"):
        drawn_tissue([])
