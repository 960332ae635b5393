"""Coarse levels are means of what is known; finer ones put every value where it belongs."""

import pytest
import torch

from whorl.inpainting.pyramid import Level, coarser, finer, pyramid


def ramp(shape: tuple[int, ...], axis: int) -> torch.Tensor:
    """The number of each pixel along an axis."""
    line = torch.arange(float(shape[axis]), dtype=torch.float64)
    return line.view([-1 if each == axis else 1 for each in range(len(shape))]).expand(shape)[None, None]


@pytest.mark.parametrize(("shape", "axis"), [((8, 5), 0), ((8, 5), 1), ((4, 6, 3), 0), ((4, 6, 3), 2)])
def test_a_ramp_stays_a_ramp_on_its_way_up(shape: tuple[int, ...], axis: int) -> None:
    """The pixel i of the coarse level lies between the pixels 2 i and 2 i + 1 of the fine one."""
    fine = tuple(2 * size for size in shape)
    found = finer(2 * ramp(shape, axis) + 0.5, fine)
    expected = ramp(fine, axis).clamp(0.5, fine[axis] - 1.5)  # beyond the outermost centres there is nothing to follow
    assert torch.allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("shape", "axis"), [((9, 5), 0), ((8, 5), 1), ((3, 6, 7), 2)])
def test_along_odd_sizes_every_second_pixel_is_kept(shape: tuple[int, ...], axis: int) -> None:
    """The pixel i of the coarse level is the pixel 2 i of the fine one: a ramp runs on to both ends."""
    half = ramp(tuple((size + 1) // 2 for size in shape), axis)
    assert torch.allclose(finer(2 * half, shape), ramp(shape, axis), rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(7, 9), (8, 5), (6, 4), (5, 4, 7)])
def test_both_ways_look_the_same_from_either_end(shape: tuple[int, ...], rng: torch.Generator) -> None:
    data, known = torch.rand(1, 1, *shape, generator=rng, dtype=torch.float64), torch.rand(1, 1, *shape, generator=rng)
    level = Level(data, known < 0.4)
    half = coarser(level)
    for axis in range(2, 2 + len(shape)):
        mirrored = coarser(Level(*(each.flip(axis) for each in level)))
        assert torch.equal(mirrored.known, half.known.flip(axis))
        assert torch.allclose(mirrored.data, half.data.flip(axis), rtol=0, atol=1e-15)
        assert torch.allclose(finer(mirrored.data, shape), finer(half.data, shape).flip(axis), rtol=0, atol=1e-15)


@pytest.mark.parametrize("shape", [(7, 9), (8, 5), (5, 4, 7)])
def test_levels_of_odd_sizes_turn_into_each_other(shape: tuple[int, ...]) -> None:
    level = Level(torch.ones(1, 1, *shape), torch.ones(1, 1, *shape, dtype=torch.bool))
    half = coarser(level)
    assert half.data.shape[2:] == tuple((size + 1) // 2 for size in shape)
    assert torch.equal(finer(half.data, shape), level.data)


def test_a_coarse_pixel_is_the_mean_of_the_known_ones_it_covers() -> None:
    """Of three pixels the outer ones are kept: each counts twice what the one between them does."""
    data = torch.tensor([[1.0, 3.0, 10.0], [5.0, 90.0, 90.0], [7.0, 90.0, 90.0], [90.0, 90.0, 90.0]])[None, None]
    known = torch.tensor([[1, 1, 1], [1, 0, 0], [1, 0, 0], [0, 0, 0]], dtype=torch.bool)[None, None]
    half = coarser(Level(data, known))
    above = [(2 * 1 + 3 + 2 * 5) / 5, (3 + 2 * 10) / 3]
    assert torch.allclose(half.data[0, 0], torch.tensor([above, [7.0, 0.0]]))
    assert half.known[0, 0].tolist() == [[True, True], [True, False]]


def test_levels_go_on_until_all_is_known() -> None:
    known = torch.zeros(1, 1, 32, 32, dtype=torch.bool)
    known[..., 3::8, 5::8] = True
    levels = pyramid(Level(torch.full((1, 1, 32, 32), 7.0), known))
    assert [tuple(level.data.shape[2:]) for level in levels] == [(32, 32), (16, 16), (8, 8), (4, 4)]
    assert levels[-1].known.all()
    assert not levels[-2].known.all()
    assert (levels[-1].data == 7).all()


def test_levels_of_narrow_pictures_go_on_along_the_longer_side() -> None:
    known = torch.zeros(1, 1, 4, 32, dtype=torch.bool)
    known[..., 0, 0] = True
    levels = pyramid(Level(torch.ones(1, 1, 4, 32), known))
    assert [tuple(level.data.shape[2:]) for level in levels] == [(4, 32), (2, 16), (1, 8), (1, 4)]
