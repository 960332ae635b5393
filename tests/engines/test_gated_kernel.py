"""The compiled application of learned blocks: equal to the plain one up to rounding, and to itself in every bit."""

import copy

import numpy as np
import pytest
import torch

pytest.importorskip("numba")

import numba

from whorl import engines
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock, StableGatedBlock
from whorl.blocks.guided import GuidedBlock
from whorl.engines.cpu.arithmetic import at, log1p, put
from whorl.engines.cpu.compiling import COMPILED
from whorl.engines.cpu.learned.matrix_product import LANES, product
from whorl.invariance import SYMMETRIES
from whorl.operators import SteerableMap
from whorl.operators.orbits import coefficients, grouped
from whorl.steps import GatedNumbers

EPS = torch.finfo(torch.float32).eps
CASES = {
    "plain": dict(fields=(8, 4, 4)),
    "smoothed, level": dict(fields=(5, 3, 2), rho=1, levelled=True),
    "level, correlation": dict(fields=(5, 3, 2), rho=1, levelled=True, correlated=True),
    "fewer stencils": dict(fields=(4, 4, 3), profiles=(3, 2, 1), rho=1),
    "3x3": dict(fields=(4, 4, 4), size=3),
}
PICTURES = [(1, 1), (3, 2), (37, 33), (53, 210)]


def block(name, kind=GatedBlock, channels=4):
    torch.manual_seed(7)
    settings = dict(CASES[name])
    fields, size, profiles = settings.pop("fields"), settings.pop("size", 5), settings.pop("profiles", None)
    maps = [SteerableMap(channels, fields, size, profiles) for _ in range(1 if kind is StableGatedBlock else 2)]
    made = kind(*maps, Gated(maps[0].orders, repetitions=2, **settings)).eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def level_of(made, pictures=1):
    if not made.gate.levelled:
        return None
    channels = 2 if made.gate.correlated else 1
    return torch.tensor([[0.4, 0.8], [-0.7, 0.3]])[:pictures, :channels, None, None]


def compiled_result(made, u, level):
    return engines.apply(made.description(level), u, GatedNumbers(made.gate.bias[1], made.tau(1)), "numba")


def plain(made, u, level=None, repetition=0):
    return engines.apply(
        made.description(level), u, GatedNumbers(made.gate.bias[repetition], made.tau(repetition)), "reference"
    )


@pytest.mark.parametrize("kind", [GatedBlock, StableGatedBlock])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", PICTURES, ids=str)
@torch.no_grad()
def test_it_agrees_with_the_plain_block(kind, name, size, rng):
    made = block(name, kind)
    u, level = torch.randn(2, 4, *size, generator=rng), level_of(made, 2)
    found = compiled_result(made, u, level)
    exact = copy.deepcopy(made).double()(u.double(), 1, None if level is None else level.double())
    # A sum of 4 channels times up to 11 stencils of 25 taps, twice, and a gate between: far below 200 roundings.
    largest = max(float(u.abs().max()), float((exact - u).abs().max()), float(made.analysis(u).abs().max()))
    assert float((found - exact).abs().max()) <= 200 * EPS * largest


@pytest.mark.parametrize("name", ["plain", "smoothed, level"])
@torch.no_grad()
def test_guided_blocks_have_the_compiled_form_too(name, rng):
    torch.manual_seed(3)
    settings = {key: value for key, value in CASES[name].items() if key in ("rho", "levelled")}
    maps = SteerableMap(1, (2, 2, 1)), SteerableMap(4, (4, 2, 1)), SteerableMap(3, (4, 2, 1))
    orders = (0,) * 6 + (1,) * 4 + (2,) * 2
    made = GuidedBlock(*maps, Gated(orders, repetitions=2, **settings)).eval()
    u, level = torch.randn(2, 4, 37, 33, generator=rng), level_of(made, 2)
    for _ in range(2):
        exact = copy.deepcopy(made).double()(u.double(), 1, None if level is None else level.double())
        found = compiled_result(made, u, level)
        largest = max(float(u.abs().max()), float(made.analysis(u).abs().max()))
        assert float((found - exact).abs().max()) <= 200 * EPS * largest
        made.synthesis.step.add_(1.0)  # a changed step size is noticed


@torch.no_grad()
def test_blocks_take_the_compiled_form_by_themselves_where_no_gradient_is_needed(rng):
    made = block("plain")
    u = torch.randn(1, 4, 20, 30, generator=rng)
    assert torch.equal(made(u, 1), compiled_result(made, u, None))
    assert not torch.equal(made(u, 1), plain(made, u, repetition=1))
    made.engine = "reference"
    assert torch.equal(made(u, 1), plain(made, u, repetition=1))
    made.engine = "numba"
    assert torch.equal(made(u, 1), compiled_result(made, u, None))
    for engine in ("numba", "auto"):
        made.engine = engine
        with torch.enable_grad():
            learned = made(u, 1)
        assert learned.requires_grad
        assert torch.equal(learned, compiled_result(made, u, None))


