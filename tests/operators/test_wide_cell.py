"""The wide cell: fourth order, no wave lost but the constant, a norm that is proved, and every symmetry of the grid."""

from itertools import permutations, product

import numpy as np
import pytest
import torch

from catalogue import noise
from whorl.operators import CellGradient
from whorl.operators.cells import channels, details
from whorl.operators.wide import squared_transfers
from whorl.schemes import l2_limit

DERIVATIVE = [1 / 24, -27 / 24, 27 / 24, -1 / 24]
AVERAGE = [-1 / 16, 9 / 16, 9 / 16, -1 / 16]
THIRD_DIFFERENCE = [-1 / 8, 3 / 8, -3 / 8, 1 / 8]
SPACINGS = {2: [(1.0, 1.0), (0.5, 2.0)], 3: [(1.0, 1.0, 1.0), (3.0, 0.5, 2.0)]}
CASES = [(d, spacing, alpha) for d in (2, 3) for spacing in SPACINGS[d] for alpha in (0.0, 0.16, 0.25, 0.41, 0.5)]


@pytest.mark.parametrize(("dimension", "spacing", "alpha"), CASES)
def test_details_are_products_of_three_filters(dimension, spacing, alpha, rng):
    cell = torch.randn([4] * dimension, dtype=torch.float64, generator=rng)
    found = CellGradient(alpha, spacing, "wide")(cell[None, None])[(0, 0, 0, slice(None), *[2] * dimension)]
    for channel, detail in enumerate(channels(dimension)):
        value = cell
        for k in range(dimension):  # x is the last axis: each filter takes the last one away
            taps = AVERAGE if k not in detail else DERIVATIVE if len(detail) == 1 else THIRD_DIFFERENCE
            value = value @ torch.tensor(taps, dtype=torch.float64)
        factor = 1 if len(detail) == 1 else 2 * (1 - 2 * alpha) ** ((len(detail) - 1) / 2)
        expected = factor * float(value) / spacing[::-1][channel % dimension]
        assert float(found[channel]) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("dimension", [2, 3])
def test_gradients_of_cubic_polynomials_are_exact_at_the_centre(dimension):
    """The compact cell has an error there, of second order."""
    h = (0.7, 1.5, 2.0)[:dimension]
    axes = [(torch.arange(6, dtype=torch.float64) - 2.5) * size for size in h]
    grid = torch.meshgrid(*axes, indexing="ij")
    for powers in product(range(4), repeat=dimension):
        u = torch.ones([6] * dimension, dtype=torch.float64)
        for coordinate, power in zip(grid, powers, strict=True):
            u = u * (coordinate - 0.3) ** power
        found = CellGradient(0.5, h, "wide")(u[None, None])[(0, 0, 0, slice(dimension), *[3] * dimension)]
        for k in range(dimension):
            exact = 1.0
            for axis, power in enumerate(powers):
                differentiated = axis == dimension - 1 - k
                exact *= power * (-0.3) ** max(power - 1, 0) if differentiated else (-0.3) ** power
            assert float(found[k]) == pytest.approx(exact, rel=1e-11, abs=1e-11)
    u = (grid[-1] ** 3)[None, None]
    compact = CellGradient(0.5, h)(u)[(0, 0, 0, 0, *[3] * dimension)]
    assert float(compact) == pytest.approx(h[-1] ** 2 / 4)


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("alpha", [0.0, 0.41])
def test_only_constants_are_lost(dimension, alpha):
    """The smallest singular value but that of the constant is far from zero; without detail checkerboards vanish."""
    size = 5
    basis = torch.eye(size**dimension, dtype=torch.float64).view(-1, 1, *[size] * dimension)
    for given, lost in ((alpha, 1), (0.5, 2)):
        K = CellGradient(given, cell="wide")
        values = torch.linalg.svdvals(K(basis).flatten(1))
        assert (values < 1e-12).sum() == 1
        nodes = torch.tensor([0.0, torch.pi / 2, torch.pi], dtype=torch.float64)
        corners = K.symbol(*(nodes.view([-1 if a == b else 1 for b in range(dimension)]) for a in range(dimension)))
        # Of the waves up to the highest frequency, in space those of the highest along two axes are lost as well.
        assert (corners < 1e-15).sum() == (1 if lost == 1 else 2 if dimension == 2 else 8)


