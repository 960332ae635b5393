"""Settings weighed by their estimated errors: they turn with the picture, follow its kind, and pay."""

import itertools

import pytest
import torch

import whorl
from whorl.automatic import automatic_settings
from whorl.automatic.weighed import CHOICE, PAIRS, weighed
from whorl.invariance.untold import TURNS, Sight
from whorl.operators import Smoothing

LEVEL = 20.0


def drawing(size=64):
    y, x = torch.meshgrid(torch.arange(size).double(), torch.arange(size).double(), indexing="ij")
    return (60 + 120 * (torch.hypot(x - 25, y - 30) < 18) + 40 * (x > 50))[None, None].float()


def white(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_settings_of_a_turned_picture_are_the_same():
    """All eight symmetries, up to the rounding of other sums; of a picture cut into blocks one of each kind."""
    for size, moves in ((40, [*itertools.product(range(4), (False, True))]), (300, [(1, False), (0, True), (3, True)])):
        noisy = drawing(size) + LEVEL * white(1, 1, size, size)
        options, contrast, time = weighed("weickert-brox", [noisy], LEVEL)
        for turns, mirrored in moves:
            moved = noisy.rot90(turns, (2, 3))
            moved = (moved.flip(3) if mirrored else moved).contiguous()
            other, other_contrast, other_time = weighed("weickert-brox", [moved], LEVEL)
            assert other["sigma"] == pytest.approx(options["sigma"], rel=1e-4)
            assert other_contrast == pytest.approx(contrast, rel=1e-4)
            assert other_time == pytest.approx(time, rel=1e-3)


@pytest.mark.parametrize(("edge", "seed"), [(0.5, 11), (0.7, 4), (0.7, 10)])
def test_times_hardly_differ_between_lattices(edge, seed):
    """Estimated errors are flat around the best time, which another lattice has elsewhere: up to a sixth later."""
    scene = Sight(edge=edge, cutoff=0.5, seed=seed)
    samples = ([scene.noisy(turn).float()] for turn in (None, *TURNS.values()))
    times = [automatic_settings("weickert-brox", each, noise=LEVEL).time for each in samples]
    assert max(times) < 1.14 * min(times)


def test_a_drawing_is_smoothed_for_long_and_texture_is_not():
    y, x = torch.meshgrid(torch.arange(96.0), torch.arange(96.0), indexing="ij")
    texture = 40 * torch.sin(1.5 * x) * torch.sin(1.3 * y)
    noise = white(1, 1, 96, 96)
    (drawn, _, long), (rough, _, short) = (
        weighed("gerig", [clean + LEVEL * noise], LEVEL) for clean in (Smoothing(0.7)(drawing(96)), 128 + texture)
    )
    assert long > 3 * short
    assert all(min(PAIRS)[0] <= each["sigma"] <= max(PAIRS)[0] for each in (drawn, rough))


@pytest.mark.parametrize("width", [0.0, 0.5, 0.7])
def test_correlated_noise_is_removed_like_white_noise(width):
    """Stein's estimate is told how the noise is correlated; taken for white, it would be left where it is."""
    blur = Smoothing(width)
    noise = blur(white(1, 1, 96, 96).double())
    clean, noise = drawing(96), (LEVEL * noise / noise.std()).float()
    neighbours = float((noise[..., 1:] * noise[..., :-1]).mean() / noise.square().mean())
    options, contrast, time = weighed("weickert-brox", [clean + noise], LEVEL, neighbours=neighbours)
    result = whorl.models.build("weickert-brox", contrast=contrast, **options)(clean + noise, time)
    assert (result - clean).square().mean().sqrt() < 0.4 * LEVEL


def test_what_is_told_is_kept():
    noisy = drawing() + LEVEL * white(1, 1, 64, 64)
    chosen = automatic_settings("eed", [noisy], noise=LEVEL, time=2.0)
    assert (chosen.time, chosen.options["cell"]) == (pytest.approx(2.0), "wide")
    compact = whorl.diffuse(noisy[0, 0].numpy(), noise=LEVEL, cell="compact")
    assert not (compact == whorl.diffuse(noisy[0, 0].numpy(), noise=LEVEL)).all()
    for name, value in (("alpha", 0.3), ("sigma", 1.0), ("diffusivity", "tukey")):
        assert automatic_settings("gerig", [noisy], noise=LEVEL, **{name: value}).options == {}
    assert not automatic_settings("lysaker", [noisy], noise=LEVEL).options
    assert {*automatic_settings("gerig", [noisy], noise=LEVEL).options} == {*CHOICE, "sigma"}


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (1, 2, 1, 9), (2, 1, 5, 2)], ids=str)
def test_pictures_of_few_pixels(shape):
    u = 100 + LEVEL * white(*shape)
    _, contrast, time = weighed("gerig", [u], LEVEL)
    assert contrast > 0
    assert 0 <= time < 25


def test_white_noise_of_a_picture_with_square_pixels_is_what_is_taken_for_granted():
    noisy = drawing(40) + LEVEL * white(1, 1, 40, 40)
    told = weighed("gerig", [noisy], LEVEL, neighbours=0.0, shared=0.0, steepness=1.0, pixel=1.0, longest=20.0)
    assert weighed("gerig", [noisy], LEVEL) == told
