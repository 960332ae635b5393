"""Steps, cycles and limits against numbers worked out by hand or by another way."""

import itertools
import math

import pytest
import torch

from whorl.activations import Anisotropic, Isotropic, Uncoupled
from whorl.diffusivities import Exponential, RegularisedTV
from whorl.errors import StabilityError
from whorl.operators import CellGradient, Hessian, ScaleStack
from whorl.schemes import (
    automatic_step,
    check_step,
    equal_cycles,
    equal_steps,
    extrapolation,
    fed_steps,
    fsi_cycle,
    fsi_steps,
    growing_cycles,
    l2_limit,
    max_min_limit,
)

G = Exponential(1.0)


def test_fed_steps_of_short_cycles():
    assert fed_steps(1, 0.75) == pytest.approx([0.5])  # cos²(30°) = 3/4
    wide, narrow = 0.3 / (2 * math.cos(math.radians(18)) ** 2), 0.3 / (2 * math.cos(math.radians(54)) ** 2)
    assert fed_steps(2, 0.3) == pytest.approx([wide, narrow])


@pytest.mark.parametrize("length", [3, 7, 20])
def test_fed_steps_are_in_the_order_that_keeps_products_small(length):
    """The first is the smallest; the node 1/tau of each next is the farthest from those before, by product."""
    steps = fed_steps(length, 1.0)
    assert steps[0] == min(steps)
    nodes = [1 / step for step in steps]
    for count in range(1, length):
        distances = [math.prod(abs(node - taken) for taken in nodes[:count]) for node in nodes[count:]]
        assert distances[0] == pytest.approx(max(distances))


def test_weights_and_sizes_of_semi_iterative_steps():
    assert [extrapolation(k) for k in range(4)] == pytest.approx([2 / 3, 6 / 5, 10 / 7, 14 / 9])
    taus, mixes = fsi_steps((3, 1, 2), 0.3)
    assert taus == pytest.approx([0.2, 0.3, 0.3, 0.2, 0.2, 0.3])
    assert mixes == pytest.approx([1, 6 / 5, 10 / 7, 1, 1, 6 / 5])


def test_a_semi_iterative_cycle_by_hand():
    """For the step u -> u / 2 and u = 1: 2/3 1/2 + 1/3 1 = 2/3, then 6/5 1/3 - 1/5 1 = 1/5."""
    u = torch.ones((), dtype=torch.float64)
    assert float(fsi_cycle(lambda v: v / 2, u, 1)) == pytest.approx(2 / 3)
    assert float(fsi_cycle(lambda v: v / 2, u, 2)) == pytest.approx(1 / 5)
    assert float(fsi_cycle(lambda v: v / 2, u, 0)) == 1


@pytest.mark.parametrize("length", [1, 2, 3, 10, 57])
@pytest.mark.parametrize("count", [1, 4])
def test_equal_cycles_are_as_short_as_they_can_be(length, count):
    limit = 0.3
    time = count * limit * length * (length + 1) / 3
    assert equal_cycles(time, limit, count).lengths == (length,) * count
    assert equal_cycles(time, limit, count).tau == pytest.approx(limit)
    assert equal_cycles(time * (1 + 1e-6), limit, count).lengths == (length + 1,) * count
    assert equal_cycles(time * (1 - 1e-6), limit, count).lengths == (length,) * count


def test_no_time_needs_no_cycle():
    assert growing_cycles(0.0, 0.5).lengths == ()
    assert growing_cycles(0.0, 0.5).tau == 0
    assert growing_cycles(0.0, 0.5).time == 0


@pytest.mark.parametrize(("limit", "growth"), [(0.5, 1.17), (0.01, 1.17), (7.0, 1.5)])
@pytest.mark.parametrize("steps", [0.4, 3.0, 60.0, 4000.0])
def test_growing_cycles_follow_their_factor_until_the_last(limit, growth, steps):
    time = steps * limit
    *lengths, last = growing_cycles(time, limit, growth).lengths
    assert lengths == [round(growth**k) for k in range(len(lengths))]
    assert 1 <= last <= round(growth ** len(lengths))
    covered = sum(n * (n + 1) / 3 for n in (*lengths, last))
    assert covered >= steps * (1 - 1e-9)  # no cycle is longer than the limit allows
    assert covered - last * (last + 1) / 3 < steps
    assert growing_cycles(time, limit, growth).tau == pytest.approx(time / covered)


def test_the_default_growth_is_the_documented_one():
    assert growing_cycles(500.0, 0.5).lengths == growing_cycles(500.0, 0.5, 1.17).lengths
    assert len(growing_cycles(500.0, 0.5).lengths) == 23


def test_equal_steps_are_as_few_as_they_can_be():
    assert equal_steps(0.0, 0.25) == []
    assert equal_steps(1.0, 0.25) == [0.25] * 4
    assert equal_steps(1.0 + 1e-9, 0.25) == pytest.approx([0.2] * 5)
    assert equal_steps(0.1, 0.25) == [0.1]
    assert equal_steps(0.3, 0.1) == pytest.approx([0.1] * 3)  # 0.3 / 0.1 is a little more than 3
    assert len(equal_steps(1e6, 1.0)) == 1_000_000
    with pytest.raises(ValueError, match="1,000,000"):
        equal_steps(1e6 * (1 + 1e-9), 1.0)
    with pytest.raises(ValueError, match="1,000,000"):
        equal_steps(1.0, 0.9e-6)
    assert len(equal_steps(1.0, 1.1e-6)) == 909_091


