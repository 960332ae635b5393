"""Activations: the flux is the derivative of the density, turns with the image, and never breaks on flat input."""

import pytest
import torch

from catalogue import ACTIVATIONS, noise
from whorl.activations import Anisotropic, FeatureActivation, Isotropic, SymmetricMatrix, Uncoupled, matrix_diffusivity
from whorl.diffusivities import Exponential, Rational
from whorl.errors import ShapeError

parametrised = pytest.mark.parametrize("phi", ACTIVATIONS.values(), ids=ACTIVATIONS)


def responses(generator, dtype=torch.float64, scales=3, parts=2):
    return 3 * torch.randn(2, 2, scales, 2 * parts, 3, 4, dtype=torch.float64, generator=generator).to(dtype)


@parametrised
def test_flux_is_half_the_derivative_of_the_density(phi, rng):
    v = responses(rng).requires_grad_()
    if not phi.has_energy:
        pytest.skip("this flux is no gradient")
    (gradient,) = torch.autograd.grad(phi.density(v).sum(), v)
    weights = phi.scale_weights
    flux = phi(v)
    if weights is not None and "scales" in phi.couple:
        flux = flux * weights.view(-1, 1, 1, 1)
    assert torch.allclose(0.5 * gradient, flux, rtol=1e-10, atol=1e-12)


@parametrised
@pytest.mark.parametrize("value", [0.0, 1e-20, 1e-3, 1e12])
def test_flat_and_equal_eigenvalues_give_finite_exact_gradients(phi, dtype, value, rng):
    """At J = 0 and at multiples of the identity the flux is g(J) v, and its derivative finite."""
    v = torch.full((1, 2, 3, 4, 1, 1), value, dtype=dtype)
    # Two image channels with orthogonal gradients give a multiple of the identity.
    v[:, 0, :, 1] *= -1
    v.requires_grad_()
    flux = phi(v)
    (gradient,) = torch.autograd.grad((flux * torch.randn(flux.shape, generator=rng).to(dtype)).sum(), v)
    assert torch.isfinite(flux).all()
    assert torch.isfinite(gradient).all()


@pytest.mark.parametrize("spread", [0.0, 1e-12, 1e-7, 1e-4, 1e-2])
@pytest.mark.parametrize("name", ["anisotropic", "anisotropic weickert", "anisotropic free form", "anisotropic tv"])
def test_matrix_function_near_equal_eigenvalues(name, spread, rng):
    """Values and gradients near equal eigenvalues agree with differences of an eigendecomposition far from them."""
    g = ACTIVATIONS[name].diffusivity
    J = torch.tensor([[2.0 + spread, 0.3 * spread], [0.3 * spread, 2.0]], dtype=torch.float64)

    def entries(matrix):
        return SymmetricMatrix(matrix[0, 0], matrix[0, 1], matrix[1, 1])

    D = matrix_diffusivity(g, entries(J))
    values, vectors = torch.linalg.eigh(J)
    exact = vectors @ torch.diag(g(values)) @ vectors.T
    assert torch.allclose(torch.stack([D.a, D.b, D.c]), exact[[0, 0, 1], [0, 1, 1]], rtol=1e-12, atol=1e-15)
    direction = torch.tensor([[0.3, -1.1], [-1.1, 0.7]], dtype=torch.float64)
    h = 1e-3
    moved = [matrix_diffusivity(g, entries(J + step * h * direction)) for step in (-2, -1, 1, 2)]
    slopes = [(m[0] - 8 * m[1] + 8 * m[2] - m[3]) / (12 * h) for m in zip(*moved, strict=True)]
    J.requires_grad_()
    D = matrix_diffusivity(g, entries(J))
    for entry, slope in zip(D, slopes, strict=True):
        (gradient,) = torch.autograd.grad(entry, J, retain_graph=True)
        assert (gradient * direction).sum().item() == pytest.approx(slope.item(), abs=1e-7)


