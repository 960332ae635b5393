"""How models are built by name: defaults, what is written down of them, and which contrasts they take."""

import json
import math

import pytest
import torch

import whorl
from catalogue import noise
from whorl.errors import StabilityError
from whorl.models import build


def test_defaults_in_the_plane():
    """Lengths are pixels: exactly one for sigma and four for rho."""
    pixel = 0.3
    model = build("ced", spacing=pixel)
    assert model.operator.alpha == 0.25
    assert model.activation.gamma == 1
    assert model.structure.smoothing.sigma == pixel
    assert model.activation.smoothing.sigma == pytest.approx(4 * pixel)
    assert build("eed").activation.gamma == 0
    assert build("weickert-integration").operator.directions == 8
    scales = build("multiscale-isotropic", spacing=pixel).operator.smoothings
    assert [G.sigma / pixel for G in scales] == pytest.approx([10 ** (i / 4 - 1) for i in range(8)])


@pytest.mark.parametrize("pixel", [0.3, 2.0, 3.0, 13.5])
def test_a_pixel_of_square_ones_is_their_size_to_the_last_bit(pixel):
    assert build("eed", spacing=pixel).structure.smoothing.sigma == pixel
    assert build("eed", spacing=(pixel, pixel)).structure.smoothing.sigma == pixel


@pytest.mark.parametrize(
    ("name", "given"),
    [
        *((name, {}) for name in whorl.models.names()),
        ("eed", {"gamma": 0.2, "sigma": 1.5, "spacing": (1.0, 2.0)}),
        ("ced", {"gamma": 0.0}),
        ("weickert-brox", {"gamma": 0.0}),
        ("multiscale-anisotropic", {"omega_inside": False, "scales": 3}),
    ],
    ids=str,
)
def test_settings_say_all_that_was_given_and_rebuild_the_model(name, given, rng):
    model = build(name, contrast=12.0, **given)
    assert given.items() <= model.settings.items()
    twin = build(name, **json.loads(json.dumps(model.settings)))
    u = noise(rng, 1, 1, 6, 7)
    assert torch.equal(model.rhs(u), twin.rhs(u))


def test_gamma_0_is_what_models_without_gamma_have():
    assert "gamma" not in build("perona-malik", gamma=0.0).settings
    with pytest.raises(ValueError, match=r"gamma = 0.5 has no meaning .* It takes: diffusivity, alpha, cell, sigma\."):
        build("perona-malik", gamma=0.5)


@pytest.mark.parametrize(
    ("name", "contrast", "message"),
    [
        ("perona-malik", "auto", r"got 'auto'\. whorl\.diffuse measures it"),
        ("perona-malik", "high", r"got 'high'\. Give a number\."),
        ("perona-malik", 0.0, r"perona-malik: contrast must lie in \(0, inf\), got 0\.0"),
        ("perona-malik", [1.0, 2.0], r"one number, got 2\. Only multiscale models"),
        ("perona-malik", [[1.0], [1.0, 2.0]], r"one number, got 2\. Only multiscale models"),
        ("perona-malik", [2.0, [3.0]], "rows of equal length"),
        ("multiscale-isotropic", [[1.0], [1.0, 2.0]], "rows of equal length"),
        ("ced", [[1.0], [2.0]], r"ced: contrast must be one number, got 2: channels share"),
    ],
    ids=str,
)
def test_a_contrast_that_makes_no_sense_is_refused_with_the_remedy(name, contrast, message):
    with pytest.raises(ValueError, match=message):
        build(name, contrast=contrast)


def test_channels_and_scales_may_have_contrasts_of_their_own():
    assert build("perona-malik", contrast=[[2.0], [3.0]]).activation.law.diffusivity.varies == ("channels",)
    assert build("multiscale-isotropic", contrast=[2.0, 3.0], scales=2).activation.law.diffusivity.varies == ("scales",)
    assert float(build("ced", contrast=[[2.0]]).activation.law.contrast) == 2


@pytest.mark.parametrize("name", whorl.models.names())
def test_operator_and_activation_speak_of_the_same_directions(name):
    model = build(name)
    assert model.activation.axes == model.operator.axes


def test_steps_above_the_limit_want_to_be_insisted_on():
    model, u = build("perona-malik"), torch.zeros(1, 1, 2, 2)
    with pytest.raises(StabilityError, match="insist=True"):
        model.step(u, 2 * model.step_limit())
    with pytest.raises(StabilityError, match="insist=True"):
        model(u, 10.0, tau=2 * model.step_limit())


@pytest.mark.parametrize("directions", [4, 5])
def test_integration_weighs_each_direction_by_its_own_slope(directions):
    """On a ramp of slope s the flux is g(s² cos² θ) times the derivative, however many directions share the weight."""
    model = build("weickert-integration", contrast=3.0, sigma=0.0, directions=directions)
    derivatives = model.operator(5 * torch.arange(8.0, dtype=torch.float64).expand(1, 1, 8, 8))
    flux = model.activation(derivatives)[..., 4, 4].flatten()
    slope = 5 * torch.cos(torch.arange(directions, dtype=torch.float64) * math.pi / directions)
    assert torch.allclose(flux, torch.exp(-(slope**2) / 18) * math.sqrt(2 / directions) * slope, rtol=0, atol=1e-14)
