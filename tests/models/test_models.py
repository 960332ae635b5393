"""What every model promises: energy, stability, mean, constants, and literal residual blocks."""

import pytest
import torch

import whorl
from catalogue import CONTRAST, ENERGETIC, MODELS, noise
from whorl.activations import Anisotropic, TensorField
from whorl.blocks import DiffusionBlock
from whorl.errors import StabilityError
from whorl.operators import CellGradient, ScaleStack

parametrised = pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
energetic = pytest.mark.parametrize("model", ENERGETIC.values(), ids=ENERGETIC)
EIGHT_SCALES = ("multiscale-isotropic", "multiscale-anisotropic")


def worst_mode(operator, height, width):
    """The cosine with the largest eigenvalue of K* K."""
    rows, columns = torch.arange(height).double(), torch.arange(width).double()
    theta_y, theta_x = torch.pi * rows / height, torch.pi * columns / width
    k, m = divmod(int(operator.symbol(theta_y[:, None], theta_x[None, :]).argmax()), width)
    return torch.outer(torch.cos((rows + 0.5) * theta_y[k]), torch.cos((columns + 0.5) * theta_x[m]))[None, None]


@energetic
def test_closed_form_gradient_autograd_and_difference_quotient_agree(model, rng):
    u = noise(rng, 2, 3, 9, 8)
    x = u.clone().requires_grad_()
    (automatic,) = torch.autograd.grad(model.energy(x), x)
    assert (model.rhs(u) + automatic).norm() <= 1e-8 * automatic.norm()
    direction = torch.randn(u.shape, generator=rng, dtype=torch.float64)
    h = 1e-3
    # Fourth order differences: their error h⁴ and the rounding eps E / h both stay below 1e-8 of the slope.
    values = [model.energy(u + step * h * direction) for step in (-2, -1, 1, 2)]
    quotient = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
    slope = (automatic * direction).sum()
    assert (quotient - slope).abs() <= 1e-8 * automatic.norm() * direction.norm()


@energetic
def test_energy_never_rises_at_the_l2_limit(model, rng):
    u = noise(rng, 1, 3, 12, 13, scale=30.0)
    tau, energy = model.step_limit(), model.energy(u)
    for _ in range(200):
        u = model.step(u, tau)
        after = model.energy(u)
        assert after <= energy * (1 + 1e-12)
        energy = after


@parametrised
def test_l2_norm_never_grows_at_the_l2_limit(model, rng):
    u = noise(rng, 1, 2, 12, 13, scale=30.0)
    tau, norm = model.step_limit(), u.norm()
    for _ in range(200):
        u = model.step(u, tau)
        assert u.norm() <= norm * (1 + 1e-13)
        norm = u.norm()


HOMOGENEOUS = {
    row.name: whorl.models.build(row.name, diffusivity="homogeneous")
    for row in whorl.models.ROWS
    if "diffusivity" in row.options
}
HOMOGENEOUS["tensor field"] = whorl.models.Model(
    CellGradient(), Anisotropic(TensorField(torch.tensor([1.0, 0.0, 1.0])[:, None, None].expand(3, 25, 21)))
)


@pytest.mark.parametrize("model", HOMOGENEOUS.values(), ids=HOMOGENEOUS)
def test_worst_mode_grows_just_above_the_limit(model):
    mode = 1e-6 * worst_mode(model.operator, 24, 20)
    start, tau = mode.norm(), 1.1 * model.step_limit()
    with pytest.raises(StabilityError, match="insist=True"):
        model.step(mode, tau)
    for _ in range(40):
        mode = model.step(mode, tau, insist=True)
    assert mode.norm() >= 2 * start


@parametrised
def test_mean_is_conserved_in_float32(model, rng):
    u = 100 + noise(rng, 1, 2, 10, 11, dtype=torch.float32)
    mean, tau = u.double().mean(), model.automatic_step()
    with torch.no_grad():
        for _ in range(250):
            u = model.step(u, tau)
    assert (u.double().mean() - mean).abs() <= 250 * 1e-8 * mean


