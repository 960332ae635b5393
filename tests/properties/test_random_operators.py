"""Every combinator around every operator: exact adjoint, proven norm, energy whose gradient is the flux sent back."""

import torch
from hypothesis import given, note
from hypothesis import strategies as st

from whorl.activations import Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import by_name
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
    Scaled,
    ScaleStack,
    Smoothing,
    Stacked,
    sample_scales,
)

EPS = torch.finfo(torch.float64).eps
sizes = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 9), st.integers(1, 9))
seeds = st.integers(0, 2**31)
lengths = st.floats(0.3, 3.0)
spacings = st.one_of(st.just((1.0, 1.0)), st.tuples(lengths, lengths))
factors = st.floats(-3.0, 3.0).filter(lambda factor: abs(factor) > 0.05)


@st.composite
def plain_operators(draw) -> Operator:
    """The operators that stand on their own."""
    spacing, alpha = draw(spacings), draw(st.floats(0, 0.5))
    kind = draw(st.sampled_from([CellGradient, Laplacian, Hessian, DirectionalDerivatives]))
    if kind in (CellGradient, Laplacian):
        return kind(alpha, spacing)
    return Hessian(spacing) if kind is Hessian else DirectionalDerivatives(draw(st.integers(2, 6)), spacing)


@st.composite
def operators(draw, depth: int = 2) -> Operator:
    """Combinators around combinators around an operator."""
    if depth == 0:
        return draw(plain_operators())
    inner = draw(operators(depth - 1))
    around = draw(st.sampled_from(["nothing", "scaled", "composed", "stacked", "scales", "dictionary"]))
    spacing = tuple(inner.spacing) if inner.dimension else (1.0, 1.0)
    if around == "scaled":
        return Scaled(inner, draw(factors))
    if around == "composed":
        return Composed(inner, Smoothing(draw(st.floats(0, 2.0)), spacing=spacing))
    if around == "stacked":
        return Stacked([inner, draw(factors) * inner])
    if around == "scales":
        count = draw(st.integers(1, 3))
        return ScaleStack(inner, sample_scales(count, 0.3, 3.0), beta=[draw(factors) for _ in range(count)])
    if around == "dictionary":
        words = [Smoothing(0.6, spacing=spacing), LaplacianPower(0.5, 1, spacing=spacing)]
        weights = torch.tensor([[draw(factors), draw(factors)] for _ in range(2)], dtype=torch.float64)
        return Dictionary(inner, words, features=2, weights=weights)
    return inner


def noise(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


@given(operators(), sizes, seeds)
def test_adjoint_and_norm(K: Operator, size: tuple[int, ...], seed: int) -> None:
    u = noise(size, seed)
    with torch.no_grad():
        Ku = K(u)
        v = noise(tuple(Ku.shape), seed + 1)
        back = K.adjoint(v)
        gap = K.inner(Ku, v) - (u * back).sum()
        scale = (K.inner(Ku, Ku) * K.inner(v, v)).sqrt() + u.norm() * back.norm()
        terms = Ku.numel() ** 0.5
        note(f"{K}: {float(gap):g} of {float(scale):g}")
        assert gap.abs() <= 64 * EPS * terms * (scale + u.norm() * v.norm() * K.squared_norm_bound() ** 0.5)
        assert K.inner(Ku, Ku) <= K.squared_norm_bound() * u.square().sum() * (1 + 1e-9) + 1e-25
        assert torch.equal(K(torch.full(size, 0.7, dtype=torch.float64)), torch.zeros_like(Ku))


@given(operators(depth=1), sizes, seeds, st.sampled_from(["exponential", "rational", "charbonnier", "homogeneous"]))
def test_the_energys_gradient_is_the_flux_sent_back(K: Operator, size: tuple[int, ...], seed: int, name: str) -> None:
    g = by_name(name, contrast=1.5)
    u = noise(size, seed)
    weights = K.scale_weights(K(u)).flatten().tolist()
    choices = [Isotropic(g, axes=K.axes), Isotropic(g, ("channels", "scales"), axes=K.axes, scale_weights=weights)]
    choices.append(Uncoupled(g, axes=K.axes))
    if K.axes == 2:
        choices.append(Anisotropic(g, ("scales",), scale_weights=weights))
    for phi in choices:
        energy = Energy(K, phi)
        x = u.clone().requires_grad_()
        (automatic,) = torch.autograd.grad(energy(x), x)
        with torch.no_grad():
            closed = energy.gradient(u)
        size_of_terms = K.squared_norm_bound() * u.norm() + 1e-30
        assert (closed - automatic).norm() <= 1e-10 * size_of_terms