def test_float32_gradients_near_equal_eigenvalues_keep_their_digits():
    g = Exponential(1.0)

    def gradients(dtype, spread):
        a = torch.tensor(1.0, dtype=dtype, requires_grad=True)
        D = matrix_diffusivity(g, SymmetricMatrix(a, torch.tensor(spread, dtype=dtype), 1 + 0 * a.detach()))
        return torch.stack([torch.autograd.grad(entry, a, retain_graph=True)[0] for entry in D]).double()

    for spread in (0.0, 1e-10, 1e-6, 1e-3, 0.1):
        gap = gradients(torch.float32, spread) - gradients(torch.float64, spread)
        assert gap.abs().max() <= 20 * torch.finfo(torch.float32).eps


def turned(v, angle):
    """Every vector part turned by an angle; only for operators without detail."""
    c, s = torch.cos(torch.tensor(angle)).double(), torch.sin(torch.tensor(angle)).double()
    p, q = v[:, :, :, 0::2], v[:, :, :, 1::2]
    return torch.stack([c * p - s * q, s * p + c * q], dim=4).flatten(3, 4)


@parametrised
def test_coupled_fluxes_turn_with_the_responses(phi, rng):
    if phi.smoothing is not None:
        pytest.skip("here the vectors turn, and not the places that are smoothed over")
    v = responses(rng, parts=1)
    gap = (phi(turned(v, 0.4)) - turned(phi(v), 0.4)).norm() / phi(v).norm()
    if isinstance(phi, Uncoupled):
        assert gap > 1e-2
    else:
        assert gap <= 1e-6  # cos and sin of a float32 angle are not quite orthogonal


@parametrised
def test_multiplier_is_symmetric_within_the_range_of_g(phi, rng):
    """The L2 limit rests on 0 <= <v, Phi(v; w)> <= g_max <v, v> for any structure w."""
    v, w = responses(rng), responses(rng)
    flux = phi(v, w)
    product = (v * flux).sum(3)
    assert (product >= -1e-12).all()
    assert (product <= phi.law.maximum() * v.square().sum(3) * (1 + 1e-12)).all()
    other = responses(rng)
    assert torch.allclose((other * flux).sum(), (phi(other, w) * v).sum(), rtol=1e-10)


def test_coupling_means_summing_over_channels_and_scales(rng):
    v = responses(rng)
    g = Rational(2.0)
    total = (v**2).sum((1, 2, 3), keepdim=True)
    assert torch.allclose(Isotropic(g, ("channels", "scales"))(v), g(total) * v)
    assert torch.allclose(Isotropic(g)(v), g((v**2).sum(3, keepdim=True)) * v)


def test_scale_adaptive_contrast_gives_each_scale_its_own(rng):
    v = responses(rng)
    contrasts = [1.0, 2.0, 3.0]
    together = Isotropic(Exponential(contrasts), ("scales",))(v)
    for index, contrast in enumerate(contrasts):
        alone = Isotropic(Exponential(contrast), ("scales",))(v)
        assert torch.allclose(together[:, :, index], alone[:, :, index])


def test_contrast_per_channel_and_scale_gives_each_its_own(rng):
    v = responses(rng)
    table = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    for kind in (Isotropic, Anisotropic, Uncoupled):
        together = kind(Exponential(table))(v)
        for channel, row in enumerate(table):
            for scale, contrast in enumerate(row):
                alone = kind(Exponential(contrast))(v)
                assert torch.equal(together[:, channel, scale], alone[:, channel, scale])


def test_contrasts_of_channels_that_are_not_coupled_keep_the_energy():
    assert Isotropic(Exponential([[1.0], [3.0]])).has_energy
    assert Isotropic(Exponential([[1.0], [3.0]]), ("scales",)).has_energy
    assert not Isotropic(Exponential([[1.0], [3.0]]), ("channels",)).has_energy
    assert not Isotropic(Exponential([1.0, 3.0]), ("scales",)).has_energy