@parametrised
@pytest.mark.parametrize("size", [(1, 1), (1, 6), (5, 1), (7, 8)], ids=str)
def test_constants_stay_to_the_last_bit(model, size, dtype):
    u = torch.full((2, 3, *size), 0.1, dtype=dtype)
    assert torch.equal(model(u, time=3 * model.automatic_step()), u)


@parametrised
def test_range_never_grows_at_the_max_min_limit(model, rng):
    tau = model.max_min_limit()
    if tau is None:
        pytest.skip("no max-min limit is known for this model")
    u = noise(rng, 1, 2, 14, 13, scale=30.0)
    low, high = u.min(), u.max()
    for _ in range(100):
        u = model.step(u, tau, insist=True)
        assert u.min() >= low - 1e-12
        assert u.max() <= high + 1e-12


def test_range_may_grow_just_above_the_max_min_limit():
    """The limit is sharp: one bright pixel in the dark turns negative."""
    model = whorl.models.build("perona-malik", contrast=1e6)
    u = torch.zeros(1, 1, 7, 7, dtype=torch.float64)
    u[..., 3, 3] = 1
    assert model.step(u, 1.01 * model.max_min_limit()).min() < -1e-3


@parametrised
def test_block_is_the_literal_residual_network(model, rng):
    block = DiffusionBlock(model.operator, model.activation, tau=0.1, structure=model.structure)
    for size in [(9, 7), (1, 5), (2, 2)]:
        u = noise(rng, 2, 3, *size)
        step = block(u)
        network = block.to_resnext(channels=3)
        assert torch.allclose(network(u), step, rtol=0, atol=1e-12 * u.abs().max())
        if not isinstance(model.operator, ScaleStack):
            assert torch.allclose(block.to_resnet(3)(u), step, rtol=0, atol=1e-12 * u.abs().max())
    assert torch.allclose(step, model.step(u, 0.1, insist=True), rtol=0, atol=1e-13 * u.abs().max())
    assert all((W1[1].bias == 0).all() for W1 in network.W1)
    assert (network.b2 == 0).all()


def test_resnet_refuses_several_paths():
    block = whorl.blocks.multiscale_block()
    with pytest.raises(ValueError, match="to_resnext"):
        block.to_resnet()


@parametrised
def test_gradients_are_finite_on_flat_images_in_float32(model):
    u = torch.full((1, 2, 6, 7), 3.0, requires_grad=True)
    (gradient,) = torch.autograd.grad((model.step(u, 0.05) ** 2).sum(), u)
    assert torch.isfinite(gradient).all()
    # At a flat image the step is linear to first order and conserves sums: the gradient is that of the identity.
    assert torch.allclose(gradient, 2 * u.detach(), rtol=1e-5)


@parametrised
def test_both_precisions_agree(model, rng):
    u = noise(rng, 1, 2, 16, 15)
    time = 5 * model.automatic_step()
    gap = model(u.float(), time=time).double() - model(u, time=time)
    assert model(u.float(), time=time).dtype == torch.float32
    assert gap.abs().max() <= 200 * torch.finfo(torch.float32).eps * u.abs().max()


@parametrised
def test_the_input_is_never_changed_and_results_repeat(model, rng):
    u = noise(rng, 1, 2, 9, 9, dtype=torch.float32)
    before = u.clone()
    first, second = model(u, time=0.3), model(u, time=0.3)
    assert torch.equal(u, before)
    assert torch.equal(first, second)
    still = model(u, time=0)
    assert torch.equal(still, u)
    assert still.data_ptr() != u.data_ptr()


@parametrised
def test_reach_is_the_exact_halo_of_a_step(model, rng):
    """A pixel just beyond the reach has no influence at all; at the reach some pixel has."""
    size = 2 * model.reach + 3
    u = noise(rng, 1, 1, size, size)
    centre = size // 2
    result = model.step(u)[..., centre, centre]
    for distance, expected in ((model.reach + 1, False), (model.reach, True)):
        moved = u.clone()
        ring = torch.zeros(size, size, dtype=torch.bool)
        ring[centre - distance, :] = ring[centre + distance, :] = True
        ring[:, centre - distance] = ring[:, centre + distance] = True
        moved[..., ring] += noise(rng, 1, 1, size, size)[..., ring]  # uneven, or differences along the ring cancel
        assert bool((model.step(moved)[..., centre, centre] != result).any()) == expected


