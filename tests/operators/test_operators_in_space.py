"""What every operator promises in space: adjoint, norm, symbol, constants, reach, and the plane as a special case."""

from itertools import permutations, product

import pytest
import torch

from catalogue import SPATIAL_OPERATORS, assert_adjoint, assert_norm, noise
from whorl.operators import CellGradient, Hessian, Laplacian, Smoothing, fold, mirror
from whorl.operators.cells import channels, details

parametrised = pytest.mark.parametrize("K", SPATIAL_OPERATORS.values(), ids=SPATIAL_OPERATORS)
SIZES = [(1, 1, 1), (1, 1, 5), (1, 4, 1), (3, 1, 2), (4, 5, 6)]


@parametrised
def test_adjoint_matches_operator(K, dtype, rng):
    assert_adjoint(K, noise(rng, 2, 2, 4, 5, 6, dtype=dtype), rng)


@parametrised
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_adjoint_at_any_size(K, size, rng):
    assert_adjoint(K, noise(rng, 1, 2, *size, scale=1.0), rng, K.squared_norm_bound(3) ** 0.5)


@parametrised
def test_power_iteration_stays_below_the_norm_bound_and_comes_near(K, rng):
    # The largest frequency of twelve voxels, sin²(11 pi / 24) = 0.983 along each axis, and 3 % of proof.
    assert_norm(K, noise(rng, 1, 1, 16, 14, 12), 60, K.squared_norm_bound(3), 0.9)


@parametrised
def test_symbol_is_the_eigenvalue_of_cosine_modes(K):
    sizes, orders = (6, 8, 7), (4, 3, 2)
    theta = [torch.tensor(torch.pi * k / size, dtype=torch.float64) for k, size in zip(orders, sizes, strict=True)]
    lines = [
        torch.cos((torch.arange(size, dtype=torch.float64) + 0.5) * t) for size, t in zip(sizes, theta, strict=True)
    ]
    mode = torch.einsum("i,j,k->ijk", *lines)[None, None]
    expected = K.symbol(*(t[None, None, None] for t in theta)) * mode
    assert torch.allclose(K.adjoint(K(mode)), expected, rtol=0, atol=1e-12 * K.squared_norm_bound(3))


@parametrised
@pytest.mark.parametrize("value", [0.1, -7.3, 1e6])
def test_constants_vanish_to_the_last_bit(K, dtype, value):
    for size in SIZES:
        assert not K(torch.full((1, 2, *size), value, dtype=dtype)).any()


