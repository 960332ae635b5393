"""The argument of the law from a presmoothed picture, for every model: what it is, what it costs, what it buys."""

import pytest
import torch

import whorl
from catalogue import CONTRAST, noise
from whorl.operators import CellGradient, Composed, Smoothing

EVERY = {name: whorl.models.build(name, contrast=CONTRAST, sigma=0.8) for name in whorl.models.names()}
every = pytest.mark.parametrize("name", EVERY)


@every
def test_with_presmoothing_there_is_no_energy(name, rng):
    with pytest.raises(ValueError, match="no energy exists: the nonlinearity looks at a presmoothed image"):
        EVERY[name].energy(noise(rng, 1, 1, 6, 7))


@every
def test_the_paper_has_none_unless_it_says_so(name):
    model = whorl.models.build(name, contrast=CONTRAST)
    assert (model.structure is None) == (name not in ("eed", "ced", "weickert-integration"))
    assert "sigma" not in model.settings


def test_the_law_sees_the_gradient_of_the_smoothed_picture(rng):
    """Perona-Malik: K* (g(|grad u_sigma|²) K u), details in the flux alone."""
    u, sigma = noise(rng, 1, 2, 9, 8), 0.8
    K = CellGradient()
    p, q = Composed(CellGradient(0.5), Smoothing(sigma))(u)[:, :, 0, :2].unbind(2)
    g = 1 / (1 + (p**2 + q**2) / CONTRAST**2)
    model = whorl.models.build("perona-malik", contrast=CONTRAST, diffusivity="rational", sigma=sigma)
    expected = -K.adjoint(g[:, :, None, None] * K(u))
    assert torch.allclose(model.rhs(u), expected, rtol=0, atol=1e-11 * expected.abs().max())


@every
def test_sigma_is_a_length(name, rng):
    """Pixels of half the size, and everything else half as long: the same flow, four times faster (or sixteen)."""
    if name.startswith("multiscale"):
        pytest.skip("scales weigh by their own lengths")
    u = noise(rng, 1, 1, 9, 8)
    order = 2 if name in ("you-kaveh", "lysaker") else 1
    one = whorl.models.build(name, contrast=CONTRAST, sigma=0.8)
    # The coherence of a structure tensor grows like its square, the contrast of ced like that.
    steeper = CONTRAST * 2 ** (2 * order if name == "ced" else order)
    half = whorl.models.build(name, contrast=steeper, sigma=0.4, spacing=0.5)
    assert torch.allclose(half.rhs(u) / 4**order, one.rhs(u), rtol=0, atol=1e-9 * one.rhs(u).abs().max())


@pytest.mark.parametrize("cell", ["compact", "wide"])
@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "multiscale-isotropic", "lysaker"])
def test_derivatives_for_training_are_exact(name, cell, rng):
    """Of picture, contrast and weights, through two steps by the engine that is chosen: difference quotients."""
    options = {} if name == "lysaker" else {"cell": cell}
    options |= {"scales": 2} if name.startswith("multi") else {}
    model = whorl.models.build(name, contrast=CONTRAST, sigma=0.7, diffusivity="rational", trainable=True, **options)
    u, aim = noise(rng, 1, 1, 7, 6), noise(rng, 1, 1, 7, 6)
    tau = model.automatic_step()

    def loss(x):
        for _ in range(2):
            x = model.step(x, tau)
        return ((x - aim) ** 2).sum()

    x = u.clone().requires_grad_()
    slots = [x, *(p for p in model.parameters() if p.requires_grad)]
    for slot, gradient in zip(slots, torch.autograd.grad(loss(x), slots), strict=True):
        direction = torch.randn(slot.shape, generator=rng, dtype=torch.float64)
        h, values = 1e-4, []
        for step in (-2, -1, 1, 2):
            with torch.no_grad():
                if slot is x:
                    values.append(loss(u + step * h * direction))
                    continue
                kept = slot.clone()
                slot.add_(step * h * direction)
                values.append(loss(u))
                slot.copy_(kept)
        quotient = (values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h)
        assert float((gradient * direction).sum()) == pytest.approx(float(quotient), rel=1e-6, abs=1e-6)


PLANE, SPACE = (1, 3, 21, 18), (1, 1, 8, 9, 10)


@pytest.mark.parametrize(
    ("name", "shape"),
    [(name, PLANE) for name in ("perona-malik", "gerig", "weickert-brox", "uncoupled")]
    + [(name, SPACE) for name in ("perona-malik", "gerig", "weickert-brox")],
)
def test_compiled_steps_agree_with_the_reference(name, shape, rng):
    model, u = whorl.models.build(name, contrast=CONTRAST, sigma=0.9, diffusivity="rational"), noise(rng, *shape)
    with torch.no_grad():
        compiled, plain = (model(u, time=2.0, engine=engine) for engine in ("numba", "reference"))
    assert torch.allclose(compiled, plain, rtol=0, atol=1e-11 * u.abs().max())


def test_scales_share_their_weights_with_those_that_are_seen():
    model = whorl.models.build("multiscale-anisotropic", contrast=CONTRAST, scales=3, sigma=1.0, trainable=True)
    assert model.structure.beta is model.operator.beta
    assert len({id(p) for p in model.parameters()}) == 2
