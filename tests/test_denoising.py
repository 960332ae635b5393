"""Noise as it is, with nothing told: measured, removed, checked; and the same for windows, turns and dyes."""

import warnings

import numpy as np
import pytest
import torch

import whorl
from whorl import large
from whorl.automatic import NoiseModel
from whorl.automatic.answer import answer
from whorl.automatic.noise_model import neighbours
from whorl.denoising import Denoising


def scene(size=160):
    y, x = np.mgrid[:size, :size]
    discs = sum(70.0 * (np.hypot(x - 30 * k, y - 25 - 22 * k) < 10 + 2 * k) for k in range(1, 6))
    return 25 + discs + 30 * np.sin(x / 17.0) ** 2


def filtered(shape, width, seed=0):
    """Noise of variance 1 after a Gaussian."""
    model = NoiseModel((0.0,), (1.0,), (width,), -100.0, 100.0)
    return model.simulate(torch.zeros(1, 1, *shape, dtype=torch.float64), seed)[0, 0].numpy()


def error(found, clean):
    return float(np.square(np.asarray(found, float) - clean).mean())


@pytest.fixture
def micrograph():
    """A scene of few photons with an offset, and the clean one."""
    clean = scene()
    return np.random.default_rng(0).poisson(clean / 4) * 4.0 + 10, clean + 10


def test_noise_that_depends_on_the_grey_value_is_removed_better_than_by_one_level(micrograph):
    noisy, clean = micrograph
    found = whorl.denoise(noisy)
    level = float(np.std(noisy - clean))
    assert error(found, clean) < 0.1 * error(noisy, clean)
    assert error(found, clean) < 0.9 * error(whorl.denoise(noisy, level), clean)
    told = whorl.denoise(noisy, NoiseModel((4.0,), (-40.0,), (0.0,), 10.0, 255.0))
    assert error(found, clean) < 1.3 * error(told, clean)


def test_the_mean_is_kept(micrograph):
    noisy, _ = micrograph
    assert whorl.denoise(noisy).mean() == pytest.approx(noisy.mean(), rel=1e-4)


def test_correlated_noise_is_found_and_removed():
    y, x = np.mgrid[:256, :256]
    clean = 80 + 60.0 * (np.hypot(x - 120, y - 130) < 70)
    noisy = clean + 12 * filtered(clean.shape, 0.7)
    model = Denoising().measured(lambda: [torch.from_numpy(noisy)[None, None]])
    assert isinstance(model, NoiseModel)
    assert model.correlation[0] == pytest.approx(0.7, abs=0.15)
    assert error(whorl.denoise(noisy), clean) < 0.35 * error(whorl.denoise(noisy, 12.0), clean)


def test_the_correlation_of_neighbours_is_that_of_filtered_noise():
    for width in (0.5, 0.8, 1.2):
        noise = filtered((400, 400), width)
        assert neighbours(width) == pytest.approx(float((noise[1:] * noise[:-1]).mean()), abs=0.02)


@pytest.mark.parametrize("colour", [False, True])
def test_turned_and_mirrored_pictures_come_out_turned_and_mirrored(colour, micrograph):
    noisy, _ = micrograph
    noisy = noisy[:120, :90]
    axis = -1 if colour else None
    if colour:
        noisy = np.stack([noisy, 0.8 * noisy + 3, noisy], -1) + np.random.default_rng(1).normal(0, 3, (120, 90, 3))
    upright = whorl.denoise(noisy, channel_axis=axis)
    assert error(upright, noisy) > 1
    for turn in range(4):
        for mirrored in (False, True):
            before, after = (np.rot90(u[:, ::-1] if mirrored else u, turn) for u in (noisy, upright))
            found = whorl.denoise(np.ascontiguousarray(before), channel_axis=axis)
            assert np.abs(found - after).max() < 2e-3


def test_windows_have_what_the_whole_has(micrograph):
    noisy, _ = micrograph
    whole = whorl.denoise(noisy)
    assert np.abs(large.map(noisy, Denoising(), tile=110) - whole).max() < 2e-3


