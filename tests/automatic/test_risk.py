"""Settings in space: the estimated error is the true one, and the settings found by it are close to the best."""

from functools import partial

import pytest
import torch

import whorl
from whorl import models
from whorl.automatic import automatic_settings
from whorl.automatic.risk import BLOCK, MOST, curve, least_risk, signs_of, thinned
from whorl.automatic.samples import blocks_along
from whorl.data.noise import gaussian_noise
from whorl.data.tomogram import tomogram
from whorl.invariance.symmetries import SYMMETRIES

SPACING = (1.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def scene():
    clean = tomogram(28, tilt=90.0).clean
    return clean, clean + gaussian_noise(1, tuple(clean.shape[1:]), 20.0)


@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "eed"])
def test_the_estimated_error_is_the_true_one(scene, name):
    clean, noisy = scene
    model = models.build(name, contrast=9.0, spacing=SPACING)
    signs = signs_of(noisy)
    tau = model.automatic_step(3)
    u = noisy
    for risk, _ in curve(model, [noisy], [signs], 20.0, [tau] * 4, "reference"):
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


@pytest.mark.parametrize(("noise", "most"), [(2.0, 0.0), (60.0, 0.2)], ids=["none", "half a step"])
def test_little_noise_in_strong_texture_is_filtered_little_or_not_at_all(noise, most):
    """Every whole step does harm here: half a step is tried, and no step at all is an answer."""
    texture = 100 * torch.randn(1, 1, 16, 16, 16, generator=torch.Generator().manual_seed(0))
    _, time = least_risk("weickert-brox", [texture], noise, 3000.0, engine="reference")
    assert time == pytest.approx(most)


def test_blocks_of_whole_values_are_the_same_however_the_picture_lies():
    """Many of them have equal medians and ends: 12, 20 and 28 here."""
    draw = torch.randn(1, 1, 400, 300, generator=torch.Generator().manual_seed(0))
    u = (3 * draw + 20).round().clamp(12, 28)
    chosen = [sorted(float(v.square().sum()) for v in thinned([move(u)], 2**15, 24)) for move in SYMMETRIES.values()]
    assert all(each == chosen[0] for each in chosen)


def test_large_samples_arethinned():
    parts = [torch.arange(130.0).expand(1, 1, 100, 120, 130) for _ in range(3)]
    blocks = thinned(parts)
    assert sum(block.numel() for block in blocks) <= MOST + max(block.numel() for block in blocks)
    assert sum(block.numel() for block in blocks) > MOST / 3
    assert thinned(parts[:1])[0].shape[2] < 100


def test_diffuse_uses_it(scene):
    clean, noisy = scene
    result = whorl.diffuse(noisy[0, 0], "perona-malik", spacing=SPACING)
    assert (result - clean[0, 0]).square().mean() < 0.25 * (noisy - clean).square().mean()


@pytest.mark.parametrize("whole", [False, True], ids=["noise", "whole numbers"])
def test_signs_turn_with_the_volume_and_are_as_good_as_random(scene, whole):
    _, noisy = scene
    volume = (noisy[:, :, :, 1:, 3:] / 20).round() if whole else noisy[:, :, :, 1:, 3:]
    signs = signs_of(volume)
    for turned in (lambda u: u.flip(2), lambda u: u.transpose(3, 4), lambda u: u.transpose(2, 4).flip(3)):
        assert torch.equal(signs_of(turned(volume).contiguous()), turned(signs))
    assert torch.equal(signs_of(2.0**-20 * volume), signs)  # in another unit
    # The mean of N signs, and that of the products of neighbours, is 0 up to a few of 1 / sqrt(N).
    means = [signs.mean(), *((signs.narrow(a, 0, 20) * signs.narrow(a, 1, 20)).mean() for a in (2, 3, 4))]
    assert max(map(abs, means)) < 5 * 2 / signs.numel() ** 0.5


def test_blank_voxels_do_not_count(scene):
    """A volume in a large empty box: the same settings as without the box, but for what lies at its faces."""
    _, noisy = scene
    empty = torch.zeros(1, 1, 48, 48, 48)
    empty[:, :, 10:38, 10:38, 10:38] = noisy + 300
    found = [automatic_settings("perona-malik", [u], spacing=SPACING) for u in (noisy, empty)]
    assert found[1].noise == pytest.approx(found[0].noise, rel=0.1)
    assert found[1].contrast == pytest.approx(found[0].contrast, rel=0.5)
    assert found[1].time == pytest.approx(found[0].time, rel=0.5)


@pytest.mark.parametrize("size", [30, 97, 144, 191])
def test_blocks_are_the_same_from_both_ends(size):
    spans = [(part.start, part.stop) for part in blocks_along(size, BLOCK)]
    assert spans == [(size - stop, size - start) for start, stop in reversed(spans)]
    assert all(stop - start >= min(BLOCK, size) for start, stop in spans)
    assert sum(stop - start for start, stop in spans) >= size - 1


def test_the_blocks_of_a_turned_volume_are_the_same():
    volume = 10 * torch.randn(1, 1, 97, 101, 150, generator=torch.Generator().manual_seed(0))
    turned = [thinned([u.contiguous()]) for u in (volume, volume.flip(2).transpose(3, 4))]
    assert len(turned[0]) > 3
    assert [float(u.double().square().sum()) for u in turned[0]] == pytest.approx(
        [float(u.double().square().sum()) for u in turned[1]], rel=1e-12
    )
