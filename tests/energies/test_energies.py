"""Energies and data terms against numbers worked out by hand."""

import pytest
import torch

from whorl.activations import Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import Exponential, Homogeneous, Rational
from whorl.energies import Energy, QuadraticFidelity, refusal
from whorl.errors import ShapeError
from whorl.operators import CellGradient, ScaleStack, sample_scales

RAMP = 3.0 * torch.arange(5, dtype=torch.float64).expand(2, 1, 4, 5)  # slope 3 in 2 images of 4 rows, 4 differences
SCALES = sample_scales(3, 0.5, 4.0)


def test_energy_of_a_ramp():
    """Psi of the slope in every cell between two columns; cells on the border count half, so 4 rows are left."""
    assert float(Energy(CellGradient(), Isotropic(Homogeneous()))(RAMP)) == pytest.approx(0.5 * 9 * 4 * 4 * 2)
    g = Rational(2.0)
    psi = float(g.psi(torch.tensor(9.0, dtype=torch.float64)))
    for activation in (Isotropic(g), Anisotropic(g), Uncoupled(g)):
        assert float(Energy(CellGradient(), activation)(RAMP)) == pytest.approx(0.5 * psi * 4 * 4 * 2)


def test_scales_count_their_weight_once():
    """With g = 1 the energy is half the weighted sum of squares, whether the scales are coupled or not."""
    u = torch.randn(1, 2, 6, 7, dtype=torch.float64)
    K = ScaleStack(CellGradient(), SCALES)
    expected = 0.5 * float(K.inner(K(u), K(u)))
    coupled = Isotropic(Homogeneous(), ("scales",), scale_weights=SCALES.omega)
    for activation in (coupled, Isotropic(Homogeneous()), Uncoupled(Homogeneous(), ("channels",))):
        assert float(Energy(K, activation)(u)) == pytest.approx(expected)


def test_the_gradient_is_the_flux_sent_back():
    u = torch.randn(1, 1, 5, 6, dtype=torch.float64)
    K, phi = CellGradient(0.2), Anisotropic(Exponential(1.0))
    assert torch.equal(Energy(K, phi).gradient(u), K.adjoint(phi(K(u))))


def test_pairs_without_an_energy_are_refused():
    K = ScaleStack(CellGradient(), SCALES)
    assert refusal(CellGradient(), Anisotropic(Exponential(1.0))) == ""
    with pytest.raises(ValueError, match="gamma > 0"):
        Energy(CellGradient(), Anisotropic(Exponential(1.0), gamma=0.1))
    several = Exponential([1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="contrast"):
        Energy(K, Isotropic(several, ("scales",), scale_weights=SCALES.omega))
    assert refusal(K, Isotropic(several)) == ""  # not coupled: each scale has a contrast and an energy of its own
    with pytest.raises(ValueError, match="count differently"):
        Energy(K, Isotropic(Exponential(1.0), ("scales",)))
    with pytest.raises(ValueError, match="count differently"):
        Energy(K, Isotropic(Exponential(1.0), ("scales",), scale_weights=(*SCALES.omega, 1.0)))
    assert refusal(K, Isotropic(Exponential(1.0), ("scales",), scale_weights=SCALES.omega)) == ""
    assert refusal(K, Isotropic(Exponential(1.0))) == ""  # not coupled: each scale has an energy of its own
    assert refusal(CellGradient(), Isotropic(Exponential(1.0), ("scales",))) == ""  # one scale counts 1 on both sides


def test_data_term_by_hand():
    data = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    term = QuadraticFidelity(data, weight=3.0)
    u = data + torch.tensor([[[[0.0, 1.0], [-2.0, 0.0]]]])
    assert float(term(u)) == pytest.approx(1.5 * 5)
    assert torch.equal(term.gradient(u), 3.0 * (u - data))
    assert term.gradient(u.double()).dtype == torch.float64
    assert QuadraticFidelity(data, weight=0.0).weight == 0


@pytest.mark.parametrize("shape", [(1, 1, 2, 3), (2, 1), (3,), (1, 1, 1, 1)])
def test_weights_of_pixels_broadcast_to_the_data(shape):
    """D(u, f) is half the sum of w (u - f)^2, its derivative w (u - f); the largest weight limits the steps."""
    data = torch.randn(1, 1, 2, 3, dtype=torch.float64)
    weight = torch.rand(shape, dtype=torch.float64)
    weight.view(-1)[0] = 0.0  # nothing is known here
    term = QuadraticFidelity(data, weight)
    u = torch.randn_like(data).requires_grad_()
    torch.testing.assert_close(term(u), 0.5 * (weight * (u - data) ** 2).sum())
    torch.testing.assert_close(torch.autograd.grad(term(u), u)[0], term.gradient(u), rtol=1e-12, atol=1e-12)
    assert term.weight == float(weight.max())


def test_a_weight_may_be_a_tensor_of_one_number():
    data = torch.zeros(1, 1, 2, 2)
    term = QuadraticFidelity(data, torch.tensor(0.25))
    assert term.weight == 0.25
    assert torch.equal(term.gradient(torch.ones_like(data)), torch.full_like(data, 0.25))


@pytest.mark.parametrize("shape", [(3, 3), (2, 1, 1, 2, 2), (2, 1, 2, 2)])
def test_weights_that_do_not_fit_the_data_are_refused(shape):
    with pytest.raises(ShapeError, match="do not fit"):
        QuadraticFidelity(torch.zeros(1, 1, 2, 2), torch.ones(shape))


@pytest.mark.parametrize("wrong", [-1e-3, float("nan"), float("inf")])
def test_one_bad_weight_among_good_ones_is_refused(wrong):
    weight = torch.ones(1, 1, 2, 2)
    weight[0, 0, 1, 0] = wrong
    with pytest.raises(ValueError, match="QuadraticFidelity"):
        QuadraticFidelity(torch.zeros(1, 1, 2, 2), weight)


@pytest.mark.parametrize("weight", [-1.0, float("nan"), float("inf")])
def test_bad_weights_are_refused(weight):
    with pytest.raises(ValueError, match="weight"):
        QuadraticFidelity(torch.zeros(1, 1, 2, 2), weight=weight)


def test_bad_data_are_refused():
    with pytest.raises(ValueError, match="finite|NaN|nan"):
        QuadraticFidelity(torch.full((1, 1, 2, 2), float("nan")), weight=1.0)
    with pytest.raises(ShapeError):
        QuadraticFidelity(torch.zeros(2, 2), weight=1.0)
    with pytest.raises(ShapeError, match="shape"):
        QuadraticFidelity(torch.zeros(1, 1, 2, 2), weight=1.0)(torch.zeros(1, 1, 2, 3))