def derivatives(made, u, level, w, engine):
    """By the stream and by everything that is trained."""
    made, u = copy.deepcopy(made), u.clone().requires_grad_()
    made.engine = engine
    (made(u, 1, level) * w).sum().backward()
    return {"stream": u.grad} | {name: each.grad for name, each in made.named_parameters() if each.grad is not None}


def assert_derivatives_agree(made, u, level, w):
    found = derivatives(made, u, level, w, "numba")
    exact = derivatives(made.double(), u.double(), None if level is None else level.double(), w.double(), "reference")
    assert found.keys() == exact.keys()
    # The weights w are random, and so are the signs of the terms of every sum over pixels and of their roundings: the
    # error counts as that of a single term, of which the forward step has far below 200 roundings.
    for name, each in exact.items():
        assert float(each.abs().max()) > 0, name
        assert float((found[name] - each).abs().max()) <= 200 * EPS * float(each.abs().max()), name


@pytest.mark.parametrize("kind", [GatedBlock, StableGatedBlock])
@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("size", [(3, 2), (37, 33), (70, 110)], ids=str)
def test_derivatives_are_those_of_the_plain_block(kind, name, size, rng):
    made = block(name, kind)
    u, w = torch.randn(2, 2, 4, *size, generator=rng)
    assert_derivatives_agree(made, u, level_of(made, 2), w)


def test_derivatives_of_guided_blocks_reach_the_size_of_the_step(rng):
    torch.manual_seed(3)
    maps = SteerableMap(1, (2, 2, 1)), SteerableMap(4, (4, 2, 1)), SteerableMap(3, (4, 2, 1))
    made = GuidedBlock(*maps, Gated((0,) * 6 + (1,) * 4 + (2,) * 2, rho=1, repetitions=2)).eval()
    u, w = torch.randn(2, 1, 4, 21, 33, generator=rng)
    assert_derivatives_agree(made, u, None, w)


def test_derivatives_do_not_depend_on_threads_nor_on_what_else_is_asked_for(rng):
    made, threads = block("smoothed, level"), torch.get_num_threads()
    u, w = torch.randn(2, 1, 4, 150, 110, generator=rng)
    one = derivatives(made, u, level_of(made), w, "numba")
    try:
        torch.set_num_threads(3)
        three = derivatives(made, u, level_of(made), w, "numba")
    finally:
        torch.set_num_threads(threads)
    assert all(torch.equal(one[name], three[name]) for name in one)
    alone = derivatives(made.requires_grad_(False), u, level_of(made), w, "numba")
    assert alone.keys() == {"stream"}
    assert torch.equal(alone["stream"], one["stream"])


def test_who_differentiates_is_what_the_registry_says(rng):
    made = block("plain")
    for dtype, lacking in ((torch.float32, ""), (torch.float64, "float32 alone")):
        step, u = copy.deepcopy(made).to(dtype).description(), torch.randn(1, 4, 9, 8, generator=rng).to(dtype)
        assert lacking in engines.REGISTRY["numba"].lacks(step.form, u, learning=True)
        name = engines.choose(step, u, learning=True).name
        assert name == ("reference" if lacking else "numba")
    assert engines.REGISTRY["triton"].learned.gives == "value"


def test_derivatives_of_derivatives_are_refused_with_the_remedy(rng):
    made, u = block("plain"), torch.randn(1, 4, 9, 8, generator=rng).requires_grad_()
    with pytest.raises(RuntimeError, match="engine = 'reference'"):
        torch.autograd.grad(made(u).square().sum(), u, create_graph=True)
    made.engine = "reference"
    (by_u,) = torch.autograd.grad(made(u).square().sum(), u, create_graph=True)
    assert by_u.requires_grad


@pytest.mark.parametrize("name", ["plain", "smoothed, level"])
@torch.no_grad()
def test_parts_of_a_picture_have_the_bits_of_the_whole(name, rng):
    made = block(name)
    u, level, reach = torch.randn(1, 4, 120, 430, generator=rng), level_of(made), made.reach
    whole, part = made(u, 0, level), made(u[..., 11:101, 37:390].contiguous(), 0, level)
    inner = (..., slice(reach, -reach), slice(reach, -reach))
    assert torch.equal(whole[..., 11:101, 37:390][inner], part[inner])


@torch.no_grad()
def test_the_number_of_threads_changes_no_bit(rng):
    made = block("plain")
    u, threads = torch.randn(2, 4, 130, 200, generator=rng), torch.get_num_threads()
    results = []
    try:
        for count in (1, 2, 3):
            torch.set_num_threads(count)
            results.append(made(u))
    finally:
        torch.set_num_threads(threads)
    assert torch.equal(results[0], results[1])
    assert torch.equal(results[0], results[2])


