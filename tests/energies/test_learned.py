"""Learned energies: their limits hold for any weights, and what follows from them is looked for by search."""

import itertools
import math

import pytest
import torch

from whorl import engines
from whorl.energies import Guidance, LearnedEnergy, Potentials, implicit, minimise
from whorl.energies.learned import LEVELS
from whorl.operators import ProfileMap, mirror

FIELDS = (2, 3, 2, 1)


def any_energy(kind: str, seed: int, spread: float = 2.0) -> LearnedEnergy:
    """Weights far from any that training would find."""
    torch.manual_seed(seed)
    energy = LearnedEnergy(kind, FIELDS).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter += spread * torch.randn_like(parameter)
    return energy.eval().requires_grad_(False)


def term_of(energy: LearnedEnergy, noise: float, shape: tuple[int, ...]):
    """The energy at a level; a guided one with random weights and tensors."""
    if energy.kind != "guided":
        return energy.at(noise)
    bend = torch.randn(shape[0], 5, 2, *shape[2:], dtype=torch.float64)
    weights = (3 * torch.randn(shape[0], 8, *shape[2:], dtype=torch.float64)).clamp(-2, 2).exp()
    return energy.at(noise, Guidance(weights, bend / (1 + bend.square().sum(2, keepdim=True)).sqrt()))


def denoised(term, f, tolerance=1e-9):
    """The minimiser of the data term and the energy together."""
    found = minimise(
        lambda u: 0.5 * (u - f).square().sum() + term(u), lambda u: u - f + term.gradient(u), f,
        1 + term.curvature, float(f.norm()), tolerance, 20000,
    )  # fmt: skip
    assert found.reached
    return found.u


@pytest.mark.parametrize("weak", [0.0, 0.97])
@pytest.mark.parametrize("spread", [1.0, 10.0, 100.0])
def test_potentials_keep_their_limits(weak, spread):
    """For any weights: the derivative is never negative and its slopes stay inside; value and derivatives agree."""
    psi = Potentials(50, 40.0, weak).double()
    with torch.no_grad():
        psi.theta += spread * torch.randn_like(psi.theta)
    slopes = psi.slopes().detach()
    assert float(slopes.min()) >= -weak
    assert float(slopes.max()) <= 40.0
    x = torch.linspace(0, 40, 4001, dtype=torch.float64)[:, None].expand(-1, 50).clone().requires_grad_()
    value, first, second = psi.of(x)
    assert float(first.detach().min()) >= -1e-12 * 40 * 40
    torch.testing.assert_close(torch.autograd.grad(value.sum(), x, retain_graph=True)[0], first)
    torch.testing.assert_close(torch.autograd.grad(first.sum(), x)[0], second)


def test_weak_potentials_below_one_alone():
    with pytest.raises(ValueError, match="several minimisers"):
        Potentials(1, 40.0, weak=1.0)
    with pytest.raises(ValueError, match="kind of energy"):
        LearnedEnergy("concave", (1,))
    with pytest.raises(ValueError, match="noise"):
        LearnedEnergy("convex", (1,)).at(0.0)
    with pytest.raises(ValueError, match="takes a guide"):
        LearnedEnergy("guided", (1,)).at(5.0)


@pytest.mark.parametrize("noise", [5.0, 8.0, 15.0, 22.0, 25.0])
def test_the_norm_is_at_most_one_at_every_level(noise):
    """Also between the trained levels; at these just so: power iteration on a large picture comes close."""
    energy = any_energy("weak", 3)
    term, u = energy.at(noise), torch.randn(1, 1, 40, 40, dtype=torch.float64)
    spread = torch.cat([term.factor[:2], term.factor[2:].repeat_interleave(2)])
    for _ in range(60):
        v = energy.operator(u) * spread.view(1, 1, 1, -1, 1, 1)
        u = energy.operator.adjoint(v * spread.view(1, 1, 1, -1, 1, 1))
        norm = float(u.norm())
        u = u / norm
    assert norm <= 1
    assert norm > 0.9 or noise not in LEVELS


