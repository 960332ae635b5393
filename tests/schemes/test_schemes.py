"""Fast schemes: exact box filters in one dimension, the same stopping time, stable in float32 for long cycles."""

import pytest
import torch

import whorl
from catalogue import MODELS, noise
from whorl.operators import mirror
from whorl.schemes import SCHEMES, Cycles, equal_cycles, extrapolation, fed_steps, fsi_cycle, growing_cycles

FAST = [scheme for scheme in SCHEMES if scheme != "explicit"]
LINE = whorl.models.build("perona-malik", diffusivity="homogeneous")


@pytest.mark.parametrize("scheme", FAST)
@pytest.mark.parametrize("length", [1, 2, 5, 12])
def test_a_cycle_is_the_box_filter_in_one_dimension(scheme, length, rng):
    """At tau = 1/2 a cycle of n steps is the mean over 2 n + 1 pixels, borders mirrored."""
    u = noise(rng, 1, 1, 1, 30)
    extended = mirror(u, 0, length)
    box = torch.stack([extended[..., k : k + 30] for k in range(2 * length + 1)]).mean(0)
    result = LINE(u, time=0.5 * length * (length + 1) / 3, scheme=scheme, cycles=1)
    assert torch.allclose(result, box, rtol=0, atol=1e-11)


@pytest.mark.parametrize("length", [1, 2, 7, 40, 300])
def test_fed_steps_sum_to_the_cycle_time_and_avoid_none(length):
    steps = fed_steps(length, 0.5)
    assert sum(steps) == pytest.approx(0.5 * length * (length + 1) / 3)
    assert len(set(steps)) == length
    assert extrapolation(0) == pytest.approx(2 / 3)


@pytest.mark.parametrize("time", [0.1, 3.0, 50.0, 1000.0])
def test_cycles_cover_the_time_without_exceeding_the_limit(time):
    plans = [growing_cycles(time, 0.5), *(equal_cycles(time, 0.5, count) for count in (1, 3, 10))]
    for plan in plans:
        assert isinstance(plan, Cycles)
        assert plan.time == pytest.approx(time)
        assert plan.tau <= 0.5 * (1 + 1e-9)
    assert sum(plans[1].lengths) <= (3 * time / 0.5 + 0.25) ** 0.5 + 1  # the root of the time
    with pytest.raises(ValueError, match="cycles"):
        equal_cycles(time, 0.5, 0)


@pytest.mark.parametrize("time", [0.1, 3.0, 10.0, 50.0, 123.4, 1000.0])
def test_growing_cycles_waste_no_step(time):
    """One step less in the last cycle, and the time is out of reach."""
    *lengths, last = growing_cycles(time, 0.5).lengths
    assert sorted(lengths) == lengths
    assert 0.5 * sum(n * (n + 1) / 3 for n in [*lengths, last - 1]) < time


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_fast_schemes_come_near_the_explicit_one_for_every_model(model, rng):
    u = whorl.operators.Smoothing(1.0)(noise(rng, 1, 2, 16, 14, scale=40.0))
    time = 12 * model.automatic_step()
    fine = model(u, time=time, tau=model.automatic_step() / 4)
    for scheme in FAST:
        gap = (model(u, time=time, scheme=scheme, cycles=8) - fine).norm() / (fine - u).norm()
        assert gap <= 0.1, scheme
        assert model(u, time=0, scheme=scheme).equal(u)


@pytest.mark.parametrize("scheme", FAST)
def test_long_cycles_are_stable_in_float32(scheme, rng):
    """One cycle of 120 steps, its largest far above the limit: the L2 norm must not grow, the mean stay."""
    u = 100 + noise(rng, 1, 1, 20, 24, dtype=torch.float32)
    for name in ("perona-malik", "weickert-brox", "you-kaveh", "eed"):
        model = whorl.models.build(name, contrast=15.0)
        time = model.step_limit() * 120 * 121 / 3
        result = model(u, time=time, scheme=scheme, cycles=1)
        assert torch.isfinite(result).all()
        assert (result - result.mean()).norm() <= (u - u.mean()).norm()
        assert (result.double().mean() - u.double().mean()).abs() <= 1e-4 * u.double().mean()


def test_more_cycles_are_more_accurate(rng):
    model = whorl.models.build("weickert-brox", contrast=15.0)
    u = whorl.operators.Smoothing(1.0)(noise(rng, 1, 1, 40, 40, scale=60.0))
    fine = model(u, time=20.0, tau=0.02)
    gaps = [(model(u, time=20.0, scheme="fsi", cycles=count) - fine).norm() for count in (1, 4, 16)]
    assert gaps[0] > gaps[1] > gaps[2]


def test_wrong_schemes_are_refused():
    u = torch.zeros(1, 1, 4, 4)
    with pytest.raises(ValueError, match="explicit, fed, fsi"):
        LINE(u, time=1.0, scheme="implicit")
    with pytest.raises(ValueError, match="cycles = 3"):
        LINE(u, time=1.0, cycles=3)


def test_a_cycle_of_one_step_is_a_relaxed_explicit_step():
    u = torch.rand(1, 1, 5, 5, dtype=torch.float64)
    result = fsi_cycle(lambda v: LINE.step(v, 0.3), u, 1)
    assert torch.allclose(result, LINE.step(u, 0.2), rtol=0, atol=1e-15)


def test_people_may_ask_for_a_scheme():
    image = (torch.rand(20, 20) * 255).to(torch.uint8)
    result = whorl.diffuse(image, "perona-malik", contrast=20.0, time=10.0, scheme="fsi")
    explicit = whorl.diffuse(image, "perona-malik", contrast=20.0, time=10.0)
    assert result.dtype == torch.uint8
    assert (result.int() - explicit.int()).abs().float().mean() < 20
