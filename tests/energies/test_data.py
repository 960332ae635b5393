"""Data terms and known pixels as they are handed to the schemes."""

import pytest
import torch

from whorl.energies.fidelity import QuadraticFidelity
from whorl.energies.known import KnownPixels
from whorl.errors import ShapeError


@pytest.mark.parametrize(
    ("size", "shape"),
    [
        ((), (1, 1, 4, 5)),
        ((4, 5), (1, 1, 4, 5)),
        ((4, 1), (1, 1, 4, 5)),
        ((3, 1, 1), (1, 3, 4, 5)),
        ((2, 1, 4, 5), (2, 1, 4, 5)),
        ((2, 3, 4, 5), (2, 3, 4, 5)),
    ],
    ids=str,
)
def test_weights_have_a_number_for_every_pixel(size, shape, dtype, rng):
    """Of one image and one channel where they are the same for all, in the type of the image."""
    data = torch.rand(2, 3, 4, 5, generator=rng, dtype=torch.float64)
    given = torch.rand(size, generator=rng, dtype=torch.float64)
    found, weights = QuadraticFidelity(data, given if size else given.item()).on(torch.zeros(2, 3, 4, 5, dtype=dtype))
    assert torch.equal(found, data.to(dtype))
    assert weights.dtype == dtype
    assert weights.shape == shape
    assert torch.equal(weights.expand(2, 3, 4, 5), given.to(dtype).expand(2, 3, 4, 5))


def test_what_stands_where_nothing_is_known_has_no_effect():
    known = torch.tensor([[True, False], [False, True]])
    data = torch.tensor([[1.0, float("nan")], [float("inf"), 4.0]])[None, None]
    kept = KnownPixels(data, known)
    assert kept.get_buffer("data").tolist() == [[[[1.0, 0.0], [0.0, 4.0]]]]
    assert kept(torch.full((1, 1, 2, 2), 7.0)).tolist() == [[[[1.0, 7.0], [7.0, 4.0]]]]
    assert kept.free(torch.ones(1, 1, 2, 2)).tolist() == [[[[0.0, 1.0], [1.0, 0.0]]]]
    finite = torch.arange(4.0).view(1, 1, 2, 2)
    assert torch.equal(KnownPixels(finite, known).get_buffer("data"), finite)
    with pytest.raises(ValueError, match="KnownPixels"):
        KnownPixels(data, torch.ones(2, 2, dtype=torch.bool))


def test_every_image_needs_a_known_pixel():
    known = torch.zeros(2, 1, 2, 2, dtype=torch.bool)
    known[0, 0, 0, 0] = True
    with pytest.raises(ValueError, match="without any known pixel"):
        KnownPixels(torch.ones(2, 1, 2, 2), known)
    with pytest.raises(ShapeError, match="fit"):
        KnownPixels(torch.ones(1, 1, 2, 2), torch.ones(3, 3, dtype=torch.bool))
    known[1, 0, 1, 1] = True
    assert KnownPixels(torch.ones(2, 1, 2, 2), known).get_buffer("known").sum() == 2
