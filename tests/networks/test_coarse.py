"""Noise out of a camera: what is left of it in the colours at half the scale goes, the brightness stays."""

import itertools
from dataclasses import replace

import pytest
import torch

from whorl.automatic.noise_model import NoiseModel
from whorl.denoising import Denoising
from whorl.networks.coarse import CoarseDenoiser
from whorl.operators import Smoothing

MODEL = NoiseModel((0.0,), (64.0,), (0.0,), 0.0, 255.0, coarse=1.0)


def pictures(shape: tuple[int, int]) -> tuple[torch.Tensor, torch.Tensor]:
    """Discs before a ramp, and the same with fine noise in the brightness and coarse noise in the colours."""
    y, x = torch.meshgrid(*(torch.arange(float(side)) for side in shape), indexing="ij")
    disc = torch.sigmoid(20 - torch.hypot(y - 30, x - 40))
    clean = torch.stack([60 + x + 50 * disc, 90 + y - 30 * disc, 120 + 0.5 * x + 20 * disc])[None]
    draw = torch.Generator().manual_seed(3)
    colours = Smoothing(1.5)(torch.randn(clean.shape, generator=draw))
    colours = colours - colours.mean(1, keepdim=True)
    bright = torch.randn(1, 1, *shape, generator=draw)
    return clean, clean + 4 * bright + 5 * colours / colours.std()


def remover(u: torch.Tensor, model: NoiseModel = MODEL) -> torch.nn.Module:
    found = Denoising().remover(model, [u], eight_bits=True, device=u.device).apply
    assert found is not None
    return found


def test_coarse_noise_goes_from_the_colours_and_the_brightness_stays():
    clean, noisy = pictures((96, 100))
    once, twice = (remover(noisy, replace(MODEL, coarse=share))(noisy) for share in (0.0, 1.0))
    errors = [
        (found - found.mean(1, keepdim=True) - clean + clean.mean(1, keepdim=True)).square().mean()
        for found in (once, twice)
    ]
    assert errors[1] < 0.8 * errors[0]
    assert float((once - twice).mean(1).abs().max()) < 0.05  # grey values: rounding, and the mean that is put back


@pytest.mark.parametrize("shape", [(48, 63), (33, 48)])
def test_all_turned_and_mirrored_pictures_have_the_turned_and_mirrored_result(shape):
    u = pictures(shape)[1]
    found = remover(u)(u)
    for quarters, mirrored in itertools.product(range(4), (False, True)):

        def turned(v, quarters=quarters, mirrored=mirrored):
            return (v.flip(-1) if mirrored else v).rot90(quarters, (-2, -1))

        assert float((remover(turned(u))(turned(u)) - turned(found)).abs().max()) < 1e-3


def test_parts_with_their_surroundings_have_the_result_of_the_whole():
    u = pictures((520, 40))[1]
    coarse = remover(u).denoisers[0]
    assert isinstance(coarse, CoarseDenoiser)
    begin, reach = 370, coarse.reach
    whole, part = coarse(u), coarse(u[..., begin - reach :, :])
    assert float((whole[..., begin:, :] - part[..., reach:, :]).abs().max()) < 1e-3


def test_no_gain_is_told_for_such_noise():
    noisy = pictures((96, 100))[1]
    found = Denoising().remover(MODEL, [noisy], eight_bits=True, device=noisy.device)
    assert found.doubt.startswith("The noise went through a camera")
    assert "camera" in str(MODEL)