def test_contrast_per_channel_of_a_model(rng):
    import whorl

    u = noise(rng, 1, 2, 7, 8)
    model = whorl.models.build("perona-malik", contrast=[[3.0], [30.0]], trainable=True)
    alone = [whorl.models.build("perona-malik", contrast=c).rhs(u) for c in (3.0, 30.0)]
    assert torch.allclose(model.rhs(u), torch.cat([alone[0][:, :1], alone[1][:, 1:]], 1), atol=1e-12)
    assert torch.allclose(model.step(u, 0.1), u + 0.1 * model.rhs(u), atol=1e-12)
    volume = noise(rng, 1, 2, 4, 5, 6)
    parts = [whorl.models.build("perona-malik", contrast=c).rhs(volume) for c in (3.0, 30.0)]
    assert torch.allclose(model.rhs(volume), torch.cat([parts[0][:, :1], parts[1][:, 1:]], 1), atol=1e-12)
    with pytest.raises(ValueError, match="one number"):
        whorl.models.build("perona-malik", contrast=[[3.0, 2.0]])
    with pytest.raises(ValueError, match="equal length"):
        Exponential([[1.0], [2.0, 3.0]])


def test_features_are_read_as_channels_scales_operators(rng):
    v = responses(rng)
    phi = Anisotropic(Rational(2.0), ("channels", "scales"))
    features = v.reshape(2, -1, 3, 4)
    assert torch.equal(FeatureActivation(phi, operator_channels=4, scales=3)(features), phi(v).reshape(2, -1, 3, 4))


@pytest.mark.parametrize("phi", ACTIVATIONS.values(), ids=ACTIVATIONS)
def test_complex_features_go_by_their_absolute_values(phi, rng):
    """A phase passes through; real numbers that are written as complex ones give what they give as real ones."""
    real, imaginary = responses(rng).reshape(2, -1, 3, 4), responses(rng).reshape(2, -1, 3, 4)
    features, phi = torch.complex(real, imaginary), FeatureActivation(phi, operator_channels=4, scales=3)
    result = phi(features)
    bound = 200 * torch.finfo(real.dtype).eps * features.abs().max()
    for angle in (0.3, 2.0, torch.pi / 2):
        phase = torch.polar(torch.ones((), dtype=real.dtype), torch.tensor(angle, dtype=real.dtype))
        assert (phi(phase * features) - phase * result).abs().max() <= bound
    assert (phi(torch.complex(real, torch.zeros_like(real))) - phi(real)).abs().max() <= bound


def test_complex_features_by_hand():
    pair = torch.tensor([3.0 + 4.0j, 0.0 + 1.0j], dtype=torch.complex128)
    flux = FeatureActivation(Isotropic(Rational(1.0)))(pair.view(1, 2, 1, 1)).flatten()
    assert torch.allclose(flux, pair / (1 + 26))  # |z|^2 is 25 + 1


@pytest.mark.parametrize(("operator_channels", "scales"), [(0, 1), (2, 0), (0, 0)])
def test_features_need_channels_and_scales(operator_channels, scales):
    with pytest.raises(ValueError, match="must be positive"):
        FeatureActivation(Isotropic(Exponential(2.0)), operator_channels, scales)
    FeatureActivation(Isotropic(Exponential(2.0), axes=1), 1, 1)


def test_bad_shapes_and_names_are_refused():
    with pytest.raises(ShapeError, match="multiple of 2"):
        FeatureActivation(Isotropic(Exponential(1.0)))(torch.zeros(1, 3, 4, 4))
    with pytest.raises(ValueError, match="colour"):
        Isotropic(Exponential(1.0), ("colour",))
    with pytest.raises(ValueError, match="gamma"):
        Anisotropic(Exponential(1.0), gamma=1.5)
    with pytest.raises(ValueError, match="directions"):
        Uncoupled(Exponential(1.0))(torch.zeros(1, 1, 1, 3, 2, 2))
