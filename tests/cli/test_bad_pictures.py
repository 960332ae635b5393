"""Pictures that tell little, or are odd: a clear answer to each, in Python and by the command."""

import warnings

import numpy as np
import pytest
from PIL import Image

import whorl


def noisy(shape, low=60.0, high=180.0, deviation=8.0):
    y, x = np.mgrid[: shape[0], : shape[1]]
    disc = np.hypot(x - shape[1] / 2, y - shape[0] / 2) < min(shape) / 4
    return low + (high - low) * disc + np.random.default_rng(0).normal(0, deviation, shape)


def quietly(image, **told):
    """The result, whatever is warned of."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return whorl.denoise(image, **told)


@pytest.mark.parametrize("value", [0, 7, 255])
def test_constant_pictures_come_back_as_they_came(value):
    for image in (np.full((40, 40), value, np.uint8), np.full((40, 40), float(value))):
        assert np.array_equal(quietly(image), image)
        assert "too small or too busy a picture to tell" in str(whorl.noise(image))


@pytest.mark.parametrize("shape", [(8, 8), (1, 8), (8, 1), (2, 4), (1, 1), (3, 100)], ids=str)
def test_pictures_of_few_pixels_have_an_answer(shape):
    image = np.random.default_rng(0).normal(100, 20, shape)
    found = quietly(image)
    assert found.shape == shape
    assert np.isfinite(found).all()
    assert found.mean() == pytest.approx(image.mean(), rel=0.05)
    assert np.isfinite(whorl.noise(image).offset[0])


def test_saturated_pictures_stay_within_their_range():
    image = np.clip(noisy((96, 96), -60, 320, 30.0), 0, 255).round().astype(np.uint8)
    assert (image == 0).mean() > 0.5
    found = quietly(image)
    assert np.square(found.astype(float) - np.clip(noisy((96, 96), -60, 320, 0.0), 0, 255)).mean() < 40
    assert np.array_equal(quietly(np.where(image > 127, 255, 0).astype(np.uint8)), np.where(image > 127, 255, 0))


def test_values_outside_a_mask_do_not_spread():
    """A section on blank paper: what was never recorded is one value, and stays it."""
    image = noisy((120, 120), 600.0, 900.0, 20.0)
    image[:, :50] = -1000.0
    found = quietly(image)
    assert (found[:, :50] == -1000).all()
    assert np.std(found[10:-10, 110:] - 600) < 0.5 * 20
    assert np.sqrt(whorl.noise(image).offset[0] + whorl.noise(image).gain[0] * 600) == pytest.approx(20, rel=0.2)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_no_number_is_refused(bad):
    image = noisy((30, 30))
    image[3, 4] = bad
    for call in (whorl.denoise, whorl.noise):
        with pytest.raises(ValueError, match="NaN"):
            call(image)


def test_complex_numbers_and_masked_arrays_are_refused_with_the_remedy():
    with pytest.raises(ValueError, match=r"complex.*[Cc]onvert"):
        whorl.denoise(noisy((20, 20)) * 1j)
    with pytest.raises(ValueError, match=r"masked array.*filled"):
        whorl.noise(np.ma.masked_less(noisy((20, 20)), 100))
    with pytest.raises(ValueError, match=r"masked array.*filled"):
        whorl.reconstruct(np.ma.masked_less(noisy((20, 20)), 100), lambda u: u, noise=15.0)


def test_colour_is_not_measured_as_a_volume():
    for shape in ((40, 50, 3), (4, 40, 50)):
        with pytest.raises(ValueError, match="channel_axis"):
            whorl.noise(np.random.default_rng(0).normal(100, 15, shape))


def test_numbers_that_are_none_are_named():
    for time in (float("nan"), -1.0, 10**400):
        with pytest.raises(ValueError, match="time"):
            whorl.diffuse(noisy((20, 20)), time=time)


def test_labels_and_masks_are_copied_with_a_word():
    """Two hundred cells as 8 bits, in which a level above 0 is measured; and a photograph's shadows, of two values."""
    draw = np.random.default_rng(8)
    seeds, places = draw.uniform(0, 100, (200, 2)), np.stack(np.mgrid[:100, :120], -1)
    cells = ((places[..., None, :] - seeds) ** 2).sum(-1).argmin(-1).astype(np.uint8)
    mask = (255 * (draw.random((90, 90)) > 0.5)).astype(np.uint8)
    for image in (cells, mask):
        for call in (whorl.denoise, whorl.diffuse):
            with pytest.warns(UserWarning, match=r"no noise: copied"):
                assert np.array_equal(call(image), image)


def test_noise_told_in_another_unit_is_doubted_by_every_filter():
    image = noisy((48, 48))
    for call in (whorl.denoise, whorl.diffuse):
        for told, shown in ((0.1, image), (20.0, image / 255)):
            with pytest.warns(UserWarning, match="the noise measured in this image is"):
                call(shown, noise=told)


def test_twelve_bits_in_sixteen_and_offsets_have_the_answer_of_eight_bits():
    """The range that is used counts, not the one there is; nor does it matter where zero lies."""
    image = noisy((96, 96)).round()
    found = quietly(image)
    for factor, offset, kind in ((16, 0, np.uint16), (1, -3000, np.int16), (1, -3000.0, np.float64)):
        other = quietly((factor * image + offset).astype(kind)).astype(float)
        # Whole numbers are rounded, to half a grey value at most.
        assert np.abs((other - offset) / factor - found).max() < 0.6


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_alpha_and_palettes_by_the_command(tmp_path, whorl_command, mode):
    grey = noisy((64, 80)).clip(0, 255).astype(np.uint8)
    if mode == "P":
        Image.fromarray(grey).quantize(16).save(tmp_path / "a.png")
    else:
        bands = [grey] * (3 if mode == "RGBA" else 1) + [np.tile(np.arange(80, dtype=np.uint8), (64, 1))]
        Image.merge(mode, [Image.fromarray(band) for band in bands]).save(tmp_path / "a.png")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        answer = whorl_command("denoise", tmp_path / "a.png", tmp_path / "b.png")
    assert answer.code in (0, 2), answer
    assert len((answer.out + answer.err).splitlines()) == 1
    if answer.code == 0 and mode != "P":
        after = np.asarray(Image.open(tmp_path / "b.png"))
        assert np.array_equal(after[..., -1], bands[-1])
        assert after[..., 0].std() < grey.std()
