"""Whether a noise model fits is told from what was removed; in one sentence where it does not."""

import math

import pytest
import torch

import whorl
from whorl.automatic import NoiseModel
from whorl.denoising import Denoising

RIGHT = [(0.5, 40.0, 0.0), (0.0, 225.0, 0.0), (0.0, 225.0, 0.7)]
WRONG = {
    "neighbours in what was removed are correlated by": [
        ((0.0, 225.0, 0.7), (0.0, 225.0, 0.0)),
        ((0.0, 225.0, 0.0), (0.0, 225.0, 0.7)),
    ],
    "the noise is weaker than the model says": [
        ((0.0, 225.0, 0.0), (0.0, 500.0, 0.0)),
        ((1.5, 0.0, 0.0), (0.0, 150.0, 0.0)),
    ],
    "the noise is stronger than the model says": [((0.0, 225.0, 0.0), (0.0, 60.0, 0.0))],
}


def scene() -> torch.Tensor:
    y, x = torch.meshgrid(torch.arange(192.0), torch.arange(192.0), indexing="ij")
    discs = sum(50.0 * (torch.hypot(x - 34 * k, y - 25 - 25 * k) < 12 + 2 * k) for k in range(1, 6))
    return (50 + discs + 60 * torch.sin(x / 23).square())[None, None].double()


def model(numbers: tuple[float, float, float]) -> NoiseModel:
    gain, offset, width = numbers
    return NoiseModel((gain,), (offset,), (width,), -300.0, 600.0)


def doubt(true: tuple[float, float, float], told: tuple[float, float, float]) -> str:
    noisy = model(true).simulate(scene(), seed=2)
    expected = Denoising().remover(model(told), [noisy], eight_bits=False, device=torch.device("cpu")).expected
    assert expected is not None
    assert expected.fit is not None
    return expected.fit.doubt


@pytest.mark.parametrize("numbers", RIGHT, ids=str)
def test_a_right_model_is_not_doubted(numbers):
    assert doubt(numbers, numbers) == ""


@pytest.mark.parametrize(("says", "true", "told"), [(w, *pair) for w, pairs in WRONG.items() for pair in pairs])
def test_a_wrong_model_is_doubted_in_one_sentence(says, true, told):
    sentence = doubt(true, told)
    assert says in sentence
    assert sentence.startswith("The noise model does not fit: ")
    assert sentence.count("\n") == 0


def test_a_told_model_that_does_not_fit_is_said_in_python():
    noisy = model((0.0, 225.0, 0.7)).simulate(scene(), seed=2)[0, 0].numpy()
    with pytest.warns(UserWarning, match="does not fit: neighbours"):
        whorl.denoise(noisy, model((0.0, 225.0, 0.0)))


@pytest.mark.parametrize("side", [128, 256])
def test_a_flat_picture_of_white_noise_is_not_doubted(side):
    flat = torch.full((1, 1, side, side), 100.0)
    told = (0.0, 100.0, 0.0)
    noisy = model(told).simulate(flat, seed=3)
    expected = Denoising().remover(model(told), [noisy], eight_bits=False, device=torch.device("cpu")).expected
    assert expected is not None
    assert expected.fit is not None
    assert expected.fit.doubt == ""


def test_a_level_told_too_high_does_not_promise_wonders():
    """Stein's estimate with noise of twice the variance is negative here: it was taken for a gain of 30 dB."""
    clean = scene()
    noisy = model((0.0, 225.0, 0.0)).simulate(clean, seed=2)
    remover = Denoising().remover(model((0.0, 450.0, 0.0)), [noisy], eight_bits=False, device=torch.device("cpu"))
    assert remover.apply is not None
    assert remover.expected is not None
    errors = [float((u - clean).square().mean()) for u in (noisy, remover.apply(noisy))]
    assert abs(remover.expected.gain - 10 * math.log10(errors[0] / errors[1])) < 3
