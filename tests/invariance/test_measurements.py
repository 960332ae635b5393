"""The measurements themselves, on filters whose answer is known."""

import json
import math

import pytest
import torch
from little_filters import coupled, five_point, perona_malik, uncoupled

from whorl.data.synthetic import Bump, Faded, Turn, Whorl
from whorl.errors import ShapeError
from whorl.invariance import (
    PYTHAGOREAN,
    SYMMETRIES,
    angle_error,
    coincident_points,
    equal_radius_error,
    lattice_circle,
    rotation_error,
    symmetry_error,
    turn_error,
)
from whorl.invariance.coincidence import band_limited
from whorl.testing import assert_rotation_invariant


def shift(u):
    return u.roll(1, -1)


def test_pointwise_filters_commute_with_everything():
    error = rotation_error(lambda u: u + u.square() / 255, channels=2)
    assert error.symmetries.ulp == 0
    assert error.radius.relative == 0
    # the same grey value reaches the filter along different roundings of the coordinates: 1e-14 px times slope 12
    assert all(e.relative < 1e-12 for e in (*error.turns, *error.angles))


def test_a_filter_that_does_nothing_has_no_error():
    assert set(rotation_error(lambda u: u).summary().values()) == {0.0}


def test_a_shift_is_found_by_every_measurement():
    error = rotation_error(shift)
    assert error.symmetries.relative > 0.5
    assert error.symmetries.differences["unmoved"] == 0
    assert error.symmetries.differences["top to bottom"] == 0
    assert error.radius.relative > 1
    assert min(e.relative for e in error.turns) > 0.2
    assert min(e.relative for e in error.angles) > 0.2


def test_a_filter_with_memory_is_found_by_the_unmoved_picture():
    calls = []

    def drifting(u):
        calls.append(0)
        return u + len(calls)

    assert symmetry_error(drifting).differences["unmoved"] == pytest.approx(1)


def test_filters_working_in_place_are_measured_against_the_original():
    assert symmetry_error(lambda u: u.mul_(0.5)).change > 100


def test_ulp_is_that_of_the_largest_result():
    def five_spacings_too_much_on_the_left(u):
        return u + 5 * 2.0**-51 * (torch.arange(u.shape[-1]) == 0)

    error = symmetry_error(five_spacings_too_much_on_the_left, picture=torch.full((1, 1, 1, 2), 3.0))
    assert error.spacing == 2.0**-51  # between 2 and 4
    assert error.ulp == 5


def test_the_circle_of_radius_65():
    named = {(65, 0), (63, 16), (60, 25), (56, 33), (52, 39)}
    circle = lattice_circle(65)
    assert {(abs(x), abs(y)) for x, y in circle} == named | {(y, x) for x, y in named}
    assert len(circle) == 36
    assert len({math.atan2(y, x) for x, y in circle}) == 36


@pytest.mark.parametrize("turn", PYTHAGOREAN, ids=lambda t: f"{t.angle:.1f}")
def test_shared_pixels_are_a_share_of_the_lattice_and_are_turned_rigidly(turn):
    upright, turned = coincident_points(turn, 60)
    assert torch.equal(upright.square().sum(-1), turned.square().sum(-1))
    angle = torch.atan2(-upright[1:, 1].double(), upright[1:, 0].double())  # y points down
    moved = torch.atan2(-turned[1:, 1].double(), turned[1:, 0].double())
    off = torch.remainder(moved - angle - math.radians(turn.angle) + math.pi, 2 * math.pi) - math.pi
    assert off.abs().max() < 1e-14 * 60
    assert len(upright) == pytest.approx(math.pi * 60**2 / turn.norm, rel=0.05)


def test_five_point_heat_flow_has_the_error_that_integers_say():
    def eighth_power(x, y):
        return (x * x + y * y) ** 4

    def change(x, y):
        around = eighth_power(x + 1, y) + eighth_power(x - 1, y) + eighth_power(x, y + 1) + eighth_power(x, y - 1)
        return around - 4 * eighth_power(x, y)

    exact = [change(x, y) for x, y in lattice_circle(65)]
    error = equal_radius_error(five_point, scene=lambda x, y: eighth_power(x, y) / 65**8)
    # the change is 2e-3 of the values around it, whose rounding it inherits
    assert error.relative == pytest.approx((max(exact) - min(exact)) / max(exact), rel=1e-6)
    assert error.relative > 1e-5


@pytest.mark.parametrize("channels", [1, 3])
def test_coupling_is_what_makes_the_difference(channels):
    good, bad = (rotation_error(f, channels=channels) for f in (coupled, uncoupled))
    assert good.symmetries.ulp <= 32
    assert bad.symmetries.ulp <= 32  # quarter turns cannot tell them apart
    assert good.radius.relative < 2e-3
    assert bad.radius.relative > 10 * good.radius.relative
    for fine, coarse in zip((*good.turns, *good.angles), (*bad.turns, *bad.angles), strict=True):
        assert fine.relative < 1e-2
        assert coarse.relative > 10 * fine.relative