def test_single_channel_models_treat_channels_one_by_one(rng):
    u = noise(rng, 1, 3, 10, 9)
    for name in ("perona-malik", "you-kaveh", "lysaker", "uncoupled", "eed", "weickert-integration"):
        model = whorl.models.build(name, contrast=CONTRAST)
        alone = torch.cat([model(channel, time=1.0) for channel in u.split(1, dim=1)], dim=1)
        assert torch.equal(model(u, time=1.0), alone)


def test_coupled_models_do_not(rng):
    u = noise(rng, 1, 3, 10, 9)
    for name in ("gerig", "weickert-brox", *EIGHT_SCALES):
        model = whorl.models.build(name, contrast=CONTRAST)
        alone = torch.cat([model(channel, time=1.0) for channel in u.split(1, dim=1)], dim=1)
        assert (model(u, time=1.0) - alone).abs().max() > 0.1


def test_data_term_pulls_towards_the_data(rng):
    f = noise(rng, 1, 1, 8, 9)
    model = whorl.models.build("perona-malik", contrast=CONTRAST).with_data(f, weight=2.0)
    u = noise(rng, 1, 1, 8, 9)
    x = u.clone().requires_grad_()
    (automatic,) = torch.autograd.grad(model.energy(x), x)
    assert (model.rhs(u) + automatic).norm() <= 1e-12 * automatic.norm()
    assert model.step_limit() == pytest.approx(2 / (4 + 2))
    energy = model.energy(u)
    for _ in range(100):
        u = model.step(u, model.step_limit())
        assert model.energy(u) <= energy * (1 + 1e-12)
        energy = model.energy(u)
    assert model.rhs(model(u, time=200.0)).norm() < 1e-6  # a minimiser: the flow has come to rest
    with pytest.raises(ValueError, match="shape"):
        model.step(noise(rng, 1, 1, 3, 3))


def test_eed_has_the_eigenvalues_of_the_paper(rng):
    """Across the edge g(|grad u_sigma|²), along it 1."""
    from whorl.activations import SymmetricMatrix, matrix_diffusivity

    model = whorl.models.build("eed", contrast=5.0, sigma=1.0)
    u = noise(rng, 1, 1, 9, 9)
    J = model.activation.structure_tensor(model.structure(u))
    D = matrix_diffusivity(model.activation.diffusivity, J)
    matrix = torch.stack([D.a, D.b, D.b, D.c], -1).reshape(-1, 2, 2)
    values = torch.linalg.eigvalsh(matrix)
    squared = (J.a + J.c).flatten()
    assert torch.allclose(values[:, 1], torch.ones_like(squared), atol=1e-12)
    assert torch.allclose(values[:, 0], torch.exp(-squared / 50), atol=1e-12)
    assert isinstance(D, SymmetricMatrix)


def test_integration_converges_with_the_number_of_directions(rng):
    u = whorl.operators.Smoothing(1.5)(noise(rng, 1, 1, 20, 20, scale=60.0))
    results = [whorl.models.build("weickert-integration", contrast=8.0, directions=m).rhs(u) for m in (4, 8, 16, 64)]
    gaps = [(r - results[-1]).norm() / results[-1].norm() for r in results[:-1]]
    assert gaps[0] > 3 * gaps[1]
    assert gaps[2] < 1e-3


@parametrised
def test_uncoupled_twin_differs_where_there_are_directions_to_couple(model, rng):
    u = noise(rng, 1, 1, 9, 9)
    twin = whorl.models.uncoupled_twin(model)
    same = model.operator.axes == 1 or isinstance(model.activation, whorl.activations.Uncoupled)
    assert torch.allclose(twin.rhs(u), model.rhs(u)) == same


