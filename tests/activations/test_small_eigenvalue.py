"""Rounding must not make the small eigenvalue of a rank-one structure tensor negative."""

import pytest
import torch

from whorl.activations import Anisotropic, SymmetricMatrix, eigenvalues
from whorl.diffusivities import by_name
from whorl.diffusivities import names as diffusivity_names


def rank_one(dtype: torch.dtype) -> SymmetricMatrix:
    """The tensors of 20,000 gradients in all directions, of very different lengths."""
    draw = torch.Generator().manual_seed(5)
    p, q = (torch.randn(20000, generator=draw, dtype=torch.float64).exp().to(dtype) for _ in range(2))
    return SymmetricMatrix(p * p, p * q, q * q)


def test_small_eigenvalues_are_never_negative(dtype):
    J = rank_one(dtype)
    large, small = eigenvalues(J)
    assert (small >= 0).all()
    assert torch.allclose(large, J.a + J.c, rtol=8 * torch.finfo(dtype).eps)
    # The formula itself would be: without the clamp this test has something to find.
    mean, radius = 0.5 * (J.a + J.c), torch.hypot(0.5 * (J.a - J.c), J.b)
    assert (mean - radius < 0).any()


def test_gradients_pass_through_the_clamp(dtype):
    """The trace is the sum of both eigenvalues: its derivatives are 1, 0 and 1, clamped or not."""
    J = SymmetricMatrix(*(part.clone().requires_grad_() for part in rank_one(dtype)))
    large, small = eigenvalues(J)
    a, b, c = torch.autograd.grad((large + small).sum(), list(J))
    eps = torch.finfo(dtype).eps
    assert (a - 1).abs().max() <= 16 * eps
    assert (c - 1).abs().max() <= 16 * eps
    assert b.abs().max() <= 16 * eps


@pytest.mark.parametrize("name", diffusivity_names())
def test_densities_stay_finite_where_rounding_bites(name, dtype):
    J = rank_one(dtype)
    v = torch.stack([J.a.sqrt(), J.c.sqrt()]).view(1, 1, 1, 2, 100, 200)
    density = Anisotropic(by_name(name, contrast=0.3)).density(v)
    assert torch.isfinite(density).all()
    assert (density >= 0).all()