@pytest.mark.parametrize("network", [None, "photo-8k", "paper"])
def test_the_strength_is_the_share_of_the_change(network):
    """A straight line from the picture to the result, in windows, too; the noise is found once and for all."""
    from whorl.networks import available, photo_networks

    network = (available()[0] if network == "paper" else network) if network else None
    assert network is None or network in (*photo_networks(), *available())
    noisy = np.random.default_rng(0).normal(100.0, 15.0, (150, 70))
    told = {"noise": 15.0, "network": network}
    results = [whorl.denoise(noisy, **told, strength=s) for s in (0.0, 0.3, 0.7, 1.0)]
    assert np.array_equal(results[0], noisy)
    assert np.array_equal(results[3], whorl.denoise(noisy, **told))
    change = results[3] - noisy
    assert change.std() > 5
    for share, result in zip((0.3, 0.7), results[1:3], strict=True):
        assert np.abs(result - noisy - share * change).max() < 1e-4  # float32 inside the networks
        windows = large.map(noisy, Denoising(network, 15.0, strength=share), tile=64)
        assert np.abs(windows - result).max() < 2e-3
    with pytest.raises(ValueError, match="strength"):
        whorl.denoise(noisy, **told, strength=1.2)


def test_dyes_have_noise_of_their_own():
    clean = scene()
    draw = np.random.default_rng(2)
    weak, strong = clean / 8 + draw.normal(0, 0.5, clean.shape), clean[::-1] + draw.normal(0, 15, clean.shape)
    both = np.stack([weak, strong])
    found = whorl.denoise(both, channel_axis=0)
    for alone, together in zip((weak, strong), found, strict=True):
        np.testing.assert_allclose(together, whorl.denoise(alone), atol=2e-3)
    assert error(found[0], clean / 8) < 0.5 * error(weak, clean / 8)
    assert error(found[1], clean[::-1]) < 0.5 * error(strong, clean[::-1])
    three = np.stack([weak, strong, strong])
    apart = whorl.denoise(three, channel_axis=0, channels="separate")
    np.testing.assert_allclose(apart[0], found[0], atol=2e-3)
    assert error(whorl.denoise(three, channel_axis=0)[0], clean / 8) > 2 * error(apart[0], clean / 8)
    with pytest.raises(ValueError, match="choose 'separate' or 'joint'"):
        whorl.denoise(three, channel_axis=0, channels="dyes")


def test_the_error_is_estimated_from_the_noisy_picture_alone():
    clean = torch.from_numpy(scene(200))[None, None]
    model = NoiseModel((0.3,), (40.0,), (0.0,), -1000.0, 1000.0)
    noisy = model.simulate(clean, seed=3)
    remover = Denoising(noise=model).remover(model, [noisy], eight_bits=False, device=torch.device("cpu"))
    found = answer(remover.apply, model, [noisy])
    truth = [float((u - clean).square().mean()) for u in (noisy, remover.apply(noisy))]
    assert found.before == pytest.approx(truth[0], rel=0.1)
    assert found.gain == pytest.approx(10 * np.log10(truth[0] / truth[1]), abs=1.5)
    assert 0.8 < found.removed < 1.2


def test_an_answer_that_is_no_better_is_not_given(micrograph, monkeypatch):
    from whorl import denoising
    from whorl.automatic.answer import Answer

    noisy, _ = micrograph
    monkeypatch.setattr(denoising, "answer", lambda *_: Answer(1.0, 1.1, 0.5))
    with pytest.warns(UserWarning, match="would not be better than the image"):
        assert np.array_equal(whorl.denoise(noisy), noisy)


def test_clean_pictures_come_back_as_they_came():
    clean = np.round(scene()).astype(np.uint8)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = whorl.denoise(clean)
    assert error(found, clean) < 255**2 / 10**5


def test_eight_bits_are_eight_bits_in_arrays_and_tensors():
    """Their range is that of the type, whatever part of it a dark picture uses."""
    noisy = np.random.default_rng(0).normal(scene(48) / 5, 8).clip(0, 255).round().astype(np.uint8)
    found = whorl.denoise(noisy, 8.0)
    assert np.array_equal(whorl.denoise(torch.from_numpy(noisy), 8.0).numpy(), found)
    assert not np.array_equal(np.rint(whorl.denoise(noisy.astype(np.float32), 8.0)), found)