def test_trainable_models_learn():
    model = whorl.models.build("multiscale-anisotropic", contrast=CONTRAST, scales=2, trainable=True)
    u = torch.randn(1, 1, 8, 8, generator=torch.Generator().manual_seed(1)) * 20
    model.step(u, 0.1).square().sum().backward()
    gradients = [p.grad for p in model.parameters() if p.requires_grad]
    assert whorl.models.count_parameters(model) == 3
    assert all(g is not None and torch.isfinite(g).all() and (g != 0).all() for g in gradients)


def test_data_weighed_pixel_by_pixel(rng):
    """The energy has the force as gradient, the largest weight limits steps, unknown pixels feel no pull."""
    f, u = noise(rng, 1, 2, 8, 9), noise(rng, 1, 2, 8, 9)
    weight = torch.rand(8, 9, dtype=torch.float64, generator=rng)
    weight[2:5] = 0
    model = whorl.models.build("gerig", contrast=CONTRAST).with_data(f, 3 * weight)
    x = u.clone().requires_grad_()
    (automatic,) = torch.autograd.grad(model.energy(x), x)
    assert (model.rhs(u) + automatic).norm() <= 1e-12 * automatic.norm()
    assert model.step_limit() == pytest.approx(2 / (4 + 3 * float(weight.max())))
    assert (model.fidelity.gradient(u)[..., 2:5, :] == 0).all()
    assert torch.equal(
        whorl.models.build("gerig").with_data(f, torch.full((8, 9), 0.5)).rhs(u),
        whorl.models.build("gerig").with_data(f, 0.5).rhs(u),
    )
    energy = model.energy(u)
    for _ in range(50):
        u = model.step(u, model.step_limit())
        assert model.energy(u) <= energy * (1 + 1e-12)
        energy = model.energy(u)


def test_weights_that_do_not_fit_are_refused(rng):
    f = noise(rng, 1, 1, 4, 5)
    model = whorl.models.build("gerig")
    with pytest.raises(ValueError, match="do not fit"):
        model.with_data(f, torch.ones(5, 4))
    with pytest.raises(ValueError, match="negative"):
        model.with_data(f, -torch.ones(4, 5))
    with pytest.raises(ValueError, match="NaN"):
        model.with_data(f, torch.full((4, 5), float("nan")))


@pytest.mark.parametrize("tau", [0.0, 0.01])
def test_a_step_may_be_as_small_as_one_likes(tau, rng):
    model, u = MODELS["perona-malik"], noise(rng, 1, 1, 5, 6)
    torch.testing.assert_close(model.step(u, tau), u + tau * model.rhs(u))


@pytest.mark.parametrize("scheme", ["fed", "fsi"])
def test_cycles_tell_of_each_and_end_with_all_steps(scheme, rng):
    """A smaller step takes more of them; a larger one than the limit is not taken, whoever insists."""
    model, u, counts = MODELS["perona-malik"], noise(rng, 1, 1, 5, 6), {}
    limit = model.step_limit()
    for title, tau in (("plain", None), ("small", limit / 8), ("large", 8 * limit)):
        told = []
        found = model(
            u, 40.0, scheme=scheme, cycles=3, tau=tau, insist=True, progress=lambda *both, told=told: told.append(both)
        )
        total = told[-1][1]
        assert [done for done, _ in told] == [total // 3 * k for k in (1, 2, 3)]
        torch.testing.assert_close(found, model(u, 40.0, scheme=scheme, cycles=3, tau=tau, insist=True))
        counts[title] = total
    assert counts["small"] > counts["plain"] == counts["large"]


def test_twins_of_laws_without_a_diffusivity_keep_their_smoothing():
    for rho, radius in ((0.0, 0), (2.0, 8)):
        assert whorl.models.uncoupled_twin(whorl.models.build("ced", rho=rho)).activation.radius == radius


def test_the_contrast_is_1_by_default():
    assert float(whorl.models.build("perona-malik").activation.law.contrast) == 1