@parametrised
def test_reach_is_how_far_it_looks(K):
    size = 2 * K.reach + 3
    impulse = torch.zeros(1, 1, 3, 3, size, dtype=torch.float64)
    impulse[..., 1, 1, size // 2] = 1
    along_x = (K.adjoint(K(impulse)) != 0).any(-2).any(-2).flatten().nonzero().flatten()
    assert size // 2 - along_x.min() == along_x.max() - size // 2 <= K.reach


@parametrised
def test_a_volume_that_does_not_change_along_z_responds_like_the_plane(K, rng):
    """K* K u of a stack of equal slices is K* K of the slice, in every slice."""
    if K.dimension == 3:
        pytest.skip("made for volumes alone")
    u = noise(rng, 1, 2, 7, 6)
    volume = u[:, :, None].expand(1, 2, 4, 7, 6).contiguous()
    expected = K.adjoint(K(u))[:, :, None].expand_as(volume)
    assert torch.allclose(K.adjoint(K(volume)), expected, rtol=0, atol=1e-13 * expected.abs().max().item())


@pytest.mark.parametrize("radius", [0, 1, 3, 7])
def test_fold_transposes_mirror(radius, rng):
    u = noise(rng, 1, 1, 3, 4, 2)
    extended = mirror(u, radius)
    v = torch.randn(extended.shape, generator=rng, dtype=torch.float64)
    assert extended.shape == (1, 1, 3 + 2 * radius, 4 + 2 * radius, 2 + 2 * radius)
    assert torch.allclose((extended * v).sum(), (u * fold(v, radius)).sum(), rtol=1e-13, atol=1e-11)


def test_each_detail_counts_towards_each_of_its_directions():
    """J_xx = p_x² + kappa (r_xy² + r_xz²) + kappa² t², and so on."""
    assert len(channels(3)) == 12
    for direction in range(3):
        found = channels(3)[direction::3]
        assert sorted(found) == sorted(detail for detail in details(3) if direction in detail)


def test_cell_details_against_their_definition(rng):
    """Sums of the eight corners with signs, times 1/4."""
    alpha, spacing = 0.2, (3.0, 0.5, 2.0)
    kappa, h = 1 - 2 * alpha, (2.0, 0.5, 3.0)
    cell = torch.randn(2, 2, 2, dtype=torch.float64, generator=rng)
    responses = CellGradient(alpha, spacing)(cell[None, None])[0, 0, 0, :, 1, 1, 1]
    for channel, detail in enumerate(channels(3)):
        value = 0.0
        for corner in product((0, 1), repeat=3):
            sign = 1
            for direction in detail:
                sign *= 1 if corner[2 - direction] else -1
            value += 0.25 * sign * float(cell[corner])
        expected = kappa ** ((len(detail) - 1) / 2) * value / h[channel % 3]
        assert responses[channel].item() == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("alpha", [0.0, 1 / 6, 0.41, 0.5])
def test_norm_and_symbol_are_those_of_the_theory(alpha):
    kappa = 1 - 2 * alpha
    assert CellGradient(alpha).squared_norm_bound(3) == pytest.approx(4 * max(1, 2 * kappa, 3 * kappa**2), rel=1e-14)
    theta = torch.rand(3, 50, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) * torch.pi
    X, Y, Z = torch.sin(theta / 2) ** 2
    S1, S2, S3 = X + Y + Z, X * Y + X * Z + Y * Z, X * Y * Z
    expected = 4 * (S1 + (2 * kappa - 2) * S2 + 3 * (1 - kappa) ** 2 * S3)
    assert torch.allclose(CellGradient(alpha).symbol(*theta), expected, rtol=1e-12, atol=1e-12)


def test_laplacian_stencil_and_isotropic_error():
    """With alpha = 1/6 faces weigh 5/12, edges 1/8, corners 1/48; quartic errors do not depend on the direction."""
    u = torch.zeros(1, 1, 5, 5, 5, dtype=torch.float64)
    u[0, 0, 2, 2, 2] = 1
    stencil = Laplacian()(u)[0, 0, 0, 0]
    for offset in product((-1, 0, 1), repeat=3):
        weight = {0: -25 / 6, 1: 5 / 12, 2: 1 / 8, 3: 1 / 48}[sum(map(abs, offset))]
        z, y, x = (2 + step for step in offset)
        assert stencil[z, y, x].item() == pytest.approx(weight, rel=1e-12)
    directions = torch.randn(3, 200, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    k = 0.05
    symbol = Laplacian().symbol(*(k * directions / directions.norm(dim=0))).sqrt()
    assert symbol.max() - symbol.min() <= 2e-3 * k**6


def test_all_hessian_errors_turn_with_the_volume():
    """On polynomials of degree 4 the operator is the exact Hessian of u + Laplacian(u)/12, for every entry."""
    axis = torch.arange(-5.0, 6.0).double()
    z, y, x = torch.meshgrid(axis, axis, axis, indexing="ij")
    u = x**3 * y + x**4 + x**2 * y * z + y**2 * z**2
    found = Hessian()(u[None, None])[0, 0, 0, :, 3:-3, 3:-3, 3:-3]
    z, y, x = (c[3:-3, 3:-3, 3:-3] for c in (z, y, x))
    # Laplacian(u) / 12 = (6xy + 12x² + 2yz + 2z² + 2y²) / 12
    xx = 6 * x * y + 12 * x**2 + 2 * y * z + 2
    xy = 3 * x**2 + 2 * x * z + 0.5
    xz = 2 * x * y
    yy = 2 * z**2 + 1 / 3
    yz = x**2 + 4 * y * z + 1 / 6
    zz = 2 * y**2 + 1 / 3
    expected = torch.stack([c * torch.ones_like(x) for c in (xx, xy, xz, xy, yy, yz, xz, yz, zz)])
    assert torch.allclose(found, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("alpha", [0.0, 1 / 6, 0.41])
@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.0, 0.5, 1.0)])
def test_linear_flow_spreads_a_gaussian_in_physical_units(alpha, spacing):
    """Homogeneous diffusion adds 2 t to the variance along each axis, in physical units, on any grid."""
    K = CellGradient(alpha, spacing)
    sizes = [round(8 / h) for h in spacing]
    axes = [torch.arange(-size, size + 1).double() * h for size, h in zip(sizes, spacing, strict=True)]
    grid = torch.meshgrid(*axes, indexing="ij")
    u = torch.exp(-sum(c**2 for c in grid) / 2)[None, None]
    tau = 0.5 / K.squared_norm_bound()
    before = [(u * c**2).sum() / u.sum() for c in grid]
    for _ in range(3):
        u = u - tau * K.adjoint(K(u))
    after = [(u * c**2).sum() / u.sum() for c in grid]
    for b, a in zip(before, after, strict=True):
        assert (a - b).item() == pytest.approx(6 * tau, rel=1e-6)


