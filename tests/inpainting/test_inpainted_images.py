"""Filling arrays of any kind, and clear words for what cannot be filled."""

from importlib import import_module

import numpy as np
import pytest
import torch

import whorl
from whorl.errors import ShapeError
from whorl.inpainting.images import METHODS


def picture(dtype=np.uint8, channels=0):
    y, x = np.mgrid[:20, :24]
    plane = (4 * x + 2 * y).astype(dtype)
    mask = np.zeros((20, 24), bool)
    mask[6:11, 8:13] = True
    image = np.stack([plane] * channels, -1) if channels else plane
    return image, mask


@pytest.mark.parametrize("model", ["eed", "homogeneous", "biharmonic"])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int64, np.float16, np.float32, np.float64])
def test_type_and_known_values_are_kept(model, dtype):
    image, mask = picture(dtype)
    broken = np.where(mask, 0, image).astype(dtype)
    repaired = whorl.inpaint(broken, mask, model, engine="reference")
    assert repaired.dtype == dtype
    assert np.array_equal(repaired[~mask], image[~mask])
    # A plane is the steady state of all three; rounding and a tolerance of a tenth of a grey value remain.
    assert np.abs(repaired.astype(float) - image).max() <= 1.5


def test_colour_and_tensors():
    image, mask = picture(channels=3)
    ours = whorl.inpaint(image, mask, channel_axis=-1, engine="reference")
    tensor = whorl.inpaint(torch.from_numpy(image), torch.from_numpy(mask), channel_axis=-1, engine="reference")
    assert ours.shape == image.shape
    assert np.array_equal(tensor.numpy(), ours)


def test_units_do_not_matter():
    image, mask = picture(np.float64)
    image += 30 * (np.mgrid[:20, :24][1] > 9)
    small = whorl.inpaint(image / 1000, mask, engine="reference")
    assert np.allclose(1000 * small, whorl.inpaint(image, mask, engine="reference"), atol=1e-6)


def test_int64_beyond_what_floats_hold_is_kept():
    image, mask = picture(np.int64)
    image += 2**60 + 1
    assert np.array_equal(whorl.inpaint(image, mask, "homogeneous", engine="reference")[~mask], image[~mask])


def test_nan_under_the_mask_is_filled():
    image, mask = picture(np.float32)
    assert np.isfinite(whorl.inpaint(np.where(mask, np.nan, image), mask, engine="reference")).all()


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        (lambda image, mask: (image, mask[1:]), ShapeError, "the mask has shape"),
        (lambda image, mask: (image, np.ones_like(mask)), ValueError, "nothing is left to fill from"),
        (lambda image, mask: (image, np.zeros_like(mask)), ValueError, "nothing to fill"),
        (lambda image, mask: (image, 5 * mask.astype(np.uint8)), ValueError, "For labels give mask > 0"),
        (lambda image, mask: (image, 255 * ~mask + 0), ValueError, r"94.8 % of the image .* allow more with most=1"),
        (lambda image, mask: (np.where(mask, image, np.nan), mask), ValueError, "outside the mask"),
    ],
    ids=["shape", "everything", "nothing", "labels", "inverted", "nan outside"],
)
def test_bad_masks_get_clear_words(change, error, words):
    with pytest.raises(error, match=words):
        whorl.inpaint(*change(*picture()), engine="reference")


def test_bad_settings_get_clear_words():
    image, mask = picture()
    with pytest.raises(ValueError, match="'foo' is unknown"):
        whorl.inpaint(image, mask, "foo")
    with pytest.raises(ValueError, match="contrast"):
        whorl.inpaint(image, mask, "homogeneous", contrast=3.0)
    with pytest.raises(ValueError, match="tolerance"):
        whorl.inpaint(image, mask, "homogeneous", tolerance=0.0)
    with pytest.raises(ValueError, match="data term"):
        whorl.inpaint(image, mask, whorl.models.build("gerig").with_data(torch.zeros(1, 1, 20, 24), 1.0))


def test_masks_of_zeros_and_255_are_understood():
    image, mask = picture()
    grey = (255 * mask).astype(np.uint8)
    assert np.array_equal(
        whorl.inpaint(image, grey, engine="reference"), whorl.inpaint(image, mask, engine="reference")
    )


def test_a_model_that_is_bound_to_other_data_is_refused():
    image, mask = np.zeros((8, 8)), np.eye(8, dtype=bool)
    model, data = whorl.models.build("perona-malik", contrast=1.0), torch.zeros(1, 1, 8, 8)
    bound = {
        "has a data term": model.with_data(data, 0.5),
        "has known pixels of its own": model.inpaint(data, torch.from_numpy(mask)),
    }
    for words, each in bound.items():
        with pytest.raises(ValueError, match=words):
            whorl.inpaint(image, mask, each)
    with pytest.raises(ValueError, match="is built already"):
        whorl.inpaint(image, mask, model, contrast=2.0)


