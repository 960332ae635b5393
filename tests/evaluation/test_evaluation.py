"""Figures over angles and seeds are what their definitions say."""

import math
import statistics

import pytest
import torch
from scipy import stats

from whorl.data import RectangleSet
from whorl.errors import ShapeError
from whorl.evaluation import AngleTable, TestScenes, evaluate, summarise


def test_figures_follow_from_the_errors():
    errors = torch.tensor([[100.0, 400.0], [100.0, 100.0], [200.0, 50.0]])
    table = AngleTable((30, 45, 60), errors)
    by_hand = [statistics.fmean(10 * math.log10(255**2 / e) for e in row) for row in errors.tolist()]
    assert list(table.psnr.values()) == pytest.approx(by_hand)
    assert table.mean == pytest.approx(statistics.fmean(by_hand))
    assert table.variance == pytest.approx(statistics.pvariance(by_hand))
    assert table.as_dict()["psnr_45"] == pytest.approx(by_hand[1])
    assert "psnr_45" not in AngleTable((30,), errors[:1]).as_dict()


def test_the_expected_variance_is_that_of_an_invariant_network():
    """Few angles and images, so that every factor counts: 1 - 1/3 of the angles, 1/4 and 4/3 of the images."""
    draw = torch.Generator().manual_seed(0)
    found = []
    for _ in range(3000):  # images differ, angles do not; what is left is chance
        psnr = 28 + torch.randn(1, 4, generator=draw) + 0.3 * torch.randn(3, 4, generator=draw)
        table = AngleTable((1, 2, 3), 255**2 / 10 ** (psnr / 10))
        found.append((table.variance, table.expected_variance()))
    actual, expected = torch.tensor(found).mean(0)
    # One variance of three numbers scatters by 100 %, one estimate by sqrt(2/6): 1.8 % and 1.1 % of 3000.
    assert float(actual) == pytest.approx(0.3**2 / 4 * 2 / 3, rel=0.06)
    assert float(expected) == pytest.approx(0.3**2 / 4 * 2 / 3, rel=0.035)


def test_the_noisy_pictures_themselves_do_not_depend_on_the_angle():
    scenes = TestScenes(RectangleSet(3, size=32), (5, 45))
    seen = []
    table = evaluate(lambda f: f, scenes, batch=2, advance=seen.append)
    assert sum(seen) == 6
    assert table.variance < 1e-9
    assert table.mean == pytest.approx(12.57, abs=0.2)
    clipped = evaluate(lambda f: f.clamp(0, 255), scenes)
    assert clipped.mean == pytest.approx(15.6, abs=0.3)


def test_figures_do_not_depend_on_the_batch():
    scenes = TestScenes(RectangleSet(3, size=32), (10, 70))
    blur = torch.nn.AvgPool2d(3, 1, 1)
    assert torch.equal(evaluate(blur, scenes, batch=1).errors, evaluate(blur, scenes, batch=3).errors)


def test_wrong_tables_are_refused():
    with pytest.raises(ShapeError, match="2, images"):
        AngleTable((1, 2), torch.ones(3, 4))


def test_summary_over_seeds():
    found = summarise([1.0, 2.0, 6.0])
    assert (found.median, found.mean) == (2.0, 3.0)
    half = 4.303 * statistics.stdev([1, 2, 6]) / math.sqrt(3)
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half))
    assert math.isnan(summarise([1.0]).low)
    assert summarise([0.0, 1.0] * 10).high - 0.5 == pytest.approx(1.96 * statistics.stdev([0, 1] * 10) / math.sqrt(20))
    with pytest.raises(ValueError, match="no values"):
        summarise([])


@pytest.mark.parametrize("count", [*range(2, 11), 40])
def test_intervals_over_seeds_are_those_of_student(count):
    """Beyond ten seeds the normal quantile: within 4 % of Student's there."""
    values = [float(i) for i in range(count)]
    half = stats.t.ppf(0.975, count - 1) * stats.sem(values)
    found = summarise(values)
    assert found.high - found.low == pytest.approx(2 * half, rel=0.04 if count > 10 else 2e-4)
    assert (found.high + found.low) / 2 == pytest.approx(found.mean)


def test_noise_is_added_and_two_angles_are_enough():
    scenes = TestScenes(RectangleSet(2, size=24), (10,))
    clean, noisy = scenes.pairs(10)
    assert torch.equal(noisy, clean + RectangleSet(2, size=24).noise_only())
    errors = torch.tensor([[1.0, 2.0], [3.0, 1.0]])
    assert AngleTable((1, 2), errors).expected_variance() > 0
    assert math.isnan(AngleTable((1,), errors[:1]).expected_variance())
    assert math.isnan(AngleTable((1, 2), errors[:, :1]).expected_variance())
