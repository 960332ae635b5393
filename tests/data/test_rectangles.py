"""The scenes are geometry: exact areas, exact turns, and the same numbers everywhere."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.data import ANGLES, RectangleScene, RectangleSet, gaussian_noise, random_scene
from whorl.data.coverage import exact_coverage, sampled_coverage
from whorl.data.noise import stream
from whorl.errors import ShapeError

SHAPE = (24, 32)  # not square, on purpose


def box(xi: float, eta: float, a: float, b: float) -> list[float]:
    return [xi - a, xi + a, eta - b, eta + b]


@given(
    angle=st.floats(-200, 200),
    centre=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    half=st.tuples(st.floats(0.1, 6), st.floats(0.1, 6)),
)
@settings(max_examples=60, deadline=None)
def test_a_rectangle_inside_the_picture_keeps_its_area(angle, centre, half):
    boxes = np.array([box(*centre, *half)])
    assert exact_coverage(boxes, angle, SHAPE).sum() == pytest.approx(4 * half[0] * half[1], abs=1e-9)


@given(seed=st.integers(0, 10_000), angle=st.floats(0, 90))
@settings(max_examples=30, deadline=None)
def test_exact_area_is_the_limit_of_sampling(seed, angle):
    draw = np.random.default_rng(seed)
    boxes = np.stack([box(*draw.uniform(-18, 18, 2), *draw.uniform(0.3, 8, 2)) for _ in range(9)])
    exact, sampled = exact_coverage(boxes, angle, SHAPE), sampled_coverage(boxes, angle, SHAPE, 64)
    # an edge through k x k points misjudges at most about one point per row: 1/k; several edges may cross a pixel
    assert np.abs(exact - sampled).max() < 4 / 64
    assert np.abs(exact - sampled).mean() < 1e-3


@pytest.mark.parametrize("angle", [0.0, 30.0, 45.0, 90.0, 137.0])
@pytest.mark.parametrize(
    ("boxes", "area"),
    [
        ([box(0, 0, 5, 3), box(0, 0, 5, 3)], 60.0),  # the same twice
        ([box(-3, 0, 3, 3), box(3, 0, 3, 3)], 72.0),  # touching along an edge
        ([box(0, 0, 5, 3), box(2, 0, 5, 3)], 72.0),  # two pairs of edges on one line each
        ([box(0, 0, 6, 2), box(0, 0, 2, 6)], 80.0),  # a cross
        ([box(0, 0, 6, 4), box(1, 1, 2, 2)], 96.0),  # one inside the other
    ],
)
def test_overlaps_count_once(boxes, area, angle):
    assert exact_coverage(np.array(boxes, float), angle, SHAPE).sum() == pytest.approx(area, abs=1e-9)


def test_rectangles_beyond_the_border_are_cut_off():
    far = np.array([box(-40, 0, 30, 40), box(0, -60, 40, 55)])
    coverage = exact_coverage(far, 0, SHAPE)
    assert coverage[:, :6].min() == 1.0
    assert coverage[-4:, 8:].max() == 0.0


@pytest.mark.parametrize("edges", ["analytic", "4x4", "hard"])
@pytest.mark.parametrize("angle", [0.0, 17.0, 30.0])
def test_quarter_turns_of_a_scene_turn_the_picture(edges, angle):
    scene = random_scene(3, size=64)
    turned = torch.rot90(torch.from_numpy(scene.render(angle, edges)), 1, (-2, -1))
    assert torch.allclose(torch.from_numpy(scene.render(angle + 90, edges)), turned, atol=1e-4)


def test_each_angle_of_a_scene_is_filled_alike():
    scenes = RectangleSet(40, size=64)
    white = [float(scenes.clean(angle).mean()) / 255 for angle in (5, 45, 85)]
    assert max(white) - min(white) < 0.02
    assert min(white) > 0.9


def test_rectangles_turned_about_their_own_centres_keep_them():
    scene = RectangleScene(np.array([[20.0, 10.0]]), "rectangles")
    for angle in ANGLES:
        picture = scene.render(angle)
        y, x = np.mgrid[:256, :256] + 0.5
        assert (picture * x).sum() / picture.sum() == pytest.approx(128 + 20, abs=1e-3)
        assert (picture * y).sum() / picture.sum() == pytest.approx(128 - 10, abs=1e-3)


def test_the_long_side_points_along_the_angle():
    picture = RectangleScene(np.zeros((1, 2)), size=(100.0, 4.0)).render(30)
    y, x = np.nonzero(picture > 128)
    slope = np.polyfit(x, -y, 1)[0]  # y up
    assert slope == pytest.approx(np.tan(np.deg2rad(30)), abs=0.01)


def test_one_image_does_not_depend_on_how_many_are_drawn():
    few, many = RectangleSet(2, size=64), RectangleSet(5, size=64)
    for a, b in zip(few.pairs(25), many.pairs(25), strict=True):
        assert torch.equal(a, b[:2])


def test_noise_is_the_same_for_every_angle_and_not_clipped():
    rectangles = RectangleSet(2, size=64)
    noise = [noisy - clean for clean, noisy in (rectangles.pairs(a) for a in (5, 70))]
    assert torch.allclose(*noise, atol=2e-4)  # the sum with the picture was rounded
    _, noisy = rectangles.pairs(5)
    assert noisy.max() > 300
    assert noisy.min() < -50


def test_splits_and_seeds_differ():
    pictures = [RectangleSet(1, split, seed, size=64).pairs(30)[1] for split in ("train", "test") for seed in (0, 1)]
    assert all((a - b).abs().max() > 1 for i, a in enumerate(pictures) for b in pictures[:i])


def test_the_noise_level_is_the_papers():
    clean, noisy = RectangleSet(8).pairs(45)
    psnr = [10 * float(torch.log10(255**2 / (u - clean).square().mean())) for u in (noisy, noisy.clamp(0, 255))]
    assert psnr[0] == pytest.approx(12.57, abs=0.03)
    assert psnr[1] == pytest.approx(15.6, abs=0.05)


def test_scenes_and_noise_are_the_same_on_every_machine():
    # Eight grey levels hide the last bit of sine and cosine, which libraries may round differently.
    clean = RectangleSet(2, "train").clean(30)
    assert hashlib.sha256((clean / 32).round().to(torch.uint8).numpy().tobytes()).hexdigest()[:16] == "84a25e416138b710"
    noise = gaussian_noise(2, (1, 16, 16), 60.0)
    assert hashlib.sha256(noise.round().to(torch.int16).numpy().tobytes()).hexdigest()[:16] == "176998c056b72007"


@pytest.mark.parametrize(
    "call",
    [
        lambda: RectangleScene(np.zeros((1, 2)), "both"),
        lambda: RectangleScene(np.zeros((1, 2))).render(30, "soft"),
        lambda: random_scene(0, "holdout"),
        lambda: random_scene(-1),
        lambda: stream("luck", "test", 0, 0),
        lambda: gaussian_noise(1, (2, 2), -1.0),
    ],
)
def test_what_makes_no_sense_is_refused(call):
    with pytest.raises(ValueError, match=r"choose one of|at least"):
        call()


def test_wrong_boxes_are_refused():
    with pytest.raises(ShapeError, match="n, 4"):
        exact_coverage(np.zeros((3, 2)), 0, SHAPE)
