"""Streams of fields on the levels of a pyramid: what holds for any weights and any size of the picture."""

import math

import pytest
import torch

from whorl.errors import ShapeError
from whorl.networks import LineNetwork, LineSpec
from whorl.operators import FieldMap, SteerableMap, coarser, finer

SIZES = [(24, 24), (23, 32), (17, 9), (5, 6), (1, 1)]
SYMMETRIES = {
    "quarter turn": lambda u: u.rot90(1, (2, 3)),
    "mirror image": lambda u: u.flip(3),
    "transposed": lambda u: u.transpose(2, 3),
}
SMALL = {
    "pixel": LineSpec(channels=2, stream=(3, 2, 1), fields=(3, 2, 2), levels=3),
    "scalars": LineSpec(channels=2, stream=(4,), fields=(3, 2, 2), levels=3),
    "own blocks": LineSpec(channels=2, stream=(3, 0, 2), fields=(3, 2, 2), levels=2, shared=False, outputs=2),
    "picture": LineSpec(channels=2, stream=(3, 2, 1), fields=(3, 2, 2), levels=3, shared=False, head="picture"),
}


def made(name: str) -> LineNetwork:
    torch.manual_seed(3)
    return LineNetwork(SMALL[name]).double()


def picture(size: tuple[int, int], channels: int = 2) -> torch.Tensor:
    return torch.randn(1, channels, *size, dtype=torch.float64, generator=torch.Generator().manual_seed(5))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", SMALL)
def test_quarter_turns_and_mirror_images_carry_over_for_any_size(name, size):
    network, u = made(name), picture(size)
    with torch.no_grad():
        expected = network(u)
        for turn in SYMMETRIES.values():
            turned = expected if SMALL[name].head == "picture" else turn(expected)
            torch.testing.assert_close(network(turn(u)), turned, rtol=1e-11, atol=1e-11)


def complex_turn(z: torch.Tensor, orders: list[int]) -> torch.Tensor:
    """The fields of the picture turned by 90 degrees: places turn, and a field of order m is multiplied by i^m."""
    places, out, k = z.rot90(1, (2, 3)), [], 0
    for order in orders:
        if order == 0:
            out.append(places[:, k])
        else:
            # rot90 turns against the direction in which angles are counted here: the y-axis points down
            value = torch.complex(places[:, k], places[:, k + 1]) * (-1j) ** order
            out += [value.real, value.imag]
        k += 1 + (order > 0)
    return torch.stack(out, 1)


def test_vectors_turn_once_and_orientations_twice():
    torch.manual_seed(1)
    K = FieldMap((2, 2, 1), (1, 1, 1, 1)).double()
    u = torch.randn(1, 8, 12, 11, dtype=torch.float64)
    turned = complex_turn(u, [0, 0, 1, 1, 2])
    torch.testing.assert_close(K(turned)[:, 0, 0], complex_turn(K(u)[:, 0, 0], [0, 1, 2, 3]), rtol=1e-11, atol=1e-11)


def test_handed_networks_keep_turns_and_tell_mirror_images_apart():
    torch.manual_seed(3)
    spec = LineSpec(channels=1, stream=(3, 2, 1), fields=(3, 2, 2), levels=2, head="picture", handed=True)
    network, u = LineNetwork(spec).double(), picture((17, 24), channels=1)
    with torch.no_grad():
        expected = network(u)
        torch.testing.assert_close(network(u.rot90(1, (2, 3))), expected, rtol=1e-11, atol=1e-11)
        assert (network(u.flip(3)) - expected).abs().max() > 1e-6 * expected.abs().max()


def test_blocks_on_scalars_are_compiled_and_agree_with_the_reference():
    network, u = made("scalars").float(), picture((23, 32)).float()
    blocks = [*network.down, *network.up]
    assert [type(block.analysis) for block in blocks] == [SteerableMap, SteerableMap]
    expected, slopes = [], []
    for engine in ("reference", "numba"):
        for block in blocks:
            block.engine = engine
        network.zero_grad()
        odds = network(u)
        odds.square().mean().backward()
        expected.append(odds.detach())
        slopes.append(torch.cat([p.grad.flatten() for p in network.parameters()]))
    torch.testing.assert_close(*expected, rtol=1e-4, atol=1e-4 * float(expected[0].abs().max()))
    torch.testing.assert_close(*slopes, rtol=1e-3, atol=1e-3 * float(slopes[0].abs().max()))


def test_the_pixelwise_map_mixes_fields_of_equal_order_alone():
    kernel = FieldMap((2, 1, 1), (2, 1, 1), size=1).kernel()[..., 0, 0]
    blocks = torch.block_diag(torch.ones(2, 2), torch.eye(2), torch.eye(2))
    assert torch.equal(kernel != 0, blocks != 0)


