"""Learned energies of colour pictures: the mean of the channels and their differences, with the proofs of grey ones."""

import numpy as np
import pytest
import torch

import whorl
from whorl import engines
from whorl.energies import LearnedEnergy, minimise
from whorl.errors import ShapeError
from whorl.networks import Denoiser
from whorl.reconstruction import Blur, Measurement, minimiser


def any_energy(kind: str) -> LearnedEnergy:
    """Weights far from any that training would find."""
    torch.manual_seed(1)
    energy = LearnedEnergy(kind, (2, 3, 2)).double()
    with torch.no_grad():
        for parameter in energy.parameters():
            parameter += torch.randn_like(parameter)
    return energy.eval().requires_grad_(False)


@pytest.fixture(scope="module")
def scene():
    y, x = torch.meshgrid(torch.arange(32.0), torch.arange(32.0), indexing="ij")
    disc = ((y - 17) ** 2 + (x - 13) ** 2 < 60).float()
    strong = torch.stack([80 + 90 * disc, 120 + 20 * disc + x, 150 - 60 * (x > 22) + 0 * x])[None]
    return 0.3 * strong + 0.7 * strong[:, :1]  # little colour, as most photographs have


@pytest.mark.parametrize("kind", ["convex", "weak"])
def test_gradient_and_curvature(kind):
    """The gradient is the derivative, and quotients of gradients lie within the bounds; 15 steps of ascent look."""
    term, u = any_energy(kind).of_colours(20.0), 20 * torch.randn(2, 3, 12, 13, dtype=torch.float64)
    point = u.clone().requires_grad_()
    torch.testing.assert_close(torch.autograd.grad(term(point), point)[0], term.gradient(u), rtol=1e-9, atol=1e-9)
    for sign in (1, -1):
        d = torch.randn_like(u)
        for _ in range(15):
            change = term.gradient(u + d) - term.gradient(u)
            quotient = float((change * d).sum() / d.square().sum())
            assert term.least - 1e-9 <= quotient <= term.curvature * (1 + 1e-9)
            d = sign * change + (0 if sign > 0 else term.curvature) * d
            d = 5 * d / d.square().mean().sqrt()


def test_grey_pictures_have_the_grey_energy_of_their_mean():
    energy, grey = any_energy("convex"), 20 * torch.randn(1, 1, 12, 12, dtype=torch.float64)
    found = energy.of_colours(20.0)(grey.expand(-1, 3, -1, -1))
    # Differences are 0, where a length counts as 1e-5.
    assert float(found) == pytest.approx(3 * float(energy.at(20.0 / 3**0.5)(grey)), rel=1e-6, abs=1e-4)
    with pytest.raises(ValueError, match="each channel for itself"):
        LearnedEnergy("guided", (1,)).of_colours(20.0)


@pytest.mark.parametrize("kind", ["convex", "weak"])
def test_compiled_colours_are_the_reference(kind):
    term, u, p = any_energy(kind).of_colours(15.0), 20 * torch.randn(1, 3, 21, 30), torch.randn(1, 3, 21, 30)
    compiled, point = engines.energy(term, u, "numba"), u.double().requires_grad_()
    expected = term.gradient(point)
    (along,) = torch.autograd.grad(expected, point, p.double())
    size = float(expected.detach().abs().max())
    torch.testing.assert_close(compiled.gradient(u).double(), expected.detach(), rtol=0, atol=1e-5 * size)
    assert float(compiled(u)) == pytest.approx(float(term(u.double())), rel=1e-5)
    apart = (compiled.along(u, p).double() - along).abs() > 1e-4 * float(along.abs().max())
    assert float(apart.double().mean()) < 0.02  # where a length lies on a knot, rounding decides between two slopes


def test_no_pair_of_colour_pictures_is_expanded():
    """Power iteration from a random pair: the Jacobian of the convex kind is symmetric."""
    term, f = any_energy("convex").of_colours(25.0), 40 * torch.randn(1, 3, 9, 9, dtype=torch.float64)

    def denoised(f):
        found = minimise(
            lambda u: 0.5 * (u - f).square().sum() + term(u), lambda u: u - f + term.gradient(u), f,
            1 + term.curvature, float(f.norm()), 1e-9, 20000,
        )  # fmt: skip
        assert found.reached
        return found.u

    u, d = denoised(f), torch.randn_like(f)
    for _ in range(5):
        d = 3 * d / d.norm()
        d = denoised(f + d) - u
        assert float(d.norm()) <= 3 * (1 + 1e-5)


@pytest.mark.parametrize("name", ["energy-convex", "energy-weak"])
def test_colours_gain_by_being_seen_together(name, scene):
    network = whorl.load(name)
    noisy = scene + 25 * torch.randn(scene.shape, generator=torch.Generator().manual_seed(0))
    together, alone = Denoiser(network, 25.0)(noisy), Denoiser(network, 25.0, apart=True)(noisy)
    with torch.no_grad():
        torch.testing.assert_close(alone, network(noisy.movedim(1, 0), 25.0).movedim(0, 1), rtol=0, atol=0.01)
        found = network.minimum(noisy, network.term(noisy, 25.0))
    assert found.reached
    assert float((together - scene).square().mean()) < 0.8 * float((alone - scene).square().mean())
    picture = noisy[0].movedim(0, -1).clamp(0, 255).byte().numpy()
    told = {"noise": 25.0, "network": network}
    apart = whorl.denoise(picture, channel_axis=-1, channels="separate", **told)
    alone, together = whorl.denoise(picture[..., 1], **told), whorl.denoise(picture, channel_axis=-1, **told)
    # The three stop together, one alone a little earlier or later.
    assert np.abs(apart[..., 1].astype(float) - alone).mean() < 0.3
    assert np.abs(together[..., 1].astype(float) - alone).mean() > 1
    with pytest.raises(ShapeError, match="1 channel, or 3 colours"):
        network(torch.zeros(1, 2, 16, 16), 25.0)


def test_derivatives_of_colours(scene):
    network, f = whorl.load("energy-convex").requires_grad_(True), scene[:, :, :16, :16].clone().requires_grad_()
    (network(f, 15.0) - 100).square().mean().backward()
    assert bool(f.grad.isfinite().all())
    assert all(bool(p.grad.isfinite().all()) for p in network.parameters())


def test_guided_channels_have_each_their_own_guide(scene):
    """Loops once took the guide of the first channel for all of them."""
    network, u = whorl.load("energy-guided"), scene + 5
    with torch.no_grad():
        term = network.energy.at(15.0, network.guide(u.flatten(0, 1)[:, None], 15.0))
        expected = term.gradient(u)
        found = engines.energy(term, u, "numba").gradient(u)
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-4 * float(expected.abs().max()))


def test_blurred_colours(scene):
    blur = Blur(torch.full((3, 3), 1 / 9), circular=True)
    y = blur(scene) + 8 * torch.randn(scene.shape, generator=torch.Generator().manual_seed(0))
    measured = Measurement.of(blur, y)
    together = minimiser(measured, y, "energy-convex", 8.0, 0.5, 255.0).u
    each = [minimiser(Measurement.of(blur, part), part, "energy-convex", 8.0, 0.5, 255.0).u for part in y.split(1, 1)]
    assert float((together - scene).norm()) < 0.95 * float((torch.cat(each, 1) - scene).norm())
