"""Diffusivities: g is the derivative of Psi, decreasing and bounded; secants are exact even where they close."""

import math

import pytest
import torch

from catalogue import DIFFUSIVITIES
from whorl import diffusivities
from whorl.activations import Anisotropic, Isotropic

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


def test_values_by_hand():
    """At contrast 2 and s² = 12: ratio 3."""
    s2 = torch.tensor(12.0, dtype=torch.float64)
    expected = {
        "exponential": (math.exp(-1.5), 8 * (1 - math.exp(-1.5)), -math.exp(-1.5) / 8),
        "rational": (1 / 4, 4 * math.log(4), -1 / 64),
        "charbonnier": (1 / 2, 8.0, -1 / 64),
        "tv": (1 / 4, 4.0, -1 / 128),
        "homogeneous": (1.0, 12.0, 0.0),
        "weickert": (1 - math.exp(-3.31488 / 81), None, -4 * 3.31488 / 243 * math.exp(-3.31488 / 81) / 4),
    }
    for name, (value, psi, slope) in expected.items():
        g = diffusivities.by_name(name, contrast=2.0)
        assert float(g(s2)) == pytest.approx(value, rel=1e-12)
        assert float(g.slope(s2)) == pytest.approx(slope, rel=1e-12)
        if psi is not None:
            assert float(g.psi(s2)) == pytest.approx(psi, rel=1e-12)


@parametrised
def test_psi_is_the_integral(g):
    """Simpson's rule on a fine grid, from 0 to several times the squared contrast."""
    x = torch.linspace(0, 60.0, 20001, dtype=torch.float64)
    weights = torch.full_like(x, 2.0)
    weights[1::2], weights[0], weights[-1] = 4.0, 1.0, 1.0
    integral = float((weights * g(x)).sum()) * 60.0 / 20000 / 3
    assert float(g.psi(x[-1])) == pytest.approx(integral, rel=1e-9)


@parametrised
def test_a_vanishing_secant_is_the_slope(g):
    x = torch.tensor([0.0, 0.3, 2.0, 6.25, 40.0], dtype=torch.float64)
    assert torch.allclose(g.divided_difference(x, x), g.slope(x), rtol=1e-12, atol=1e-15)


@parametrised
def test_close_secants_are_integrals_of_the_slope(g):
    """Within the range where the slope is integrated, at nine digits, and symmetric in both ends."""
    x = torch.tensor([0.01, 1.0, 5.0, 9.0, 30.0], dtype=torch.float64)
    for width in (0.1, 0.25, 0.3):
        y = x + width
        nodes = torch.linspace(0, 1, 2001, dtype=torch.float64)
        weights = torch.full_like(nodes, 2.0)
        weights[1::2], weights[0], weights[-1] = 4.0, 1.0, 1.0
        mean = (g.slope(x[:, None] + width * nodes) * weights).sum(1) / 6000
        assert torch.allclose(g.divided_difference(x, y), mean, rtol=1e-9, atol=1e-13)
        assert torch.allclose(g.divided_difference(y, x), mean, rtol=1e-9, atol=1e-13)


@torch.no_grad()
def test_free_form_by_hand():
    """Two steps at 1/4 and 4 with weights 1/4 and 3/4, contrast 2, s² = 4: x = 1."""
    g = diffusivities.FreeForm(2.0, steps=2, smallest=0.25, largest=4.0)
    g.logits.copy_(torch.tensor([0.0, math.log(3.0)]))
    s2 = torch.tensor(4.0, dtype=torch.float64)
    assert float(g(s2)) == pytest.approx(0.25 / 17 + 0.75 / (1 + 1 / 16))
    assert float(g.psi(s2)) == pytest.approx(4 * (0.25 * 0.25 * math.atan(4) + 0.75 * 4 * math.atan(0.25)))
    slope = -(0.25 * 2 * 16 / 17**2 + 0.75 * 2 / 16 / (17 / 16) ** 2) / 4
    assert float(g.slope(s2)) == pytest.approx(slope)
    y = torch.tensor(8.0, dtype=torch.float64)
    assert float(g.divided_difference(s2, y)) == pytest.approx(float((g(y) - g(s2)) / 4))
    assert diffusivities.FreeForm(1.0).thresholds == pytest.approx([16 ** (k / 3.5 - 1) for k in range(8)])
    assert len(diffusivities.FreeForm(1.0, steps=2).thresholds) == 2
    trained = [name for name, p in diffusivities.FreeForm(1.0).named_parameters() if p.requires_grad]
    assert len(trained) == 2
    assert not any(p.requires_grad for p in diffusivities.FreeForm(1.0, trainable=False).parameters())


