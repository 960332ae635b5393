"""Stencils that turn, maps to fields of any angular order, and mixtures of channels."""

import math
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.operators import CellGradient, Hessian, Mixed, ScaleStack, Stacked, SteerableMap, sample_scales
from whorl.operators.norm_estimate import NormEstimate
from whorl.operators.stencils import steerable_stencils

ORDERS, SIZES = range(5), (3, 5, 7)
CASES = {
    "5x5": dict(channels=3, fields=(4, 3, 2)),
    "3x3": dict(channels=2, fields=(3, 2, 1), size=3),
    "7x7, order 3": dict(channels=2, fields=(1, 2, 1, 2), size=7),
    "vectors only": dict(channels=1, fields=(0, 2)),
    "scalars only": dict(channels=3, fields=(5,)),
    "fewer profiles": dict(channels=2, fields=(2, 2, 2), profiles=(1, 1, 1)),
}
EPS = torch.finfo(torch.float64).eps


def build(name):
    torch.manual_seed(3)
    return SteerableMap(**CASES[name]).double()


parametrised = pytest.mark.parametrize("name", CASES)


def turned(v, orders, k):
    """Fields of a picture turned by ``k`` quarter turns: turned in place, and each by its order times that angle."""
    v, parts, at = torch.rot90(v[:, 0, 0], k, (-2, -1)), [], 0
    for order in orders:
        if order == 0:
            parts.append(v[:, at : at + 1])
            at += 1
            continue
        # Rows count downwards, so a turn of the picture by rot90 takes the angle of a direction backwards.
        c, s = [(1, 0), (0, -1), (-1, 0), (0, 1)][(order * k) % 4]
        x, y = v[:, at : at + 1], v[:, at + 1 : at + 2]
        parts += [c * x - s * y, s * x + c * y]
        at += 2
    return torch.cat(parts, 1)[:, None, None]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
def test_stencils_come_with_rising_errors_and_unit_length(order, size):
    found = steerable_stencils(order, size, count=2 if size > 3 else 1)
    assert list(found.errors) == sorted(found.errors)
    assert torch.allclose(found.taps.square().sum((1, 2, 3)), torch.ones(len(found.errors), dtype=torch.float64))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
