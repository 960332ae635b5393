"""Rician noise: moments, a transform that makes it even, an inverse without bias, and noise that is found again."""

import math

import numpy as np
import pytest
import torch

import whorl
from whorl.automatic import NoiseModel, rician
from whorl.automatic.variance import noise_model

COUNT = 400_000


def magnitudes(signal: float, deviation: float = 1.0) -> torch.Tensor:
    model = NoiseModel((0.0,), (deviation**2,), (0.0,), 0.0, 500.0, kind="rician")
    return model.simulate(torch.full((1, 1, 1, COUNT), signal, dtype=torch.float64), seed=3)[0, 0, 0]


def slice_of_a_head(size: int = 200) -> torch.Tensor:
    """An ellipse with parts of several intensities, in air."""
    y, x = torch.meshgrid(*[torch.linspace(-1, 1, size, dtype=torch.float64)] * 2, indexing="ij")
    signal = 90.0 * (x.square() / 0.5 + y.square() / 0.7 < 1) + 40.0 * (x.square() / 0.3 + y.square() / 0.45 < 1)
    for k in range(5):
        signal += 50.0 * ((x - 0.3 * math.cos(k)).square() + (y - 0.4 * math.sin(2 * k)).square() < 0.02)
    return signal[None, None]


@pytest.mark.parametrize("signal", [0.0, 0.3, 1.0, 2.5, 6.0, 30.0])
def test_moments(signal):
    m, a = magnitudes(signal), torch.tensor(signal).double()
    error = 4 / math.sqrt(COUNT)
    assert float(m.mean()) == pytest.approx(float(rician.mean_of(a)), abs=error)
    # The variance of the square of a deviation is below twice the squared variance.
    assert float(m.var()) == pytest.approx(float(rician.variance_of(a)), rel=1.5 * error)
    assert float(m.square().mean()) == pytest.approx(2 + signal**2, rel=2 * error)
    # A signal that is as weak as the noise is taken for none, which adds half of its square.
    expected = 1 + signal**2 / 2 if signal <= 1 else 1
    assert float(rician.levels(m.mean(), m.var())) == pytest.approx(expected, abs=0.02)


def test_moments_without_a_signal_are_those_of_rayleigh_and_meet_at_the_strongest():
    zero = torch.zeros(1).double()
    assert float(rician.mean_of(zero)) == pytest.approx(math.sqrt(math.pi / 2))
    assert float(rician.variance_of(zero)) == pytest.approx(2 - math.pi / 2)
    ends = rician.STRONGEST * torch.tensor([1 - 1e-9, 1 + 1e-9]).double()
    assert float(rician.variance_of(ends).diff()) == pytest.approx(0, abs=2 / rician.STRONGEST**4)


@pytest.mark.parametrize("deviation", [1.0, 12.0])
@pytest.mark.parametrize("signal", [0.0, 0.5, 1.0, 2.0, 4.0, 15.0])
def test_the_transform_makes_noise_even_and_its_inverse_has_no_bias(signal, deviation):
    model = NoiseModel((0.0,), (deviation**2,), (0.0,), 0.0, 500.0, kind="rician")
    even = model.stabilise(magnitudes(deviation * signal, deviation))
    # The rule of first order leaves 12 % below and 7 % above where the signal is as weak as the noise.
    assert 0.88 - 0.01 < float(even.std()) < 1.07 + 0.01
    back = float(model.restore(even.mean())) / deviation
    # The mean of the samples is known to 1 / sqrt(COUNT). Near no signal the inverse is a root: an error e becomes
    # sqrt(4 e), as the mean grows like a^2 / 2.6 there.
    error = 3 / math.sqrt(COUNT)
    assert back == pytest.approx(signal, abs=math.sqrt(4 * error) if signal == 0 else 5 * error)


@pytest.mark.parametrize("told", [None, "rician"])
@pytest.mark.parametrize("deviation", [6.0, 15.0])
def test_simulated_noise_is_found_again(told, deviation):
    noisy = NoiseModel((0.0,), (deviation**2,), (0.0,), 0.0, 500.0, kind="rician").simulate(slice_of_a_head(), seed=1)
    model = noise_model([noisy], told)
    assert model.kind == "rician"
    assert math.sqrt(model.offset[0]) == pytest.approx(deviation, rel=0.08)
    assert f"Rician, white; standard deviation {math.sqrt(model.offset[0]):.4g} in both parts" in str(model)


def test_other_noise_is_not_taken_for_rician():
    scene = slice_of_a_head() + 30
    for gain, offset in ((0.0, 100.0), (2.0, 20.0), (0.3, 9.0)):
        noisy = NoiseModel((gain,), (offset,), (0.0,), 0.0, 500.0).simulate(scene, seed=1)
        assert noise_model([noisy]).kind == "gaussian"
    counts = np.random.default_rng(0).poisson((slice_of_a_head()[0, 0] / 10 + 3.66).numpy()).astype(float)
    assert whorl.noise(counts).kind == "gaussian"


def test_denoising_takes_the_bias_away():
    clean = slice_of_a_head()
    noisy = NoiseModel((0.0,), (225.0,), (0.0,), 0.0, 500.0, kind="rician").simulate(clean, seed=2)[0, 0].numpy()
    truth = clean[0, 0].numpy()
    found, told, as_gaussian = (whorl.denoise(noisy, noise) for noise in (None, "rician", 15.0))
    air = truth == 0
    assert noisy[air].mean() == pytest.approx(15 * math.sqrt(math.pi / 2), rel=0.02)
    assert np.abs(found[air]).mean() < 4
    for result in (found, told):
        assert np.square(result - truth).mean() < 0.4 * np.square(as_gaussian - truth).mean()
        assert result[~air].mean() == pytest.approx(truth[~air].mean(), rel=0.01)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="Rician noise has no gain"):
        NoiseModel((1.0,), (1.0,), (0.0,), 0.0, 1.0, kind="rician")
    with pytest.raises(ValueError, match="kind = 'poisson': choose 'gaussian' or 'rician'"):
        NoiseModel((1.0,), (1.0,), (0.0,), 0.0, 1.0, kind="poisson")
    with pytest.raises(ValueError, match="noise = 'poisson'"):
        whorl.denoise(np.ones((9, 9)), "poisson")
    with pytest.raises(ValueError, match="-3.* negative"):
        whorl.noise(np.full((9, 9), -3.0), kind="rician")