def test_rescaled_by_hand():
    inner = diffusivities.Exponential(3.0)
    g = diffusivities.Rescaled(inner, 4.0)
    twin = diffusivities.Exponential(1.5)  # exp(-4 s² / (2 9))
    s2 = torch.tensor([0.0, 1.0, 5.0], dtype=torch.float64)
    for part in ("psi", "slope"):
        assert torch.allclose(getattr(g, part)(s2), getattr(twin, part)(s2))
    assert torch.allclose(g(s2), twin(s2))
    assert torch.allclose(g.divided_difference(s2, s2 + 2), twin.divided_difference(s2, s2 + 2))
    assert float(g.contrast) == pytest.approx(1.5)
    assert float(diffusivities.Rescaled(inner, 9.0).contrast) == pytest.approx(1.0)
    assert g.maximum() == 1
    assert diffusivities.Rescaled(diffusivities.RegularisedTV(0.5), 9.0).maximum() == pytest.approx(2.0)


def test_defaults_and_scales():
    assert not diffusivities.Exponential().scale_adaptive
    assert all(kind().contrast.item() == 1 for kind in (*diffusivities.CLASSICAL, diffusivities.FreeForm))
    adaptive = diffusivities.Exponential([1.0, 2.0])
    assert adaptive.scale_adaptive
    assert adaptive.contrast.shape == (2, 1, 1, 1)
    v = torch.full((1, 1, 2, 1, 1, 1), 2.0)
    assert adaptive(v).flatten().tolist() == pytest.approx([math.exp(-1), math.exp(-0.25)])
    for name in diffusivities.names():
        if name != "free-form":
            assert not any(p.requires_grad for p in diffusivities.by_name(name, 2.0).parameters())
        assert float(diffusivities.by_name(name, 2.0).contrast) == 2
    assert any(p.requires_grad for p in diffusivities.by_name("tv", 2.0, trainable=True).parameters())
    assert not any(p.requires_grad for p in diffusivities.Charbonnier(2.0).parameters())


def test_weickert_is_flat_where_the_exponential_vanishes(dtype):
    """Below a fifth of the squared contrast g is 1 to the last bit, slopes are zero, and nothing overflows."""
    g = diffusivities.Weickert(1.0)
    s2 = torch.tensor([0.0, 1e-30, 0.1, 0.2], dtype=dtype)
    assert torch.equal(g(s2), torch.ones_like(s2))
    assert (g.slope(s2).abs() < 1e-200 if dtype == torch.float64 else g.slope(s2) == 0).all()
    assert torch.allclose(g.psi(s2), s2)
    assert float(g(torch.tensor(0.6, dtype=torch.float64))) < 1


@parametrised
def test_secants_are_symmetric_however_far_their_ends(g):
    x = torch.tensor([0.0, 0.5, 4.0, 9.0], dtype=torch.float64)
    y = torch.tensor([40.0, 90.0, 11.0, 300.0], dtype=torch.float64)
    exact = (g(y) - g(x)) / (y - x)
    for secant in (g.divided_difference(x, y), g.divided_difference(y, x)):
        assert torch.allclose(secant, exact, rtol=1e-9, atol=1e-14)


def test_close_is_measured_by_the_contrast():
    """At contrast 1000 a difference quotient over 1 would lose nine digits."""
    g = diffusivities.Weickert(1000.0)
    x = torch.tensor([0.9e6, 1.5e6], dtype=torch.float64)
    for width in (1.0, 1e-3):  # which would lose twelve
        assert torch.allclose(g.divided_difference(x, x + width), g.slope(x + width / 2), rtol=1e-9, atol=0)


def test_largest_value_follows_the_smallest_contrast():
    assert diffusivities.RegularisedTV([0.5, 2.0]).maximum() == pytest.approx(2.0)
    assert diffusivities.RegularisedTV(0.5, trainable=True).maximum() == pytest.approx(2.0)


@pytest.mark.parametrize("space", [2, 3])
def test_each_channel_and_scale_has_its_contrast(space):
    contrasts = [[1.0, 2.0], [3.0, 4.0]]
    g = diffusivities.Rational(contrasts)
    responses = torch.full((1, 2, 2, 1, *[1] * space), 9.0)
    expected = [[1 / (1 + 9 / contrast**2) for contrast in row] for row in contrasts]
    assert torch.allclose(g(responses)[0, ..., 0, 0].reshape(2, 2), torch.tensor(expected))


