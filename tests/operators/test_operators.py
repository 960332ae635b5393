"""What every operator promises: adjoint, norm, constants, any size, both precisions."""

import math

import pytest
import torch

from catalogue import CHANNEL_OPERATORS, OPERATORS, assert_adjoint, assert_norm, noise
from whorl.operators import CellGradient, Laplacian, ScaleStack, Smoothing, Stacked, fold, mirror, sample_scales

parametrised = pytest.mark.parametrize("K", OPERATORS.values(), ids=OPERATORS)
SIZES = [(1, 1), (1, 7), (6, 1), (2, 3), (9, 12)]


@parametrised
def test_adjoint_matches_operator(K, dtype, rng):
    assert_adjoint(K, noise(rng, 2, 3, 9, 12, dtype=dtype), rng)


@parametrised
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_adjoint_at_any_size(K, size, rng):
    assert_adjoint(K, noise(rng, 1, 2, *size, scale=1.0), rng, K.squared_norm_bound() ** 0.5)


@parametrised
def test_power_iteration_stays_below_the_norm_bound_and_comes_near(K, rng):
    assert_norm(K, noise(rng, 1, 1, 48, 40), 200, K.squared_norm_bound(), 0.95)


@parametrised
def test_symbol_is_the_eigenvalue_of_cosine_modes(K):
    height, width, k, m = 14, 10, 5, 3
    y, x = torch.arange(height, dtype=torch.float64), torch.arange(width, dtype=torch.float64)
    theta_y, theta_x = torch.tensor([torch.pi * k / height, torch.pi * m / width], dtype=torch.float64)
    mode = torch.outer(torch.cos((y + 0.5) * theta_y), torch.cos((x + 0.5) * theta_x))[None, None]
    expected = K.symbol(theta_y[None, None], theta_x[None, None]) * mode
    assert torch.allclose(K.adjoint(K(mode)), expected, rtol=0, atol=1e-12 * K.squared_norm_bound())


@pytest.mark.parametrize("K", [*OPERATORS.values(), *CHANNEL_OPERATORS.values()], ids=[*OPERATORS, *CHANNEL_OPERATORS])
def test_symbols_are_plain_numbers(K):
    """Whatever weights are trained: a symbol is there to be looked at."""
    assert not K.symbol(*torch.ones(2, 1, dtype=torch.float64)).requires_grad


@parametrised
def test_symbol_is_a_trigonometric_polynomial_of_the_stated_degree(K):
    """Along either axis its Fourier coefficients end with the degree."""
    count = 2 * K.degree + 16
    angles, other = torch.arange(count, dtype=torch.float64) * (2 * torch.pi / count), torch.full((1,), 0.1).double()
    for values in (K.symbol(angles, other), K.symbol(other, angles)):
        size = torch.fft.rfft(values).abs() / count
        rounding = 1e-14 * values.max()
        assert size[K.degree] > 16 * rounding
        assert size[K.degree + 1 :].max() <= rounding


@parametrised
@pytest.mark.parametrize("value", [0.1, -7.3, 1e6])
def test_constants_vanish_to_the_last_bit(K, dtype, value):
    for size in SIZES:
        assert not K(torch.full((1, 2, *size), value, dtype=dtype)).any()


@parametrised
def test_reach_is_exactly_how_far_it_looks(K):
    """Perturb one pixel: K* K u changes within the reach, and at its rim, nowhere beyond."""
    size = 2 * K.reach + 9
    centre = size // 2
    impulse = torch.zeros(1, 1, size, size, dtype=torch.float64)
    impulse[..., centre, centre] = 1
    rows = (K.adjoint(K(impulse)) != 0).any(-1).any(0).any(0).nonzero().flatten()
    assert centre - rows.min() == rows.max() - centre == K.reach


@parametrised
def test_weights_of_the_inner_product_have_their_stated_shapes(K):
    """One number for each position, one for each scale."""
    v = K(torch.zeros(2, 3, 6, 9, dtype=torch.float64))
    assert K.cell_weights(v).shape == v.shape[4:]
    assert K.scale_weights(v).shape == (1, 1, v.shape[2], 1, 1, 1)


