"""Fast schemes on the compiled engine: the same cycles, in one pass where the pipeline allows."""

import pytest
import torch

import catalogue
from whorl import models
from whorl.schemes import fed_steps

pytest.importorskip("numba")

FAST = ["fed", "fsi"]
LINEAR = models.build("perona-malik", diffusivity="homogeneous")


@pytest.mark.parametrize("scheme", FAST)
@pytest.mark.parametrize("name", ["perona-malik", "gerig", "weickert-brox", "eed", "multiscale-isotropic"])
def test_engines_agree_on_fast_schemes(name, scheme, dtype, rng):
    model, u = catalogue.MODELS[name], catalogue.noise(rng, 2, 2, 25, 31, dtype=dtype)
    with torch.no_grad():
        found, exact = (model(u, 15.0, scheme=scheme, cycles=2, engine=e) for e in ("numba", "reference"))
    # Extrapolation lets roundings of the first steps grow with the number of steps.
    assert (found - exact).abs().max() <= 200 * torch.finfo(dtype).eps * u.abs().max()


@pytest.mark.parametrize("scheme", FAST)
@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_a_cycle_in_one_dimension_is_the_box_filter(scheme, n):
    impulse = torch.zeros(1, 1, 1, 101, dtype=torch.float64)
    impulse[..., 50] = 1
    found = LINEAR(impulse, 0.5 * n * (n + 1) / 3, scheme=scheme, cycles=1, engine="numba")
    box = torch.zeros_like(impulse)
    box[..., 50 - n : 51 + n] = 1 / (2 * n + 1)
    assert (found - box).abs().max() < 1e-14


@pytest.mark.parametrize("scheme", FAST)
def test_constants_stay_to_the_last_bit(scheme, dtype):
    u = torch.full((1, 3, 9, 40), 0.1, dtype=dtype)
    for name in ("perona-malik", "eed"):
        assert torch.equal(catalogue.MODELS[name](u, 40.0, scheme=scheme, engine="numba"), u)


@pytest.mark.parametrize("scheme", FAST)
def test_cycles_of_hundreds_of_steps_only_round(scheme, rng):
    u = catalogue.noise(rng, 1, 1, 24, 24)
    time = 0.5 * 400 * 401 / 3
    with torch.no_grad():
        exact, found = (LINEAR(v, time, scheme=scheme, cycles=1, engine="numba") for v in (u, u.float()))
    # The roundings of 400 steps add up, but no step amplifies those before it.
    assert (found - exact).abs().max() < 400 * 2 * torch.finfo(torch.float32).eps * u.abs().max()


def test_steps_in_their_natural_order_would_not(rng):
    u = catalogue.noise(rng, 1, 1, 1, 24, dtype=torch.float32)
    for tau in sorted(fed_steps(400, 0.5)):
        u = LINEAR.advance(u, [tau], "numba")
    assert not u.abs().max() < 1e3


def test_pieces_of_a_long_cycle_give_the_bits_of_the_whole(rng):
    """The cycle is longer than the pipeline, and every pixel is the same sequence of operations in any window."""
    model, u = models.build("perona-malik", contrast=9.0), catalogue.noise(rng, 1, 1, 90, 60, dtype=torch.float32)
    n = 21
    with torch.no_grad():
        whole, part = (
            model(v, 0.5 * n * (n + 1) / 3, scheme="fsi", cycles=1, engine="numba") for v in (u, u[..., : 30 + n, :])
        )
    assert torch.equal(part[..., :30, :], whole[..., :30, :])


@pytest.mark.parametrize("name", ["perona-malik", "gerig", "eed"])
def test_cycles_in_one_pass_give_the_bits_of_cycles_one_by_one(name, rng):
    """Someone who watches the progress gets cycle by cycle what nobody watching gets in one go."""
    model, u = catalogue.MODELS[name], catalogue.noise(rng, 1, 2, 21, 17, dtype=torch.float32)
    seen = []
    with torch.no_grad():
        once = model(u, 30.0, scheme="fsi", engine="numba")
        watched = model(u, 30.0, scheme="fsi", engine="numba", progress=lambda done, total: seen.append((done, total)))
    assert torch.equal(once, watched)
    assert len(seen) > 4
    assert seen[-1][0] == seen[-1][1]


@pytest.mark.parametrize("name", ["perona-malik", "weickert-brox", "eed", "multiscale-anisotropic"])
def test_fast_explicit_diffusion_never_raises_the_l2_norm(name, rng):
    model, u = catalogue.MODELS[name], catalogue.noise(rng, 1, 2, 12, 13)
    norm = u.norm()
    for _ in range(4):
        u = model(u, 20 * model.step_limit(), scheme="fed", cycles=1, engine="numba")
        assert u.norm() <= norm * (1 + 1e-12)
        norm = u.norm()


@pytest.mark.parametrize("scheme", FAST)
def test_fast_schemes_can_be_differentiated(scheme, rng):
    model = models.build("weickert-brox", contrast=9.0, trainable=True)
    u, v = catalogue.noise(rng, 1, 2, 7, 8).requires_grad_(), catalogue.noise(rng, 1, 2, 7, 8)
    found = torch.autograd.grad(model(u, 4.0, scheme=scheme, cycles=2).square().sum(), u)[0]
    with torch.no_grad():
        up, down = (model(u + h * v, 4.0, scheme=scheme, cycles=2).square().sum() for h in (1e-4, -1e-4))
    assert float((found * v).sum()) == pytest.approx(float(up - down) / 2e-4, rel=1e-5)


@pytest.mark.parametrize("scheme", FAST)
def test_a_data_term_joins_the_cycles(scheme, rng):
    u = catalogue.noise(rng, 1, 1, 9, 9)
    model = models.build("eed", contrast=9.0).with_data(torch.zeros_like(u), 0.5)
    exact = model(u, 2.0, tau=0.002)
    assert (model(u, 2.0, scheme=scheme, cycles=16) - exact).norm() < 0.1 * exact.norm()
