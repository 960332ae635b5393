"""Second-order training: exact derivatives, least squares in one step, never uphill."""

import math
from itertools import pairwise

import pytest
import torch
from torch import nn

from whorl.networks.multiscale import MultiscaleNetwork
from whorl.networks.spec import NetworkSpec
from whorl.training import TensorPairs, TrainingConfig, train
from whorl.training.distributed import Team
from whorl.training.gauss_newton import Parameters, columns, normal_equations

COUPLINGS = ["uncoupled", "isotropic", "anisotropic"]


def test_evaluating_elsewhere_leaves_the_network_alone(pairs):
    network = MultiscaleNetwork(NetworkSpec(steps=3, scales=2, own_steps=True, own_structure=True))
    before = list(network.named_parameters())
    parameters = Parameters(network)
    theta = parameters.get()
    moved = parameters.output(theta + 0.1, pairs.noisy).detach()
    assert all(
        p is q and name == other for (name, p), (other, q) in zip(before, network.named_parameters(), strict=True)
    )
    assert torch.equal(parameters.get(), theta)
    parameters.set(theta + 0.1)
    assert torch.equal(network(pairs.noisy), moved)


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_forward_mode_agrees_with_difference_quotients(coupling, pairs):
    network = MultiscaleNetwork(NetworkSpec(coupling, steps=2, scales=3))
    parameters, noisy = Parameters(network), pairs.noisy[:2].double()
    u, J = columns(parameters, noisy, "forward-mode")
    theta, h = parameters.get(), 1e-5
    assert torch.equal(u, network(noisy).detach())
    for i in range(len(theta)):
        e = h * torch.eye(len(theta), dtype=torch.float64)[i]
        quotient = (parameters.output(theta + e, noisy) - parameters.output(theta - e, noisy)).detach() / (2 * h)
        # central differences: h² third derivatives, and rounding 1e-16 * 255 / h
        assert torch.allclose(J[i], quotient, atol=1e-6 * float(J[i].abs().max()) + 1e-8)


def test_differences_come_close_to_forward_mode(network, pairs):
    parameters = Parameters(network)
    _, exact = columns(parameters, pairs.noisy, "forward-mode")
    _, rough = columns(parameters, pairs.noisy, "differences")
    assert (exact - rough).norm() < 5e-3 * exact.norm()


def test_normal_equations_do_not_depend_on_how_images_are_grouped(network, pairs):
    parameters = Parameters(network)
    found = [
        normal_equations(parameters, pairs.noisy, pairs.clean, "forward-mode", 255.0, Team(), at_once)
        for at_once in (1, 4)
    ]
    assert torch.allclose(found[0].matrix, found[1].matrix, rtol=1e-5)
    assert torch.allclose(found[0].gradient, found[1].gradient, rtol=1e-4, atol=1e-4)
    assert found[0].loss == pytest.approx(found[1].loss, rel=1e-6)


def test_gradient_is_that_of_reverse_mode(network, pairs):
    parameters = Parameters(network)
    found = normal_equations(parameters, pairs.noisy, pairs.clean, "forward-mode", 255.0, Team(), 2)
    (network(pairs.noisy) - pairs.clean).square().mean().backward()
    reverse = torch.cat([p.grad.flatten() for p in parameters.named.values()])
    assert torch.allclose(2 * found.gradient, reverse, rtol=1e-3, atol=1e-4 * float(reverse.abs().max()))


@pytest.mark.parametrize("coupling", COUPLINGS)
def test_only_the_magnitude_of_scale_weights_matters(coupling, pairs):
    network = MultiscaleNetwork(NetworkSpec(coupling, steps=2, scales=3, own_structure=True))
    parameters = Parameters(network)
    theta = parameters.get()
    assert int(parameters.unsigned.sum()) == 6
    mirrored = torch.where(parameters.unsigned, -theta, theta)
    assert torch.equal(parameters.output(mirrored, pairs.noisy), parameters.output(theta, pairs.noisy))
    shrunk = parameters.moved(theta, torch.full_like(theta, -3.0))
    assert torch.allclose(shrunk, torch.where(parameters.unsigned, math.exp(-3) * theta, theta - 3))


def test_a_weight_without_use_shrinks_and_the_others_go_on():
    """The second scale is pure noise to this task: its weight must go, and must not hold up the first."""
    noisy = torch.randn(2, 1, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))

    class Weights(nn.Module):
        by_magnitude = ("beta",)

        def __init__(self) -> None:
            super().__init__()
            self.beta = nn.Parameter(torch.ones(2, dtype=torch.float64))

        def forward(self, u):
            a, b = (self.beta**2).unbind()
            return a * u + b * u.flip(-1)

    network = Weights()
    train(network, TensorPairs(noisy, 9 * noisy), TrainingConfig(optimiser="gauss-newton", epochs=12, tolerance=0.0))
    beta = network.beta.detach()
    assert float(beta[0]) == pytest.approx(3, rel=1e-3)
    assert 0 < float(beta[1]) < float(beta[0]) / 10


class Linear(nn.Module):
    """Least squares with a known answer."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2, dtype=torch.float64))

    def forward(self, u):
        a, b = self.weight.to(u.dtype).unbind()
        return a * u + b * u.flip(-1)


def test_a_linear_problem_is_solved_in_one_step():
    noisy = torch.randn(3, 1, 8, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    clean = 0.3 * noisy - 0.2 * noisy.flip(-1)
    network = Linear()
    train(network, TensorPairs(noisy, clean), TrainingConfig(optimiser="gauss-newton", epochs=1, damping=1e-12))
    assert torch.allclose(network.weight.detach(), torch.tensor([0.3, -0.2], dtype=torch.float64), atol=1e-9)


@pytest.mark.parametrize("derivatives", ["forward-mode", "differences"])
def test_the_loss_never_rises_and_the_run_converges(pairs, network, derivatives):
    config = TrainingConfig(optimiser="gauss-newton", epochs=40, derivatives=derivatives, tolerance=3e-3)
    history = train(network, pairs, config)
    losses = [epoch.loss for epoch in history.epochs]
    assert all(after <= before for before, after in pairwise(losses))
    assert history.stopped == "converged"


def test_it_goes_further_than_adam(pairs):
    spec = NetworkSpec("isotropic", steps=2, scales=3)
    first, second = MultiscaleNetwork(spec), MultiscaleNetwork(spec)
    adam = train(first, pairs, TrainingConfig(epochs=20, batch=6, rate=0.02))
    newton = train(second, pairs, TrainingConfig(optimiser="gauss-newton", epochs=6))
    assert newton.last.loss < adam.last.loss


def test_images_are_a_fixed_subset(pairs, network):
    config = TrainingConfig(optimiser="gauss-newton", epochs=1, images=3, seed=4)
    other = MultiscaleNetwork(network.spec, tau=0.1, contrast=100.0)
    assert train(network, pairs, config).last.loss == train(other, pairs, config).last.loss