@pytest.mark.parametrize("size", SIZES)
def test_the_way_to_the_finer_level_is_the_adjoint(size):
    u = picture(size)
    v = torch.randn_like(coarser(u))
    assert v.shape[2:] == tuple(math.ceil(n / 2) for n in size)
    torch.testing.assert_close(4 * (coarser(u) * v).sum(), (u * finer(v, size)).sum(), rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(coarser(torch.ones_like(u)), torch.ones_like(v))


@pytest.mark.parametrize("size", SIZES)
def test_constants_are_kept_but_on_the_border_of_axes_of_odd_length(size):
    factors = [torch.ones(n, dtype=torch.float64) for n in size]
    for factor in factors:
        if len(factor) % 2:
            factor[[0, -1]] = 1.5 if len(factor) > 1 else 2.0
    coarse = torch.ones(1, 1, *(math.ceil(n / 2) for n in size), dtype=torch.float64)
    torch.testing.assert_close(finer(coarse, size)[0, 0], torch.outer(*factors))


@pytest.mark.parametrize("name", SMALL)
def test_gradients_are_finite_on_flat_pictures(name):
    network = made(name)
    network(torch.zeros(1, 2, 16, 12, dtype=torch.float64)).sum().backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in network.parameters())


def test_points_at_equal_radii_get_similar_answers():
    """The four exact angles and the four 3-4-5 ones between them see one disc; its rim is read where all agree."""
    network = made("pixel")
    steps = torch.arange(41, dtype=torch.float64) - 20
    radius = (steps[:, None] ** 2 + steps**2).sqrt()
    disc = (1 - torch.tanh((radius - 10) / 3))[None, None].expand(1, 2, -1, -1)
    with torch.no_grad():
        odds = network(disc)[0, 0]
    exact = [odds[20 + y, 20 + x] for y, x in ((0, 5), (5, 0), (0, -5), (-5, 0))]
    between = [odds[20 + y, 20 + x] for y, x in ((3, 4), (4, 3), (-3, 4), (4, -3))]
    assert max(exact) - min(exact) < 1e-11
    assert abs(torch.stack(between).mean() - exact[0]) < 0.05 * (odds.max() - odds.min())


def test_bad_structures_and_pictures_are_refused():
    with pytest.raises(ValueError, match="head='pixels'"):
        LineSpec(head="pixels")
    with pytest.raises(ValueError, match="levels=0"):
        LineSpec(levels=0)
    with pytest.raises(ValueError, match=r"stream=\(0, 0\)"):
        FieldMap((0, 0), (1,))
    with pytest.raises(ShapeError, match=r"expected \(n, 2, y, x\)"):
        made("pixel")(torch.zeros(1, 3, 8, 8))
    with pytest.raises(ValueError, match="finds lines"):
        made("pixel")(torch.zeros(8, 8).numpy())


def test_a_drawn_tree_is_learned_better_than_chance():
    """Sixty steps on one drawn tree; on another, mirrored and moved, lines get larger odds than what is around them."""
    torch.manual_seed(0)
    network = LineNetwork(LineSpec(channels=1, stream=(3, 1, 1), fields=(4, 3, 2), levels=2, repetitions=1))
    optimiser = torch.optim.Adam(network.parameters(), lr=0.02)
    (u, y), (other, truth) = _tree(0), _tree(1)
    for _ in range(60):
        optimiser.zero_grad()
        torch.nn.functional.binary_cross_entropy_with_logits(network(u), y).backward()
        optimiser.step()
    with torch.no_grad():
        odds = network(other)
    inside, outside = odds[truth > 0], odds[truth == 0]
    area = (inside[:, None] > outside[None, ::7]).float().mean()
    assert area > 0.85  # chance is 0.5


def _tree(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """A trunk and two branches, dark on bright, with noise."""
    y, x = torch.meshgrid(torch.arange(48.0), torch.arange(44.0), indexing="ij")
    drawn = torch.zeros(48, 44)
    for slope, start in ((0.2, 14.0), (0.9, 2.0), (-0.6, 34.0)):
        distance = (x - start - slope * y).abs() / math.hypot(1, slope)
        drawn = torch.maximum(drawn, (distance < 1.5).float())
    drawn = drawn.flip(1) if seed else drawn
    noise = torch.randn(48, 44, generator=torch.Generator().manual_seed(seed))
    return (0.7 * noise - 1.5 * drawn)[None, None], drawn[None, None]