def test_norms_in_training_are_those_proven():
    energy = any_energy("convex", 1)
    proven = energy.norms()
    assert bool((energy.train().norms() <= proven).all())
    # Ehlich and Zeller: 48 nodes are four times the degree, so that a maximum is missed by at most cos(pi/4)^2.
    assert bool((energy.norms() >= 0.49 * proven).all())


@pytest.mark.parametrize("kind", ["convex", "weak", "guided"])
def test_the_gradient_is_the_derivative(kind):
    torch.manual_seed(0)
    energy, u = any_energy(kind, 2), 20 * torch.randn(1, 1, 15, 17, dtype=torch.float64, requires_grad=True)
    term = term_of(energy, 12.0, (1, 1, 15, 17))
    torch.testing.assert_close(torch.autograd.grad(term(u), u)[0], term.gradient(u), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("kind", "seed"), [*itertools.product(["convex", "weak", "guided"], range(2))])
def test_curvature_lies_within_its_proven_bounds(kind, seed):
    """The quotient of gradients, pushed up and down by ascent along its own derivative from random pairs."""
    energy = any_energy(kind, seed)
    term = term_of(energy, 15.0, (1, 1, 12, 12))
    for sign, size in itertools.product((1, -1), (0.1, 10.0)):
        u, d = (size * torch.randn(1, 1, 12, 12, dtype=torch.float64) for _ in range(2))
        for _ in range(15):
            point = (u + d).detach().requires_grad_()
            change = term.gradient(point) - term.gradient(u)
            quotient = float((change.detach() * d).sum() / d.square().sum())
            assert term.least - 1e-9 <= quotient <= term.curvature * (1 + 1e-9)
            along = torch.autograd.grad(change, point, d.detach())[0].detach()
            d = sign * along + (0 if sign > 0 else term.curvature) * d
            d = size * math.sqrt(d.numel()) * d / d.norm()


@pytest.mark.parametrize("seed", range(2))
def test_the_convex_denoiser_expands_no_pair(seed):
    """Random pairs, and pairs that power iteration of the Jacobian, which is symmetric, chose to be worst."""
    torch.manual_seed(seed)
    term = any_energy("convex", seed, 1.0).at(25.0)
    f = 40 * torch.randn(1, 1, 10, 10, dtype=torch.float64)
    u, d = denoised(term, f), torch.randn_like(f)
    for _ in range(6):
        d = 3 * d / d.norm()
        change = denoised(term, f + d) - u
        assert float(change.norm()) <= float(d.norm()) * (1 + 1e-5)
        d = change if float(change.norm()) > 0 else torch.randn_like(f)


def test_gradient_ascent_finds_no_pair_that_is_expanded():
    """Both pictures of a pair move where |T(f) - T(g)| / |f - g| grows; derivatives are those of the minimisers."""
    torch.manual_seed(7)
    term = any_energy("convex", 7, 1.0).at(25.0)
    f = 40 * torch.randn(1, 1, 8, 8, dtype=torch.float64)
    pair, ratios = torch.cat([f, f + torch.randn_like(f)]), []
    for _ in range(10):
        data = pair.clone().requires_grad_()
        with torch.no_grad():
            found = denoised(term, pair, 1e-8)
        ends = implicit(lambda u, data=data: u - data + term.gradient(u), found, 1e-6)
        ratio = (ends[0] - ends[1]).norm() / (data[0] - data[1]).norm()
        ratios.append(float(ratio.detach()))
        # Each end is within 1e-8 |f| of its minimiser.
        assert ratios[-1] <= 1 + 4e-8 * float(pair.norm()) / float((pair[0] - pair[1]).norm())
        (uphill,) = torch.autograd.grad(ratio, data)
        pair = pair + 0.5 * (pair[0] - pair[1]).norm() * uphill / uphill.norm()
    assert max(ratios) > ratios[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["weak", "guided"])