def test_steps_above_the_limit_are_refused():
    check_step(0.25, 0.25, "test")
    check_step(0.25 * (1 + 1e-12), 0.25, "test")
    with pytest.raises(StabilityError, match="0.25"):
        check_step(0.25 * (1 + 1e-9), 0.25, "test")
    check_step(1.0, 0.25, "test", insist=True)


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.41, 0.5])
@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_l2_limit_of_cells(alpha, weight):
    norm = 4 * max(1.0, 2 * (1 - 2 * alpha))
    assert l2_limit(CellGradient(alpha), Isotropic(G), weight) == pytest.approx(2 / (norm + weight))
    tv = Isotropic(RegularisedTV(0.1))  # g(0) = 10
    assert l2_limit(CellGradient(alpha), tv, weight) == pytest.approx(2 / (10 * norm + weight))


@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_max_min_limit_is_one_over_the_sum_of_the_weights(weight):
    """The centre of the stencil K* K, read off an impulse, is the sum of the weights around it."""
    for alpha, spacing in itertools.product((0.0, 0.1, 0.3), ((1.0, 1.0), (1.0, 1.2), (2.0, 1.9))):
        K = CellGradient(alpha, spacing)
        impulse = torch.zeros(1, 1, 7, 7, dtype=torch.float64)
        impulse[..., 3, 3] = 1
        centre = float(K.adjoint(K(impulse))[..., 3, 3])
        assert max_min_limit(K, Isotropic(G), weight) == pytest.approx(1 / (centre + weight))
        tv = Isotropic(RegularisedTV(0.25))
        assert max_min_limit(K, tv, weight) == pytest.approx(1 / (4 * centre + weight))


def test_max_min_limit_needs_a_stencil_without_negative_weights():
    """alpha (A + C) <= min(A, C): with A = 1 and C = 1/4, up to alpha = 1/5, where a weight beside the centre is 0."""
    wide = (2.0, 1.0)
    assert max_min_limit(CellGradient(0.2 - 1e-6, wide), Isotropic(G)) is not None
    assert max_min_limit(CellGradient(0.2 + 1e-6, wide), Isotropic(G)) is None
    assert max_min_limit(CellGradient(0.5), Isotropic(G)) is not None  # square pixels: exactly at the bound
    assert max_min_limit(CellGradient(0.0), Uncoupled(G)) == pytest.approx(0.25)
    assert max_min_limit(CellGradient(1e-6), Uncoupled(G)) is None
    assert max_min_limit(CellGradient(0.0), Anisotropic(G)) is None
    assert max_min_limit(Hessian(), Isotropic(G)) is None
    assert max_min_limit(ScaleStack(CellGradient(0.0)), Isotropic(G)) is None


VOXELS = [(1.0, 1.0, 1.0), (1.0, 1.2, 1.1), (3.0, 1.0, 1.0)]


@pytest.mark.parametrize("spacing", VOXELS, ids=str)
def test_max_min_limit_of_volumes_is_where_the_stencil_stays_non_negative(spacing):
    """All 26 weights, read off an impulse, are non-negative up to the stated alpha and no further."""
    squares = [h**-2 for h in spacing]
    largest = min(0.5, min(squares) / sum(squares))
    for alpha in (0.0, 0.5 * largest, largest * (1 - 1e-9), largest * (1 + 1e-6)):
        K = CellGradient(alpha, spacing)
        impulse = torch.zeros(1, 1, 5, 5, 5, dtype=torch.float64)
        impulse[0, 0, 2, 2, 2] = 1
        stencil = -K.adjoint(K(impulse))[0, 0]
        centre = -stencil[2, 2, 2].item()
        stencil[2, 2, 2] = 0
        limit = max_min_limit(K, Isotropic(G))
        assert (stencil.min() >= -1e-15) == (alpha <= largest)
        assert limit is None if alpha > largest else limit == pytest.approx(1 / centre)
    assert max_min_limit(CellGradient(0.0, spacing), Uncoupled(G)) == pytest.approx(1 / (2 * sum(squares)))


@pytest.mark.parametrize("alpha", [0.0, 0.2, 0.41, 0.5])
def test_l2_limit_of_cubic_cells(alpha):
    kappa = 1 - 2 * alpha
    norm = 4 * max(1.0, 2 * kappa, 3 * kappa**2)
    assert l2_limit(CellGradient(alpha), Isotropic(G), 3.0, dimension=3) == pytest.approx(2 / (norm + 3))


def test_automatic_step_is_the_smaller_of_two():
    assert automatic_step(CellGradient(0.0), Isotropic(G)) == pytest.approx(0.8 * 0.25)  # both limits are 1/4
    assert automatic_step(CellGradient(0.41), Isotropic(G)) == pytest.approx(0.4)
    assert automatic_step(CellGradient(0.41), Anisotropic(G)) == pytest.approx(0.4)
    tall = CellGradient(0.1, (1.0, 0.5))
    assert automatic_step(tall, Isotropic(G), 100.0) == pytest.approx(1 / (2 * 0.9 * 5 + 100))


@pytest.mark.parametrize(
    "cycles", [growing_cycles, *(lambda t, tau, n=n: equal_cycles(t, tau, n) for n in (1, 10_000))]
)
def test_countless_steps_of_the_fast_schemes_are_refused(cycles):
    with pytest.raises(ValueError, match=r"time = 1e\+08 needs .* more than 5,000 are refused\. Ask for less time"):
        cycles(1e8, 0.25)
    assert sum(growing_cycles(1e5, 0.25).lengths) <= 5000
