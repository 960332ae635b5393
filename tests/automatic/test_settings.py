"""Contrast and time from the noise."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import whorl
from whorl import large, models, plugin
from whorl.automatic import DEFAULT_TIME, RULES, Filtering, automatic_settings, noise_present, samples_of
from whorl.automatic.settings import LONGEST

DENOISING = [name for name, rule in RULES.items() if rule is not None]


def test_every_model_has_a_rule_or_is_known_to_have_none():
    assert set(RULES) >= set(models.names())


def scene(level: float = 10.0, channels: int = 1) -> torch.Tensor:
    y, x = torch.meshgrid(torch.arange(40.0), torch.arange(40.0), indexing="ij")
    disc = 120.0 * ((x - 20) ** 2 + (y - 20) ** 2 < 150)
    noise = torch.randn(1, channels, 40, 40, generator=torch.Generator().manual_seed(1))
    return (disc + level * noise).float()


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (1.0, 2.0)], ids=str)
@pytest.mark.parametrize("name", DENOISING)
def test_the_flow_stops_when_most_of_the_noise_is_gone(name, spacing):
    u = scene(channels=3)
    told = {"spacing": spacing} | ({"diffusivity": "exponential"} if models.row(name).weighed else {})
    chosen = automatic_settings(name, [u], noise=10.0, engine="reference", **told)
    model = models.build(name, contrast=chosen.contrast, spacing=spacing)
    removed = float((model(u, chosen.time, engine="reference") - u).square().mean().sqrt())
    assert chosen.contrast == RULES[name].contrast * 10
    assert chosen.time < LONGEST
    # The time is found on half steps, between which a straight line is drawn, and reached in whole ones.
    assert removed == pytest.approx(RULES[name].removed * 10, rel=0.08)


@pytest.mark.parametrize("factor", [1e-3, 256.0])
def test_settings_follow_the_units(factor):
    one, other = (automatic_settings("weickert-brox", [f * scene()]) for f in (1.0, factor))
    assert other.contrast == pytest.approx(factor * one.contrast, rel=1e-4)
    assert other.time == pytest.approx(one.time, rel=1e-3)


@pytest.mark.parametrize("factor", [1e-6, 256.0])
def test_time_follows_the_units_of_a_diffusivity_that_has_some(factor):
    """Total variation divides by the slope: its time is counted in grey values. So is the longest one."""
    one, other = (
        automatic_settings("perona-malik", [f * scene().double()], diffusivity="tv", noise=10 * f, engine="reference")
        for f in (1.0, factor)
    )
    assert other.time == pytest.approx(factor * one.time, rel=1e-6)


@pytest.mark.parametrize(("name", "shape"), [*((name, (20, 24)) for name in DENOISING), ("perona-malik", (7, 9, 8))])
def test_results_do_not_depend_on_the_unit_of_length(name, shape):
    """Pixels twice as high as wide, in millimetres and in fractions of an inch."""
    draw = np.random.default_rng(2)
    image = 100.0 * (np.indices(shape).sum(0) > 15) + 12 * draw.standard_normal(shape)
    sides = np.array([2.0, 1.0, 1.0][: len(shape)])
    one, other = (whorl.diffuse(image, name, spacing=tuple(unit * sides), engine="reference") for unit in (1.0, 0.3))
    assert np.abs(one - image).max() > 5
    # Factors of 0.3 round; some fifty steps carry a few of those roundings on.
    assert np.abs(one - other).max() <= 1e-10 * np.abs(image).max()
    square = whorl.diffuse(image, name, spacing=(1.0,) * len(shape), engine="reference")
    assert np.abs(one - square).max() > 1


def test_large_pictures_and_layers_take_the_size_of_pixels_into_account():
    image, spacing = scene()[0, 0].numpy(), (1.0, 2.0)
    whole = whorl.diffuse(image, spacing=spacing)
    assert not np.array_equal(whole, whorl.diffuse(image))
    assert np.array_equal(whole, large.map(image, "weickert-brox", spacing=spacing, tile=32))
    layer = SimpleNamespace(data=image, rgb=False, name="a", scale=spacing, translate=(0.0, 0.0))
    chosen = automatic_settings("weickert-brox", samples_of(scene()), time=2.0, spacing=spacing)
    found, _, _ = plugin.filter_layer(layer, time=2.0)
    told = {"contrast": chosen.contrast, "time": 2.0, "spacing": spacing, **chosen.options}
    assert np.array_equal(found, whorl.diffuse(image, **told))


def test_a_clean_picture_is_hardly_changed():
    ramp = torch.arange(40.0).expand(1, 1, 40, 40)
    chosen = automatic_settings("weickert-brox", [ramp])
    assert (chosen.noise, chosen.time) == (0.0, 0.0)


def test_what_is_given_is_kept():
    assert automatic_settings("gerig", [scene()], noise=4.0, time=2.0).time == 2
    with pytest.raises(ValueError, match="noise"):
        automatic_settings("gerig", [scene()], noise=-1.0)


def test_models_that_do_not_remove_noise_say_what_to_give():
    with pytest.raises(ValueError, match="Give both"):
        automatic_settings("ced", [scene()])


def test_large_pictures_are_measured_on_samples():
    u = torch.zeros(1, 1, 2000, 40)
    assert [tuple(part.shape) for part in samples_of(u)] == [(1, 1, 256, 40)] * 4
    assert sum(part.numel() for part in samples_of(torch.zeros(1, 1, 300, 20, 400))) == (4 * 48) * 20 * (4 * 48)


def test_diffuse_takes_what_follows_from_the_noise():
    image = scene()[0, 0].numpy()
    chosen = automatic_settings("weickert-brox", [scene()])
    plain = whorl.diffuse(image, contrast=chosen.contrast, time=chosen.time, **chosen.options)
    for automatic in (
        whorl.diffuse(image),
        whorl.diffuse(image, contrast="auto"),
        whorl.diffuse(image, noise=chosen.noise),
    ):
        assert (automatic == plain).all()
    assert (whorl.diffuse(image, contrast=9.0) == whorl.diffuse(image, contrast=9.0, time=DEFAULT_TIME)).all()
    with pytest.raises(ValueError, match="no effect beside a contrast"):
        whorl.diffuse(image, contrast=9.0, noise=5.0)
    with pytest.raises(ValueError, match="NaN"):
        whorl.diffuse(image * float("nan"))


def test_noise_that_was_cut_off_does_not_keep_the_flow_running():
    """On a nearly white picture half of the noise is missing: the flow must not wait until as much has gone."""
    noise = 20 * torch.randn(1, 3, 60, 80, generator=torch.Generator().manual_seed(0))
    bright, middle = (level + noise for level in (245.0, 128.0))
    bright[..., :2] = middle[..., :2] = 0.0  # black is 0 in both
    bright = bright.clamp(0, 255)
    there = (bright[..., 2:] - bright[..., 2:].mean()).square().mean().sqrt()
    assert noise_present([bright[..., 2:].clamp_min(0)], 20.0) == pytest.approx(float(there), rel=0.05)
    for told in ({}, {"diffusivity": "exponential"}):
        find = partial(automatic_settings, "weickert-brox", noise=20.0, engine="reference", **told)
        assert find([bright]).time < 2 * find([middle]).time


def test_the_size_of_a_pixel_counts_whoever_tells_it():
    """Files and layers tell it beside the options of the model; the settings are those for such pixels."""
    noisy = 100 + 10 * torch.randn(1, 1, 24, 26, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    told = {"diffusivity": "exponential"}
    beside, among, square = (
        Filtering("perona-malik", options=options).settings(lambda: [noisy], space)
        for options, space in ((told, (2.0, 0.5)), ({**told, "spacing": (2.0, 0.5)}, (2.0, 0.5)), (told, (1.0, 1.0)))
    )
    assert beside == among
    assert beside.contrast == pytest.approx(2 * square.contrast, rel=0.3)
    assert beside.contrast != pytest.approx(square.contrast, rel=0.3)