def test_fifty_thousand_starts_end_at_one_minimiser(kind):
    for seed in range(10):
        torch.manual_seed(seed)
        term = term_of(any_energy(kind, seed, 1.0), 25.0, (1, 1, 6, 6))
        f = 40 * torch.randn(1, 1, 6, 6, dtype=torch.float64).expand(5000, -1, -1, -1)
        starts = f + torch.randn_like(f) * 10 ** (4 * torch.rand(5000, 1, 1, 1, dtype=torch.float64) - 1)
        found = minimise(
            lambda u, f=f, term=term: 0.5 * (u - f).square().sum() + term(u),
            lambda u, f=f, term=term: u - f + term.gradient(u),
            starts, 1 + term.curvature, float(f.norm()), 1e-10, 20000,
        )  # fmt: skip
        assert found.reached
        assert float((found.u - found.u[:1]).flatten(1).norm(dim=1).max()) <= 2e-10 * float(f.norm()) / 0.03


@pytest.mark.parametrize("kind", ["weak", "guided"])
def test_there_is_no_second_minimiser(kind):
    """From starts that lie far apart the method ends at the same picture."""
    torch.manual_seed(4)
    term = term_of(any_energy(kind, 4, 1.0), 25.0, (1, 1, 10, 10))
    f = 40 * torch.randn(1, 1, 10, 10, dtype=torch.float64)
    ends = []
    for start in (f, 300 * torch.randn_like(f), torch.zeros_like(f)):
        found = minimise(
            lambda u: 0.5 * (u - f).square().sum() + term(u), lambda u: u - f + term.gradient(u), start,
            1 + term.curvature, float(f.norm()), 1e-9, 20000,
        )  # fmt: skip
        assert found.reached
        ends.append(found.u)
    # The gradient is at least 0.03 times the distance from the minimiser.
    for end in ends[1:]:
        assert float((end - ends[0]).norm()) <= 2 * 1e-9 * float(f.norm()) / 0.03


@pytest.mark.slow
def test_no_pair_of_a_hundred_thousand_is_expanded():
    """Pairs side by side in one batch, near and far from each other; each energy's step limits are its own."""
    for seed in range(10):
        torch.manual_seed(seed)
        term = any_energy("convex", seed, 1.0).at(25.0)
        f = 40 * torch.randn(10000, 1, 6, 6, dtype=torch.float64)
        g = f + torch.randn_like(f) * 10 ** (4 * torch.rand(10000, 1, 1, 1, dtype=torch.float64) - 2)
        change, apart = denoised(term, f, 1e-10) - denoised(term, g, 1e-10), (f - g).flatten(1).norm(dim=1)
        assert bool((change.flatten(1).norm(dim=1) <= apart + 4e-10 * float(f.norm())).all())


def test_a_minimum_that_is_not_reached_is_said():
    scales = torch.logspace(-3, 0, 40)
    value, gradient = (lambda u: 0.5 * (scales * u.square()).sum()), (lambda u: scales * u)
    found = minimise(value, gradient, torch.ones(40), 100.0, 1.0, steps=1)
    assert (found.reached, found.steps) == (False, 1)
    assert found.residual == pytest.approx(float((scales * found.u).norm()))
    assert found.residual > 0.5


def test_where_the_value_has_risen_the_method_goes_back():
    """A value that is told to rise at every comparison: a plain step from the place compared first follows."""
    scales, points, compared = torch.logspace(-4, 0, 200, dtype=torch.float64), [], []

    def gradient(u):
        points.append(u)
        return scales * u

    def value(u):
        compared.append((len(points), u))
        return torch.tensor(float(len(compared)))

    minimise(value, gradient, torch.ones_like(scales), 1.0, 1.0, 1e-15, 400)
    (_, base), (second, _) = compared[:2]
    torch.testing.assert_close(points[second], base - scales * base)


def test_values_never_rise_where_the_method_restarts():
    """An ill-conditioned quadratic: momentum overshoots, and the end is reached all the same."""
    scales = torch.logspace(-3, 0, 40, dtype=torch.float64)
    found = minimise(
        lambda u: 0.5 * (scales * u.square()).sum(), lambda u: scales * u, torch.ones_like(scales), 1.0, 1.0,
        1e-10, 5000,
    )  # fmt: skip
    assert found.reached
    assert found.steps < 500  # plain gradients need 20000