def test_a_weak_and_a_strong_dye_are_both_better_and_keep_their_means():
    """One noise for both would leave the strong dye below its input, and lose detail of the weak one."""
    clean = np.stack([scene() / 8, 20 * scene()[::-1]])
    random = np.random.default_rng(3)
    noisy = random.poisson(clean) + random.normal(0, 1, clean.shape)
    found = whorl.denoise(noisy, channel_axis=0)
    for before, after, truth in zip(noisy, found, clean, strict=True):
        assert error(after, truth) < 0.8 * error(before, truth)
        assert after.mean() == pytest.approx(before.mean(), rel=1e-3)


def test_the_pages_of_a_stack_have_one_noise(micrograph):
    noisy, clean = micrograph
    stack = np.stack([noisy, noisy[::-1], np.roll(noisy, 40, 1)])
    found = whorl.denoise(stack, page_axis=0)
    model = Denoising().measured(lambda: [torch.from_numpy(stack)[:, None]])
    assert isinstance(model, NoiseModel)
    assert error(found[0], clean) < 0.15 * error(noisy, clean)
    assert np.abs(found[1] - found[0][::-1]).max() < 2e-3
    with pytest.raises(ValueError, match="name the channel_axis, usually -1; for a stack the page_axis"):
        whorl.denoise(stack)


def test_a_map_of_the_noise_is_followed():
    """Noise 8 on the left, 40 on the right: better on both sides than one number for both."""
    clean = scene(96)
    levels = np.where(np.arange(96) < 48, 8.0, 40.0) + np.zeros_like(clean)
    noisy = clean + levels * np.random.default_rng(4).normal(size=clean.shape)
    found, even = whorl.denoise(noisy, levels), whorl.denoise(noisy, 29.0)
    for side in (np.s_[:, :48], np.s_[:, 48:]):
        assert error(found[side], clean[side]) < 0.9 * error(even[side], clean[side])
    colour = whorl.denoise(np.stack([noisy] * 3), torch.from_numpy(levels), channel_axis=0)
    assert error(colour[1][:, :48], clean[:, :48]) < 0.5 * 8**2
    half = whorl.denoise(noisy, np.where(levels > 10, levels, 0.0))
    np.testing.assert_allclose(half[:, :48], noisy[:, :48], rtol=1e-12)  # no noise, nothing to remove


@pytest.mark.parametrize("network", [None, "photo-grey", "isotropic-0.41"])
def test_pages_of_a_batch_may_have_noise_of_their_own(network):
    clean = scene(64)
    stack = np.stack([clean + level * np.random.default_rng(7).normal(size=clean.shape) for level in (10.0, 30.0)], 1)
    found = whorl.denoise(stack, [10.0, 30.0], page_axis=1, network=network)
    assert found.shape == stack.shape
    for page, level in enumerate((10.0, 30.0)):
        assert error(found[:, page], clean) < 0.7 * level**2
    if network != "isotropic-0.41":
        maps = np.moveaxis(np.array([10.0, 30.0])[:, None, None] + np.zeros((2, 64, 64)), 0, 1)
        np.testing.assert_allclose(whorl.denoise(stack, maps, page_axis=1, network=network), found, atol=2e-3)
    equal = whorl.denoise(stack, 20.0, page_axis=1, network=network)
    np.testing.assert_allclose(whorl.denoise(stack, [20.0, 20.0], page_axis=1, network=network), equal, atol=2e-3)


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        ([10.0, 20.0], r"the noise has shape \(2,\). Give one number, one for each of 1 page"),
        (np.zeros((8, 9)), "not 0 alone"),
        (np.full((8, 9), np.nan), "finite standard deviations"),
        (-np.ones((8, 9)), "0 or larger"),
    ],
)
def test_maps_that_do_not_fit_are_refused(noise, words):
    with pytest.raises(ValueError, match=words):
        whorl.denoise(scene(64)[:8, :9], noise)


@pytest.mark.parametrize("network", ["photo-27k", "isotropic-0.41"])
def test_networks_of_one_level_take_no_map(network):
    with pytest.raises(ValueError, match="no map. Use photo-grey"):
        whorl.denoise(scene(32), np.linspace(20, 30, 32) + np.zeros((32, 32)), network=network)
