import math

import pytest
import torch

from whorl.data.plate import Plate, plate_picture
from whorl.data.synthetic import Bars, Bump, Discs, Edge, Faded, Turn, Waves, Whorl, render
from whorl.errors import ShapeError
from whorl.invariance import coincident_points, lattice_circle

SCENES = [Bump(), Edge(), Bars(), Discs(), Whorl(), Faded(Whorl(), radius=40.0), Plate(), Plate(1)]


@pytest.mark.parametrize("scene", SCENES, ids=lambda s: type(s).__name__)
def test_pictures_are_float64_grey_values_and_the_same_every_time(scene):
    picture = render(scene, (33, 48), turn=17.0, channels=3)
    assert picture.dtype == torch.float64
    assert picture.shape == (1, 3, 33, 48)
    assert picture.min() >= 0
    assert picture.max() <= 255
    assert torch.equal(picture, render(scene, (33, 48), turn=17.0, channels=3))


@pytest.mark.parametrize("scene", [*SCENES, Waves()], ids=lambda s: type(s).__name__)
@pytest.mark.parametrize("size", [40, 41])
def test_positive_turns_go_the_way_of_rot90(scene, size):
    upright = render(scene, size, channels=2)
    for quarters in (1, 2, 3):
        turned = render(scene, size, turn=90.0 * quarters, channels=2)
        torch.testing.assert_close(turned, torch.rot90(upright, quarters, (-2, -1)), rtol=0, atol=1e-10)


@pytest.mark.parametrize("scene", [*SCENES, Waves()], ids=lambda s: type(s).__name__)
def test_a_turned_picture_shows_the_same_scene(scene):
    upright, turned = render(scene, 101), render(scene, 101, turn=Turn(4, 3, 5))
    before, after = coincident_points(Turn(4, 3, 5), 50)
    torch.testing.assert_close(
        upright[0, 0, 50 + before[:, 1], 50 + before[:, 0]],
        turned[0, 0, 50 + after[:, 1], 50 + after[:, 0]],
        rtol=0,
        atol=1e-10,
    )


def test_the_centre_moves_the_frame():
    whole = render(Whorl(), 61)
    part = render(Whorl(), 21, centre=(12.0, -7.0))
    torch.testing.assert_close(part, whole[..., 13:34, 32:53], rtol=0, atol=1e-11)


def test_a_bump_holds_equal_bits_at_equal_radius():
    picture = render(Bump(), 225)[0, 0]
    values = {picture[112 + y, 112 + x].item() for x, y in lattice_circle(65)}
    assert len(values) == 1


def test_a_bump_has_the_slope_it_says():
    bump = Bump()
    x = torch.arange(60, 90, 1e-3, dtype=torch.float64)
    slopes = -(bump(x, torch.zeros(1)).diff() / 1e-3)
    assert slopes.max().item() == pytest.approx(bump.slope, rel=1e-6)
    assert bump.slope == pytest.approx(12, abs=0.05)
    assert x[slopes.argmax()].item() == pytest.approx(bump.radius, abs=0.02)
    assert x[slopes.diff().argmax()].item() == pytest.approx(bump.radius - bump.width, abs=0.1)


def test_channels_have_edges_of_their_own():
    picture = render(Whorl(), 65, channels=3)[0]
    correlation = torch.corrcoef(picture.flatten(1))
    assert (correlation - torch.eye(3)).abs().max() < 0.5


def test_a_faded_scene_is_flat_at_the_border():
    picture = render(Faded(Whorl(), radius=40.0, width=4.0), 161)[0, 0]
    assert (picture[0] - 127.5).abs().max() < 1e-6
    weak, strong = (render(Faded(Whorl(), 40.0, strength=s), 65) - 127.5 for s in (0.25, 1.0))
    torch.testing.assert_close(4 * weak, strong, rtol=1e-12, atol=1e-12)


def test_waves_have_the_deviation_and_band_they_say():
    noise = render(Waves(deviation=20.0, seed=1, cutoff=0.25), 256)[0, 0]
    assert noise.std().item() == pytest.approx(20, rel=0.1)
    assert abs(noise.mean().item()) < 2
    power = torch.fft.fft2(noise * torch.hann_window(256)[:, None] * torch.hann_window(256)).abs().square()
    frequency = torch.fft.fftfreq(256)
    outside = (frequency[:, None] ** 2 + frequency**2).sqrt() > 0.27
    assert power[outside].sum() < 1e-6 * power.sum()
    assert not torch.equal(noise, render(Waves(deviation=20.0, seed=2, cutoff=0.25), 256)[0, 0])


@pytest.mark.parametrize("angle", [-270.0, -30.0, 0.0, 36.9, 90.0, 180.0, 400.0])
def test_turns_by_degrees(angle):
    turn = Turn.by(angle)
    assert turn.cosine == pytest.approx(math.cos(math.radians(angle)), abs=1e-15)
    assert turn.sine == pytest.approx(math.sin(math.radians(angle)), abs=1e-15)
    assert math.isclose(math.remainder(turn.angle - angle, 360), 0, abs_tol=1e-12)


def test_bad_requests_are_refused():
    with pytest.raises(ValueError, match=r"Turn\.by"):
        Turn(3, 3, 5)
    with pytest.raises(ShapeError, match="at least 1"):
        render(Edge(), (0, 4))


def test_the_plate_is_coloured_and_its_noise_turns_along():
    clean = plate_picture(97)
    assert clean.shape == (1, 3, 97, 97)
    assert (clean[:, 0] - clean[:, 2]).abs().max() > 50
    torch.testing.assert_close(clean.mean(1, keepdim=True), render(Plate(), 97), rtol=0, atol=1e-10)
    noisy = plate_picture(97, noise=15.0)
    assert (noisy - clean).std().item() == pytest.approx(15, rel=0.1)
    turned = plate_picture(97, turn=90.0, noise=15.0)
    torch.testing.assert_close(turned, torch.rot90(noisy, 1, (-2, -1)), rtol=0, atol=1e-9)


@pytest.mark.parametrize("unit", [2.0**-30, 1.0, 2.0**30])
def test_whether_a_turn_is_one_does_not_depend_on_its_unit(unit):
    assert Turn(4 * unit, 3 * unit, 5 * unit).angle == Turn(4, 3, 5).angle
    Turn(4 * unit, 3 * unit, 5 * unit * (1 + 2e-13))
    with pytest.raises(ValueError, match="norm²"):
        Turn(4 * unit, 3 * unit, 5 * unit * (1 + 5e-12))
