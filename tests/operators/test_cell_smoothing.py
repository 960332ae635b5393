"""Fields on cells are smoothed as those of the mirrored image are."""

from itertools import combinations_with_replacement

import pytest
import torch

from whorl.operators import mirror
from whorl.operators.cell_smoothing import CellSmoothing
from whorl.operators.cells import haar


@pytest.mark.parametrize("size", [(5, 7), (1, 3), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("sigma", [0.0, 0.2, 0.6, 1.5])
def test_products_of_derivatives_are_smoothed_as_if_the_mirrored_image_went_on(size, sigma, rng):
    """Cut out of the convolution of a much larger piece of the mirrored image, whose border is never reached."""
    smoothing, dimension = CellSmoothing(sigma), len(size)
    u = torch.randn(1, 1, *size, generator=rng, dtype=torch.float64)
    margin = smoothing.radius + 1
    inside, beyond = haar(u), haar(mirror(u, margin))
    for i, j in combinations_with_replacement(range(dimension), 2):
        found = smoothing((inside[i,] * inside[j,])[:, :, None, None], odd={i, j} if i != j else ())
        expected = beyond[i,] * beyond[j,]
        for axis, weights in enumerate(smoothing.weights_along(dimension), start=-dimension):
            shifted = [(w, expected.roll(way * k, axis)) for k, w in enumerate(weights) for way in {-1, 1} if k]
            expected = weights[0] * expected + sum(w * field for w, field in shifted)
        window = expected[(..., *(slice(margin, margin + length + 1) for length in size))]
        torch.testing.assert_close(found[:, :, 0, 0], window, rtol=0, atol=1e-13)


def test_the_radius_is_the_largest_along_all_axes():
    assert CellSmoothing(1.0, (0.5, 1.0)).radius == 8
    assert CellSmoothing(1.0).radius == 4
