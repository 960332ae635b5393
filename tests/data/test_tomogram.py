"""The drawn tomogram: the same every time, with the noise and the missing wedge it says."""

import pytest
import torch

from whorl.data.tomogram import missing_wedge, tomogram
from whorl.errors import ShapeError


def test_a_tomogram_is_the_same_every_time_and_another_for_another_seed():
    first, again, other = tomogram((20, 24, 28)), tomogram((20, 24, 28)), tomogram((20, 24, 28), seed=1)
    assert first.noisy.shape == (1, 1, 20, 24, 28)
    assert first.noisy.dtype == torch.float32
    assert torch.equal(first.noisy, again.noisy)
    assert not torch.equal(first.sample, other.sample)


def test_matter_is_darker_than_the_ice_around():
    sample = tomogram(48).sample
    assert sample.max().item() == pytest.approx(160, abs=1e-3)
    assert 0 <= sample.min().item() < 80
    assert 0.02 < (sample < 140).float().mean().item() < 0.6


def test_noise_has_the_deviation_asked_for():
    drawn = tomogram(32, noise=17.0)
    assert (drawn.noisy - drawn.clean).std().item() == pytest.approx(17, rel=0.02)


def test_a_wave_along_the_beam_is_lost_and_one_across_it_is_seen():
    z, x = torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij")
    across = torch.cos(2 * torch.pi * 3 * x / 16)[:, None].expand(16, 16, 16)[None, None]
    along = torch.cos(2 * torch.pi * 3 * z / 16)[:, None].expand(16, 16, 16)[None, None]
    torch.testing.assert_close(missing_wedge(across, 60.0), across, rtol=0, atol=1e-5)
    torch.testing.assert_close(missing_wedge(along, 60.0), torch.zeros_like(along), rtol=0, atol=1e-5)
    assert torch.equal(missing_wedge(along, 90.0), along)


def test_the_missing_wedge_keeps_the_mean_and_takes_nothing_twice():
    u = torch.randn(1, 1, 12, 10, 14, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    once = missing_wedge(u, 50.0)
    assert once.mean().item() == pytest.approx(u.mean().item(), abs=1e-12)
    torch.testing.assert_close(missing_wedge(once, 50.0), once, rtol=0, atol=1e-12)
    assert once.norm() < u.norm()


def test_bad_requests_are_refused():
    with pytest.raises(ShapeError, match="volume"):
        missing_wedge(torch.zeros(1, 1, 4, 4), 60.0)
    with pytest.raises(ValueError, match="tilt"):
        missing_wedge(torch.zeros(1, 1, 4, 4, 4), 0.0)
