"""Known pixels as part of a model: kept to the last bit, under the same limits, by every engine, in plane and space."""

import pytest
import torch

import catalogue
from whorl import engines, models
from whorl.activations import Anisotropic, EdgeEnhancing
from whorl.diffusivities import Exponential
from whorl.schemes import fsi_steps
from whorl.steps import Numbers

COMPILED = ["perona-malik", "gerig", "weickert-brox", "eed", "uncoupled"]


def held(model, rng, shape=(1, 2, 12, 13), dtype=torch.float64):
    """The model with three quarters of the pixels to fill, the image it keeps, a start, and where pixels are known."""
    f, u = (catalogue.noise(rng, *shape, dtype=dtype) for _ in range(2))
    mask = torch.rand(shape[0], 1, *shape[2:], generator=rng) < 0.75
    return model.inpaint(f, mask), f, u, ~mask


@pytest.mark.parametrize("name", catalogue.MODELS)
def test_known_pixels_keep_their_values_to_the_last_bit(name, dtype, rng):
    model, f, u, known = held(catalogue.MODELS[name], rng, dtype=dtype)
    with torch.no_grad():
        results = [
            model.step(u, engine="reference"),
            *(model(u, 8 * model.step_limit(), scheme=way, engine="reference") for way in ("explicit", "fed", "fsi")),
        ]
    for after in results:
        assert torch.equal(after.masked_select(known), f.masked_select(known))
        assert not torch.equal(after, u)
    assert not model.rhs(u).masked_select(known).any()


@pytest.mark.parametrize("name", catalogue.MODELS)
def test_where_pixels_are_free_the_flow_is_that_of_the_model(name, rng):
    model, f, u, known = held(catalogue.MODELS[name], rng)
    tau, filled = model.step_limit(), torch.where(known, f, u)
    assert tau == catalogue.MODELS[name].step_limit()
    free = catalogue.MODELS[name].step(filled, tau, engine="reference")
    assert torch.equal(model.step(u, tau, engine="reference"), torch.where(known, f, free))


@pytest.mark.parametrize("name", catalogue.MODELS)
def test_energies_fall_at_the_limit_and_have_the_flow_as_gradient(name, rng):
    model, _, u, _ = held(catalogue.MODELS[name], rng)
    if model.no_energy():
        pytest.skip(model.no_energy())
    x = u.clone().requires_grad_()
    (automatic,) = torch.autograd.grad(model.energy(x), x)
    assert (model.rhs(u) + automatic).norm() <= 1e-12 * automatic.norm()
    energy = model.energy(u)
    for _ in range(20):
        u = model.step(u, model.step_limit(), engine="reference")
        assert model.energy(u) <= energy * (1 + 1e-12)
        energy = model.energy(u)


@pytest.mark.parametrize("name", catalogue.MODELS)
def test_the_range_of_grey_values_never_grows_below_the_max_min_limit(name, rng):
    model, f, u, known = held(catalogue.MODELS[name], rng)
    limit = model.max_min_limit()
    if limit is None:
        pytest.skip("no such limit is known for this model")
    u = torch.where(known, f, u)
    low, high = u.min(), u.max()
    for _ in range(20):
        u = model.step(u, limit, engine="reference")
        assert low - 1e-12 * abs(low) <= u.min()
        assert u.max() <= high + 1e-12 * abs(high)


