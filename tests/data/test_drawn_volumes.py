"""Drawn volumes: the same every time, each for itself, and of the kind that is told."""

import pytest
import torch

from whorl.data.leaves import blurred, drawn_volumes
from whorl.errors import ShapeError


def test_a_volume_depends_on_its_number_split_and_seed_alone():
    u = drawn_volumes(range(3), size=12)
    assert (u.shape, u.dtype) == ((3, 1, 12, 12, 12), torch.float32)
    assert torch.equal(u, drawn_volumes(range(3), size=12))
    torch.testing.assert_close(drawn_volumes([2], size=12)[0], u[2], rtol=0, atol=1e-2)
    for other in (drawn_volumes([1], 12), drawn_volumes([0], 12, "validation"), drawn_volumes([0], 12, seed=1)):
        assert float((other[0] - u[0]).abs().mean()) > 5


def test_grey_values_fill_their_range_and_there_are_flat_parts_and_edges():
    u = drawn_volumes(range(6), size=24)
    assert 0 <= float(u.min()) < 20
    assert 235 < float(u.max()) <= 255
    steps = u.diff(dim=-1).abs()
    assert float((steps < 2).float().mean()) > 0.2
    assert 0.02 < float((steps > 20).float().mean()) < 0.5


def test_no_direction_is_preferred():
    u = drawn_volumes(range(24), size=16, seed=3)
    slopes = torch.stack([u.diff(dim=axis).abs().mean((1, 2, 3, 4)) for axis in (2, 3, 4)])
    spread = slopes.std(1) / len(slopes.T) ** 0.5
    assert float((slopes.mean(1) - slopes.mean()).abs().max()) < 3 * float(spread.max())


def test_a_gaussian_of_three_widths_acts_on_each_axis_alone():
    point = torch.zeros(1, 16, 16, 16)
    point[0, 8, 8, 8] = 1
    wide = blurred(point, 0.0, 1.0, 1.5)[0]
    steps = torch.arange(16.0) - 8
    for axis, width in enumerate((0.0, 1.0, 1.5)):
        profile = wide.sum([k for k in range(3) if k != axis])
        assert float((profile * steps**2).sum()) == pytest.approx(width**2, abs=0.02)


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(ShapeError, match="at least 8"):
        drawn_volumes([0], size=4)
    with pytest.raises(ShapeError, match="give a number"):
        drawn_volumes([])
