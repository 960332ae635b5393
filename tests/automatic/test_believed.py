"""Which noise is removed: not more than there is where texture looks like it, and all of it whatever its spectrum."""

import math

import numpy as np
import pytest
import torch

import whorl
from whorl.automatic.believed import _believed, model_to_remove
from whorl.automatic.traces import Measured
from whorl.invariance.untold import Sight, measured


def textured(strength: float, size: int = 200) -> torch.Tensor:
    """A ramp with a fine texture whose variance grows with the brightness, as that of photons does."""
    random = torch.Generator().manual_seed(5)
    texture = torch.randn(1, 1, size + 1, size + 1, generator=random)
    texture = (texture[..., 1:, 1:] + texture[..., :-1, 1:] + texture[..., 1:, :-1] + texture[..., :-1, :-1]) / 2
    ramp = 40 + 160 * torch.linspace(0, 1, size).expand(1, 1, size, size)
    y, x = torch.meshgrid(*[torch.arange(float(size))] * 2, indexing="ij")
    patches = 0.75 + 0.25 * torch.sin(x / 7) * torch.sin(y / 9)
    return ramp + strength * (ramp / 120).sqrt() * patches * texture


@pytest.mark.parametrize("level", [1.0, 2.0])
def test_texture_that_is_stronger_where_it_is_brighter_is_not_removed_with_weak_noise(level):
    clean = textured(3.0)
    noisy = clean + level * torch.randn(clean.shape, generator=torch.Generator().manual_seed(6))
    before, after = (
        10 * math.log10(float((u - clean).square().mean()))
        for u in (noisy, torch.from_numpy(whorl.denoise(noisy[0, 0].numpy())))
    )
    assert after < before + 0.05


def test_noise_of_photons_keeps_its_line():
    ramp = np.linspace(20, 200, 256) + np.zeros((256, 1))
    noisy = torch.from_numpy(np.random.default_rng(0).normal(ramp, np.sqrt(2 * ramp + 30)))[None, None]
    model = model_to_remove(lambda: [noisy], "test")
    assert model.gain[0] == pytest.approx(2, rel=0.15)


def test_waves_up_to_the_finest_along_an_axis_are_removed():
    """A level that is too low by a fifth has 31.6 dB and a turn error of 0.23."""
    sight = Sight(cutoff=0.5, seed=4)
    row = measured("denoise", lambda u: torch.from_numpy(whorl.denoise(u[0, 0].numpy()))[None, None], sight)
    assert row.psnr > 36
    assert max(row.errors.values()) < 0.04


@pytest.mark.parametrize(("softness", "removed"), [(-0.3, 8.0), (0.4, 2.0)])
def test_colours_that_are_softer_than_the_brightness_are_no_camera(softness, removed):
    """Clean photographs with texture out of a JPEG had 38 to 44 dB when they were taken for a camera's noise."""
    picture = textured(3.0, 96).round().clamp(0, 255).expand(1, 3, -1, -1).movedim(1, 0)
    found = Measured((1.0, 1.5, 2.0, 2.5, 3.0), 0.6, softness)
    deviation = float(_believed([picture], found, colours=True).standard_deviation_at(picture).max())
    assert deviation == pytest.approx(8.0) if removed == 8.0 else deviation < removed


@pytest.mark.parametrize("unit", [1e-20, 1e-12, 1e12, 1e20])
def test_the_unit_of_the_picture_does_not_matter(unit):
    """The line through the bins was lost beyond 1e9 and ended in a division by zero beyond 1e15."""
    ramp = np.linspace(20, 200, 64) + np.zeros((64, 1))
    noisy = np.random.default_rng(0).normal(ramp, np.sqrt(2 * ramp + 30))
    expected = whorl.denoise(noisy)
    for kind in (np.float32, np.float64):
        assert np.abs(whorl.denoise((noisy * unit).astype(kind)) / unit - expected).max() < 2e-3
