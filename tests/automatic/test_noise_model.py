"""Noise whose variance depends on the grey value: simulated, made even, and restored without a bias."""

import pytest
import torch

from whorl.automatic import NoiseModel

CAMERA = NoiseModel((2.0,), (30.0,), (0.0,), -1e6, 1e6)


def flat(value: float, *shape: int) -> torch.Tensor:
    return torch.full(shape or (1, 1, 200, 200), value, dtype=torch.float64)


@pytest.mark.parametrize("gain", [3.0, 0.5, 1e-9, 0.0, -0.5])
@pytest.mark.parametrize("value", [20.0, 100.0, 240.0])
def test_the_transform_makes_noise_even_and_its_inverse_has_no_bias(gain, value):
    model = NoiseModel((gain,), (150.0,), (0.0,), -400.0, 700.0)
    noisy = model.simulate(flat(value), seed=1)
    even = model.stabilise(noisy)
    # 40,000 samples: the deviation is known to 0.4 %, the mean to a 200th of it. The transform itself is right to 2 %
    # where few photons are counted.
    assert float(noisy.std()) == pytest.approx((gain * value + 150) ** 0.5, rel=0.02)
    assert float(even.std()) == pytest.approx(1, rel=0.04)
    back = float(model.restore(flat(float(even.mean()))).mean())
    assert back == pytest.approx(value, abs=5 * float(noisy.std()) / 200 + 0.002 * value)


@pytest.mark.parametrize("gain", [0.003, -0.003, 1.0])
def test_small_gains_keep_the_digits_of_float32(gain):
    """Black stays 0, so that the transform is as large as the picture is in units of its noise."""
    model, u = NoiseModel((gain,), (625.0,), (0.0,), 0.0, 255.0), torch.linspace(0, 255, 1001, dtype=torch.float64)
    exact, found = model.stabilise(u), model.stabilise(u.float())
    eps = torch.finfo(torch.float32).eps
    assert exact[0] == 0
    torch.testing.assert_close(found.double(), exact, rtol=0, atol=2 * eps * float(exact.abs().max()))
    torch.testing.assert_close(model.restore(found).double(), model.restore(exact), rtol=0, atol=4 * eps * 255)


def test_channels_have_their_own_noise():
    model = NoiseModel((0.0, 1.0), (9.0, 0.0), (0.0, 1.0), 0.0, 255.0)
    noisy = model.simulate(flat(100.0, 2, 2, 96, 96), seed=2)
    weak, strong = noisy[:, 0], noisy[:, 1]
    assert float(weak.std()) == pytest.approx(3, rel=0.05)
    assert float(strong.std()) == pytest.approx(10, rel=0.2)
    neighbours = [float(((u[..., 1:] - 100) * (u[..., :-1] - 100)).mean() / u.var()) for u in (weak, strong)]
    # White noise smoothed by a Gaussian of width w has the correlation exp(-1 / (4 w^2)) at distance 1.
    assert neighbours == pytest.approx([0, 0.78], abs=0.06)
    assert model.stabilise(noisy).shape == noisy.shape
    with pytest.raises(ValueError, match="has 2 channels, the picture has shape"):
        model.stabilise(flat(1.0))


def test_black_and_white_cut_off():
    noisy = NoiseModel.constant(50.0).simulate(flat(20.0))
    assert (float(noisy.min()), float(noisy.max())) == (0, pytest.approx(255, abs=60))
    assert float(NoiseModel((1.0,), (-50.0,), (0.0,), 0.0, 255.0).standard_deviation_at(flat(10.0)).min()) > 0


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="one number for each channel"):
        NoiseModel((1.0,), (1.0, 2.0), (0.0,), 0.0, 1.0)
    with pytest.raises(ValueError, match=r"black = 3.0 must lie below white = 1.0"):
        NoiseModel((1.0,), (1.0,), (0.0,), 3.0, 1.0)
    pair = {"gain": (0.0,) * 2, "offset": (1.0,) * 2, "correlation": (0.0,) * 2, "black": 0.0, "white": 1.0}
    for matrix in (
        ((1.0, 1.0), (1.0, 1.0)),
        ((1.0, 0.5), (0.4, 1.0)),
        ((1.0, 0.0), (0.0, 2.0)),
        ((1.0, 1.5), (1.5, 1.0)),
    ):
        with pytest.raises(ValueError, match="symmetric positive definite"):
            NoiseModel(**pair, between=matrix)


BETWEEN = ((1.0, 0.6, -0.3), (0.6, 1.0, 0.2), (-0.3, 0.2, 1.0))


def test_channels_may_be_correlated():
    model = NoiseModel((0.5, 0.0, 1.0), (10.0, 50.0, 5.0), (0.0,) * 3, -400.0, 700.0, between=BETWEEN)
    clean = torch.linspace(40, 180, 256).double().expand(1, 3, 256, 256)
    noise = model.simulate(clean, seed=4) - clean
    even = noise / model.standard_deviation_at(clean)
    # 65,536 samples: a correlation is known to 1 / 256.
    found = torch.corrcoef(even[0].flatten(1))
    torch.testing.assert_close(found, torch.tensor(BETWEEN).double(), rtol=0, atol=4 / 256)
    covariance = model.covariance_at(clean[..., :1, :1])[0, ..., 0, 0]
    deviations = torch.tensor([30.0, 50.0, 45.0]).double().sqrt()
    expected = deviations[:, None] * deviations * torch.tensor(BETWEEN).double()
    torch.testing.assert_close(covariance, expected)
    assert "correlation of channels: 0.60 between 0 and 1, -0.30 between 0 and 2, 0.20 between 1 and 2" in str(model)
    assert model.channel(1).between == ()
    for wrong in (((1.0, 2.0, 0.0), (2.0, 1.0, 0.0), (0.0, 0.0, 1.0)), ((1.0,),)):
        with pytest.raises(ValueError, match="symmetric positive definite"):
            NoiseModel((0.5, 0.0, 1.0), (10.0, 50.0, 5.0), (0.0,) * 3, -400.0, 700.0, between=wrong)


def test_channels_that_are_not_said_to_be_correlated_are_not():
    model = NoiseModel((0.5, 0.0, 1.0), (10.0, 50.0, 5.0), (0.0,) * 3, -400.0, 700.0)
    u = torch.linspace(0, 200, 2 * 3 * 5 * 7).double().view(2, 3, 5, 7)
    covariance, variance = model.covariance_at(u), model.standard_deviation_at(u).square()
    assert covariance.shape == (2, 3, 3, 5, 7)
    torch.testing.assert_close(covariance.diagonal(dim1=1, dim2=2).movedim(-1, 1), variance)
    torch.testing.assert_close(covariance.sum((1, 2)), variance.sum(1))


def test_the_least_variance_goes_with_the_range_of_values_wherever_it_begins():
    ranges = (0.0, 255.0), (-300.0, -45.0), (1000.0, 1255.0)
    found = [NoiseModel((0.0,), (4.0,), (0.0,), *ends).smallest for ends in ranges]
    assert found == pytest.approx([found[0]] * 3, rel=1e-12)