def test_the_distance_to_the_steady_state_never_grows_in_a_linear_flow(rng):
    model, _, u, _ = held(models.build("perona-malik", diffusivity="homogeneous"), rng)
    steady = model(u, 400.0, scheme="fsi")
    for _ in range(5):
        after = model.step(u, model.step_limit())
        assert (after - steady).norm() <= (u - steady).norm() * (1 + 1e-12)
        u = after


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("name", COMPILED)
def test_engines_agree_on_masks_and_weights(name, cycle, frozen, rng):
    """Steps at once, with data that pull and pixels that are known, for several images and channels."""
    base, shape = catalogue.MODELS[name], (2, 3, 21, 18)
    f, u = (catalogue.noise(rng, *shape) for _ in range(2))
    mask, weight = torch.rand(2, 1, 21, 18, generator=rng) < 0.7, torch.rand(3, 1, 18, generator=rng).double()
    taus, mixes = fsi_steps((15,), 0.2) if cycle else ([0.2] * 15, [])
    numbers = [Numbers(tau) for tau in taus]
    for model in (base.inpaint(f, mask), base.with_data(f, weight), base.with_data(f, 0.3).inpaint(f, mask)):
        found, expected = (
            engines.advance(model.description, u, numbers, engine, mixes=mixes, frozen=frozen)
            for engine in ("numba", "reference")
        )
        assert (found - expected).abs().max() <= 1e-11 * expected.abs().max()
        if model.kept is not None:
            assert torch.equal(found.masked_select(~mask), f.masked_select(~mask))


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("cycle", [False, True])
@pytest.mark.parametrize("shape", [(1, 2, 15, 18), (2, 3, 15, 18), (1, 1, 9, 2100)])
def test_a_step_of_fourth_order_is_two_of_second_order(shape, cycle, frozen, rng):
    """Many steps at once, also on windows of a wide picture, with known pixels and with data that pull."""
    f, u = (catalogue.noise(rng, *shape) for _ in range(2))
    plain, mask = models.build("you-kaveh", diffusivity="homogeneous"), torch.rand(shape[2:], generator=rng) < 0.7
    for model in (plain.inpaint(f, mask), plain.with_data(f, 0.3).inpaint(f, mask), plain):
        limit = model.step_limit()
        taus, mixes = fsi_steps((15,), limit) if cycle else ([limit] * 15, [])
        assert engines.select(model.description, u).name == "numba"
        found, expected = (
            engines.advance(model.description, u, [Numbers(tau) for tau in taus], engine, mixes=mixes, frozen=frozen)
            for engine in ("numba", "reference")
        )
        assert (found - expected).abs().max() <= 1e-11 * expected.abs().max()


@pytest.mark.parametrize("frozen", [False, True])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_engines_agree_on_edges_that_channels_share(channels, frozen, rng):
    eed, shared = models.build("eed", contrast=9.0), Anisotropic(EdgeEnhancing(Exponential(9.0)), ("channels",))
    model = models.Model(eed.operator, shared, structure=eed.structure, name="eed of channels")
    u = catalogue.noise(rng, 1, channels, 14, 17)
    found, expected = (
        engines.advance(model.description, u, [Numbers(0.2)] * 3, engine, frozen=frozen)
        for engine in ("numba", "reference")
    )
    assert (found - expected).abs().max() <= 1e-12 * expected.abs().max()
    if channels == 1:
        alone = engines.advance(eed.description, u, [Numbers(0.2)] * 3, frozen=frozen)
        assert (found - alone).abs().max() <= 1e-12 * alone.abs().max()


@pytest.mark.parametrize("name", ["perona-malik", "eed"])
def test_volumes_have_known_voxels(name, rng):
    model, f, u, known = held(catalogue.MODELS[name], rng, (1, 1, 6, 7, 8))
    taus, mixes = fsi_steps((6,), model.step_limit(3))
    found, expected = (
        engines.advance(model.description, u, [Numbers(tau) for tau in taus], engine, mixes=mixes, frozen=True)
        for engine in ("numba", "reference")
    )
    assert torch.equal(found.masked_select(known), f.masked_select(known))
    assert (found - expected).abs().max() <= 1e-11 * expected.abs().max()


@pytest.mark.parametrize("engine", ["numba", "reference"])
def test_derivatives_pass_known_pixels_by(engine, rng):
    base = models.build("weickert-brox", contrast=9.0)
    f, u, v = (catalogue.noise(rng, 1, 2, 7, 8) for _ in range(3))
    mask = torch.rand(1, 1, 7, 8, generator=rng) < 0.6

    def energy(f, u):
        return base.inpaint(f, mask)(u, 2.0, engine=engine).square().sum()

    x, y = f.clone().requires_grad_(), u.clone().requires_grad_()
    by_data, by_start = torch.autograd.grad(energy(x, y), (x, y))
    assert not by_data.masked_select(mask).any()
    assert not by_start.masked_select(~mask).any()
    with torch.no_grad():
        up, down = (energy(f + h * v, u + h * v) for h in (1e-4, -1e-4))
    assert float(((by_data + by_start) * v).sum()) == pytest.approx(float(up - down) / 2e-4, rel=1e-6)


def test_masks_that_do_not_fit_are_refused(rng):
    f, model = catalogue.noise(rng, 1, 1, 4, 5), models.build("gerig")
    with pytest.raises(ValueError, match="a mask of shape .* do not fit together"):
        model.inpaint(f, torch.ones(5, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="of type bool"):
        model.inpaint(f, torch.ones(4, 5))
    with pytest.raises(ValueError, match="nothing to be filled from"):
        model.inpaint(f, torch.ones(4, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="NaN"):
        model.inpaint(torch.full_like(f, torch.nan), torch.eye(4, 5, dtype=torch.bool))
    with pytest.raises(ValueError, match="shape"):
        model.inpaint(f, torch.eye(4, 5, dtype=torch.bool)).step(catalogue.noise(rng, 1, 1, 3, 3))
