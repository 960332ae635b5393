"""What people give by mistake is named in a sentence; what is unusual but right is taken."""

import math

import numpy as np
import pytest
import torch

import whorl
from whorl.errors import ShapeError
from whorl.reconstruction import Blur, Coarser, Masked, ParallelBeam, RadialFourier

SIDE = 16
PICTURE = 100 + 50 * torch.sin(torch.arange(float(SIDE * SIDE))).view(SIDE, SIDE)
BLUR = Blur(torch.full((3, 3), 1 / 9), circular=True)
HOW = {"noise": 5.0, "weight": 1.0, "peak": 255.0, "tolerance": 1e-2}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"tolerance": -1.0}, "tolerance must lie"),
        ({"tolerance": math.nan}, "tolerance must lie"),
        ({"steps": 0}, "steps must lie"),
        ({"channel_axis": 5}, "channel_axis must be one of"),
    ],
)
def test_settings_that_cannot_be(arguments, words):
    with pytest.raises(ValueError, match=words):
        whorl.reconstruct(PICTURE, BLUR, **{**HOW, **arguments})


@pytest.mark.parametrize(
    ("y", "A", "words"),
    [
        (np.zeros((0, 5), np.float32), BLUR, "there are none"),
        (np.ma.masked_greater(PICTURE.numpy(), 120), BLUR, "masked array"),
        (PICTURE[..., None].expand(-1, -1, 3), BLUR, "Name the channel_axis"),
        (PICTURE[..., None].expand(-1, -1, 3), Coarser(2), "Name the channel_axis"),
        (PICTURE, Masked(PICTURE > 100), r"picture\[\.\.\., mask\]"),
        (PICTURE, Blur, r"the class Blur"),
        (PICTURE.numpy(), (lambda u: [1], lambda v: [2]), "gives a list"),
        (PICTURE[:1], lambda u: u.flatten()[:100] @ torch.ones(100, 3), "or the picture's shape="),
    ],
)
def test_data_and_operators_that_cannot_be(y, A, words):
    with pytest.raises((ShapeError, TypeError), match=words):
        whorl.reconstruct(y, A, **HOW)


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda: Coarser(2.5), "whole number"),
        (lambda: Coarser("2"), "whole number"),
        (lambda: RadialFourier((8, 8), 0), "whole number"),
        (lambda: ParallelBeam((8, 8), []), "finite angles"),
        (lambda: ParallelBeam((8, 8), [math.nan]), "finite angles"),
        (lambda: RadialFourier((8, 8), 3)(PICTURE[None, None]), r"expected a picture \(n, c, 8, 8\)"),
        (lambda: ParallelBeam((8, 8), [0.0])(PICTURE[None, None]), r"expected a picture \(n, c, 8, 8\)"),
        (lambda: Masked(torch.ones(8, 8, dtype=torch.bool))(PICTURE[None, None]), r"expected a picture \(n, c, 8, 8\)"),
    ],
)
def test_operators_name_what_they_cannot_take(made, words):
    with pytest.raises((ShapeError, ValueError), match=words):
        made()


def test_bytes_in_the_other_order_are_numbers_all_the_same():
    found = whorl.reconstruct(PICTURE.numpy(), BLUR, **HOW)
    other = whorl.reconstruct(PICTURE.numpy().astype(">f4"), BLUR, **HOW)
    assert np.array_equal(found, other)


def test_data_of_two_axes_need_not_be_a_picture():
    """Products with the rows of a matrix, and the shape of the picture told."""
    matrix = torch.randn(40, SIDE * SIDE, generator=torch.Generator().manual_seed(0)) / SIDE
    y = matrix @ PICTURE.flatten()
    found = whorl.reconstruct(y[None], lambda u: u.flatten(1) @ matrix.T, shape=(1, 1, SIDE, SIDE), **HOW)
    assert found.shape == (1, 1, SIDE, SIDE)
    shown = whorl.reconstruct(PICTURE, lambda u: BLUR(u), shape=(1, 1, SIDE, SIDE), **HOW)
    assert shown.shape == (SIDE, SIDE)
