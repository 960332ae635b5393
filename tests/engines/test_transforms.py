"""Derivatives of derivatives, and what torch.func and forward_ad do to models: right with every engine."""

import pytest
import torch
from torch.autograd import forward_ad

import catalogue
from whorl import engines
from whorl.models import build
from whorl.networks import NetworkSpec, build_network
from whorl.steps import Numbers

pytest.importorskip("numba")

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")  # torch's forward mode uses it

SMALL = {"multiscale-isotropic", "multiscale-anisotropic"}
MODELS = {
    name: build(name, contrast=12.0, **({"scales": 2} if name in SMALL else {}))
    for name in ("perona-malik", "weickert-brox", "eed", "multiscale-anisotropic", "lysaker", "weickert-integration")
}
NETWORKS = {
    "multiscale": build_network(NetworkSpec("isotropic", steps=2, scales=2)),
    "scheduled": build_network(NetworkSpec("isotropic", steps=2, scales=2, scheduled=True)),
}
FILTERS = {name: (lambda u, m=m: m(u, time=1.5)) for name, m in MODELS.items()} | NETWORKS


@pytest.fixture(params=FILTERS)
def filtered(request):
    return FILTERS[request.param]


def pair(rng):
    return catalogue.noise(rng, 1, 1, 6, 7), catalogue.noise(rng, 1, 1, 6, 7, scale=1.0)


def quotient(function, u, v, h=1e-4):
    """Central differences: right to h² and rounding over h."""
    with torch.no_grad():
        return (function(u + h * v) - function(u - h * v)) / (2 * h)


def near(found, exact):
    return (found - exact).abs().max() <= 2e-6 * exact.abs().max()


def test_forward_ad_has_a_tangent(filtered, rng):
    u, v = pair(rng)
    with forward_ad.dual_level():
        tangent = forward_ad.unpack_dual(filtered(forward_ad.make_dual(u, v))).tangent
        assert tangent is not None
        found = tangent.detach().clone()
    assert near(found, quotient(filtered, u, v))


def test_jvp_is_the_derivative(filtered, rng):
    u, v = pair(rng)
    value, tangent = torch.func.jvp(filtered, (u,), (v,))
    with torch.no_grad():
        assert torch.allclose(value, filtered(u), rtol=1e-12)
    assert near(tangent, quotient(filtered, u, v))


@pytest.mark.parametrize("moved", ["image", "tau", "contrast", "beta", "seen"])
def test_what_does_not_move_has_no_tangent(moved, rng):
    """One of the arguments of a step moves, alone: the others add nothing to the derivative."""
    model = MODELS["multiscale-anisotropic"]
    step, (u, v) = model.description, pair(rng)
    values = {"image": u, **step.complete(Numbers(0.1))._asdict()}
    direction = v if moved == "image" else torch.ones_like(values[moved])

    def run(value):
        image, *numbers = (values | {moved: value}).values()
        return engines.advance(step, image, [Numbers(*numbers)], "numba")

    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(run(forward_ad.make_dual(values[moved].detach().clone(), direction)))
        found = dual.tangent.detach().clone()
    assert near(found, quotient(run, values[moved].detach(), direction, 1e-5))
    assert found.abs().max() > 1e-3


def test_vmap_is_the_filter_of_each(filtered, rng):
    many = catalogue.noise(rng, 3, 1, 1, 6, 7)
    with torch.no_grad():
        found = torch.func.vmap(filtered)(many)
        assert torch.allclose(found, torch.stack([filtered(u) for u in many]), rtol=1e-12)


def test_a_gradient_can_be_differentiated_again(filtered, rng):
    u, v = pair(rng)

    def slope(u):
        u = u.clone().requires_grad_()
        return torch.autograd.grad(filtered(u).square().sum(), u)[0]

    leaf = u.clone().requires_grad_()
    (first,) = torch.autograd.grad(filtered(leaf).square().sum(), leaf, create_graph=True)
    (second,) = torch.autograd.grad((first * v).sum(), leaf)
    with torch.enable_grad():
        exact = (slope(u + 1e-4 * v) - slope(u - 1e-4 * v)) / 2e-4
    assert near(second, exact)


def test_mixed_second_derivatives_reach_the_numbers(rng):
    network = NETWORKS["multiscale"]
    parameters = [p for p in network.parameters() if p.requires_grad]
    u, v = pair(rng)
    found = []
    for network.engine in ("numba", "reference"):
        leaf = u.clone().requires_grad_()
        (first,) = torch.autograd.grad(network(leaf).square().sum(), leaf, create_graph=True)
        found.append(torch.autograd.grad((first * v).sum(), parameters))
    network.engine = "auto"
    assert all(torch.allclose(a, b, rtol=1e-8) for a, b in zip(*found, strict=True))
