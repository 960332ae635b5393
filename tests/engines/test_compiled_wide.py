"""Compiled steps on wide cells, plane and space: those of the reference, with data, masks and fast schemes."""

import pytest
import torch

from catalogue import CONTRAST, noise
from whorl.diffusivities import names
from whorl.models import build
from whorl.steps import Numbers

pytest.importorskip("numba")
from whorl.engines.cpu.space import wide

EPS = {torch.float32: 2e-6, torch.float64: 4e-15}
SHAPES = [(1, 3, 19, 23), (2, 1, 1, 5), (1, 2, 2, 2), (1, 1, 3, 1), (1, 1, 1, 1), (1, 2, 6, 1300)]
CASES = {
    "perona-malik": {},
    "gerig": {"diffusivity": "rational", "sigma": 0.9},
    "weickert-brox": {"gamma": 0.6},
    "weickert-brox, presmoothed": {"sigma": 0.8, "spacing": (1.0, 1.6), "diffusivity": "weickert"},
    "uncoupled": {"sigma": 0.7},
    "eed": {"spacing": (0.7, 0.7)},
}


def made(name, **more):
    return build(name.split(",")[0], contrast=CONTRAST, cell="wide", **CASES.get(name, {}), **more)


def both(model, u, **how):
    with torch.no_grad():
        return (model(u, engine=engine, **how) for engine in ("numba", "reference"))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_steps_are_those_of_the_reference(name, shape, dtype, rng):
    model, u = made(name), noise(rng, *shape, dtype=dtype)
    compiled, plain = both(model, u, time=4 * model.automatic_step())
    assert (compiled - plain).abs().max() <= 16 * EPS[dtype] * u.abs().max()
    assert shape[2:] == (1, 1) or (compiled - u).abs().max() > 0.1


def test_the_widest_window_stays_within_its_lanes(rng):
    """Columns are split into parts of about 1024; of this width one part has 1039, the most there are."""
    model, u = made("weickert-brox"), noise(rng, 1, 2, 5, 2047, dtype=torch.float64)
    compiled, plain = both(model, u, time=3 * model.automatic_step())
    assert (compiled - plain).abs().max() <= 16 * EPS[torch.float64] * u.abs().max()


@pytest.mark.parametrize("g", [name for name in names() if name not in ("free-form", "tv")])
@pytest.mark.parametrize("name", ["gerig", "weickert-brox"])
def test_every_diffusivity(name, g, rng):
    model, u = build(name, contrast=CONTRAST, cell="wide", diffusivity=g, sigma=0.6), noise(rng, 1, 2, 9, 11)
    compiled, plain = both(model, u, time=1.0)
    assert (compiled - plain).abs().max() <= 64 * EPS[torch.float64] * u.abs().max()


@pytest.mark.parametrize("scheme", ["fed", "fsi"])
@pytest.mark.parametrize("name", ["perona-malik", "eed"])
def test_fast_schemes(name, scheme, rng):
    """In FED the picture at the start of a cycle steers all of it."""
    model, u = made(name), noise(rng, 1, 2, 17, 14)
    compiled, plain = both(model, u, time=6.0, scheme=scheme)
    assert (compiled - plain).abs().max() <= 1e-11 * u.abs().max()


def test_data_and_masks(rng):
    u, f = noise(rng, 1, 1, 12, 13), noise(rng, 1, 1, 12, 13)
    mask = torch.rand(12, 13, generator=rng) < 0.5
    for model in (made("perona-malik").with_data(f, 0.3), made("eed").inpaint(f, mask)):
        compiled, plain = both(model, u, time=2.0)
        assert (compiled - plain).abs().max() <= 1e-12 * u.abs().max()


@pytest.mark.parametrize("shape", [(45, 3, 24, 24), (70, 1, 7, 1), (3, 2, 12, 500), (2, 1, 9, 507)], ids=str)
def test_narrow_images_side_by_side_have_the_bits_of_each_alone(shape, dtype, rng):
    model, u = made("weickert-brox, presmoothed"), noise(rng, *shape, dtype=dtype)
    with torch.no_grad():
        together = model.step(u, 0.1, engine="numba")
        alone = torch.cat([model.step(each[None], 0.1, engine="numba") for each in u])
    assert torch.equal(together, alone)


