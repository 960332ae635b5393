"""Settings in space: the estimated error is the true one, and the settings found by it are close to the best."""

from functools import partial

import pytest
import torch

import whorl
from whorl import models
from whorl.automatic import automatic_settings
from whorl.automatic.risk import MOST, _curve, _thinned, least_risk
from whorl.data.noise import gaussian_noise
from whorl.data.tomogram import tomogram

SPACING = (1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def scene():
    clean = tomogram(28, tilt=90.0).clean
    return clean, clean + gaussian_noise(1, tuple(clean.shape[1:]), 20.0)


@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "eed"])
def test_the_estimated_error_is_the_true_one(scene, name):
    clean, noisy = scene
    model = models.build(name, contrast=9.0, spacing=SPACING)
    signs = torch.randint(0, 2, noisy.shape, generator=torch.Generator().manual_seed(0)).to(noisy) * 2 - 1
    tau = model.automatic_step(3)
    u = noisy
    for risk, _ in _curve(model, [noisy], [signs], 20.0, [tau] * 4, "reference"):
        u = model.step(u, tau, engine="reference")
        # The noise alone, whose mean square enters, varies by the root of 2 / N.
        allowed = 5 * 20.0**2 * (2 / noisy.numel()) ** 0.5
        assert risk == pytest.approx(float((u - clean).square().mean()), abs=allowed)


def test_the_settings_found_are_close_to_the_best(scene):
    clean, noisy = scene
    error = lambda u: float((u - clean).square().mean())  # noqa: E731
    contrast, time = least_risk("eed", [noisy], 20.0, 8.0, spacing=SPACING)
    found = error(models.build("eed", contrast=contrast, spacing=SPACING)(noisy, time))
    best = min(
        error(models.build("eed", contrast=k, spacing=SPACING)(noisy, n * 0.2))
        for k in (2.0, 4.0, 6.0, 9.0, 13.0, 18.0)
        for n in range(1, 12)
    )
    assert found < 1.07 * best  # 0.3 dB


def test_a_given_time_is_kept_and_units_do_not_matter(scene):
    _, noisy = scene
    find = partial(automatic_settings, "perona-malik", spacing=SPACING)
    one, other = find([noisy]), find([64 * noisy])
    assert other.time == pytest.approx(one.time)
    assert other.contrast == pytest.approx(64 * one.contrast, rel=1e-4)
    assert find([noisy], time=0.7).time == pytest.approx(0.7)
    assert find([noisy], time=0.0).time == 0.0


def test_large_samples_are_thinned():
    parts = [torch.zeros(1, 1, 100, 120, 130) for _ in range(3)]
    blocks = _thinned(parts)
    assert sum(block.numel() for block in blocks) <= MOST + max(block.numel() for block in blocks)
    assert sum(block.numel() for block in blocks) > MOST / 3
    assert _thinned(parts[:1])[0].shape[2] < 100


def test_diffuse_uses_it(scene):
    clean, noisy = scene
    result = whorl.diffuse(noisy[0, 0], "perona-malik", spacing=SPACING)
    assert (result - clean[0, 0]).square().mean() < 0.25 * (noisy - clean).square().mean()