@pytest.mark.parametrize("K", [CellGradient(), CellGradient(0.1), Laplacian(), Hessian()], ids=repr)
def test_all_48_symmetries_of_the_cube(K, rng):
    """K* K commutes with turning and mirroring, up to the rounding of sums in another order."""
    u = noise(rng, 1, 1, 5, 5, 5)
    result = K.adjoint(K(u))
    for order in permutations((2, 3, 4)):
        for flips in product((False, True), repeat=3):
            axes = [axis for axis, flip in zip((2, 3, 4), flips, strict=True) if flip]
            turned = K.adjoint(K(u.permute(0, 1, *order).flip(axes)))
            gap = (turned - result.permute(0, 1, *order).flip(axes)).abs().max()
            assert gap <= 16 * torch.finfo(u.dtype).eps * K.squared_norm_bound(3) * u.abs().max()


@pytest.mark.parametrize("spacing", [1.0, (2.0, 0.5, 1.0)], ids=str)
def test_smoothing_is_symmetric_and_keeps_constants_uniform(spacing, dtype, rng):
    G = Smoothing(1.5, spacing=spacing)
    u, v = noise(rng, 1, 1, 4, 7, 5, dtype=dtype), noise(rng, 1, 1, 4, 7, 5, dtype=dtype)
    eps = torch.finfo(dtype).eps
    assert ((G(u) * v).sum() - (u * G(v)).sum()).abs() <= 8 * (G.radius + 1) * eps * u.norm() * v.norm()
    assert G(torch.full((1, 1, 4, 7, 5), 0.1, dtype=dtype)).unique().numel() == 1
    assert (G(u).mean() - u.mean()).abs() <= 8 * (G.radius + 1) * eps * u.abs().max()


def test_an_operator_for_volumes_says_so():
    K = CellGradient(0.41, (2.0, 1.0, 1.0))
    assert (K.dimension, CellGradient().dimension, CellGradient(0.41, (1.0, 2.0)).dimension) == (3, None, 2)
    with pytest.raises(ValueError, match="acts in 3 dimensions, asked about 2"):
        K.squared_norm_bound(2)


def test_channels_in_space_come_in_the_stated_order():
    """Three derivatives, twice the three mixed differences, three times the last detail."""
    pairs = [(0, 1), (1, 2), (0, 2), (0, 2), (0, 1), (1, 2)]
    assert channels(3) == ((0,), (1,), (2,), *pairs, (0, 1, 2), (0, 1, 2), (0, 1, 2))
    assert all(k % 3 in detail for k, detail in enumerate(channels(3)))