def test_a_result_that_has_not_come_to_rest_is_told(monkeypatch):
    monkeypatch.setattr(import_module("whorl.inpainting.fill"), "MOST_STEPS", 1)
    image, mask = np.linspace(0.0, 1.0, 64).reshape(8, 8) ** 2, np.zeros((8, 8), bool)
    mask[1:7, 1:7] = True
    with pytest.warns(UserWarning, match=r"after \d+ steps the result is still about .* tolerance of 1e-09"):
        whorl.inpaint(image, mask, "homogeneous", tolerance=1e-9, engine="reference")


def test_three_axes_that_may_be_colour_are_refused():
    """A mask with channels made a volume of three voxels' width of a colour picture."""
    image, mask = picture(np.float32)
    colour = np.stack([image, image + 3, image + 5], -1)
    wide = np.stack([mask] * 3, -1)
    with pytest.raises(ShapeError, match=r"inpaint: shape \(20, 24, 3\) may be colour or a thin volume"):
        whorl.inpaint(colour, wide)
    with pytest.raises(ShapeError, match="without channels"):
        whorl.inpaint(colour, wide, channel_axis=-1)
    thin = whorl.inpaint(colour, wide, "homogeneous", spacing=(1.0, 1.0, 1.0), engine="reference")
    assert np.array_equal(thin[~wide], colour[~wide])
    # A model that was built for space says so as well; one that was not does not.
    model = whorl.models.build("perona-malik", contrast=3.0, spacing=(1.0, 1.0, 1.0))
    assert np.array_equal(whorl.inpaint(colour, wide, model, engine="reference")[~wide], colour[~wide])
    with pytest.raises(ShapeError, match="may be colour"):
        whorl.inpaint(colour, wide, whorl.models.build("perona-malik", contrast=3.0), engine="reference")


def test_oblong_pixels_count():
    """Where the picture and the sides of its pixels are exchanged together, so is the result."""
    image, mask = picture(np.float64)
    image = image + 20 * np.sin(np.arange(20))[:, None]
    found = whorl.inpaint(image, mask, spacing=(2.0, 1.0), engine="reference")
    turned = whorl.inpaint(image.T.copy(), mask.T.copy(), spacing=(1.0, 2.0), engine="reference")
    assert np.allclose(found, turned.T, atol=1e-9)
    assert not np.allclose(found, whorl.inpaint(image, mask, engine="reference"), atol=1e-3)


def test_a_built_model_stays_where_it_is():
    model = whorl.models.build("multiscale-isotropic", contrast=5.0, scales=2)
    image, mask = picture(np.float32)
    with pytest.raises(Exception, match=r"meta|aten"):
        whorl.inpaint(image, mask, model, device="meta", engine="reference")
    assert {value.device.type for value in model.state_dict().values()} == {"cpu"}


def test_masks_of_two_numbers_are_those_of_true_and_false():
    image, mask = picture(np.float64)
    expected = whorl.inpaint(image, mask, "homogeneous", engine="reference")
    for top in (1, 255):
        found = whorl.inpaint(image, top * mask.astype(np.uint8), "homogeneous", engine="reference")
        assert np.array_equal(found, expected)
    with pytest.raises(ValueError, match="nothing to fill"):
        whorl.inpaint(image, 2 * mask.astype(np.uint8), "homogeneous")


def test_neither_an_offset_nor_the_unit_of_the_values_matters():
    """Contrast and tolerance are counted in grey values between the darkest and the brightest known pixel."""
    image, mask = picture(np.float64)
    image = image + 60.0 * (image > 50)
    filled = whorl.inpaint(image, mask, engine="reference")
    assert np.abs(whorl.inpaint(image - 1000, mask, engine="reference") + 1000 - filled).max() < 1e-8
    assert np.abs(whorl.inpaint(1e-3 * image, mask, engine="reference") / 1e-3 - filled).max() < 1e-8


def test_settings_are_in_grey_values_where_the_known_ones_span_them():
    """From 0 to 255 one grey value is 1: the contrast of the method, and a tolerance of a tenth."""
    image, mask = picture(np.float64)
    image = 255 * (image > 50) * 1.0
    assert (image[~mask].min(), image[~mask].max()) == (0, 255)
    told = whorl.inpaint(image, mask, contrast=METHODS["eed"]["contrast"], tolerance=0.1, engine="reference")
    assert np.array_equal(whorl.inpaint(image, mask, engine="reference"), told)
    assert np.allclose(2 * told, whorl.inpaint(2 * image, mask, engine="reference"), atol=1e-9)
