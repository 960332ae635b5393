"""Denoisers and priors for deepinv, in its own algorithms; skipped where deepinv is not installed."""

from pathlib import Path

import pytest
import torch

import whorl
from whorl.integrations import deepinv as ours

dinv = pytest.importorskip("deepinv", reason="pip install deepinv", exc_type=ImportError)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::UserWarning")

CHARBONNIER = {"diffusivity": "charbonnier", "contrast": 0.02}


@pytest.fixture(scope="module")
def scene():
    y, x = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    return (0.3 + 0.4 * (x > y) + 0.004 * y)[None, None]


@pytest.fixture(scope="module")
def physics():
    kernel = torch.ones(1, 1, 3, 3) / 9
    noise = dinv.physics.GaussianNoise(0.02, rng=torch.Generator().manual_seed(0))
    return dinv.physics.Blur(filter=kernel, padding="circular", noise_model=noise)


def priors():
    return {
        "convex": ours.prior("energy-convex", noise=0.08),
        "weak": ours.prior("energy-weak", noise=0.08),
        "model": ours.prior(whorl.models.build("perona-malik", **CHARBONNIER)),
    }


@pytest.mark.parametrize("name", ["photo-grey", "photo-8k", "energy-weak", "anisotropic-0.41"])
def test_networks_are_denoisers(name, scene):
    network = ours.denoiser(name)
    assert isinstance(network, dinv.models.Denoiser)
    noisy = scene + 0.08 * torch.randn(2, 1, 24, 24)
    with torch.no_grad():
        clean = network(noisy, 0.08)
        each = network(noisy, torch.tensor([0.0, 0.08]))
    assert float((clean - scene).square().mean()) < 0.5 * float((noisy - scene).square().mean())
    assert torch.equal(each[0], noisy[0])
    assert torch.allclose(each[1], clean[1])


@pytest.mark.parametrize("name", ["convex", "weak", "model"])
def test_gradients_are_those_that_deepinv_finds_and_prox_is_a_minimiser(name, scene):
    prior, x = priors()[name], scene + 0.05 * torch.randn(2, 1, 24, 24)
    assert isinstance(prior, dinv.optim.Prior)
    assert prior(x).shape == (2,)
    by_autograd = dinv.optim.Prior.grad(prior, x.clone().double()).detach()
    torch.testing.assert_close(prior.grad(x.double()), by_autograd, rtol=1e-4, atol=1e-6)
    with torch.no_grad():
        u = prior.prox(x, gamma=0.5)
        optimal = (u - x + 0.5 * prior.grad(u)).flatten(1).norm(dim=1)
    assert bool((optimal <= 1.01e-4 * x.flatten(1).norm(dim=1)).all())


def test_every_picture_has_its_own_step(scene):
    prior, x = priors()["convex"], scene + 0.05 * torch.randn(2, 1, 24, 24)
    both = prior.prox(x, gamma=torch.tensor([0.3, 2.0]).view(2, 1, 1, 1))
    for k, step in enumerate((0.3, 2.0)):
        torch.testing.assert_close(both[k : k + 1], prior.prox(x[k : k + 1], gamma=step))


@pytest.mark.parametrize("name", ["photo-8k", "energy-convex"])
def test_their_own_tests_of_denoisers_pass(name, monkeypatch):
    """deepinv's tests of its denoisers, on ours: shapes, batches, one level and levels for each picture."""
    monkeypatch.syspath_prepend(Path(dinv.__file__).parent / "tests")  # where they import from
    theirs = pytest.importorskip("deepinv.tests.test_models", exc_type=ImportError)
    monkeypatch.setattr(theirs, "choose_denoiser", lambda *_: ours.denoiser(name))
    with torch.no_grad():
        theirs.test_denoiser_gray((1, 31, 37), "cpu", name)
        theirs.test_denoiser_color((3, 31, 37), "cpu", name)
        for test in (theirs.test_denoiser_sigma_gray, theirs.test_denoiser_sigma_color):
            for batch_size in (1, 2):
                test(batch_size, name, "cpu")


