"""What the compiled engine promises beyond agreement: bits, inputs, and the choice of the engine."""

import logging

import pytest
import torch

import catalogue
from whorl import engines, models
from whorl.diffusivities import Exponential
from whorl.engines import selection
from whorl.steps import Numbers

pytest.importorskip("numba")

FAST = {
    "perona-malik": models.build("perona-malik", contrast=12.0),
    "weickert-brox": models.build("weickert-brox", contrast=12.0),
    "eed": models.build("eed", contrast=12.0),
    "you-kaveh": models.build("you-kaveh", contrast=12.0),
    "lysaker": models.build("lysaker", contrast=12.0),
    "multiscale-isotropic": models.build("multiscale-isotropic", contrast=12.0, scales=3),
}


@pytest.fixture(params=FAST)
def model(request):
    return FAST[request.param]


def run(model, u, steps=3):
    with torch.no_grad():
        return model(u, steps * model.automatic_step(), engine="numba")


def test_constants_stay_to_the_last_bit(model, dtype):
    u = torch.full((1, 2, 19, 33), 0.1, dtype=dtype)
    assert torch.equal(run(model, u, 20), u)


def test_windows_give_the_bits_of_the_whole(model, dtype, rng):
    """Wherever a pixel lies in its row, vector or remainder, band or chunk, it is the same sequence of operations."""
    u = catalogue.noise(rng, 1, 2, 70, 1040, dtype=dtype)
    halo = 3 * model.reach
    whole = run(model, u)
    for y, x, height, width in ((0, 0, 30, 45), (21, 997, 40, 43), (11, 123, 17, 61), (69, 511, 1, 13)):
        top, left = max(0, y - halo), max(0, x - halo)
        window = run(model, u[..., top : y + height + halo, left : x + width + halo])
        inner = window[..., y - top : y - top + height, x - left : x - left + width]
        assert torch.equal(inner, whole[..., y : y + height, x : x + width])


def test_bits_do_not_depend_on_threads(model, rng):
    u = catalogue.noise(rng, 1, 1, 150, 70, dtype=torch.float32)
    block_sums, results = [], []
    before = torch.get_num_threads()
    try:
        for threads in (1, 2, 5):
            torch.set_num_threads(threads)
            results.append(run(model, u))
            if engines.REGISTRY["numba"].gives(model.description.form()) != "all":
                continue
            source = u.clone().requires_grad_()
            tau = torch.tensor(0.1, dtype=torch.float64, requires_grad=True)
            done = engines.advance(model.description, source, [Numbers(tau)], "numba")
            block_sums.append(torch.autograd.grad(done.square().sum(), [source, tau]))
    finally:
        torch.set_num_threads(before)
    assert all(torch.equal(results[0], other) for other in results)
    assert all(torch.equal(a, b) for other in block_sums[1:] for a, b in zip(block_sums[0], other, strict=True))


def test_quarter_turns_and_mirrors_carry_over(model, dtype, rng):
    u = catalogue.noise(rng, 1, 2, 21, 34, dtype=dtype)
    scale = torch.finfo(dtype).eps * u.abs().max()
    for turn in (lambda v: torch.rot90(v, 1, (-2, -1)), lambda v: v.flip(-1), lambda v: v.mT):
        assert (run(model, turn(u)) - turn(run(model, u))).abs().max() <= 8 * scale


def test_steps_at_once_are_steps_one_by_one(dtype, rng):
    model, u = FAST["perona-malik"], catalogue.noise(rng, 1, 3, 40, 50, dtype=dtype)
    with torch.no_grad():
        single = u
        for _ in range(11):
            single = model.step(single, 0.3, engine="numba")
        assert torch.equal(model(u, 11 * 0.3, tau=0.3, engine="numba"), single)


def test_the_image_is_never_changed_and_need_not_be_contiguous(model, rng):
    u = catalogue.noise(rng, 1, 2, 30, 41)
    crooked = u.transpose(-1, -2).contiguous().transpose(-1, -2)
    kept = crooked.clone()
    assert torch.equal(run(model, crooked), run(model, u))
    assert torch.equal(run(model, u[..., ::2, 1::3]), run(model, u[..., ::2, 1::3].contiguous()))
    assert torch.equal(crooked, kept)


def test_a_data_term_is_added(rng):
    u = catalogue.noise(rng, 1, 1, 20, 20)
    model = FAST["eed"].with_data(torch.zeros_like(u), 0.3)
    with torch.no_grad():
        gap = model(u, 1.0, engine="numba") - model(u, 1.0, engine="reference")
    assert gap.abs().max() <= 1e-13 * u.abs().max()


def test_auto_takes_the_compiled_engine(rng):
    model = FAST["perona-malik"]
    u = catalogue.noise(rng, 1, 1, 9, 9)
    assert engines.select(model.description, u).name == "numba"


@pytest.mark.parametrize("name", ["weickert-integration", "multiscale, scale-adaptive"])
def test_a_model_without_compiled_form_falls_back_and_says_so_once(name, rng, caplog):
    selection._say_once.cache_clear()
    model, u = catalogue.MODELS[name], catalogue.noise(rng, 1, 1, 9, 9)
    with caplog.at_level(logging.WARNING, "whorl.engines"), torch.no_grad():
        first, second = model.step(u), model.step(u)
        assert torch.equal(first, model.step(u, engine="reference"))
        assert torch.equal(first, second)
    assert len(caplog.records) == 1
    assert "reference engine takes over" in caplog.text
    with pytest.raises(ValueError, match="has no compiled form"):
        model.step(u, engine="numba")


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="engine 'warp' is unknown. Known: auto, reference, numba, triton"):
        FAST["eed"].step(torch.zeros(1, 1, 3, 3), engine="warp")