def test_refining_the_grid_cures_the_lattice_and_not_the_missing_coupling():
    def at(scale, joint):
        bump = Bump(radius=73.5 * scale, width=8.5 * scale)
        return equal_radius_error(
            lambda u: perona_malik(u, joint, contrast=12 / scale, steps=4 * scale**2),
            scene=bump,
            radius=65 * scale,
            size=224 * scale + 1,
        ).relative

    assert at(2, True) < at(1, True) / 3  # second order would be 4
    assert at(2, False) > at(1, False) / 1.1


def test_both_ways_of_turning_agree():
    (turned,) = turn_error(uncoupled, turns=(Turn(4, 3, 5),))
    (probed,) = angle_error(uncoupled, angles=(Turn(4, 3, 5).angle,), probes=24)
    assert probed.relative == pytest.approx(turned.relative, rel=0.35)  # the same thing at 24 instead of 2500 places


def test_quarter_turns_are_exact_for_probes_too():
    (error,) = angle_error(coupled, angles=(90.0,), probes=2)
    assert error.relative < 1e-11


def test_judgement():
    assert_rotation_invariant(coupled)
    with pytest.raises(AssertionError, match=r"equal radius 0\.1.*turned by 36\.9"):
        assert_rotation_invariant(uncoupled)
    assert_rotation_invariant(uncoupled, equal_radius=None, turned=None)
    with pytest.raises(AssertionError, match="ulp"):
        assert_rotation_invariant(shift, equal_radius=None, turned=None)


def test_float32_is_measured_in_its_own_ulps():
    error = symmetry_error(coupled, dtype=torch.float32)
    assert error.spacing == 2**-16  # of a largest value between 128 and 256
    assert 0 < error.ulp <= 32


def test_progress_counts_every_pixel_that_is_filtered():
    parts = []
    rotation_error(lambda u: u, progress=parts.append)
    assert sum(parts) == pytest.approx(1, rel=1e-9)


def test_everything_fits_into_json():
    error = rotation_error(five_point)
    read = json.loads(json.dumps(error.as_dict()))
    assert read["summary"] == error.summary()
    assert len(read["equal_radius"]["changes"]) == len(read["equal_radius"]["angles"]) == 36
    assert set(read["symmetries"]["differences"]) == set(SYMMETRIES)


def test_requests_that_cannot_be_met_say_why():
    with pytest.raises(ShapeError, match=r"\(1, 1, 37, 26\)"):
        symmetry_error(lambda u: u[..., 1:])
    with pytest.raises(ShapeError, match="float"):
        symmetry_error(lambda u: 1.0)
    with pytest.raises(ValueError, match="NaN"):
        symmetry_error(lambda u: u / 0)
    with pytest.raises(ValueError, match="only the axes"):
        equal_radius_error(coupled, radius=7)
    with pytest.raises(ValueError, match="must be odd"):
        equal_radius_error(coupled, size=224)
    with pytest.raises(ValueError, match="not radial"):
        equal_radius_error(coupled, scene=Whorl())
    with pytest.raises(ValueError, match="integer coefficients"):
        turn_error(coupled, turns=(Turn.by(30.0),))
    with pytest.raises(ValueError, match="margin"):
        turn_error(coupled, size=31)
    with pytest.raises(ValueError, match="probes"):
        angle_error(coupled, probes=0)


def test_scenes_and_sizes_are_free():
    scene = Faded(Whorl(period=30.0), radius=30.0, strength=0.3)
    (error,) = turn_error(coupled, scene=scene, turns=(Turn(3, 4, 5),), size=91, margin=8)
    assert error.points == 861
    assert error.relative < 1e-2


@pytest.mark.parametrize("turn", [None, Turn(4, 3, 5)], ids=["upright", "3-4-5"])
@pytest.mark.parametrize("cycles", [(9, 0), (0, 9), (7, -5)], ids=str)
def test_a_wave_below_the_bound_is_drawn_on_every_lattice_and_one_above_it_vanishes(cycles, turn):
    size, drawn = 32, 11
    steps = torch.arange(size, dtype=torch.float64) - size // 2

    def wave(y, x):
        return torch.cos(2 * math.pi * (cycles[0] * y + cycles[1] * x) / size + 0.3)

    picture = wave(steps[:, None], steps[None, :])[None]
    lattice = torch.arange(drawn, dtype=torch.float64) - drawn // 2
    y, x = lattice[:, None], lattice[None, :]
    if turn is not None:
        x, y = turn.upright(x, y)
    found = band_limited(picture, drawn, turn, frequency=0.3)
    assert torch.allclose(found[0], wave(y, x), atol=1e-12)
    assert band_limited(picture, drawn, turn, frequency=0.2).abs().max() < 1e-12
