"""Whatever is built from operators keeps their promises: adjoint, norm, energy and constants, by generated nesting."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from catalogue import noise
from whorl.activations import Isotropic
from whorl.diffusivities import Charbonnier
from whorl.energies import Energy
from whorl.operators import (
    CellGradient,
    Composed,
    Dictionary,
    DirectionalDerivatives,
    Hessian,
    Laplacian,
    LaplacianPower,
    Operator,
    ScaleStack,
    Smoothing,
    Stacked,
    sample_scales,
)

alphas, sigmas = st.floats(0.0, 0.5), st.floats(0.0, 0.7)
factors = st.floats(-2.0, 2.0).filter(lambda factor: abs(factor) > 0.1)


def plain(spacing):
    """Operators that are made of no others."""
    choices = [
        st.builds(CellGradient, alphas, st.just(spacing)),
        st.builds(Laplacian, alphas, st.just(spacing)),
        st.builds(Hessian, st.just(spacing)),
    ]
    if len(spacing) == 2:
        choices.append(st.builds(DirectionalDerivatives, st.integers(2, 5), st.just(spacing)))
    return st.one_of(choices)


def wrapped(inner, spacing):
    """Every combinator around an operator."""
    smoothings = st.builds(Smoothing, sigmas, spacing=st.just(spacing))
    samplings = st.builds(sample_scales, st.integers(1, 2), st.floats(0.2, 0.5), st.floats(0.6, 0.7))
    words = st.lists(
        st.one_of(smoothings, st.builds(LaplacianPower, st.floats(0.1, 0.6), st.integers(0, 1), st.just(spacing))),
        min_size=1,
        max_size=2,
    )
    return st.one_of(
        st.builds(lambda K, factor: factor * K, inner, factors),
        st.builds(Composed, inner, smoothings),
        st.builds(ScaleStack, inner, samplings),
        st.builds(lambda K, A, n: Dictionary(K, A, features=n), inner, words, st.integers(1, 2)),
        st.builds(lambda K, factor: Stacked([K, factor * K]), inner, factors),
    )


def nested(spacing):
    once = wrapped(plain(spacing), spacing)
    return st.one_of(once, wrapped(once, spacing))


OPERATORS = st.sampled_from([(1.0, 1.0), (2.0, 0.7), (1.0, 1.0, 1.0), (1.5, 1.0, 0.8)]).flatmap(nested)


def volume(K: Operator, seed: int) -> torch.Tensor:
    return noise(torch.Generator().manual_seed(seed), 1, 2, *(3, 5, 4)[: K.settle()], scale=1.0)


@settings(max_examples=50, deadline=None)
@given(K=OPERATORS, seed=st.integers(0, 99))
def test_adjoint_and_norm(K, seed):
    u = volume(K, seed)
    with torch.no_grad():
        Ku = K(u)
        v = torch.randn(Ku.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed + 1))
        gap = K.inner(Ku, v) - (u * K.adjoint(v)).sum()
        bound = K.squared_norm_bound()
        scale = (bound * K.inner(v, v)).sqrt() * u.norm()
        assert gap.abs() <= 32 * torch.finfo(u.dtype).eps * scale
        assert K.inner(Ku, Ku) <= bound * u.square().sum() * (1 + 1e-12)
        assert not K(torch.full_like(u, 0.1)).any()


@settings(max_examples=20, deadline=None)
@given(K=OPERATORS, seed=st.integers(0, 99))
def test_gradient_of_the_energy(K, seed):
    """E = 1/2 sum omega W Psi: what weighs the scales in the inner product weighs them in the energy."""
    energy = Energy(K, Isotropic(Charbonnier(0.5)))
    u = volume(K, seed).requires_grad_()
    (expected,) = torch.autograd.grad(energy(u), u)
    with torch.no_grad():
        found = energy.gradient(u)
    assert torch.allclose(found, expected, rtol=0, atol=1e-12 * (1 + expected.abs().max().item()))


def test_scales_weigh_in_every_combinator():
    """Composed and Stacked pass the weights of the scales on."""
    scales = ScaleStack(CellGradient(), sample_scales(3, 0.5, 4.0))
    v = torch.zeros(1, 1, 3, 4, 5, 5)
    expected = scales.scale_weights(v)
    assert torch.equal(Composed(scales, Smoothing(1.0)).scale_weights(v), expected)
    assert torch.equal(Stacked([scales, scales]).scale_weights(v), expected)
    twice = ScaleStack(scales, sample_scales(2, 0.5, 4.0)).scale_weights(v).flatten()
    outer = torch.tensor(sample_scales(2, 0.5, 4.0).omega)
    assert torch.allclose(twice, (outer[:, None] * expected.flatten()).flatten())


def test_stacking_refuses_different_scales():
    one, other = (ScaleStack(CellGradient(), sample_scales(2, 0.5, largest)) for largest in (2.0, 3.0))
    with pytest.raises(ValueError, match="weigh their scales differently"):
        Stacked([one, other])


def test_an_operator_for_images_is_not_combined_with_one_for_volumes():
    plane, space = CellGradient(0.4, (1.0, 2.0)), CellGradient(0.4, (1.0, 2.0, 2.0))
    with pytest.raises(ValueError, match="some operators act on images"):
        Stacked([plane, space])
    with pytest.raises(ValueError, match="Give both the same"):
        Composed(plane, Smoothing(1.0, spacing=(1.0, 2.0, 2.0)))
