"""The noise that leaves such traces: right for every spectrum, none in clean pictures, the same however they lie."""

import numpy as np
import pytest
import torch

import whorl
from whorl.automatic.traces import _windows, measure
from whorl.invariance.symmetries import SYMMETRIES


def drawing(size: int = 201) -> torch.Tensor:
    """Two discs on a ramp, with edges of a pixel."""
    y, x = torch.meshgrid(*[torch.arange(float(size))] * 2, indexing="ij")
    discs = (a * torch.sigmoid(2 * (r - torch.hypot(x - c, y - c))) for a, r, c in ((100, 28, 86), (-60, 20, 150)))
    return (90 + 0.1 * x + sum(discs))[None, None].double()


def waves(cutoff: float, size: int = 201, seed: int = 0) -> torch.Tensor:
    """Noise of variance 1 with waves up to so many cycles per pixel."""
    noise = torch.randn(1, 1, size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    y, x = (torch.fft.fftfreq(size, dtype=torch.float64) for _ in range(2))
    kept = torch.fft.ifft2(torch.fft.fft2(noise) * (torch.hypot(y[:, None], x) <= cutoff)).real
    return kept / kept.std()


@pytest.mark.parametrize("cutoff", [0.3, 0.35, 0.4, 0.45, 0.5, 0.8])
@pytest.mark.parametrize("level", [5.0, 20.0, 50.0])
def test_noise_of_every_spectrum_is_found_on_a_drawing(cutoff, level):
    """Nine in ten pictures lie between the outer quantiles; a level off by 12 % costs a tenth of a decibel or two."""
    found = measure([drawing() + level * waves(cutoff)])
    assert found.level == pytest.approx(level, rel=0.12)
    neighbours = waves(cutoff)[0, 0]
    assert found.correlation == pytest.approx(float((neighbours[1:] * neighbours[:-1]).mean()), abs=0.1)


def test_grey_pictures_in_files_of_colours_have_the_noise_of_one_channel():
    """Noise has as much colour as brightness, texture little: three equal channels are no case of it."""
    noisy = drawing() + 10 * waves(0.8)
    assert measure([noisy.expand(1, 3, -1, -1)]) == measure([noisy])


@pytest.mark.parametrize("channels", [1, 3])
def test_turned_pictures_and_other_units_have_the_same_noise(channels):
    shape = (1, channels, 97, 83)
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    noisy = drawing()[..., :97, :83] + 9 * noise
    found = measure([noisy])
    # Sums over some thousand pixels in other orders.
    for move in SYMMETRIES.values():
        assert measure([move(noisy)]).levels == pytest.approx(found.levels, rel=1e-9)
    assert measure([noisy / 255]).level == pytest.approx(found.level / 255, rel=1e-9)


def test_whole_values_in_another_unit_have_the_same_noise_turned():
    """Many windows of whole values have one mean; as shares of 255 the same sums are rounded in other ways."""
    photons = torch.poisson(drawing()[..., :97, :83] / 3, generator=torch.Generator().manual_seed(2)) / 85
    measures = [measure([move(photons)]).levels for move in SYMMETRIES.values()]
    models = [whorl.noise(move(photons)[0, 0]) for move in SYMMETRIES.values()]
    for levels, model in zip(measures, models, strict=True):
        assert levels == pytest.approx(measures[0], rel=1e-9)
        assert (*model.gain, *model.offset) == pytest.approx((*models[0].gain, *models[0].offset), rel=1e-9)


def test_colours_cut_off_at_black_and_white_have_the_same_noise_turned():
    """Windows in which as many samples are cut off are all looked at, or all left out."""
    noise = torch.randn((1, 3, 97, 83), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    noisy = (drawing()[..., :97, :83] + 90 * noise).clamp(0, 255)
    levels = [measure([move(noisy)]).levels for move in SYMMETRIES.values()]
    assert all(each == pytest.approx(levels[0], rel=1e-9) for each in levels)


def test_quantiles_rise_and_what_is_flat_or_tiny_is_told_apart():
    found = measure([drawing() + 3 * waves(0.8)])
    assert list(found.levels) == sorted(found.levels)
    assert 0 < found.uncertainty < 0.5
    assert measure([torch.full((1, 1, 40, 40), 3.0)]) is None
    assert measure([torch.zeros(1, 1, 9, 9)]) is None
    steps = (drawing() > 100).double()
    assert measure([steps]) is None or measure([steps]).level == 0


def test_band_limited_noise_is_removed_as_if_it_were_told():
    noisy, clean = (drawing() + 20 * waves(0.5)).float()[0, 0].numpy(), drawing()[0, 0].numpy()
    found, told = (np.square(whorl.diffuse(noisy, noise=noise) - clean).mean() for noise in (None, 20.0))
    assert found < 1.4 * told


def test_texture_without_colour_leaves_no_trace_in_the_colours():
    """What is added to all channels alike changes brightness, and nothing that the colours show."""
    noise = torch.cat([waves(0.5, 64, seed) for seed in range(3)], 1)[0]
    texture = 30 * waves(0.4, 64, 7)[0]
    (before, _, _), (after, _, _) = (_windows(128 + u, 0.0, 255.0, 1) for u in (5 * noise, 5 * noise + texture))
    torch.testing.assert_close(after[1], before[1])
    assert (after[0] > 2 * before[0]).all()


def test_colours_are_soft_where_they_were_halved():
    """As in JPEG: brightness keeps its finest noise, colours lose theirs."""
    noisy = drawing() + 5 * torch.cat([waves(0.8, seed=seed) for seed in range(3)], 1)
    colours = noisy - noisy.mean(1, keepdim=True)
    halved = torch.nn.functional.avg_pool2d(colours[..., :200, :200], 2).repeat_interleave(2, 2).repeat_interleave(2, 3)
    soft = noisy.mean(1, keepdim=True)[..., :200, :200] + halved
    assert abs(measure([noisy]).softness) < 0.1
    assert measure([soft]).softness > 0.25
    assert measure([noisy[:, :1]]).softness == 0