@pytest.mark.parametrize("kind", ["convex", "weak"])
def test_implicit_derivatives_are_those_of_the_minimiser(kind):
    torch.manual_seed(0)
    energy = any_energy(kind, 5, 0.5).requires_grad_(True)
    f = 30 * torch.randn(1, 1, 9, 9, dtype=torch.float64)
    aim = torch.randn_like(f)

    def loss(data):
        return float((aim * denoised(energy.at(15.0), data, 1e-11)).sum())

    with torch.no_grad():
        u = denoised(energy.at(15.0), f, 1e-11)
    data = f.clone().requires_grad_()
    term = energy.at(15.0)
    (aim * implicit(lambda x: x - data + term.gradient(x), u, 1e-10)).sum().backward()
    direction = torch.randn_like(f)
    with torch.no_grad():
        slope = (loss(f + 1e-5 * direction) - loss(f - 1e-5 * direction)) / 2e-5
        assert float((data.grad * direction).sum()) == pytest.approx(slope, rel=1e-4)
        theta, around = energy.potentials.theta, torch.randn_like(energy.potentials.theta)
        theta += 1e-5 * around
        above = loss(f)
        theta -= 2e-5 * around
        below = loss(f)
    assert float((theta.grad * around).sum()) == pytest.approx((above - below) / 2e-5, rel=1e-3)


@pytest.mark.parametrize("kind", ["convex", "weak"])
def test_quarter_turns_carry_over(kind):
    energy, f = any_energy(kind, 6, 1.0), 30 * torch.randn(1, 1, 11, 14, dtype=torch.float64)
    term = energy.at(9.0)
    turned = term.gradient(torch.rot90(f, 1, (2, 3)))
    torch.testing.assert_close(turned, torch.rot90(term.gradient(f), 1, (2, 3)), rtol=1e-10, atol=1e-9)


def test_mixed_convolutions_are_those_of_the_mixed_stencils():
    K, u = ProfileMap(FIELDS).double(), torch.randn(2, 1, 9, 14, dtype=torch.float64)
    expected = torch.nn.functional.conv2d(mirror(u, K.radius), K.kernel()[:, None])
    torch.testing.assert_close(K(u)[:, 0, 0], expected)
    with pytest.raises(ValueError, match="at least one field"):
        ProfileMap((0, 0))


@pytest.mark.parametrize("kind", ["convex", "weak", "guided"])
@pytest.mark.parametrize("shape", [(2, 1, 15, 17), (1, 2, 70, 205), (1, 1, 3, 1)])
def test_compiled_energies_are_the_reference(kind, shape):
    """Value, gradient and its derivative along a picture, on tiles, batches, and pictures smaller than the stencils."""
    energy = any_energy(kind, 2, 1.0)
    term = term_of(energy, 12.0, shape)
    u, p = 20 * torch.randn(shape), torch.randn(shape)
    compiled, point = engines.energy(term, u, "numba"), u.double().requires_grad_()
    assert compiled is not term
    expected = term.gradient(point)
    (along,) = torch.autograd.grad(expected, point, p.double())
    assert float(compiled(u)) == pytest.approx(float(term(u.double())), rel=1e-5)
    size = float(expected.detach().abs().max())
    torch.testing.assert_close(compiled.gradient(u).double(), expected.detach(), rtol=0, atol=1e-5 * size)
    # Where a length lies on a knot, rounding decides between two slopes.
    apart = (compiled.along(u, p).double() - along).abs() > 1e-4 * float(along.abs().max())
    assert float(apart.double().mean()) < 0.02
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(3)
        assert torch.equal(compiled.gradient(u), compiled.gradient(u.clone()))
        torch.set_num_threads(1)
        alone = compiled.gradient(u)
        torch.set_num_threads(2)
        assert torch.equal(compiled.gradient(u), alone)
    finally:
        torch.set_num_threads(before)


def test_which_energies_are_compiled():
    """In single precision and without derivatives; asked for by name, anything else is refused."""
    term, u = any_energy("convex", 0).at(9.0), torch.zeros(1, 1, 8, 8)
    assert engines.energy(term, u.double()) is term
    assert engines.energy(term, u, "reference") is term
    with pytest.raises(ValueError, match="float32 alone"):
        engines.energy(term, u.double(), "numba")
