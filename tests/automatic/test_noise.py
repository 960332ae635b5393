"""The estimate of the noise: right on noise, blind to shading, not fooled by black and white."""

import math

import numpy as np
import pytest
import torch

import whorl
from whorl.automatic import noise_level, noise_present
from whorl.automatic.believed import model_to_remove
from whorl.automatic.noise import levels, ratio_of
from whorl.automatic.samples import sample_slices
from whorl.errors import ShapeError
from whorl.invariance.symmetries import CUBE_SYMMETRIES, SYMMETRIES


def noise(*shape: int, level: float = 7.0, seed: int = 0) -> torch.Tensor:
    return level * torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("shape", [(1, 1, 256, 256), (2, 3, 130, 170), (1, 1, 50, 60, 70)], ids=str)
def test_white_noise_is_found(shape):
    # The quantile of N blocks, each with a relative spread of at most 9 %, varies by a few of 9 % / sqrt(N).
    blocks = math.prod(shape[:2]) * math.prod((size - 2) // 16 for size in shape[2:])
    assert noise_level([noise(*shape)]) == pytest.approx(7, rel=0.02 + 5 * 0.09 / math.sqrt(blocks))


def test_a_plane_has_no_noise_and_adds_none():
    y, x = torch.meshgrid(torch.arange(96.0), torch.arange(128.0), indexing="ij")
    plane = (3 * x - 2 * y)[None, None].double()
    assert noise_level([plane]) < 1e-10
    # Two values of the plane lie at its ends; nothing else is taken for cut off.
    assert noise_level([plane + noise(1, 1, 96, 128)]) == pytest.approx(noise_level([noise(1, 1, 96, 128)]), rel=0.02)


@pytest.mark.parametrize("factor", [1e-20, 1e-3, 257.0, 1e20])
def test_the_level_follows_the_units(factor):
    u = noise(1, 1, 80, 80) + 100
    assert noise_level([factor * u]) == pytest.approx(factor * noise_level([u]), rel=1e-9)


def test_a_shift_changes_nothing():
    u = noise(1, 1, 80, 80)
    assert noise_level([u + 1000]) == pytest.approx(noise_level([u]), rel=1e-9)


@pytest.mark.parametrize("shape", [(257, 253), (97, 83), (37, 45, 51)], ids=str)
@pytest.mark.parametrize("kind", ["noise", "cut off", "half blank"])
def test_turned_pictures_have_the_same_noise(shape, kind):
    u = 60 + noise(1, 1, *shape, level=25.0)
    if kind == "cut off":
        u = u.round().clamp(0, 128)
    if kind == "half blank":
        u[..., : shape[-1] // 2 + 1] = 30.0
    level = noise_level([u])
    present = noise_present([u], level)
    # Sums over at most a million pixels in other orders: some 1e-13.
    for move in (SYMMETRIES if len(shape) == 2 else CUBE_SYMMETRIES).values():
        turned = move(u)
        assert noise_level([turned]) == pytest.approx(level, rel=1e-11)
        assert noise_present([turned], level) == pytest.approx(present, rel=1e-11)


@pytest.mark.parametrize("shape", [(1025, 40), (5000, 3001), (193, 7, 400)], ids=str)
def test_samples_are_the_same_for_mirror_images(shape):
    places = {tuple((part.start, part.stop) for part in place) for place in sample_slices(shape)}
    mirrored = {tuple((n - b, n - a) for n, (a, b) in zip(shape, place, strict=True)) for place in places}
    assert places == mirrored
    assert {place[::-1] for place in places} == {
        tuple((part.start, part.stop) for part in place) for place in sample_slices(shape[::-1])
    }


def scene(size: int = 257) -> torch.Tensor:
    y, x = torch.meshgrid(*[torch.arange(float(size))] * 2, indexing="ij")
    disc = 80 * torch.sigmoid((size / 4 - torch.hypot(y - size / 2, x - size / 2.2)) / 0.7)
    return (90 + disc + 20 * torch.sin(x / 17) * torch.cos(y / 23))[None, None].double()


def waves(size: int, cosine: float, sine: float) -> torch.Tensor:
    """Noise of deviation 20 of 2,500 waves up to 0.45 cycles a pixel, on a turned lattice."""
    draw = np.random.default_rng(0)
    length, direction, phase = 0.45 * draw.random(2500) ** 0.5, *(2 * np.pi * draw.random((2, 2500)))
    a, b = length * np.cos(direction), length * np.sin(direction)
    turned = cosine * a + sine * b, cosine * b - sine * a
    along, across = (np.exp(2j * np.pi * np.outer(np.arange(size) - size / 2, k)) for k in turned)
    return torch.from_numpy(20 * np.sqrt(2 / 2500) * ((across * np.exp(1j * phase)) @ along.T).real)[None, None]


def test_noise_without_the_highest_frequencies_is_found_at_every_angle():
    upright, turned = (noise_level([scene(512) + waves(512, *turn)]) for turn in ((1.0, 0.0), (0.8, 0.6)))
    assert upright == pytest.approx(20, rel=0.07)
    assert turned == pytest.approx(upright, rel=0.01)


@pytest.mark.parametrize("value", [0.0, 100.0, 255.0])
def test_blank_parts_do_not_vote(value):
    """Content on an eighth of the area: paper around it, or nothing."""
    picture, volume = torch.full((1, 1, 256, 256), value).double(), torch.full((1, 1, 48, 48, 48), value).double()
    picture[..., 60:150, 30:121] = 100 + noise(1, 1, 90, 91, level=15.0)
    volume[..., 5:29, 10:34, 20:44] = 100 + noise(1, 1, 24, 24, 24, level=15.0)
    assert noise_level([picture]) == pytest.approx(15, rel=0.05)
    assert noise_level([volume]) == pytest.approx(15, rel=0.05)
    assert noise_present([picture], 15.0) == pytest.approx(15 * (90 * 91 / 256**2) ** 0.5, rel=0.02)


def test_drawings_and_labels_have_no_noise():
    y, x = torch.meshgrid(*[torch.arange(128.0)] * 2, indexing="ij")
    labels = (3 * (x > 50) + 2 * (torch.hypot(x - 70, y - 40) < 20) + (y > 90))[None, None]
    assert noise_level([labels]) == 0


@pytest.mark.parametrize("level", [25.0, 50.0])
@pytest.mark.parametrize("mean", [20.0, 60.0, 235.0])
def test_noise_cut_off_at_black_and_white_is_found(level, mean):
    cut = (mean + noise(1, 1, 256, 256, level=level)).round().clamp(0, 255)
    # What is seen is too low by up to a third where black or white is near.
    assert noise_level([cut]) == pytest.approx(level, rel=0.06)


def test_what_is_seen_of_noise_that_was_cut_off_would_be_too_low():
    cut = (20 + noise(1, 1, 256, 256, level=50.0)).clamp(0, 255)
    assert cut.std() < 0.75 * 50


def test_texture_over_half_of_the_picture_does_not_count():
    y, x = torch.meshgrid(torch.arange(256.0), torch.arange(256.0), indexing="ij")
    stripes = (40 * torch.sin(1.3 * x + 2.1 * y) * (x < 128))[None, None].double()
    assert noise_level([stripes + noise(1, 1, 256, 256)]) == pytest.approx(7, rel=0.05)


def test_little_pictures_tell_nothing_and_do_no_harm():
    assert noise_level([torch.ones(1, 1, 2, 9)]) == 0
    assert noise_level([torch.full((1, 1, 9, 9), 3.0)]) == 0
    assert math.isfinite(noise_level([noise(1, 1, 3, 3)]))
    assert levels([torch.ones(1, 1, 2, 2)]) == (0.0, 0.0)


def test_windows_without_any_noise_say_nothing_about_its_spectrum():
    ring, narrow = torch.rand(2, 400, generator=torch.Generator().manual_seed(0), dtype=torch.float64) + 0.5
    flat = torch.zeros(30, dtype=torch.float64)
    alone = ratio_of(ring, narrow, 90.0)
    assert ratio_of(torch.cat([ring, flat]), torch.cat([narrow, flat]), 90.0) == alone
    assert ratio_of(torch.cat([ring, flat + 1]), torch.cat([narrow, flat]), 90.0) == alone


def test_wrong_axes_are_refused():
    with pytest.raises(ShapeError, match="images"):
        noise_level([torch.zeros(8, 8)])


@pytest.mark.parametrize("treat", [whorl.diffuse, whorl.denoise], ids=["diffuse", "denoise"])
@pytest.mark.parametrize("eight_bits", [False, True], ids=["float", "eight bits"])
def test_with_nothing_told_a_turned_picture_comes_out_turned(treat, eight_bits):
    """All eight symmetries, the colours of an odd size; floats to rounding, whole numbers but for ties."""
    noisy = torch.stack([scene(97)[0, 0, :, :83] + noise(97, 83, level=25.0, seed=c) for c in range(3)], -1).numpy()
    noisy = noisy.round().clip(0, 255).astype(np.uint8) if eight_bits else noisy
    result = treat(noisy, channel_axis=-1)
    assert np.abs(result.astype(float) - noisy).mean() > 5
    for quarter in range(4):
        for mirrored in (False, True):
            turned = np.rot90(noisy[:, ::-1] if mirrored else noisy, quarter).copy()
            back = np.rot90(treat(turned, channel_axis=-1), -quarter)
            back = back[:, ::-1] if mirrored else back
            # Networks compute in float32; twelve blocks carry on its rounding.
            allowed = 1 if eight_bits else 1e-8 if treat is whorl.diffuse else 2e-3
            difference = np.abs(back.astype(float) - result)
            assert difference.max() <= allowed
            assert (difference > 0.5).mean() < 1e-3


def test_with_nothing_told_a_turned_volume_comes_out_turned():
    z, y, x = torch.meshgrid(*[torch.arange(float(n)) for n in (17, 21, 19)], indexing="ij")
    clean = 80 * (torch.hypot(torch.hypot(z - 7, y - 9), x - 10) < 6) + 2 * x
    volume = (clean + noise(17, 21, 19, level=15.0)).numpy()
    result = whorl.diffuse(volume, "perona-malik")
    assert np.abs(result - volume).mean() > 5
    # A mirror and two exchanges of axes generate all 48 symmetries.
    for turn in (lambda u: u[::-1], lambda u: u.swapaxes(1, 2), lambda u: u.swapaxes(0, 2)):
        assert np.abs(turn(whorl.diffuse(turn(volume).copy(), "perona-malik")) - result).max() <= 1e-8


def around(size: int, radius: float, axes: int) -> torch.Tensor:
    """A ball of that radius, not quite in the middle."""
    places = torch.meshgrid(*[torch.arange(float(size))] * axes, indexing="ij")
    return sum((place - size / 2 + 0.3).square() for place in places) <= radius**2


REST = {
    "blank": lambda u: 0 * u,
    "resampled": lambda u: 1e-4 * u,
    "a slope": lambda u: 1e-3 * torch.arange(u.shape[-1]).double().expand_as(u),
}


@pytest.mark.parametrize(("size", "radius"), [(20, 6.0), (28, 8.3), (28, 11.0), (40, 12.0), (48, 20.0)])
@pytest.mark.parametrize("rest", REST)
def test_little_of_a_volume_shows_its_noise(size, radius, rest):
    """Balls of 4 to 30 % of a volume, in what is blank or nearly so."""
    seen = noise(size, size, size, level=15.0)
    volume = torch.where(around(size, radius, 3), 100 + seen, REST[rest](noise(size, size, size, seed=1)))
    # The least ball has 900 voxels, of which only the inner ones are looked at: a tenth, in one of three volumes.
    assert noise_level([volume[None, None]]) == pytest.approx(15, rel=0.2)
    assert float(whorl.noise(volume.numpy()).standard_deviation_at(torch.tensor(100.0))) == pytest.approx(15, rel=0.25)


@pytest.mark.parametrize("rest", REST)
@pytest.mark.parametrize("channels", ["all", "one"])
def test_little_of_a_picture_shows_its_noise(rest, channels):
    seen, empty = noise(1, 3, 160, 160, level=15.0), REST[rest](noise(1, 1, 160, 160, seed=1)).expand(1, 3, -1, -1)
    picture = torch.where(around(160, 40.0, 2), 100 + seen, empty)
    if channels == "one":
        picture[:, [0, 2]] = empty[:, :2]
    assert noise_level([picture]) == pytest.approx(15, rel=0.15)
    model = model_to_remove(lambda: [picture], "denoise", colours=True)
    assert max(map(float, model.standard_deviation_at(torch.full((1, 3, 1, 1), 100.0)).flatten())) > 10


def test_hot_pixels_do_not_make_the_rest_blank():
    volume = 100 + noise(1, 1, 28, 28, 28, level=15.0)
    volume.view(-1)[::5000] = 1e6
    assert noise_level([volume]) == pytest.approx(15, rel=0.1)


def test_small_volumes_of_shapes_without_noise_have_none():
    shapes = 11.5 * around(32, 9.0, 3).double() + 40.25 * around(32, 4.0, 3).double()
    assert noise_level([shapes[None, None]]) == 0
    soft = torch.where(around(160, 40.0, 2), 100.0, 0.0).double()[None, None]
    for _ in range(3):
        soft = torch.nn.functional.avg_pool2d(soft, 3, 1, 1, count_include_pad=False)
    assert noise_level([soft]) < 0.5
