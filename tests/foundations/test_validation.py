"""Numbers of every library, spacings of every length, and the range in which squares stay finite."""

import copy
import pickle

import numpy as np
import pytest
import torch

from whorl.errors import ShapeError
from whorl.foundations import Positive, validation
from whorl.foundations.types import Spacing

FIVES = [5, 5.0, np.float32(5), np.int64(5), np.uint8(5), np.array(5.0), torch.tensor(5.0), torch.tensor(5)]


@pytest.mark.parametrize("five", FIVES, ids=lambda five: f"{type(five).__name__} {getattr(five, 'dtype', '')}")
def test_a_number_is_a_number_wherever_it_comes_from(five):
    assert Positive(five)().item() == 5
    assert validation.spacing(five, "test").along(3) == (5.0, 5.0, 5.0)
    assert validation.spacing([five, 1, five], "test") == (5.0, 1.0, 5.0)


def test_a_spacing_of_one_number_serves_images_and_volumes():
    one, pair = Spacing([2.0]), Spacing([2.0, 2.0])
    assert (one.dimension, pair.dimension) == (None, 2)
    assert one == pair == (2.0, 2.0)
    for made in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert made.dimension is None
        assert made.along(3) == (2.0, 2.0, 2.0)


@pytest.mark.parametrize(
    "bad", [(1.0,), (1.0, 1.0, 1.0, 1.0), (), (1.0, 0.0), (1.0, float("nan")), "ab", (1.0, -1.0, 2.0)]
)
def test_bad_spacings_are_refused(bad):
    with pytest.raises(ValueError, match="spacing"):
        validation.spacing(bad, "test")


def test_images_and_volumes_are_told_apart():
    image, volume = torch.zeros(1, 1, 3, 4), torch.zeros(1, 1, 3, 4, 5)
    for u in (image, volume):
        assert validation.image(u, "test") is u
    with pytest.raises(ShapeError, match=r"expected a volume \(n, c, z, y, x\)"):
        validation.image(image, "test", 3)
    with pytest.raises(ShapeError, match=r"expected an image \(n, c, y, x\)"):
        validation.image(volume, "test", 2)
    with pytest.raises(ShapeError, match="image .* or a volume"):
        validation.image(image[0], "test")


@pytest.mark.parametrize("norm", [1.0, 4.0, 64.0])
def test_squares_keep_four_decades_below_the_largest_number(norm, dtype):
    """Values u are accepted iff norm u² is at most a ten-thousandth of the largest number."""
    largest = (torch.finfo(dtype).max * 1e-4 / norm) ** 0.5
    u = torch.full((1, 1, 2, 2), 0.999 * largest, dtype=dtype)
    assert validation.squarable(u, norm, "test") is u
    with pytest.raises(ValueError, match="overflow"):
        validation.squarable(u * (1.001 / 0.999), norm, "test")


def test_outputs_beside_the_image_are_taken_and_those_upon_it_refused():
    """Two tensors in one piece of memory: next to each other, on one another, and woven into each other."""
    room = torch.zeros(64)
    u = room[:24].view(1, 1, 4, 6)
    assert validation.receiver(room[24:48].view(1, 1, 4, 6), u, "test") is not None
    with pytest.raises(ValueError, match="shares memory"):
        validation.receiver(room[23:47].view(1, 1, 4, 6), u, "test")
    second = room.view(1, 1, 4, 16)[..., 8:14]  # rows of another image between the rows of this one
    with pytest.raises(ValueError, match="shares memory"):
        validation.receiver(room[38:62].view(1, 1, 4, 6), second, "test")
    assert validation.receiver(torch.zeros(1, 1, 4, 6), second, "test") is not None
    last = room.view(1, 1, 4, 16)[..., :3, 8:14]  # ends at 46
    assert validation.receiver(room[46:64].view(1, 1, 3, 6), last, "test") is not None
    with pytest.raises(ValueError, match="shares memory"):
        validation.receiver(room[45:63].view(1, 1, 3, 6), last, "test")


def test_rows_of_positive_numbers_have_one_length():
    assert Positive([[1.0, 2.0], [3.0, 4.0]])().shape == (2, 2)
    assert Positive([1.0])().shape == (1,)
    for wrong in ([[1.0, 2.0], [3.0]], [[1.0], 2.0], [], [[]], "12"):
        with pytest.raises(ValueError, match="rows of equal length"):
            Positive(wrong)


def test_values_that_are_differentiated_are_checked_too():
    u = torch.rand(1, 1, 4, 4, requires_grad=True)
    assert validation.finite(u, "test") is u
    with pytest.raises(ValueError, match="test: the image holds 16 NaN"):
        validation.finite(u * torch.nan, "test")


def test_warnings_name_the_line_of_whoever_called_whorl():
    """Two functions of whorl lie between the warning and the test: it is the third frame, counted from the warning."""
    inside = {"__name__": "whorl.somewhere", "outside": validation.outside}
    exec("def warn(): return outside()\ndef called(): return warn()", inside)
    assert inside["called"]() == 3
    assert inside["warn"]() == 2