@parametrised
def test_gradients_reach_the_image(K, rng):
    u = noise(rng, 1, 1, 5, 6).requires_grad_()
    v = torch.randn(K(u).shape, generator=rng, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(K.inner(K(u), v), u)
    assert torch.allclose(gradient, K.adjoint(v), rtol=0, atol=1e-12 * v.norm())


@pytest.mark.parametrize("radius", [0, 1, 3, 5, 17])
def test_fold_transposes_mirror(radius, rng):
    u = noise(rng, 2, 1, 4, 5)
    extended = mirror(u, radius)
    v = torch.randn(extended.shape, generator=rng, dtype=torch.float64)
    assert torch.allclose((extended * v).sum(), (u * fold(v, radius)).sum(), rtol=1e-13, atol=1e-11)


def test_mirror_and_fold_in_a_program_for_any_size(rng):
    """What is exported once serves images of other sizes, larger than the radius."""

    class Both(torch.nn.Module):
        def forward(self, u):
            return mirror(u, 2), fold(mirror(u, 2) ** 2, 2)

    size = {2: torch.export.Dim("height", min=4), 3: torch.export.Dim("width", min=4)}
    program = torch.export.export(Both(), (noise(rng, 1, 1, 6, 7),), dynamic_shapes=(size,)).module()
    u = noise(rng, 1, 1, 9, 5)
    for found, expected in zip(program(u), Both()(u), strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-14, atol=0)


def test_mirror_repeats_the_border_pixel_and_reflects_as_often_as_needed():
    line = torch.tensor([[1.0, 2.0]])
    assert mirror(line, 0, 5).tolist() == [[1, 1, 2, 2, 1, 1, 2, 2, 1, 1, 2, 2]][:1]


@pytest.mark.parametrize("sigma", [0.0, 0.1, 0.5, 2.0, 5.62])
@pytest.mark.parametrize("size", SIZES, ids=str)
def test_smoothing_is_symmetric_and_keeps_constants_uniform(sigma, size, dtype, rng):
    G = Smoothing(sigma)
    u, v = noise(rng, 1, 1, *size, dtype=dtype), noise(rng, 1, 1, *size, dtype=dtype)
    eps = torch.finfo(dtype).eps
    assert ((G(u) * v).sum() - (u * G(v)).sum()).abs() <= 8 * (G.radius + 1) * eps * u.norm() * v.norm()
    assert G(torch.full((1, 1, *size), 0.1, dtype=dtype)).unique().numel() == 1
    assert (G(u).mean() - u.mean()).abs() <= 8 * (G.radius + 1) * eps * u.abs().max()


def test_smallest_scales_are_the_identity(rng):
    u = noise(rng, 1, 1, 8, 8)
    for sigma in sample_scales().sigma[:2]:
        assert (Smoothing(sigma)(u) - u).abs().max() <= 1e-6 * u.abs().max()


def test_window_gives_the_bits_of_the_whole(dtype, rng):
    """Each pixel is the same sum in the same order, wherever the array is cut."""
    G = Smoothing(2.0)
    u = noise(rng, 1, 1, 60, 70, dtype=dtype)
    part = G(u[..., 5:45, 10:55])[..., G.radius : -G.radius, G.radius : -G.radius]
    assert torch.equal(part, G(u)[..., 5 + G.radius : 45 - G.radius, 10 + G.radius : 55 - G.radius])


@pytest.mark.parametrize("alpha", [0.0, 1 / 6, 0.41])
@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.5, 2.0), (3.0, 0.7)])
def test_linear_flow_spreads_a_gaussian_in_physical_units(alpha, spacing):
    """Homogeneous diffusion adds 2 t to the variance along each axis, in physical units, on any grid."""
    K = CellGradient(alpha, spacing)
    h_y, h_x = spacing
    y, x = torch.meshgrid(torch.arange(-40, 41).double() * h_y, torch.arange(-40, 41).double() * h_x, indexing="ij")
    u = torch.exp(-(y**2 + x**2) / 8)[None, None]
    tau = 0.5 / K.squared_norm_bound()
    before = [(u * z**2).sum() / u.sum() for z in (y, x)]
    for _ in range(10):
        u = u - tau * K.adjoint(K(u))
    after = [(u * z**2).sum() / u.sum() for z in (y, x)]
    for b, a in zip(before, after, strict=True):
        assert (a - b).item() == pytest.approx(20 * tau, rel=1e-9)


def test_laplacian_stencil_and_isotropic_error():
    """With alpha = 1/6 the corners weigh 1/6 and the edges 4/6; quartic errors do not depend on the direction."""
    u = torch.zeros(1, 1, 7, 7, dtype=torch.float64)
    u[..., 3, 3] = 6
    stencil = Laplacian()(u)[0, 0, 0, 0, 2:5, 2:5]
    assert torch.allclose(stencil, torch.tensor([[1.0, 4, 1], [4, -20, 4], [1, 4, 1]], dtype=torch.float64))
    angles = torch.linspace(0, torch.pi / 4, 7, dtype=torch.float64)
    k = 0.05
    symbol = Laplacian().symbol(k * torch.sin(angles), k * torch.cos(angles)).sqrt()
    assert symbol.max() - symbol.min() <= 2e-3 * k**6


def test_diagonal_hessian_errors_turn_with_the_image():
    """xx + yy is the isotropic nine-point Laplacian."""
    from whorl.operators import Hessian

    u = torch.randn(1, 1, 9, 8, dtype=torch.float64)
    xx, _, _, yy = Hessian()(u)[0, 0, 0]
    assert torch.allclose(xx + yy, Laplacian()(u)[0, 0, 0, 0], rtol=0, atol=1e-13)


