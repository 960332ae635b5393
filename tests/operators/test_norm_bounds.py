"""Where a Gaussian is cut, how round it is on unequal pixels, and how the maximum of a symbol is proven."""

import math

import pytest
import torch

from whorl.operators import (
    CellGradient,
    Composed,
    DirectionalDerivatives,
    Hessian,
    Laplacian,
    ScaleStack,
    Smoothing,
    gaussian_weights,
    sample_scales,
)
from whorl.operators.symbol import maximum_bound


@pytest.mark.parametrize("sigma", [0.3, 0.55, 0.6, 1.0, 1.1, 2.01])
def test_the_gaussian_is_cut_at_four_sigma_rounded_up(sigma):
    weights = gaussian_weights(sigma)
    assert len(weights) - 1 == -(-4 * sigma // 1)
    assert weights[0] + 2 * sum(weights[1:]) == pytest.approx(1, abs=1e-15)
    ratios = [weights[k] / weights[0] for k in range(len(weights))]
    assert ratios == pytest.approx([math.exp(-(k**2) / (2 * sigma**2)) for k in range(len(weights))], rel=1e-12)


@pytest.mark.parametrize("sigma", [1e9, 1e300, 2**10 + 1])
def test_a_gaussian_too_wide_is_refused_before_it_is_made(sigma):
    with pytest.raises(ValueError, match=r"sigma = .* Lower sigma, or shrink the image"):
        Smoothing(sigma)
    with pytest.raises(ValueError, match="Lower sigma"):
        ScaleStack(CellGradient(), sample_scales(2, 0.1, 1e12))


def test_the_widest_gaussian_has_the_largest_radius():
    assert len(gaussian_weights(2**10)) == 1 + 2**12


def test_the_smallest_sigma_is_the_identity():
    u = torch.rand(1, 1, 4, 4)
    for sigma in (0.0, 1e-300, 1e-160):
        assert torch.equal(Smoothing(sigma)(u), u)


@pytest.mark.parametrize("spacing", [(0.5, 1.0), (1.0, 0.25), (0.5, 1.0, 0.8)], ids=str)
def test_a_gaussian_is_as_round_on_unequal_pixels(spacing):
    """The variance along each axis is sigma² in the units of the spacing, whatever the pixel size."""
    sigma = 2.0
    sizes = [2 * round(10 / h) + 1 for h in spacing]
    impulse = torch.zeros(1, 1, *sizes, dtype=torch.float64)
    impulse[(0, 0, *(size // 2 for size in sizes))] = 1
    smoothed = Smoothing(sigma, spacing=spacing)(impulse)[0, 0]
    for axis, (size, h) in enumerate(zip(sizes, spacing, strict=True)):
        place = (torch.arange(size, dtype=torch.float64) - size // 2) * h
        line = smoothed.sum([other for other in range(len(sizes)) if other != axis])
        # Cut at four sigma, a Gaussian loses 1.1e-3 of its variance.
        assert (line * place**2).sum().item() == pytest.approx(sigma**2, rel=2e-3)


def test_weights_along_x_belong_to_the_last_pixel_size():
    for spacing, along_x in [(1.0, 1.0), ((0.5, 2.0), 2.0), ((4.0, 1.0, 0.5), 0.5)]:
        assert Smoothing(1.0, spacing=spacing).weights == tuple(gaussian_weights(1.0 / along_x))
    assert Smoothing(1.0).uniform
    assert Smoothing(1.0, spacing=(2.0, 2.0)).uniform
    assert not Smoothing(1.0, spacing=(2.0, 1.0)).uniform


def test_scales_are_lengths():
    """Half the pixel size is twice the radius in pixels, along the axis it belongs to."""
    stack = ScaleStack(CellGradient(0.41, (0.5, 1.0)), sample_scales(2, 1.0, 2.0))
    assert [G.radii(2) for G in stack.smoothings] == [(8, 4), (12, 6)]
    assert stack.reach == 1 + 2 * 12
    assert Composed(CellGradient(0.41, 0.5), Smoothing(1.0, spacing=0.5)).reach == 1 + 2 * 8


@pytest.mark.parametrize("dimension", [2, 3])
def test_the_norm_bound_is_above_a_maximum_between_the_nodes(dimension):
    """A symbol whose peak lies halfway between two nodes along each axis: only the proven factor reaches it."""
    degree = 3
    peak = math.pi / 2 + math.pi / (2 * 16 * degree)

    def bump(theta):
        return ((1 + torch.cos(theta - peak)) / 2) ** degree + ((1 + torch.cos(theta + peak)) / 2) ** degree

    def symbol(*theta):
        return math.prod(bump(angle) for angle in theta)

    fine = torch.linspace(0, math.pi, 200001, dtype=torch.float64)
    largest = bump(fine).max().item() ** dimension
    nodes = bump(torch.arange(16 * degree + 1, dtype=torch.float64) * math.pi / (16 * degree)).max().item() ** dimension
    bound = maximum_bound(symbol, degree, dimension)
    assert nodes < largest <= bound <= 1.02 * largest
    assert bound == pytest.approx(nodes / math.cos(math.pi / 32) ** dimension, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "order"), [(CellGradient, 1), (DirectionalDerivatives, 1), (Laplacian, 2), (Hessian, 2)], ids=str
)
@pytest.mark.parametrize("h", [0.5, 3.0])
def test_derivatives_of_an_order_are_divided_by_that_power_of_the_pixel_size(kind, order, h):
    """So are their norms, hence their squares by twice the power."""
    K, scaled = kind(), kind(spacing=h)
    u = torch.rand(1, 1, 5, 6, dtype=torch.float64)
    torch.testing.assert_close(scaled(u), K(u) / h**order, rtol=1e-12, atol=1e-12)
    assert scaled.squared_norm_bound(2) == pytest.approx(K.squared_norm_bound(2) / h ** (2 * order), rel=1e-12)


def test_the_norm_of_the_hessian_is_known_for_square_pixels():
    """16 / h⁴ in the plane, less than the numerical bound; in space, and on unequal pixels, the latter."""
    for h in (1.0, 2.0):
        K = Hessian(h)
        assert K.squared_norm_bound(2) == 16 / h**4 < maximum_bound(K.symbol, K.degree, 2)
        assert K.squared_norm_bound(3) == maximum_bound(K.symbol, K.degree, 3)
    unequal = Hessian((1.0, 2.0))
    assert unequal.squared_norm_bound() == maximum_bound(unequal.symbol, unequal.degree, 2)


@pytest.mark.parametrize("spacing", [(1.0, 2.0), (2.0, 1.0), (0.5, 3.0)], ids=str)
def test_directions_compare_points_one_smallest_pixel_apart(spacing, rng):
    """Along the axis of the smallest pixels those points are neighbouring pixels."""
    h_y, h_x = spacing
    line = torch.rand(9, generator=rng, dtype=torch.float64)
    u = (line[:, None] if h_y < h_x else line).expand(1, 1, 9, 9)
    along_x, along_y = DirectionalDerivatives(2, spacing)(u)[0, 0, 0]
    found = along_y[1:-1, 4] if h_y < h_x else along_x[4, 1:-1]
    torch.testing.assert_close(found, line.diff() / min(spacing), rtol=1e-12, atol=1e-12)


def test_a_large_image_on_another_device_stays_there():
    """The compiled loops are for the processor alone."""
    u = torch.empty(1, 1, 2**9, 2**9, device="meta")
    assert Smoothing(1.0)(u).device.type == "meta"


def test_the_norm_bound_is_found_once_for_each_state_of_the_weights():
    """Trained weights change it; as long as they stay, and in the other dimension, what was found is kept."""
    K = ScaleStack(CellGradient(), sample_scales(2, 0.5, 1.0), beta=[1.0, 0.0], trainable=True)
    looked = []
    symbol = K.symbol
    K.symbol = lambda *theta: looked.append(len(theta)) or symbol(*theta)
    bound = K.squared_norm_bound()
    assert {*looked} == {2}
    assert K.squared_norm_bound(3) != bound
    count = len(looked)
    assert K.squared_norm_bound() == bound
    assert len(looked) == count
    with torch.no_grad():
        K.beta.mul_(3)
    assert K.squared_norm_bound() == pytest.approx(9 * bound, rel=1e-12)


@pytest.mark.parametrize(("dimension", "nodes"), [(2, 2**12), (3, 2**8)])
@pytest.mark.parametrize(("degrees", "m"), [(0.5, 2), (1, 2), (2, 2), (4, 4), (8, 8)])
def test_symbols_of_high_degree_are_looked_at_in_a_bounded_number_of_nodes(dimension, nodes, degrees, m):
    """With m times the degree of nodes on half the circle, m at least 2, the factor is 1 / cos(pi / 2m) per axis."""
    degree, seen = int(nodes / degrees), []

    def symbol(first, *rest):
        seen.append(first.numel())
        assert [angle.shape for angle in rest] == [(1 + m * degree, *[1] * k) for k in reversed(range(len(rest)))]
        return torch.ones_like(first)

    assert maximum_bound(symbol, degree, dimension) == pytest.approx(math.cos(math.pi / (2 * m)) ** -dimension)
    assert sum(seen) == 1 + m * degree


@torch.no_grad()
def test_compiled_loops_smooth_large_images_that_need_no_gradient(monkeypatch, rng):
    """In every bit as the others do, which serve small images, volumes, unequal pixels and gradients."""
    loops = pytest.importorskip("whorl.engines.cpu.plane.smoothing")
    compiled, counted = loops.smoothed, []
    monkeypatch.setattr(loops, "smoothed", lambda *words: counted.append(words) or compiled(*words))

    def used(u, spacing=1.0):
        counted.clear()
        return Smoothing(0.6, spacing=spacing)(u), len(counted) == 1

    large = torch.rand(1, 1, 2**8, 2**8, generator=rng)
    smoothed, by_loops = used(large)
    assert by_loops
    assert not used(large[..., 1:])[1]
    assert not used(large.view(1, 1, 2**4, 2**6, 2**6))[1]
    assert not used(large, spacing=(1.0, 2.0))[1]
    large.requires_grad_()
    assert used(large)[1]
    with torch.enable_grad():
        reference, by_loops = used(large)
        assert not by_loops
        assert used(large.detach())[1]
    assert torch.equal(smoothed, reference)