def test_transfer_is_the_response_to_a_wave(order, size):
    """A stencil laid upon a wave that is 1 in the middle, for frequencies all around."""
    stencils = steerable_stencils(order, size)
    y = torch.tensor([[0.3], [-1.1], [2.9]], dtype=torch.float64)
    x = torch.tensor([0.7, -0.2, 0.0, 1.9], dtype=torch.float64)
    found = stencils.transfer(y, x)
    steps = torch.arange(size, dtype=torch.float64) - size // 2
    for i, j in product(range(3), range(4)):
        wave = torch.exp(1j * (y[i] * steps[:, None] + x[j] * steps))
        torch.testing.assert_close(found[..., i, j], (stencils.taps * wave).sum((-2, -1)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("order", range(4))
@pytest.mark.parametrize("frequency", [0.25, 0.35])
def test_the_error_is_the_share_that_does_not_turn(order, frequency):
    """The root of E / (S + E) over the disc of frequencies, here with many more of them."""
    stencils = steerable_stencils(order, 5, count=2, frequency=frequency)
    count = 300
    rho = (torch.arange(count, dtype=torch.float64)[:, None] + 0.5) / count * (2 * math.pi * frequency)
    phi = torch.arange(count, dtype=torch.float64) * (2 * math.pi / count)
    waves = stencils.transfer(rho * phi.sin(), rho * phi.cos())
    upright = (waves[:, 0] + (1j * waves[:, 1] if order else 0)) * torch.exp(-1j * order * phi)
    mean = upright.mean(-1, keepdim=True)
    turning = (rho * mean.abs() ** 2).sum((-2, -1)) * count
    rest = (rho * (upright - mean).abs() ** 2).sum((-2, -1))
    assert (rest / (turning + rest)).sqrt().tolist() == pytest.approx(stencils.errors, rel=2e-2, abs=1e-7)
    assert stencils.frequency == frequency
    assert steerable_stencils(order).frequency == 0.35


@settings(deadline=None, max_examples=12)
@given(st.integers(0, 3), st.sampled_from([3, 5, 7]), st.integers(0, 10**6))
def test_no_combination_of_stencils_is_worse_than_the_bound(order, size, seed):
    """The error of the last stencil bounds that of all combinations, on frequencies the fit has not seen."""
    found = steerable_stencils(order, size)
    mixture = torch.randn(len(found.errors), dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    rho = torch.linspace(0.003, found.frequency, 150, dtype=torch.float64) * 2 * math.pi
    phi = torch.linspace(0, 2 * math.pi, 97, dtype=torch.float64)[:-1]
    parts = found.transfer(rho[:, None] * phi.sin(), rho[:, None] * phi.cos())
    complete = parts[:, 0] + (1j * parts[:, 1] if order else 0)
    upright = torch.einsum("p,prf->rf", mixture.to(complete.dtype), complete) * torch.exp(-1j * order * phi)
    mean = upright.mean(1, keepdim=True)
    energy = (rho[:, None] * upright.abs() ** 2).sum()
    error = ((rho[:, None] * (upright - mean).abs() ** 2).sum() / energy).sqrt()
    assert error <= 1.05 * found.errors[-1] + 1e-12  # 5 %: the two grids of frequencies differ


def test_fitted_stencils_turn_better_than_sampled_gaussian_derivatives():
    y, x = torch.meshgrid(*[torch.arange(-2.0, 3, dtype=torch.float64)] * 2, indexing="ij")
    sampled = x * torch.exp(-(x**2 + y**2) / (2 * 0.7**2))
    rho = torch.linspace(0.01, 0.35, 60, dtype=torch.float64) * 2 * math.pi
    phi = torch.linspace(0, 2 * math.pi, 65, dtype=torch.float64)[:-1]
    waves = torch.exp(
        1j * ((rho[:, None] * phi.sin())[..., None, None] * y + (rho[:, None] * phi.cos())[..., None, None] * x)
    )

    def error(taps_x, taps_y):
        found = torch.einsum("yx,rfyx->rf", (taps_x + 1j * taps_y).to(waves.dtype), waves) * torch.exp(-1j * phi)
        rest = found - found.mean(1, keepdim=True)
        return float(((rho[:, None] * rest.abs() ** 2).sum() / (rho[:, None] * found.abs() ** 2).sum()).sqrt())

    fitted = steerable_stencils(1, 5).taps[0]
    assert error(fitted[0], fitted[1]) < 0.02 * error(sampled, sampled.mT)


@parametrised
def test_adjoint_at_any_size(name, rng):
    K = build(name)
    for size in [(1, 1), (1, 7), (6, 1), (2, 3), (9, 12)]:
        u = torch.randn(2, K.channels, *size, generator=rng, dtype=torch.float64)
        v = torch.randn(K(u).shape, generator=rng, dtype=torch.float64)
        gap = K.inner(K(u), v) - (u * K.adjoint(v)).sum()
        assert gap.abs() <= 16 * EPS * K.squared_norm_bound() ** 0.5 * u.norm() * v.norm()


@parametrised
def test_power_iteration_stays_below_the_norm_bound(name, rng):
    K = build(name)
    u = torch.randn(1, K.channels, 24, 20, generator=rng, dtype=torch.float64)
    for _ in range(120):
        u = K.adjoint(K(u / u.norm()))
    assert u.norm() <= K.squared_norm_bound()


@parametrised
def test_a_wave_of_the_worst_frequency_comes_near_the_norm_bound(name):
    """Under a window that fades out before the border, so that the image is as good as the plane.

    For its mixture of channels the symbol p, between 0 and its maximum M, is a trigonometric polynomial of degree n
    along each axis. By Bernstein's inequality its second derivatives are at most n² M / 2, so that at a distance (s, t)
    it is at most n² M / 4 (|s| + |t|)² <= n² M / 2 (s² + t²) less, but for a linear part, which no even window sees. A
    sine of m pixels as window has frequencies s for which the mean of 2 - 2 cos s is 2 - 2 cos(π / (m + 1)), and
    s² <= (π² / 4) (2 - 2 cos s).
    """
    K = build(name)
    size, nodes = 128, torch.linspace(0, math.pi, 65, dtype=torch.float64)
    grid = torch.cartesian_prod(torch.cat([-nodes[1:].flip(0), nodes]), nodes)
    symbols = K.symbol(*grid.T)
    theta = grid[symbols.argmax()]
    matrix = K.transfer(*theta)
    mixture = torch.linalg.eigh(matrix.mH @ matrix).eigenvectors[:, -1]
    length = size - 2 * K.radius
    place = torch.arange(1, size + 1, dtype=torch.float64)
    window = torch.sin(math.pi * (place - K.radius) / (length + 1)).clamp_min(0)
    window[size - K.radius :] = 0
    wave = torch.exp(1j * (theta[0] * place[:, None] + theta[1] * place)) * window[:, None] * window
    packet = torch.einsum("c,yx->cyx", mixture, wave)[None]
    with torch.no_grad():
        found = max(float(K(u).square().sum() / u.square().sum()) for u in (packet.real, packet.imag))
    spread = math.pi**2 / 4 * (2 - 2 * math.cos(math.pi / (length + 1)))
    loss = K.degree**2 / 2 * 2 * spread * K.squared_norm_bound()
    assert symbols.max() - loss <= found <= K.squared_norm_bound()
    assert K.squared_norm_bound() <= 1.01 * K.symbol(*torch.cartesian_prod(nodes, nodes).T).max()


@parametrised
def test_estimate_in_training_tends_to_the_norm_from_below(name):
    K = build(name)
    estimate = NormEstimate(K).double()
    for _ in range(200):
        found = estimate(K)
    assert 0.9 * K.squared_norm_bound() <= found <= K.squared_norm_bound()
    found.backward()
    assert all(torch.isfinite(weight.grad).all() for weight in K.weights)


@parametrised
def test_estimate_in_training_tends_to_the_largest_symbol_of_its_frequencies(name):
    """Nine along each axis, both ends included; the same for (x, y) and (y, x), so that half of them are enough."""
    K = build(name)
    estimate = NormEstimate(K).double()
    for _ in range(300):
        found = estimate(K)
    nodes = torch.linspace(0, math.pi, 9, dtype=torch.float64)
    assert found.item() == pytest.approx(K.symbol(*torch.cartesian_prod(nodes, nodes).T).max().item(), rel=1e-4)
    assert estimate.get_buffer("vectors").shape == (45, K.channels)


def test_each_call_of_an_estimate_takes_two_steps_of_the_power_method():
    K = build("3x3")
    estimate = NormEstimate(K).double()
    start = estimate.get_buffer("vectors").clone()
    estimate(K)
    nodes = torch.linspace(0, math.pi, 9, dtype=torch.float64)
    y, x = torch.cartesian_prod(nodes, nodes).T
    matrix = K.transfer(y[y <= x], x[y <= x])
    square = (matrix.mH @ matrix).real
    expected = torch.nn.functional.normalize((square @ square @ start[..., None])[..., 0], dim=1)
    # The estimate works with the transfer in single precision.
    torch.testing.assert_close(estimate.get_buffer("vectors"), expected, rtol=0, atol=1e-4)


def test_an_estimate_adds_nothing_to_what_is_saved():
    assert not NormEstimate(build("5x5")).state_dict()


@parametrised
@pytest.mark.parametrize("k", [1, 2, 3])
def test_fields_of_a_turned_picture_are_the_turned_fields(name, k, rng):
    K = build(name)
    u = torch.randn(1, K.channels, 9, 14, generator=rng, dtype=torch.float64)
    expected = turned(K(u), K.orders, k)
    limit = 64 * EPS * K.squared_norm_bound() ** 0.5 * u.norm()
    assert (K(torch.rot90(u, k, (-2, -1))) - expected).abs().max() <= limit


@parametrised
def test_fields_of_a_mirror_image_are_mirrored(name, rng):
    K = build(name)
    u = torch.randn(1, K.channels, 9, 14, generator=rng, dtype=torch.float64)
    seconds = [component for order in K.orders for component in ([1.0] if order == 0 else [1.0, -1.0])]
    signs = torch.tensor(seconds, dtype=torch.float64)[:, None, None]
    # Turning the picture upside down changes the sign of every angle, so of every sine.
    assert (K(u.flip(-2)) - signs * K(u).flip(-2)).abs().max() <= 64 * EPS * K.squared_norm_bound() ** 0.5 * u.norm()


@parametrised
def test_reach_is_exactly_how_far_it_looks(name):
    K = build(name)
    u = torch.zeros(1, K.channels, 33, 33, dtype=torch.float64)
    u[..., 16, 16] = 1
    seen = K.adjoint(K(u)).abs().amax((0, 1)) > 0
    rows = seen.any(1).nonzero()
    assert int(rows.min()) == 16 - K.reach
    assert int(rows.max()) == 16 + K.reach
    assert K.degree == K.reach == 2 * K.radius


def test_stencils_travel_with_the_weights():
    K, other = build("5x5"), build("5x5")
    with torch.no_grad():
        K.get_buffer("taps_1").neg_()
    other.load_state_dict(K.state_dict())
    assert torch.equal(K.kernel(), other.kernel())


@pytest.mark.parametrize(
    "K", [CellGradient(), Hessian(), ScaleStack(CellGradient(0.3), sample_scales(3, 0.5, 4.0))], ids=str
)
def test_mixtures_have_exact_adjoints_and_proven_norms(K, rng):
    mixed = Mixed(K, torch.randn(4, 3, generator=rng, dtype=torch.float64))
    u = torch.randn(2, 3, 9, 12, generator=rng, dtype=torch.float64)
    v = torch.randn(mixed(u).shape, generator=rng, dtype=torch.float64)
    gap = mixed.inner(mixed(u), v) - (u * mixed.adjoint(v)).sum()
    assert gap.abs() <= 32 * EPS * mixed.inner(mixed(u), mixed(u)).sqrt() * mixed.inner(v, v).sqrt()
    # A mixture is a product of a matrix over the channels with the operator over the pixels: so is its norm.
    largest = torch.linalg.svdvals(mixed.weights.detach())[0].item()
    assert mixed.squared_norm_bound() >= largest**2 * K.squared_norm_bound() * (1 - 1e-12)
    assert mixed.squared_norm_bound() <= 1.01 * largest**2 * K.squared_norm_bound()


def test_the_error_of_a_map_is_that_of_its_worst_stencil():
    """Over the orders that have fields; stencils of an order without any are not used."""
    errors = [steerable_stencils(order, 5).errors[-1] for order in range(3)]
    # An eigenvalue problem, solved again: equal but for the rounding of its matrices.
    assert SteerableMap(2, (1, 1, 1)).stencil_error == pytest.approx(max(errors), rel=1e-9)
    for order in range(3):
        fields = [0, 0, 0]
        fields[order] = 2
        assert SteerableMap(1, fields).stencil_error == pytest.approx(errors[order], rel=1e-9)
    assert SteerableMap(1, (1,)).size == 5


@pytest.mark.parametrize("channels", [1, 20])
def test_fields_start_with_the_spread_of_their_channels(channels):
    """Weights of unit variance over the root of how many are summed up."""
    K = SteerableMap(channels, (2000, 1000), profiles=(3, 2))
    for weight in K.weights:
        assert weight.std().item() == pytest.approx((channels * weight.shape[2]) ** -0.5, rel=0.05)


def test_a_held_convolution_is_computed_once():
    K = build("5x5")
    kernel = K.kernel(torch.float64)
    with K.held(torch.float64):
        assert K.kernel(torch.float64) is K.kernel() is K.kernel(torch.float64)
        assert torch.equal(K.kernel(), kernel)
        assert K.kernel(torch.float32).dtype == torch.float32
    assert K.kernel(torch.float64) is not K.kernel(torch.float64)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("size", SIZES)
def test_the_first_of_the_largest_taps_is_positive(order, size):
    """An eigenvector has two signs; this settles which."""
    for taps in steerable_stencils(order, size).taps.flatten(1):
        largest = (taps.abs() > (1 - 1e-6) * taps.abs().max()).nonzero()[0]
        assert taps[largest] > 0


def test_maps_of_one_channel_can_be_stacked(rng):
    """Side by side they respond as each alone, and the adjoint sums up theirs."""
    members = [SteerableMap(1, fields=(2, 1)).double(), SteerableMap(1, fields=(0, 1)).double()]
    K = Stacked(members)
    u = torch.randn(2, 1, 7, 9, generator=rng, dtype=torch.float64)
    torch.testing.assert_close(K(u), torch.cat([member(u) for member in members], dim=3), rtol=0, atol=0)
    v = torch.randn(K(u).shape, generator=rng, dtype=torch.float64)
    gap = K.inner(K(u), v) - (u * K.adjoint(v)).sum()
    assert gap.abs() <= 32 * EPS * K.inner(K(u), K(u)).sqrt() * K.inner(v, v).sqrt()
    assert K.orders == (0, 0, 1, 1)


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="odd"):
        steerable_stencils(1, 4)
    with pytest.raises(ValueError, match="larger size"):
        steerable_stencils(2, 1)
    for channels, fields in [(0, (1,)), (1, ()), (1, (0, 0)), (1, (2, -1))]:
        with pytest.raises(ValueError, match="at least one"):
            SteerableMap(channels, fields)
    with pytest.raises(ValueError, match="expected one for each of 2 orders"):
        SteerableMap(1, (1, 1), profiles=(1,))
    for order, size, frequency in [(-1, 5, 0.3), (1, 0, 0.3), (1, -1, 0.3), (1, 5, 0.0), (1, 5, 0.51)]:
        with pytest.raises(ValueError, match="order must be at least 0"):
            steerable_stencils(order, size, frequency=frequency)
    assert steerable_stencils(0, 1, frequency=0.5).taps.tolist() == [[[[1.0]]]]
    assert SteerableMap(1, (0, 1), profiles=(1, 1)).orders == (1,)
    with pytest.raises(ValueError, match="matrix"):
        Mixed(CellGradient(), torch.zeros(3))
