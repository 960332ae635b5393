"""What operators are unless told otherwise, how their channels belong to directions, and what they refuse."""

import pytest
import torch

from catalogue import CHANNEL_OPERATORS
from whorl.operators import (
    CellGradient,
    Composed,
    Dictionary,
    DirectionalDerivatives,
    Hessian,
    Laplacian,
    LaplacianPower,
    Mixed,
    ScaleStack,
    Smoothing,
    Stacked,
    SteerableMap,
    gaussian_weights,
    sample_scales,
)
from whorl.operators.cell_smoothing import CellSmoothing


def test_pixels_have_the_size_one():
    power = LaplacianPower(1.0)
    for K in (
        CellGradient(),
        Laplacian(),
        Hessian(),
        DirectionalDerivatives(),
        SteerableMap(1, (1, 1)),
        Smoothing(1.0),
        CellSmoothing(1.0),
        power.smoothing,
        power.laplacian,
        ScaleStack(CellGradient()),
    ):
        assert K.spacing.along(2) == (1.0, 1.0), K


def test_parameters_have_their_usual_values():
    assert CellGradient().alpha == 0.41
    assert Laplacian().alpha == 1 / 6
    assert LaplacianPower(1.0).power == 1
    assert DirectionalDerivatives().directions == 8
    assert CellSmoothing(1.0).weights_along(2) == (tuple(gaussian_weights(1.0)),) * 2
    assert Smoothing(1.0).weights == tuple(gaussian_weights(1.0, truncate=4.0))
    assert not ScaleStack(CellGradient()).beta.requires_grad
    assert Dictionary(CellGradient(), [Smoothing(1.0)]).weights.requires_grad


def test_channels_belong_to_so_many_directions():
    """A derivative of order m along x and y has 2 ** m of them; fields of any order have none on the grid."""
    for K, directions in (
        (Laplacian(), 1),
        (CellGradient(), 2),
        (Hessian(), 4),
        (DirectionalDerivatives(5), 5),
        (3.0 * Hessian(), 4),
        (Composed(CellGradient(), Smoothing(1.0)), 2),
        (ScaleStack(Hessian()), 4),
        (Stacked([CellGradient(), CellGradient(0.1)]), 1),
        (CHANNEL_OPERATORS["steerable"], 1),
        (CHANNEL_OPERATORS["mixed"], 2),
    ):
        assert K.axes == directions, K


def test_a_dictionary_starts_with_each_feature_mostly_its_own_word():
    """Each row sums up to one where there is such a word; a word of no feature has a share of all."""
    K = Dictionary(CellGradient(), [Smoothing(0.5), Smoothing(1.0), Smoothing(2.0), Smoothing(3.0)], features=2)
    expected = torch.tensor([[0.925, 0.025, 0.025, 0.025], [0.025, 0.925, 0.025, 0.025]], dtype=torch.float64)
    torch.testing.assert_close(K.weights.detach(), expected)
    assert Dictionary(CellGradient(), [Smoothing(0.5)]).weights.shape == (1, 1)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: CellGradient(0.51), "alpha"),
        (lambda: CellGradient(-0.01), "alpha"),
        (lambda: LaplacianPower(1.0, -1), "power must not be negative"),
        (lambda: Dictionary(CellGradient(), []), "at least one word"),
        (lambda: Dictionary(CellGradient(), [Smoothing(1.0)], features=0), "one feature"),
        (lambda: Dictionary(CellGradient(), [Smoothing(1.0)], weights=torch.ones(2, 1)), "shape"),
        (lambda: DirectionalDerivatives(1), "directions"),
        (lambda: DirectionalDerivatives(2.5), "directions"),
        (lambda: Smoothing(1.0, truncate=0.0), "truncate"),
        (lambda: Smoothing(-0.01), "sigma"),
        (lambda: CellSmoothing(-0.01), "sigma"),
        (lambda: DirectionalDerivatives(4, (1.0, 1.0, 1.0)), "in the plane alone"),
        (lambda: sample_scales(0), "count"),
        (lambda: sample_scales(2, 0.0, 1.0), "smallest"),
        (lambda: sample_scales(2, 1.0, 1.0), "largest"),
        (lambda: Mixed(CellGradient(), torch.zeros(0, 3)), "matrix"),
        (lambda: Mixed(CellGradient(), torch.tensor([[1.0, float("nan")]])), "finite"),
    ],
)
def test_what_makes_no_operator_is_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()


@torch.no_grad()
def test_the_least_that_is_allowed():
    u = torch.rand(1, 1, 5, 6, dtype=torch.float64)
    assert CellGradient(0.5)(u).shape == (1, 1, 1, 4, 6, 7)
    assert torch.equal(LaplacianPower(0.0, 0)(u), u)
    assert DirectionalDerivatives(2)(u).shape == (1, 1, 1, 2, 6, 7)
    assert Smoothing(0.02, truncate=0.01).radius == 1
    assert sample_scales(1, 0.01, 0.02).sigma == (0.01,)
    assert gaussian_weights(0.0) == [1.0]
    mixed = Mixed(CellGradient(), torch.full((1, 1), 2.0, dtype=torch.float64))
    assert torch.equal(mixed(u), 2 * CellGradient()(u))
    assert mixed.weights.requires_grad
