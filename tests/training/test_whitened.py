"""Adam along the principal directions: rotations of the parameters carry over, and so much memory is taken."""

import pytest
import torch

from whorl.training import whitened
from whorl.training.whitened import WhitenedAdam


def descended(optimiser, start, matrix, steps, **settings):
    """Where noisy gradients of a quadratic function lead to, from the same noise in its own coordinates."""
    p, draw = torch.nn.Parameter(start.clone()), torch.Generator().manual_seed(0)
    made = optimiser([p], **settings)
    for _ in range(steps):
        noise = torch.randn(len(start), generator=draw, dtype=start.dtype)
        p.grad = matrix.mT @ (
            torch.logspace(0, -3, len(start), dtype=start.dtype) * (matrix @ p.detach() + 0.1 * noise)
        )
        made.step()
    return p.detach()


@pytest.fixture
def rotation():
    draw = torch.Generator().manual_seed(1)
    return torch.linalg.qr(torch.randn(5, 5, generator=draw, dtype=torch.float64))[0]


def test_a_rotation_of_the_parameters_rotates_the_steps(monkeypatch, rotation):
    monkeypatch.setattr(whitened, "RENEWED", 1)
    start, one = torch.ones(5, dtype=torch.float64), torch.eye(5, dtype=torch.float64)
    for optimiser, carries in ((WhitenedAdam, True), (torch.optim.Adam, False)):
        plain = descended(optimiser, start, one, 30, lr=0.02)
        turned = descended(optimiser, rotation.mT @ start, rotation, 30, lr=0.02)
        assert torch.allclose(rotation @ turned, plain, rtol=0, atol=1e-6) == carries


def test_where_gradients_are_correlated_it_goes_further_than_adam(rotation):
    start = torch.ones(5, dtype=torch.float64)
    ends = [descended(kind, rotation.mT @ start, rotation, 150, lr=0.02) for kind in (WhitenedAdam, torch.optim.Adam)]
    near, far = ((rotation @ end).square().sum() for end in ends)
    assert near < 0.5 * far


@pytest.mark.parametrize(("shape", "width"), [((), 1), ((7,), 7), ((3, 4, 2), 24), ((40, 30), 30), ((40, 2000), 1)])
def test_a_covariance_holds_so_many_numbers(shape, width):
    p = torch.nn.Parameter(torch.ones(shape))
    optimiser = WhitenedAdam([p], lr=0.1)
    assert optimiser.state[p]["covariance"].shape == (width, width)
    p.grad = torch.ones(shape)
    optimiser.step()
    assert bool((p < 1).all())


def test_the_first_step_has_the_length_of_the_rate():
    p = torch.nn.Parameter(torch.zeros(6, dtype=torch.float64))
    p.grad = torch.arange(6.0, dtype=torch.float64)
    WhitenedAdam([p], lr=0.1).step()
    torch.testing.assert_close(p.detach(), -0.1 * p.grad / p.grad.norm(), rtol=1e-4, atol=1e-6)