def test_a_missing_package_leads_to_the_reference(monkeypatch, caplog):
    monkeypatch.setattr(selection, "find_spec", lambda package: None)
    selection._missing.cache_clear()
    selection._say_once.cache_clear()
    try:
        model, u = FAST["perona-malik"], torch.rand(1, 1, 8, 8)
        with caplog.at_level(logging.WARNING, "whorl.engines"):
            assert torch.equal(model.step(u), model.step(u, engine="reference"))
        assert "pip install numba" in caplog.text
        with pytest.raises(ValueError, match="needs the package numba"):
            model.step(u, engine="numba")
    finally:
        selection._missing.cache_clear()
        selection._say_once.cache_clear()


def test_transformed_images_go_to_the_reference(rng):
    model, u = FAST["weickert-brox"], catalogue.noise(rng, 1, 1, 6, 7)
    found = torch.func.grad(lambda v: model.step(v).square().sum())(u)
    exact = torch.autograd.grad(model.step(leaf := u.clone().requires_grad_()).square().sum(), leaf)[0]
    assert torch.allclose(found, exact, rtol=1e-12)


def test_training_moves_the_numbers_a_compiled_step_uses(rng):
    g = Exponential(5.0, trainable=True)
    model = models.build("perona-malik", diffusivity=g)
    u = catalogue.noise(rng, 1, 1, 12, 12)
    before = model.step(u).detach()
    with torch.no_grad():
        g._contrast.log.add_(0.5)
    assert not torch.equal(model.step(u), before)


@pytest.mark.parametrize("name", ["gerig", "weickert-brox"])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_windows_of_wide_images_give_the_bits_of_the_whole(name, channels, rng):
    """Wide images are taken in blocks of columns, three coupled channels side by side; in several passes."""
    u = catalogue.noise(rng, 1, channels, 24, 3001, dtype=torch.float32)
    model = models.build(name, contrast=12.0)
    whole = run(model, u, 20)
    for x in (0, 990, 1480, 2960):
        left = max(0, x - 20)
        window = run(model, u[..., left : x + 41 + 20], 20)
        assert torch.equal(window[..., x - left : x - left + 41], whole[..., x : x + 41])
    one_by_one = u
    with torch.no_grad():
        for _ in range(20):
            one_by_one = model.step(one_by_one, engine="numba")
    assert torch.equal(one_by_one, whole)


@pytest.mark.parametrize("name", ["gerig", "weickert-brox", "uncoupled"])
def test_three_channels_on_pixels_of_unequal_size_agree_with_the_reference(name, rng):
    u = catalogue.noise(rng, 1, 3, 24, 31, dtype=torch.float64)
    model = models.build(name, contrast=12.0, spacing=(0.7, 1.3)).double()
    with torch.no_grad():
        found, wanted = (model.step(u, engine=engine) for engine in ("numba", "reference"))
    assert (found - wanted).abs().max() <= 8 * torch.finfo(u.dtype).eps * u.abs().max()


@pytest.mark.parametrize("engine", ["numba", "reference"])
def test_a_step_writes_into_out(model, engine, rng):
    u = catalogue.noise(rng, 2, 3, 20, 33, dtype=torch.float32)
    before, out = u.clone(), torch.full_like(u, torch.nan)
    with torch.no_grad():
        assert model.step(u, engine=engine, out=out) is out
        assert torch.equal(out, model.step(u, engine=engine))
    assert torch.equal(u, before)


def test_a_step_with_a_data_term_writes_into_out(rng):
    u = catalogue.noise(rng, 1, 1, 9, 12, dtype=torch.float64)
    model = FAST["perona-malik"].with_data(u + 1, 0.5)
    out = torch.empty_like(u)
    assert torch.equal(model.step(u, out=out), model.step(u))


def test_halves_of_one_tensor_may_change_places(rng):
    both = catalogue.noise(rng, 2, 1, 9, 12, dtype=torch.float32)
    expected = FAST["perona-malik"].step(both[:1])
    FAST["perona-malik"].step(both[:1], out=both[1:])
    assert torch.equal(both[1:], expected)


def test_an_out_that_cannot_take_the_result_is_refused(rng):
    model, u = FAST["perona-malik"], catalogue.noise(rng, 1, 1, 9, 12, dtype=torch.float32)
    for out, message in (
        (torch.empty(1, 1, 9, 11), "torch.empty_like"),
        (u.double(), "torch.empty_like"),
        ([0.0], "got list"),
        (torch.empty(1, 1, 12, 9).mT, "contiguous"),
        (u, "shares memory"),
        (torch.from_numpy(u.numpy()), "shares memory"),
    ):
        with pytest.raises(ValueError, match=message):
            model.step(u, out=out)
    with pytest.raises(ValueError, match="no derivative"):
        model.step(u.clone().requires_grad_(), out=torch.empty_like(u))
