"""The protocol of the photograph figures: every picture has noise of its own, unclipped; results are clipped."""

import math

import numpy as np
import pytest
import torch

from whorl.evaluation.angles import denoised_psnr, noisy_picture

LEVEL = 25.0
PLAIN = 20 * math.log10(255 / LEVEL)
"""PSNR of unclipped noise, in dB."""


def flat(value: int, channels: int = 1) -> np.ndarray:
    return np.full((channels, 160, 200), value, np.uint8)


def test_the_result_is_clipped_to_the_range_of_the_picture() -> None:
    """In a black or white picture clipping takes half of the noise away: 3 dB."""
    found = denoised_psnr(lambda u: u, {"black": flat(0), "grey": flat(128), "white": flat(255)}, LEVEL)
    # Of 32,000 samples the mean square scatters by 0.8 % (by 1.3 % where half of them are cut): 0.03 and 0.06 dB.
    assert found["grey"] == pytest.approx(PLAIN, abs=0.15)
    assert found["black"] == pytest.approx(PLAIN + 10 * math.log10(2), abs=0.25)
    assert found["white"] == pytest.approx(PLAIN + 10 * math.log10(2), abs=0.25)


def test_the_noise_is_not_clipped_and_not_rounded() -> None:
    seen = []
    denoised_psnr(lambda u: seen.append(u) or u, {"black": flat(0), "white": flat(255)}, LEVEL)
    for noisy, clean in zip(seen, (0, 255), strict=True):
        noise = noisy - clean
        assert noise.dtype == torch.float32
        assert noise.shape == (1, 1, 160, 200)
        assert float(noise.min()) < -3 * LEVEL
        assert float(noise.max()) > 3 * LEVEL
        assert float(noise.std()) == pytest.approx(LEVEL, rel=0.02)  # 5 standard errors of 32,000 samples
        assert (noise != noise.round()).float().mean() > 0.99


def test_every_picture_channel_and_seed_has_noise_of_its_own() -> None:
    """Two draws of 32,000 samples are correlated by 1/179 at most a few times."""
    seen = []
    for seed in (0, 1):
        denoised_psnr(lambda u: seen.append(u - 90) or u, {str(i): flat(90, 3) for i in range(3)}, LEVEL, seed)
    draws = torch.cat([noise.flatten(2) for noise in seen]).flatten(0, 1)
    correlations = torch.corrcoef(draws) - torch.eye(len(draws))
    assert len(draws) == 2 * 3 * 3
    assert float(correlations.abs().max()) < 6 / 32_000**0.5


def test_the_same_call_gives_the_same_figures_and_the_noise_is_that_of_noisy_picture() -> None:
    pictures = {"a": flat(20), "b": flat(200)}
    seen = []
    first = denoised_psnr(lambda u: seen.append(u) or 0.5 * u, pictures, LEVEL, seed=3)
    assert first == denoised_psnr(lambda u: 0.5 * u, pictures, LEVEL, seed=3)
    for number, (noisy, picture) in enumerate(zip(seen, pictures.values(), strict=True)):
        assert torch.equal(noisy, noisy_picture(picture, number, LEVEL, seed=3))


def test_figures_come_by_name_and_from_the_error_of_the_whole_picture() -> None:
    """A result that is off by 2 in one half and by 4 in the other has the mean squared error 10."""
    picture = flat(90, 3)
    result = torch.from_numpy(picture.astype(np.float32))[None]
    result[..., :100] += 2
    result[..., 100:] -= 4
    done = []
    found = denoised_psnr(lambda u: result.double(), {"x.png": picture}, LEVEL, advance=done.append)
    assert found == {"x.png": pytest.approx(10 * math.log10(255**2 / 10), abs=1e-4)}
    assert done == [1]


def test_the_range_ends_at_black_and_white() -> None:
    pictures = {"dark": flat(3), "bright": flat(250)}
    for value, expected in ((-50.0, (3, 250)), (400.0, (252, 5))):
        found = denoised_psnr(lambda u, value=value: torch.full_like(u, value), pictures, LEVEL)
        assert list(found.values()) == pytest.approx([20 * math.log10(255 / error) for error in expected])