@pytest.mark.parametrize("algorithm", ["PGD", "FISTA", "GD", "DRS", "ADMM"])
def test_their_algorithms_end_at_our_minimiser(algorithm, scene, physics):
    """As deepinv tests its own: the gradients of data term and prior cancel where the algorithm ends."""
    y, prior, weight = physics(scene), priors()["convex"], 0.3
    with torch.no_grad():
        method = getattr(dinv.optim, algorithm)(
            prior=prior, data_fidelity=dinv.optim.L2(), lambda_reg=weight, early_stop=True, max_iter=400,
            stepsize=0.9 if algorithm != "GD" else 1 / (1 + weight * prior.term.curvature), thres_conv=1e-6,
        )  # fmt: skip
        found = method(y, physics)
        left = physics.A_adjoint(physics.A(found) - y) + weight * prior.grad(found)
        told = whorl.reconstruct(y, physics, noise=0.08, weight=weight, peak=1.0)
    assert float(left.norm()) < 3e-3 * float(y.norm())
    assert float((found - told).norm()) < 0.02 * float(told.norm())


def test_the_prox_at_one_is_the_denoiser(scene):
    """The same minimiser by two ways: both stop at 1e-4 of the picture, 0.5 is subtracted in one of them."""
    x = scene + 0.08 * torch.randn(1, 1, 24, 24)
    with torch.no_grad():
        u, v = ours.denoiser("energy-convex")(x, 0.08), priors()["convex"].prox(x)
    assert float((u - v).norm()) <= 2.5e-4 * float(x.norm())


def test_plug_and_play_and_red_run(scene, physics):
    y = physics(scene)
    network = ours.denoiser("energy-convex")
    for iteration, prior, settings in (
        ("PGD", dinv.optim.PnP(denoiser=network), {"stepsize": 1.0, "g_param": 0.02}),
        ("GD", dinv.optim.RED(denoiser=network), {"stepsize": 0.7, "g_param": 0.02, "lambda": 0.3}),
    ):
        method = dinv.optim.optim_builder(
            iteration=iteration, prior=prior, data_fidelity=dinv.optim.L2(), max_iter=8, params_algo=settings
        )
        with torch.no_grad():
            found = method(y, physics)
        assert float((found - scene).norm()) < float((y - scene).norm())


@pytest.mark.parametrize("name", ["convex", "model"])
def test_their_solver_ends_where_ours_does(name, scene, physics):
    """Gradient descent of deepinv on data term and prior lowers the very cost that ours has minimised."""
    y, prior = physics(scene), priors()[name]
    with torch.no_grad():
        cost = lambda u: float(dinv.optim.L2()(u, y, physics) + 0.05 * prior(u))  # noqa: E731
        u = y
        step = 1 / (1 + 0.05 * prior.term.curvature)
        for _ in range(100):
            u = u - step * (physics.A_adjoint(physics.A(u) - y) + 0.05 * prior.grad(u))
        method = dinv.optim.optim_builder(
            iteration="GD", prior=prior, data_fidelity=dinv.optim.L2(), max_iter=100, early_stop=False,
            params_algo={"stepsize": step, "lambda": 0.05}, custom_init=lambda y, physics: {"est": (y, y)},
        )  # fmt: skip
        found = method(y, physics)
    assert cost(found) == pytest.approx(cost(u), rel=1e-3)
    assert cost(found) < cost(y)


def test_a_physics_is_a_measurement(scene, physics):
    y = physics(scene)
    found = whorl.reconstruct(y, physics, noise=0.02, peak=1.0)
    assert float((found - scene).norm()) < 0.8 * float((y - scene).norm())


def test_what_cannot_be_is_named():
    with pytest.raises(ValueError, match="belongs to one picture"):
        ours.prior("energy-guided", noise=0.1)
    with pytest.raises(ValueError, match="belongs to a level"):
        ours.prior("energy-convex")
    with pytest.raises(ValueError, match="no energy exists"):
        ours.prior(whorl.models.build("ced", contrast=0.1))
    with pytest.raises(whorl.errors.ShapeError, match="for volumes"):
        ours.denoiser("volume-5k")