def test_all_hessian_errors_turn_with_the_image():
    """On polynomials of degree 4 the operator is the exact Hessian of u + Laplacian(u)/12, for every entry."""
    from whorl.operators import Hessian

    y, x = torch.meshgrid(torch.arange(-6.0, 7.0).double(), torch.arange(-6.0, 7.0).double(), indexing="ij")
    inner = Hessian()((x**3 * y + x * y**3 + x**4)[None, None])[0, 0, 0, :, 3:-3, 3:-3]
    x, y = x[3:-3, 3:-3], y[3:-3, 3:-3]
    # u + Laplacian/12 = u + xy + x²
    mixed = 3 * x**2 + 3 * y**2 + 1
    expected = torch.stack([6 * x * y + 12 * x**2 + 2, mixed, mixed, 6 * x * y])
    assert torch.allclose(inner, expected, rtol=0, atol=1e-10)


def test_hessian_is_exact_on_quadratics():
    from whorl.operators import Hessian

    y, x = torch.meshgrid(torch.arange(9.0).double(), torch.arange(9.0).double(), indexing="ij")
    inner = Hessian()((1.5 * x**2 + 2 * x * y - y**2)[None, None])[0, 0, 0, :, 2:-2, 2:-2]
    assert torch.allclose(inner, torch.tensor([3.0, 2, 2, -2]).double()[:, None, None].expand_as(inner))


def test_directions_approach_the_gradient():
    from whorl.operators import DirectionalDerivatives

    K = DirectionalDerivatives(6)
    y, x = torch.meshgrid(torch.arange(12.0).double(), torch.arange(12.0).double(), indexing="ij")
    responses = K((3 * x + 2 * y)[None, None])[0, 0, 0, :, 5, 5]
    theta = torch.arange(6).double() * torch.pi / 6
    assert torch.allclose(responses, (2 / 6) ** 0.5 * (3 * torch.cos(theta) + 2 * torch.sin(theta)))


def test_multiscale_limit_is_sharp():
    """The proven bound of the eight scales lies within 1 % of the largest symbol, twenty times below the sum."""
    K = ScaleStack(CellGradient())
    assert 2 / K.squared_norm_bound() == pytest.approx(0.95, abs=0.015)
    crude = 4 * sum(sample_scales().omega)
    assert crude > 18 * K.squared_norm_bound()


@parametrised
def test_one_operator_stacked_is_that_operator(K, rng):
    alone, u = Stacked([K]), noise(rng, 1, 2, 5, 6)
    v = K(u)
    assert torch.equal(alone(u), v)
    assert torch.equal(alone.adjoint(v), K.adjoint(v))
    assert torch.equal(alone.inner(v, v), K.inner(v, v))
    assert (alone.spacing, alone.degree, alone.reach) == (K.spacing, K.degree, K.reach)


def test_stacking_refuses_different_grids():
    with pytest.raises(ValueError, match="different grids"):
        Stacked([CellGradient(), Laplacian()])
    with pytest.raises(ValueError, match="at least one"):
        Stacked([])


@pytest.mark.parametrize("K", [*OPERATORS.values(), CHANNEL_OPERATORS["mixed"]], ids=[*OPERATORS, "mixed"])
@torch.no_grad()
def test_orders_are_the_harmonics_of_the_response_to_waves(K):
    """Long waves from all directions: as a function of the direction, responses of order m are of the order m."""
    count, frequency, radius = 16, 0.02, K.reach + 2
    channels = 3 if K in CHANNEL_OPERATORS.values() else 1
    h_y, h_x = K.spacing.along(2)
    shift = 0.5 * (K(torch.zeros(1, channels, 8, 8, dtype=torch.float64)).shape[-1] - 8)  # responses on cells: 1/2
    at = torch.arange(2 * radius, dtype=torch.float64) - radius + shift
    found = []
    for j in range(count):
        angle = 2 * math.pi * j / count
        phase = frequency * (math.cos(angle) * h_x * at[None, :] + math.sin(angle) * h_y * at[:, None])
        waves = [K(part.expand(1, channels, *part.shape)) for part in (phase.cos(), phase.sin())]
        found.append(torch.complex(*waves)[..., radius, radius].flatten())
    harmonics = torch.fft.fft(torch.stack(found), dim=0).abs().square()  # by harmonic and channel
    shares = harmonics.sum(1) / harmonics.sum()
    of_order = [float(shares[m] + (shares[-m] if m else 0)) for m in range(count // 2)]
    limit = (frequency * max(h_y, h_x)) ** 2  # details of cells are smaller than derivatives by this factor
    assert {m for m, share in enumerate(of_order) if share > limit} == {*K.orders}
