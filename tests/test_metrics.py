import math

import pytest
import torch

from whorl.errors import ShapeError
from whorl.metrics import mean_squared_error, population, psnr, ssim


def random_pair(shape=(2, 3, 24, 31), dtype=torch.float64):
    rng = torch.Generator().manual_seed(3)
    reference = 255 * torch.rand(shape, generator=rng, dtype=torch.float64)
    return (reference + 20 * torch.randn(shape, generator=rng, dtype=torch.float64)).to(dtype), reference.to(dtype)


def test_psnr_is_ten_log_of_the_ratio_for_each_picture():
    estimate, reference = random_pair()
    for value, u, f in zip(psnr(estimate, reference, value_range=255), estimate, reference, strict=True):
        mse = sum((a - b) ** 2 for a, b in zip(u.flatten().tolist(), f.flatten().tolist(), strict=True)) / u.numel()
        assert math.isclose(value.item(), 10 * math.log10(255**2 / mse), rel_tol=1e-13)


def test_psnr_of_equal_pictures_is_infinite_and_scaling_changes_nothing():
    estimate, reference = random_pair()
    assert torch.isinf(psnr(reference, reference, value_range=255)).all()
    scaled = psnr(estimate / 255, reference / 255, value_range=1)
    torch.testing.assert_close(scaled, psnr(estimate, reference, value_range=255), rtol=1e-13, atol=0)


def test_float32_pictures_are_measured_in_float64():
    estimate, reference = random_pair(dtype=torch.float32)
    assert mean_squared_error(estimate, reference).dtype == torch.float64
    assert torch.equal(
        mean_squared_error(estimate, reference), mean_squared_error(estimate.double(), reference.double())
    )


@pytest.mark.parametrize("metric", [psnr, ssim])
def test_metrics_are_differentiable(metric):
    estimate, reference = random_pair(shape=(1, 1, 12, 13))
    estimate.requires_grad_()
    assert torch.autograd.gradcheck(lambda u: metric(u, reference, value_range=255), estimate)


@pytest.mark.parametrize("value_range", [255.0, 1.0])
def test_ssim_agrees_with_scikit_image(value_range):
    metrics = pytest.importorskip("skimage.metrics")
    estimate, reference = (u * value_range / 255 for u in random_pair())
    ours = ssim(estimate, reference, value_range=value_range)
    for value, u, f in zip(ours, estimate.numpy(), reference.numpy(), strict=True):
        theirs = metrics.structural_similarity(
            u,
            f,
            data_range=value_range,
            gaussian_weights=True,
            sigma=1.5,
            use_sample_covariance=False,
            channel_axis=0,
        )
        assert math.isclose(value.item(), theirs, rel_tol=1e-12)


def test_ssim_is_one_for_equal_pictures_symmetric_and_at_most_one():
    estimate, reference = random_pair()
    torch.testing.assert_close(
        ssim(reference, reference, value_range=255), torch.ones(2, dtype=torch.float64), rtol=1e-13, atol=0
    )
    forth, back = ssim(estimate, reference, value_range=255), ssim(reference, estimate, value_range=255)
    torch.testing.assert_close(forth, back, rtol=1e-13, atol=0)
    assert (forth < 1).all()


def test_population_variance_divides_by_n():
    values = [28.0, 29.0, 30.0, 33.0]
    summary = population(values)
    assert summary.mean == 30.0
    assert summary.variance == (4 + 1 + 0 + 9) / 4
    assert summary.deviation == math.sqrt(3.5)
    assert (summary.minimum, summary.maximum, summary.count) == (28.0, 33.0, 4)
    assert population(torch.tensor(values)) == population(values[::-1]) == summary


@pytest.mark.parametrize("value_range", [0, -1.0, math.nan, math.inf])
@pytest.mark.parametrize("metric", [psnr, ssim])
def test_value_range_must_be_positive(metric, value_range):
    with pytest.raises(ValueError, match="value_range"):
        metric(*random_pair(), value_range=value_range)


def test_wrong_shapes_are_named():
    u = torch.zeros(1, 1, 16, 16)
    with pytest.raises(ShapeError, match=r"\(16, 16\)"):
        psnr(u[0, 0], u[0, 0], value_range=255)
    with pytest.raises(ShapeError, match="one shape"):
        psnr(u, u[..., 1:], value_range=255)
    with pytest.raises(ShapeError, match="at least 11"):
        ssim(u[..., :10], u[..., :10], value_range=255)
    with pytest.raises(ShapeError, match="real"):
        psnr(u.to(torch.complex64), u, value_range=255)
    with pytest.raises(ShapeError, match="no values"):
        population([])