@pytest.mark.parametrize("name", CASES)
def test_constants_stay_to_the_last_bit(name, dtype):
    u = torch.full((1, 3, 9, 21), 0.1, dtype=dtype)
    assert torch.equal(made(name)(u, time=2.0, engine="numba"), u)


def test_results_do_not_depend_on_the_number_of_threads(rng):
    model, u, own = made("gerig"), noise(rng, 1, 3, 200, 64, dtype=torch.float32), torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            found.append(model.advance(u, [0.2, 0.2], "numba"))
    finally:
        torch.set_num_threads(own)
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


VOLUMES = [(1, 2, 5, 9, 21), (2, 1, 1, 2, 3), (1, 1, 4, 1, 1)]
IN_SPACE = {
    "perona-malik": {},
    "gerig": {"sigma": 0.9},
    "weickert-brox": {"spacing": (1.6, 1.0, 1.2)},
    "uncoupled": {"sigma": 0.7},
    "eed": {},
}


def in_space(name):
    return build(name, contrast=CONTRAST, cell="wide", diffusivity="rational", **IN_SPACE[name])


@pytest.mark.parametrize(
    "dtype",
    # Double precision differs in its constants, which one law shows; all of them are compiled again for it.
    [torch.float32, pytest.param(torch.float64, marks=pytest.mark.slow)],
    ids=["float32", "float64"],
)
@pytest.mark.parametrize("name", IN_SPACE)
def test_steps_in_space_are_those_of_the_reference(name, dtype, rng):
    model = in_space(name)
    for shape in VOLUMES:
        u = noise(rng, *shape, dtype=dtype)
        compiled, plain = both(model, u, time=4 * model.automatic_step(3))
        assert (compiled - plain).abs().max() <= 16 * EPS[dtype] * u.abs().max(), shape
        assert (compiled - u).abs().max() > 0.1


@pytest.mark.parametrize("name", ["gerig", "weickert-brox"])
def test_windows_and_threads_give_the_bits_of_the_whole_volume(name, rng, monkeypatch):
    model, u, own = in_space(name), noise(rng, 1, 2, 9, 11, 40, dtype=torch.float32), torch.get_num_threads()
    whole = model.advance(u, [0.1, 0.1], "numba")
    assert torch.equal(model.advance(torch.full_like(u, 0.1), [0.1], "numba"), torch.full_like(u, 0.1))
    monkeypatch.setattr(wide, "ROWS", 4)
    monkeypatch.setattr(wide, "WIDEST", 16)
    monkeypatch.setattr(wide, "bands", lambda length, *_: [(0, 2), (2, length)])
    try:
        torch.set_num_threads(3)
        assert torch.equal(model.advance(u, [0.1, 0.1], "numba"), whole)
    finally:
        torch.set_num_threads(own)


def test_fast_schemes_data_and_nan_in_space(rng):
    model, u = in_space("eed"), noise(rng, 1, 1, 6, 7, 9)
    for scheme in ("fed", "fsi"):
        compiled, plain = both(model, u, time=3.0, scheme=scheme)
        assert (compiled - plain).abs().max() <= 1e-11 * u.abs().max()
    compiled, plain = both(model.with_data(noise(rng, 1, 1, 6, 7, 9), 0.3), u, time=1.0)
    assert (compiled - plain).abs().max() <= 1e-12 * u.abs().max()
    u[0, 0, 3, 3, 4] = torch.nan
    found, exact = (model.step(u, engine=engine).isnan() for engine in ("numba", "reference"))
    assert torch.equal(found, exact)


def test_a_result_goes_where_it_is_wanted(rng):
    model, u = made("weickert-brox"), noise(rng, 1, 1, 8, 9)
    out = torch.empty_like(u)
    assert model.step(u, 0.2, out=out, engine="numba") is out or torch.equal(out, model.step(u, 0.2))
    assert torch.equal(out, model.step(u, 0.2, engine="numba"))


def test_learning_goes_by_the_reference(rng):
    """The registry has the value alone; derivatives come from the reference, exact as ever."""
    from whorl import engines

    model, u = made("perona-malik"), noise(rng, 1, 1, 7, 6).requires_grad_()
    (gradient,) = torch.autograd.grad((model.step(u, 0.1) ** 2).sum(), u)
    step = engines.advance(model.description, u, [Numbers(0.1)], "reference")
    (expected,) = torch.autograd.grad((step**2).sum(), u)
    assert torch.equal(gradient, expected)
