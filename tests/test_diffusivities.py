"""Diffusivities: g is the derivative of Psi, decreasing and bounded; secants are exact even where they close."""

import pytest
import torch

from catalogue import DIFFUSIVITIES
from whorl import diffusivities

parametrised = pytest.mark.parametrize("g", DIFFUSIVITIES.values(), ids=DIFFUSIVITIES)
SAMPLES = torch.cat([torch.zeros(1), torch.logspace(-6, 5, 300)]).double()


def tolerance(dtype: torch.dtype) -> float:
    # The incomplete gamma function and its derivative lose a few more digits than elementary functions.
    return 200 * torch.finfo(dtype).eps


@parametrised
def test_psi_is_the_antiderivative(g, dtype):
    s2 = SAMPLES.to(dtype).clone().requires_grad_()
    (derivative,) = torch.autograd.grad(g.psi(s2).sum(), s2)
    assert torch.allclose(derivative, g(s2), rtol=0, atol=tolerance(dtype) * g.maximum())
    assert g.psi(torch.zeros(1)).item() == 0


@parametrised
def test_slope_is_the_derivative(g):
    h = 1e-5
    s2 = SAMPLES[SAMPLES > 1e-3]
    quotient = (g(s2 * (1 + h)) - g(s2 * (1 - h))) / (2 * h * s2)
    assert torch.allclose(g.slope(s2), quotient, rtol=1e-5, atol=1e-9)


@parametrised
def test_decreasing_between_zero_and_the_maximum(g, dtype):
    values = g(SAMPLES.to(dtype))
    assert values.dtype == dtype
    assert (values.diff() <= torch.finfo(dtype).eps).all()
    assert (values >= 0).all()
    assert values[0].item() == pytest.approx(g.maximum(), rel=4 * torch.finfo(dtype).eps)
    assert (g.slope(SAMPLES.to(dtype)) <= 0).all()


@parametrised
@pytest.mark.parametrize("width", [0.0, 1e-9, 1e-4, 0.1, 1.0, 30.0])
def test_secants_and_their_gradients_are_exact(g, width, dtype):
    """g[x, y] against a difference quotient or, where that cancels, a slope; its derivatives by an identity."""
    x, y = SAMPLES, SAMPLES + width
    exact = (g(y) - g(x)) / (y - x) if width > 1e-5 else g.slope(x + width / 2)
    value = g.divided_difference(x.to(dtype), y.to(dtype))
    scale = g.slope(SAMPLES).abs().max() + 1e-30
    # In float32 the samples x and x + width lose their distance where x is large; there the slope is small as well.
    noise = 1e-3 if dtype == torch.float32 else 1e-9
    assert ((value.double() - exact).abs() <= noise * scale).all()
    xg, yg = x.clone().requires_grad_(), y.clone().requires_grad_()
    secant = g.divided_difference(xg, yg)
    if secant.requires_grad:
        slopes = torch.autograd.grad(secant.sum(), [xg, yg])
        assert all(torch.isfinite(s).all() for s in slopes)
        # g[x, y] (y - x) = g(y) - g(x), differentiated with respect to y.
        assert torch.allclose(slopes[1] * width + secant, g.slope(y), rtol=0, atol=1e-8 * scale)


@parametrised
def test_finite_gradients_at_zero(g, dtype):
    s2 = torch.zeros(3, dtype=dtype, requires_grad=True)
    result = g(s2) * (1 + s2) + g.psi(s2)
    result.sum().backward()
    assert torch.isfinite(s2.grad).all()


def test_trainable_contrast_stays_positive():
    g = diffusivities.Exponential(2.0, trainable=True)
    optimiser = torch.optim.SGD(g.parameters(), lr=1.0)
    for _ in range(3):
        optimiser.zero_grad()
        g(torch.tensor([1.0, 4.0])).sum().backward()
        optimiser.step()
    assert g.contrast > 0


def test_fixed_contrast_is_kept_to_the_last_bit():
    assert diffusivities.Exponential(0.1).contrast.item() == 0.1


def test_free_form_stays_decreasing_whatever_its_weights(rng):
    g = diffusivities.FreeForm(1.0)
    with torch.no_grad():
        g.logits.copy_(5 * torch.randn(g.logits.shape, generator=rng, dtype=torch.float64))
        values = g(SAMPLES)
    assert (values.diff() <= 1e-15).all()
    assert values[0].item() == pytest.approx(1, rel=4e-16)


@pytest.mark.parametrize("contrast", [0, -1, float("nan"), float("inf"), "strong"])
def test_bad_contrast_is_refused(contrast):
    with pytest.raises((ValueError, TypeError), match="contrast|number"):
        diffusivities.Exponential(contrast)


def test_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="'charbonnier'"):
        diffusivities.by_name("charbonier")
    with pytest.raises(ValueError, match="steps"):
        diffusivities.FreeForm(1.0, steps=1)


def test_weickert_flux_turns_at_the_contrast():
    """The constant C makes g(s²) s grow below the contrast and fall above it."""
    g = diffusivities.Weickert(3.0)
    s = torch.tensor([2.9, 2.97, 3.03, 3.1], dtype=torch.float64)
    flux = g(s**2) * s
    assert flux[1] > flux[0]
    assert flux[2] > flux[3]
