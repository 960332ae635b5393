"""Which values are refused because their squared derivatives would overflow: four powers of ten are kept free."""

import pytest
import torch

from whorl.foundations import validation

LARGEST = {torch.float32: 38.5318, torch.float64: 308.2547}
"""Logarithms of the largest numbers."""


@pytest.mark.parametrize("squared_norm", [1e-3, 1.0, 8.0, 1e6])
def test_the_margin_is_four_powers_of_ten(dtype, squared_norm):
    bound = 10 ** ((LARGEST[dtype] - 4) / 2) / squared_norm**0.5
    inside = torch.tensor([[[[-0.999 * bound, 1.0]]]], dtype=torch.float64).to(dtype)
    assert validation.squarable(inside, squared_norm, "test") is inside
    outside = torch.tensor([[[[-1.001 * bound, 1.0]]]], dtype=torch.float64).to(dtype)
    with pytest.raises(ValueError, match="overflow"):
        validation.squarable(outside, squared_norm, "test")


def test_what_is_not_finite_is_counted():
    u = torch.ones(1, 1, 2, 2)
    u[..., 0, 0], u[..., 1, 1] = float("nan"), float("inf")
    with pytest.raises(ValueError, match="2 NaN or infinite"):
        validation.squarable(u, 1.0, "test")
    flat = torch.zeros(1, 1, 2, 2)
    assert validation.squarable(flat, 8.0, "test") is flat