@pytest.mark.parametrize(("dimension", "spacing", "alpha"), CASES)
def test_no_bernstein_coefficient_of_the_symbol_exceeds_the_norm(dimension, spacing, alpha):
    """The proof: on the unit cube a polynomial lies below its largest Bernstein coefficient."""
    X = torch.linspace(0, 1, 4, dtype=torch.float64)
    nodes = np.linspace(0, 1, 4)
    basis = np.stack([[1, 3, 3, 1][k] * nodes**k * (1 - nodes) ** (3 - k) for k in range(4)], axis=1)
    D, A, E = (np.linalg.solve(basis, values.numpy()) for values in squared_transfers(X))
    np.testing.assert_allclose(D, [0, 4 / 3, 28 / 9, 49 / 9], atol=1e-13)
    np.testing.assert_allclose(A, [1, 1, 3 / 4, 0], atol=1e-13)
    np.testing.assert_allclose(E, [0, 0, 0, 1], atol=1e-13)
    K, kappa, h = CellGradient(alpha, spacing, "wide"), 1 - 2 * alpha, spacing[::-1]
    largest = 0.0
    for index in product(range(4), repeat=dimension):
        value = 0.0
        for chosen in details(dimension):
            term = sum(h[k] ** -2 for k in chosen) * (1 if len(chosen) == 1 else 4 * kappa ** (len(chosen) - 1))
            for k in range(dimension):
                term *= A[index[k]] if k not in chosen else D[index[k]] if len(chosen) == 1 else E[index[k]]
            value += term
        largest = max(largest, value)
    assert largest == pytest.approx(K.squared_norm_bound(dimension), rel=1e-12)
    corners = torch.tensor(list(product([0.0, torch.pi], repeat=dimension)), dtype=torch.float64)
    assert float(K.symbol(*corners.T).max()) == pytest.approx(largest, rel=1e-12)


def test_the_step_limit_is_that_of_stripes():
    """18/49 for unit pixels and voxels; stripes of the highest frequency just do not grow."""
    from whorl.activations import Isotropic
    from whorl.diffusivities import Homogeneous

    for dimension in (2, 3):
        K, phi = CellGradient(cell="wide"), Isotropic(Homogeneous())
        tau = l2_limit(K, phi, dimension=dimension)
        assert tau == pytest.approx(18 / 49, rel=1e-14)
        stripes = torch.cos((torch.arange(64, dtype=torch.float64) + 0.5) * torch.pi * 63 / 64)
        u = stripes.expand(1, 1, *[4] * (dimension - 1), 64)
        factor = float((u - tau * K.adjoint(K(u))).norm() / u.norm())
        assert 0.995 < factor <= 1


@pytest.mark.parametrize("dimension", [2, 3])
def test_all_symmetries_of_the_grid_carry_over(dimension, rng):
    """Eight in the plane, 48 in space: K* K of the picture turned or mirrored is K* K of the picture, turned alike."""
    K, u = CellGradient(0.3, cell="wide"), noise(rng, 1, 2, *(5, 6, 4)[:dimension])
    result = K.adjoint(K(u))
    places = range(2, 2 + dimension)
    for order in permutations(places):
        for flipped in product((False, True), repeat=dimension):
            axes = [axis for axis, chosen in zip(places, flipped, strict=True) if chosen]

            def moved(v, order=order, axes=axes):
                return v.flip(axes).permute(0, 1, *order)

            assert torch.allclose(K.adjoint(K(moved(u))), moved(result), rtol=0, atol=1e-12)


def test_an_unknown_cell_is_refused():
    with pytest.raises(ValueError, match="cell 'wise' is unknown; did you mean 'wide'"):
        CellGradient(cell="wise")


def test_no_limit_for_the_range_of_grey_values_is_known():
    """The weights of distant neighbours are negative."""
    from whorl.models import build

    assert build("perona-malik", contrast=5.0).max_min_limit() is not None
    assert build("perona-malik", contrast=5.0, cell="wide").max_min_limit() is None


@pytest.mark.parametrize(
    ("name", "shape"), [("ced", (1, 1, 20, 21)), ("multiscale-isotropic", (1, 1, 9, 9)), ("ced", (1, 1, 8, 9, 10))]
)
def test_engines_give_the_reason_why_they_leave_it_to_the_reference(name, shape, rng):
    from whorl.models import build

    options = {"gamma": 0.0} if name == "ced" else {"scales": 2} if "scale" in name else {}
    model, u = build(name, contrast=5.0, cell="wide", **options), noise(rng, *shape)
    with pytest.raises(ValueError, match="has no compiled form"):
        model(u, time=1.0, engine="numba")
    assert torch.equal(model(u, time=1.0), model(u, time=1.0, engine="reference"))