def test_along_what_contrasts_differ():
    assert diffusivities.Rational(1.0).varies == ()
    assert diffusivities.Rational([1.0, 2.0]).varies == ("scales",)
    assert diffusivities.Rational([[1.0], [2.0]]).varies == ("channels",)
    assert diffusivities.Rational([[1.0, 2.0], [3.0, 4.0]]).varies == ("channels", "scales")


def test_closed_forms_are_known():
    """Compiled engines take what has a closed form."""
    for name in diffusivities.names():
        g = diffusivities.by_name(name, 2.0)
        assert g.closed_form == (type(g) in diffusivities.CLASSICAL)


@pytest.mark.parametrize("contrast", [1e-10, 1e-5, 1.0, 1e5, 1e11])
def test_secants_of_total_variation_keep_their_digits_in_float32(contrast):
    g = diffusivities.RegularisedTV(contrast)
    x = contrast**2 * torch.tensor([0.0, 0.5, 3.0], dtype=torch.float64)
    y = contrast**2 * torch.tensor([0.1, 2.0, 50.0], dtype=torch.float64)
    exact = g.divided_difference(x, y)
    assert torch.allclose(g.divided_difference(x.float(), y.float()).double(), exact, rtol=1e-5, atol=0)


class Wrong(diffusivities.Diffusivity):
    """g and psi of the rational diffusivity, each times a factor."""

    name = "wrong"

    def __init__(self, contrast=2.0, g=1.0, psi=1.0, top=1.0):
        super().__init__(contrast)
        self.factors = g, psi, top

    def forward(self, s2):
        return self.factors[0] / (1 + s2 / self._contrast_squared(s2))

    def psi(self, s2):
        squared = self._contrast_squared(s2)
        return self.factors[1] * squared * torch.log1p(s2 / squared)

    def slope(self, s2):
        squared = self._contrast_squared(s2)
        return -self.factors[0] / squared / (1 + s2 / squared) ** 2

    def maximum(self):
        return self.factors[2]


def test_diffusivities_that_contradict_themselves_are_refused_when_something_is_built_of_them():
    for contrast in (1e-3, 2.0, [1.0, 3.0], [[1.0], [5.0], [9.0]]):
        Isotropic(Wrong(contrast))
        Isotropic(Wrong(contrast, g=30.0, psi=30.0, top=30.0))
    with pytest.raises(ValueError, match=r"Wrong: g reaches 30, but maximum\(\) says 1"):
        Isotropic(Wrong(g=30.0, psi=30.0))
    with pytest.raises(ValueError, match=r"Wrong: psi' and g differ"):
        Anisotropic(Wrong(psi=0.9))
    with pytest.raises(ValueError, match="g reaches nan"):
        Isotropic(Wrong(g=float("nan")))


class Squared(diffusivities.Rational):
    """Derived from one with secants in closed form."""

    def forward(self, s2):
        return super().forward(s2) ** 2

    def psi(self, s2):
        return s2 * super().forward(s2)

    def slope(self, s2):
        return -2 * super().forward(s2) ** 3 / self._contrast_squared(s2)


class WithoutSlope(Squared):
    def slope(self, s2):
        return -diffusivities.Rational.forward(self, s2)


def test_derived_diffusivities_inherit_no_closed_form():
    g, x, y = Squared(2.0), torch.tensor(1.0, dtype=torch.float64), torch.tensor(7.0, dtype=torch.float64)
    exact = (g(y) - g(x)) / (y - x)
    assert float(g.divided_difference(x, y)) == pytest.approx(float(exact), rel=1e-12)
    assert float(g.secant(x, y, g(x), g(y))) == pytest.approx(float(exact), rel=1e-12)
    assert not g.closed_form
    assert Isotropic(g).diffusivity is g
    with pytest.raises(ValueError, match=r"WithoutSlope: slope\(\) is not the derivative of g"):
        Isotropic(WithoutSlope(2.0))


@parametrised
def test_known_diffusivities_pass_the_check_of_custom_ones(g, monkeypatch):
    monkeypatch.setattr(type(g), "closed_form", False)
    g.check()


@pytest.mark.parametrize("contrast", [1e-6, 2.598830888644271, 1e8])
@pytest.mark.parametrize("name", diffusivities.names())
def test_rescaled_diffusivities_pass_their_own_check(name, contrast):
    """Whose differences are taken in float64: in float32, values of total variation drown in their rounding."""
    diffusivities.Rescaled(diffusivities.by_name(name, contrast), 4.0).check()
