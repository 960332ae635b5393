"""Smoothing by compiled loops: the bits of the plain operator, on any image."""

import pytest
import torch

import catalogue
from whorl.engines import smoothing
from whorl.operators import Smoothing

pytest.importorskip("numba")


def plain(G, u):
    """By the plain operator: the compiled loops leave alone what is to be differentiated."""
    with torch.enable_grad():
        return G(u.detach().clone().requires_grad_()).detach()


@pytest.mark.parametrize("sigma", [0.1, 0.56, 1.0, 3.16])
@pytest.mark.parametrize("shape", [(1, 1, 40, 1031), (2, 3, 5, 7), (1, 1, 1, 1)])
def test_bits_are_those_of_the_plain_operator(sigma, shape, dtype, rng, monkeypatch):
    monkeypatch.setattr(smoothing, "LARGE", 1)
    u = catalogue.noise(rng, *shape, dtype=dtype)
    before = u.clone()
    G = Smoothing(sigma)
    with torch.no_grad():
        assert smoothing.smoothed(G, u) is not None
        assert torch.equal(G(u), plain(G, u))
        assert torch.equal(G(u.mT), plain(G, u.mT))
    assert torch.equal(u, before)


def test_bits_do_not_depend_on_threads(rng, monkeypatch):
    monkeypatch.setattr(smoothing, "LARGE", 1)
    u = catalogue.noise(rng, 1, 1, 90, 70, dtype=torch.float32)
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            assert torch.equal(Smoothing(2.0)(u), plain(Smoothing(2.0), u))
    finally:
        torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")
def test_derivatives_and_transforms_see_the_plain_operator(rng, monkeypatch):
    monkeypatch.setattr(smoothing, "LARGE", 1)
    G, u, v = Smoothing(1.0), *(catalogue.noise(rng, 1, 1, 12, 9, dtype=torch.float64) for _ in "uv")
    w = u.clone().requires_grad_()
    (G(w) * v).sum().backward()
    assert torch.allclose(w.grad, G(v), rtol=0, atol=1e-12 * v.abs().max())
    assert torch.equal(torch.func.jvp(G, (u,), (v,))[1], G(v))
    assert torch.equal(torch.func.vmap(G)(torch.stack([u, v]))[1], G(v))
    assert smoothing.smoothed(G, u[0]) is None
    assert Smoothing(0.0)(u) is u
