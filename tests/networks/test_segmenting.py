"""Lines for people: what is promised of ``whorl.segment``, and what it refuses."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

import whorl
from whorl.data.eye import drawn_eye
from whorl.errors import ShapeError
from whorl.networks import field_of_view, load_card
from whorl.operators import local_contrast
from whorl.steps import GatedForm

RESULTS = Path(__file__).parents[2] / "experiments" / "lines" / "results"
PICTURE, VESSELS, INSIDE = drawn_eye(292)
SYMMETRIES = {"quarter turn": np.rot90, "mirror image": np.fliplr, "upside down": np.flipud}
SMALL = PICTURE[100:164, 120:175]


@pytest.fixture(scope="module")
def chances():
    return whorl.segment(PICTURE, channel_axis=-1)


def test_vessels_of_a_drawn_eye_are_found(chances):
    assert chances.shape == VESSELS.shape
    assert chances.dtype == np.float32
    found = chances >= 0.45
    assert 2 * (found & VESSELS).sum() / (found.sum() + VESSELS.sum()) > 0.6  # everything inside would have 0.2
    assert (chances[~field_of_view(tensor(PICTURE))[0, 0].numpy()] == 0).all()


def tensor(picture):
    return torch.from_numpy(np.ascontiguousarray(picture)).permute(2, 0, 1)[None].float()


@pytest.mark.parametrize("name", SYMMETRIES)
def test_quarter_turns_and_mirror_images_carry_over(name):
    turn = SYMMETRIES[name]
    expected = turn(whorl.segment(SMALL, channel_axis=-1))
    found = whorl.segment(np.ascontiguousarray(turn(SMALL)), channel_axis=-1)
    np.testing.assert_allclose(found, expected, atol=2e-4)  # float32 over some 40 convolutions


def test_type_range_and_place_of_the_channels_change_nothing():
    expected = whorl.segment(SMALL, channel_axis=-1)
    wide = whorl.segment(257 * SMALL.astype(np.uint16), channel_axis=-1)
    tensors = whorl.segment(torch.from_numpy(SMALL.transpose(2, 0, 1).copy()), channel_axis=0)
    assert isinstance(tensors, torch.Tensor)
    for found in (wide, tensors.numpy(), whorl.segment(3.0 * SMALL - 7, channel_axis=-1)):
        np.testing.assert_allclose(found, expected, atol=2e-4)


def test_a_grey_picture_is_one_with_equal_colours():
    grey = SMALL[..., 1]
    expected = whorl.segment(np.stack([grey] * 3, -1), channel_axis=-1)
    for given, axis in ((grey, None), (grey[..., None], -1)):
        assert np.array_equal(whorl.segment(given, channel_axis=axis), expected)


def test_the_ends_of_the_type_are_a_range_too():
    expected = whorl.segment(SMALL, channel_axis=-1)
    largest = np.finfo(np.float32).max
    u = SMALL.astype(np.float32)
    wide = ((u - u.min()) / (u.max() - u.min()) - 0.5) * largest * 2
    np.testing.assert_allclose(whorl.segment(wide, channel_axis=-1), expected, atol=2e-4)


def test_the_field_of_view_is_found():
    found = field_of_view(tensor(PICTURE))[0, 0].numpy()
    assert (found & INSIDE).sum() / (found | INSIDE).sum() > 0.97
    assert field_of_view(tensor(PICTURE[80:200, 80:200])).float().mean() > 0.95  # no frame: (nearly) all is inside
    turned = field_of_view(tensor(np.rot90(PICTURE)))[0, 0].numpy()
    assert (turned == np.rot90(found)).mean() > 0.999  # sums of the Gaussian are rounded in another order


def test_a_given_field_of_view_is_taken():
    view = np.zeros(SMALL.shape[:2], np.uint8)
    view[10:50, 5:40] = 255
    found = whorl.segment(SMALL, channel_axis=-1, view=view)
    assert (found[view == 0] == 0).all()
    assert np.array_equal(found, whorl.segment(SMALL, channel_axis=-1, view=view > 0))


def test_pictures_of_twice_the_size_are_halved(chances):
    network = whorl.load("vessels-5k")
    network.diameter = 0.5 * (4 / np.pi * SMALL.shape[0] * SMALL.shape[1]) ** 0.5
    u, inside = tensor(SMALL) / 255, torch.ones(1, 1, *SMALL.shape[:2])
    with torch.no_grad():
        halved = network.probabilities(u, inside)
        network.diameter = 0.0
        assert halved.shape == inside.shape
        assert 0 <= halved.min() <= halved.max() <= 1
        assert not torch.allclose(halved, network.probabilities(u, inside), atol=0.05)


def test_local_contrast_is_zero_outside_and_of_unit_size_inside():
    u, inside = tensor(PICTURE) / 255, torch.from_numpy(INSIDE)[None, None]
    found = local_contrast(u, inside, 10.0)
    assert (found[:, :, ~inside[0, 0]] == 0).all()
    assert 0.7 < found[:, :, inside[0, 0]].std() < 1.3


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        ({"image": np.dstack([SMALL, SMALL[..., :1]]), "channel_axis": -1}, ShapeError, "has 4.*alpha"),
        ({"image": np.full((20, 20, 3), 7), "channel_axis": -1}, ValueError, "all values are 7"),
        ({"image": SMALL, "channel_axis": -1, "view": np.ones((9, 9))}, ShapeError, r"\(9, 9\).*Make them equal"),
        ({"image": SMALL, "channel_axis": -1, "view": np.zeros(SMALL.shape[:2])}, ValueError, "is empty"),
        ({"image": SMALL, "channel_axis": -1, "network": "photo-8k"}, ValueError, "photo-8k finds no lines"),
        ({"image": np.zeros((4, 5, 6, 3)), "channel_axis": -1}, ShapeError, "expected a picture"),
    ],
)
def test_what_cannot_be_segmented_is_refused(given, error, words):
    with pytest.raises(error, match=words):
        whorl.segment(**given)


def test_every_step_of_what_is_shipped_is_compiled():
    """A picture takes eight times as long where blocks have no compiled loops."""
    network = whorl.load("vessels-5k")
    for block in (*network.down, *network.up):
        assert isinstance(block.description().form, GatedForm)


def test_the_card_says_how_it_was_made_and_what_was_measured():
    card = load_card("vessels-5k")
    assert card.build().parameter_count == 4981
    assert card.figures == json.loads((RESULTS / "drive.json").read_text())["card"]
    run = json.loads((RESULTS / "training.json").read_text())["runs"]["vessels-5k"]
    assert f"{run['steps']:,} steps" in card.about
    assert card.training["steps"] == run["steps"]