@pytest.mark.parametrize("name", ["plain", "smoothed, level", "fewer stencils"])
@torch.no_grad()
def test_quarter_turns_and_mirror_images_carry_over(name, rng):
    made = block(name)
    u, level = torch.randn(1, 4, 21, 34, generator=rng), level_of(made)
    v = made(u, 0, level)
    for move in SYMMETRIES.values():
        assert float((made(move(u), 0, level) - move(v)).abs().max()) <= 200 * EPS * float(
            v.abs().max() + u.abs().max()
        )


@torch.no_grad()
def test_what_other_pictures_left_in_the_workspace_does_no_harm(rng):
    made, other = block("smoothed, level"), block("plain", channels=8)
    u, level = torch.randn(1, 4, 20, 30, generator=rng), level_of(made)
    before = made(u, 0, level)
    other(torch.full((1, 8, 40, 200), float("inf")))
    assert torch.equal(made(u, 0, level), before)


@torch.no_grad()
def test_weights_that_change_are_noticed(rng):
    made = block("plain")
    u = torch.randn(1, 4, 9, 9, generator=rng)
    before = made(u)
    made.synthesis.weights[1].mul_(2.0)
    after = made(u)
    assert not torch.equal(before, after)
    assert torch.allclose(after, plain(made, u), atol=1e-5)


@torch.no_grad()
def test_the_norm_of_a_stable_block_does_not_grow_in_compiled_form_either(rng):
    made = block("smoothed, level", StableGatedBlock)
    made.gate.matrix.zero_()
    made.gate.bias.fill_(50.0)
    made.gate.level.zero_()
    made.step.fill_(50.0)
    u = torch.randn(1, 4, 40, 50, generator=rng)
    assert compiled_result(made, u, level_of(made)).norm() <= u.norm() * (1 + 64 * EPS)


@torch.no_grad()
def test_what_has_no_compiled_form_is_left_to_the_plain_block_or_refused_with_the_remedy(rng):
    def refused(made, u, reason, level=None):
        assert torch.equal(made(u, 0, level), plain(made, u, level))
        made.engine = "numba"
        with pytest.raises(ValueError, match=f"engine 'numba': .*{reason}.*Leave the engine out, or ask for 'refer"):
            made(u, 0, level)

    cases = {
        (3, (4, 2, 1), 5, 0): "3 channels and fields",
        (4, (4, 2), 5, 0): "orders 0, 1, 2",
        (4, (0, 3, 1), 5, 0): "orders 0, 1, 2",
        (4, (2, 2, 1, 1), 5, 0): "of other orders",
        (4, (2, 2, 1), 7, 0): "larger than 5x5",
        (4, (2, 2, 1), 5, 2): "rho = 2",
    }
    for (channels, fields, size, rho), reason in cases.items():
        K = SteerableMap(channels, fields, size)
        refused(GatedBlock(K, K, Gated(K.orders, rho)), torch.randn(1, channels, 8, 8, generator=rng), reason)
    K, u = SteerableMap(4, (4, 2, 1)), torch.randn(1, 4, 8, 8, generator=rng)
    refused(GatedBlock(K, K, Gated(K.orders, levelled=True)), u, "map of noise levels", torch.zeros(1, 1, 8, 8))
    refused(GatedBlock(K, K, Gated(K.orders)), u.double(), "float32")
    refused(GatedBlock(K, K, Gated(K.orders)).double(), u, "float32")
    with pytest.raises(ValueError, match="'cupy' is unknown. Known: auto, reference"):
        engines.apply(GatedBlock(K, K, Gated(K.orders)).description(), u, GatedNumbers(u), "cupy")


def test_stencils_without_the_symmetry_of_their_order_are_refused():
    K = SteerableMap(2, (1, 1, 1))
    taps = [K.taps(order).clone() for order in range(3)]
    assert coefficients(taps) is not None
    taps[1][0, 0, 0, 0] += 0.1
    assert coefficients(taps) is None


def test_products_are_products(rng):
    matrix, rows = torch.randn(6, 5, generator=rng).numpy(), torch.randn(5, 3 * LANES, generator=rng).numpy()
    start = torch.randn(8, generator=rng).numpy()
    into = np.zeros((8, 3 * LANES), np.float32)
    called = numba.njit(**COMPILED)(lambda *arguments: product(*arguments))
    called(grouped(matrix), start, 6, 5, rows.reshape(-1), 0, into.reshape(-1), 0, 3 * LANES)
    assert np.allclose(into[:6], start[:6, None] + matrix @ rows, atol=1e-5)


def test_the_logarithm_is_right_to_a_few_roundings():
    @numba.njit(**COMPILED)
    def each(z, into):
        for i in range(z.shape[0]):
            put(into, i, log1p(at(z, i)))

    for kind in (np.float32, np.float64):
        z = np.concatenate([[0.0], np.logspace(-12, 9, 5000)]).astype(kind)
        found = np.empty_like(z)
        each(z, found)
        right = np.log1p(z.astype(np.longdouble))
        assert found[0] == 0
        assert (np.abs(found - right) <= 3 * np.finfo(kind).eps * np.maximum(right, 1)).all()
