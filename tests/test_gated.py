"""Gated activations and their blocks: invariance for every setting and size, stability whatever is learned."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock, StableGatedBlock
from whorl.blocks.guided import GuidedBlock
from whorl.errors import ShapeError
from whorl.invariance import SYMMETRIES
from whorl.operators import SteerableMap, mirror

SETTINGS = {
    "5x5": dict(fields=(4, 3, 2)),
    "3x3, smoothed": dict(fields=(3, 2, 1), size=3, rho=1),
    "7x7, order 3, smoothed twice": dict(fields=(2, 2, 1, 1), size=7, rho=2),
    "vectors only": dict(fields=(0, 3)),
    "scalars only": dict(fields=(4,)),
}
PICTURES = [(1, 1), (1, 6), (2, 3), (17, 12)]
EPS = torch.finfo(torch.float64).eps


def build(kind, channels, fields, size=5, **gate):
    """A block of any kind: with two operators, with one, or with one for the first channel and a guide beside it."""
    if kind is GuidedBlock:
        maps = [SteerableMap(count, fields, size) for count in (1, channels, channels - 1)]
        orders = [order for order in maps[0].orders for _ in range(2)]
        return GuidedBlock(*maps, Gated(orders, **gate))
    maps = [SteerableMap(channels, fields, size) for _ in range(1 if kind is StableGatedBlock else 2)]
    return kind(*maps, Gated(maps[0].orders, **gate))


def block(kind, name, **more):
    torch.manual_seed(5)
    made = build(kind, 3, **{"repetitions": 2, "levelled": True, **SETTINGS[name], **more}).double().eval()
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return made


def symmetry_gap(filter, u):
    with torch.no_grad():
        v = filter(u)
        return max(float((filter(move(u)) - move(v)).abs().max()) for move in SYMMETRIES.values())


@pytest.mark.parametrize("kind", [GatedBlock, StableGatedBlock, GuidedBlock])
@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("size", PICTURES, ids=str)
def test_quarter_turns_and_mirror_images_are_exact_at_any_size(kind, name, size, rng):
    made = block(kind, name)
    u = torch.randn(1, 3, *size, generator=rng, dtype=torch.float64)
    level = torch.tensor(0.4, dtype=torch.float64)

    def twice(u):
        return made(made(u, 0, level), 1, level)

    with torch.no_grad():
        largest = max(1.0, float(twice(u).abs().max()))
    assert symmetry_gap(twice, u) <= 500 * EPS * largest


class Biased(GatedBlock):
    """Adds a number to every response, vectors included."""

    def forward(self, u, repetition=0, level=None, half=False):
        return u - self.synthesis.adjoint(self.gate(self.analysis(u) + 0.5, None, level))


class Uncoupled(GatedBlock):
    """Gates every component by itself instead of by the length of its field."""

    def forward(self, u, repetition=0, level=None, half=False):
        v = self.analysis(u)
        return u - self.synthesis.adjoint(torch.relu(v))


@pytest.mark.parametrize("broken", [Biased, Uncoupled])
def test_broken_blocks_are_found_out(broken, rng):
    u = torch.randn(1, 3, 17, 12, generator=rng, dtype=torch.float64)
    assert symmetry_gap(block(broken, "5x5", levelled=False), u) > 1e-3


@settings(deadline=None, max_examples=25)
@given(
    kind=st.sampled_from([StableGatedBlock, GuidedBlock]),
    seed=st.integers(0, 10**6),
    spread=st.sampled_from([1e-3, 1.0, 1e3]),
    picture=st.sampled_from(["noise", "flat", "checkerboard", "impulse", "huge"]),
)
def test_stable_blocks_never_let_the_norm_grow(kind, seed, spread, picture):
    """Random and adversarial weights: large, tiny, and with the gates wide open at the largest step.

    Of a guided block that is said of the picture, whatever the guide does.
    """
    rng = torch.Generator().manual_seed(seed)
    made = build(kind, 2, (2, 2, 1), rho=seed % 2).double().eval()
    guided = kind is GuidedBlock
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(spread * torch.randn(parameter.shape, generator=rng, dtype=torch.float64))
        if seed % 3 == 0:
            made.gate.matrix.zero_()
            made.gate.bias.fill_(50.0)  # gates at 1
            (made.synthesis if guided else made).step.fill_(50.0)  # the largest step
    u = torch.randn(1, 2, 12, 9, generator=rng, dtype=torch.float64)
    if picture == "flat":
        u = torch.ones_like(u)
    elif picture == "checkerboard":
        u = (-1.0) ** (torch.arange(12)[:, None] + torch.arange(9)).double().expand_as(u)
    elif picture == "impulse":
        u = torch.zeros_like(u)
        u[..., 0, 0] = 1
    elif picture == "huge":
        u = 1e6 * u
    with torch.no_grad():
        part = slice(0, 1 if guided else 2)
        assert made(u)[:, part].norm() <= u[:, part].norm() * (1 + 64 * EPS)


@pytest.mark.parametrize("kind", [StableGatedBlock, GuidedBlock])
@pytest.mark.parametrize("seed", range(2))
def test_the_largest_step_is_stable_for_the_worst_picture_and_hardly_a_larger_one(kind, seed):
    """Gates wide open and the largest step: the worst picture is where K is longest, found by power iteration."""
    rng = torch.Generator().manual_seed(seed)
    made = build(kind, 2, (2, 2, 1)).double().eval()
    guided = kind is GuidedBlock
    with torch.no_grad():
        for parameter in made.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=rng, dtype=torch.float64))
        made.gate.matrix.zero_()
        made.gate.bias.fill_(50.0)
        (made.synthesis if guided else made).step.fill_(50.0)
        K = made.synthesis.first if guided else made.analysis
        u = torch.randn(1, 2, 16, 16, generator=rng, dtype=torch.float64)
        picture = u[:, : K.channels]
        for _ in range(60):
            picture /= picture.norm()
            picture.copy_(K.adjoint(K(picture)))
        picture /= picture.norm()
        kept = made(u)[:, : K.channels]
        expected = picture - 2 / K.squared_norm_bound() * K.adjoint(K(picture))
    # The step is the largest one that the bound of K allows: 2.01 in place of 2 would be another.
    assert float((kept - expected).norm()) < 1e-12
    # It turns the worst picture round. With 2.1 in place of 2 it would grow, from |1 - 2 q| = 0.905 up: of the bound of
    # K a share q of 1/1.05 is reached.
    assert 0.905 < float(kept.norm()) <= 1 + 64 * EPS


@pytest.mark.parametrize("kind", [GatedBlock, StableGatedBlock, GuidedBlock])
@pytest.mark.parametrize("name", SETTINGS)
def test_the_reach_is_exact(kind, name, rng):
    """The result at a pixel depends on pixels as far away as that, and on none beyond."""
    made = block(kind, name, levelled=False)
    centre = made.reach + 2
    u = torch.randn(1, 3, 2 * centre + 1, 2 * centre + 1, generator=rng, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(made(u)[..., centre, centre].sum(), u)
    rows, columns = (slope.abs().sum((0, 1)).nonzero() - centre).abs().amax(0).tolist()
    assert (rows, columns) == (made.reach, made.reach)


def test_a_guide_moves_freely_and_is_all_that_tells_the_gates_more(rng):
    """Its norm may grow; another guide lets the same picture come out otherwise, and no other picture could do that."""
    made = build(GuidedBlock, 3, (2, 2, 1)).double().eval()
    u, other = (torch.randn(1, 3, 12, 9, generator=rng, dtype=torch.float64) for _ in range(2))
    other[:, :1] = u[:, :1]
    with torch.no_grad():
        made.synthesis.second.weights[0].mul_(100)
        after = made(u)
        assert after[:, 1:].norm() > 2 * u[:, 1:].norm()
        assert (after[:, :1] - made(other)[:, :1]).norm() > 1e-3 * u[:, :1].norm()
        # Without a word from the guide the gates see the picture alone.
        for weight in made.analysis.second.weights:
            weight.zero_()
        assert torch.equal(made(u)[:, :1], made(other)[:, :1])


@pytest.mark.parametrize("kind", [GatedBlock, StableGatedBlock, GuidedBlock])
def test_gradients_are_finite_on_flat_images_in_both_precisions(kind, dtype):
    made = build(kind, 2, (2, 2, 1), rho=1).to(dtype)
    u = torch.zeros(1, 2, 8, 8, dtype=dtype, requires_grad=True)
    made.train()(u).square().sum().backward()
    assert torch.isfinite(u.grad).all()
    assert all(torch.isfinite(p.grad).all() for p in made.parameters() if p.grad is not None)


def test_gates_lie_between_zero_and_one(rng):
    phi = Gated((0, 1, 2)).double()
    v = 100 * torch.randn(1, 1, 1, 5, 6, 7, generator=rng, dtype=torch.float64)
    with torch.no_grad():
        gates = phi.gates(v[:, 0, 0])
        assert gates.min() >= 0
        assert gates.max() <= 1
        assert (phi(v).abs() <= v.abs()).all()


def test_half_precision_keeps_the_stream_and_comes_near(rng):
    made = block(GatedBlock, "5x5", levelled=False).float()
    u = torch.randn(1, 3, 16, 16, generator=rng)
    with torch.no_grad():
        full, half = made(u), made(u, half=True)
    assert half.dtype == torch.float32
    # The change is made of a few dozen products, each rounded to 8 bits.
    assert (half - full).norm() <= 16 * 2.0**-8 * (full - u).norm()


def test_a_noise_level_may_be_a_number_or_a_map(rng):
    phi = Gated((0, 1), levelled=True).double()
    with torch.no_grad():
        phi.level.fill_(1.0)
    v = torch.randn(2, 1, 1, 3, 4, 5, generator=rng, dtype=torch.float64)
    number = torch.tensor([0.5, -0.2], dtype=torch.float64).view(2, 1, 1, 1)
    assert torch.equal(phi(v, level=number), phi(v, level=number.expand(2, 1, 4, 5)))
    assert not torch.equal(phi(v, level=number), phi(v, level=0 * number))
    with pytest.raises(ValueError, match="missing"):
        phi(v)


def test_a_correlation_told_enters_beside_the_level_and_begins_with_no_weight(rng):
    phi, plain = (Gated((0, 1), levelled=True, correlated=told).double() for told in (True, False))
    phi.load_state_dict(plain.state_dict(), strict=False)
    v = torch.randn(1, 1, 1, 3, 4, 5, generator=rng, dtype=torch.float64)
    told = torch.tensor([0.5, 0.7], dtype=torch.float64).view(1, 2, 1, 1)
    assert torch.equal(phi(v, level=told), plain(v, level=told[:, :1]))
    with torch.no_grad():
        phi.correlation.copy_(torch.tensor([0.3, -0.2]))
        phi.correlation_units.copy_(torch.tensor([-0.4, 0.6]))
    # The same as a level in whose place both stand: c t + c' r, d t + d' r.
    with torch.no_grad():
        plain.level.copy_((phi.level * 0.5 + phi.correlation * 0.7) / 0.5)
        plain.units.copy_((phi.units * 0.5 + phi.correlation_units * 0.7) / 0.5)
    assert torch.allclose(phi(v, level=told), plain(v, level=told[:, :1]), rtol=1e-12)
    with pytest.raises(ValueError, match="levelled=True"):
        Gated((0, 1), correlated=True)


def test_gates_see_everything_in_units_of_the_noise(rng):
    """As training begins, gates for twice the responses at twice the noise are those of before."""
    phi = Gated((0, 0, 1, 2), levelled=True).double()
    v = torch.randn(1, 1, 1, 6, 4, 5, generator=rng, dtype=torch.float64)
    one, two = (torch.tensor(t, dtype=torch.float64).log() for t in (1.0, 2.0))
    with torch.no_grad():
        assert torch.allclose(phi.gates(v[:, 0, 0], level=one), phi.gates(2 * v[:, 0, 0], level=two), rtol=1e-12)


@pytest.mark.parametrize("rho", [0, 1, 2])
@pytest.mark.parametrize("levelled", [False, True])
def test_gates_are_the_stated_formula(rho, levelled, rng):
    """With numbers of every kind drawn at random, each field computed by itself."""
    orders, owners = (0, 0, 1, 2), [[0], [1], [2, 3], [4, 5]]
    phi = Gated(orders, rho, repetitions=2, levelled=levelled).double()
    with torch.no_grad():
        for parameter in phi.parameters():
            parameter.copy_(0.5 * torch.randn(parameter.shape, generator=rng, dtype=torch.float64))
        v = torch.randn(2, 1, 1, 6, 5, 7, generator=rng, dtype=torch.float64)
        t = torch.randn(2, 1, 5, 7, generator=rng, dtype=torch.float64) if levelled else None
        found = phi(v, phi.bias[1], t)
        binomial = torch.tensor([math.comb(2 * rho, k) / 4**rho for k in range(2 * rho + 1)], dtype=torch.float64)
        filter = torch.outer(binomial, binomial)[None, None]
        contrasts, seen = [None, None, *phi.log_contrast.exp()], []
        for h, (order, channels) in enumerate(zip(orders, owners, strict=True)):
            parts = v[:, 0, 0, channels]
            field = parts if order == 0 else parts.square().sum(1, keepdim=True)
            smoothed = torch.nn.functional.conv2d(mirror(field, rho), filter)
            unit = (-phi.units[h] * t).exp() if levelled else 1.0
            seen.append(unit * smoothed if order == 0 else torch.log(1 + unit**2 / contrasts[h] ** 2 * smoothed))
        for f, channels in enumerate(owners):
            offset = phi.bias[1, f] + (phi.level[f] * t if levelled else 0)
            gate = torch.sigmoid(sum(phi.matrix[f, h] * a for h, a in enumerate(seen)) + offset)
            torch.testing.assert_close(found[:, 0, 0, channels], gate * v[:, 0, 0, channels], rtol=1e-11, atol=1e-13)
        assert torch.equal(phi(v, level=t), phi(v, phi.bias[0], t))


def test_contrasts_beyond_all_numbers_are_bounded():
    phi = Gated((1,)).double()
    for logarithm, bound in [(30.0, -24.0), (-30.0, 24.0), (11.9, -23.8), (12.3, -24.0)]:
        with torch.no_grad():
            phi.log_contrast.fill_(logarithm)
            assert phi.scale().log().item() == pytest.approx(bound, rel=1e-12)


def test_what_a_gate_starts_with():
    """The spread of the matrix keeps the variance; nothing but parameters is saved."""
    phi = Gated([0] * 60 + [1] * 40)
    assert phi.matrix.std().item() == pytest.approx(0.1, rel=0.05)
    assert phi.bias.tolist() == [[0.0] * 100]
    assert phi.rho == 0
    assert phi.log_contrast.exp().tolist() == pytest.approx([0.05] * 40)
    assert {*phi.state_dict()} == {"matrix", "bias", "log_contrast"}
    levelled = Gated((0, 1), repetitions=3, levelled=True)
    assert {*levelled.state_dict()} == {"matrix", "bias", "log_contrast", "level", "units"}
    assert levelled.bias.shape == (3, 2)
    assert levelled.level.tolist() == [0.0, 0.0]
    assert levelled.units.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    "words",
    [
        dict(orders=()),
        dict(orders=(-1, 0)),
        dict(orders=(1, 0)),
        dict(orders=(0,), rho=-1),
        dict(orders=(0,), repetitions=0),
        dict(orders=(0,), contrast=0.0),
        dict(orders=(0,), contrast=float("nan")),
    ],
    ids=str,
)
def test_what_makes_no_gate_is_refused(words):
    with pytest.raises(ValueError, match="expected orders|out of range"):
        Gated(**words)


def test_responses_and_levels_that_do_not_fit_are_refused():
    phi = Gated((0, 1))
    for shape in [(1, 1, 1, 2, 4, 4), (1, 1, 1, 4, 4, 4), (1, 1, 1, 3, 4), (1, 1, 1, 3, 4, 4, 4)]:
        with pytest.raises(ShapeError, match="3 operator channels"):
            phi(torch.zeros(shape))
    with pytest.raises(ValueError, match="a level is given"):
        phi(torch.zeros(1, 1, 1, 3, 4, 4), level=torch.zeros(()))


def test_wrong_settings_are_named():
    with pytest.raises(ValueError, match="lowest first"):
        Gated((1, 0))
    with pytest.raises(ValueError, match="rho"):
        Gated((0,), rho=-1)
    with pytest.raises(ValueError, match="same fields"):
        GatedBlock(SteerableMap(2, (2,)), SteerableMap(2, (1, 1)), Gated((0, 0)))
    with pytest.raises(ShapeError, match="operator channels"):
        Gated((0, 1))(torch.zeros(1, 1, 1, 2, 4, 4))
