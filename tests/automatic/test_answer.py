"""The expected gain: near the true one where detail is spread unevenly, and not told where it cannot be known."""

import math
from dataclasses import replace

import torch

from whorl.automatic import NoiseModel
from whorl.denoising import Denoising

MODEL = NoiseModel((0.0,), (225.0,), (0.0,), -300.0, 600.0)


def bricks(size: int) -> torch.Tensor:
    """A ramp with bricks of many shades in the middles of its quarters."""
    y, x = torch.meshgrid(*[torch.arange(float(size))] * 2, indexing="ij")
    shades = torch.rand(size, size, generator=torch.Generator().manual_seed(2)) * 160
    middles = ((y % (size // 2) - size / 4).abs() < size / 8) & ((x % (size // 2) - size / 4).abs() < size / 8)
    return torch.where(middles, 40 + shades[(y // 4).long(), (x // 4).long()], 60 + 0.3 * x)[None, None]


def test_the_whole_of_a_small_picture_tells_the_gain():
    """Windows in the middles of the quarters saw bricks alone, and told a gain that was too small by 2 dB and more."""
    clean = bricks(240)
    noisy = MODEL.simulate(clean, seed=4)
    remover = Denoising().remover(MODEL, [noisy], eight_bits=False, device=noisy.device)
    errors = [float((u - clean).square().mean()) for u in (noisy, remover.apply(noisy))]
    assert abs(remover.expected.gain - 10 * math.log10(errors[0] / errors[1])) < 1


def test_a_gain_beyond_what_can_be_estimated_is_told_as_its_bound():
    noisy = MODEL.simulate(torch.full((1, 1, 90, 90), 100.0))
    remover = Denoising().remover(MODEL, [noisy], eight_bits=False, device=noisy.device)
    assert remover.expected.gain > 12 == remover.expected.told


def test_no_gain_is_told_where_the_strength_of_the_noise_is_not_known():
    noisy = MODEL.simulate(bricks(64))
    known, unknown = (
        Denoising().remover(replace(MODEL, uncertainty=u), [noisy], eight_bits=False, device=noisy.device)
        for u in (0.1, 0.7)
    )
    assert "cannot be told" not in known.doubt
    assert "70%" in unknown.doubt
