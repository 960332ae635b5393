"""Behaviour and turn error are able to fail: right filters score zero, wrong ones do not."""

from dataclasses import replace

import numpy as np
import pytest
from benchmarks.peers import method
from benchmarks.search import Optimum
from benchmarks.spacing import SPACED, spacing_error

from benchmarks import behaviour, quality_turn
from whorl.data.synthetic import Turn, Waves, render

ONE = Optimum(0.0, 10.0, 1, 0.2)


def test_the_plain_loop_behaves() -> None:
    row = behaviour.probe(method("numpy-loop"))
    assert row["constant"] == row["range"] == row["repetition"] == 0.0
    # twelve steps of float32 arithmetic on values up to 255, and up to 1255 for the offset
    assert row["mean"] < 1e-4
    assert row["quarter_turn"] < 12 * 8 * 255 * 2**-24
    assert row["offset"] < 12 * 8 * 1255 * 2**-23
    assert row["coupling"] > 0.1


def test_a_filter_that_does_everything_wrong_is_caught() -> None:
    calls = []

    def wrong(image: np.ndarray, contrast: float, steps: int, tau: float) -> np.ndarray:
        calls.append(1)
        out = np.clip(image, None, 200) + np.float32(len(calls))
        out[0] += 50
        return out

    row = behaviour.probe(replace(method("numpy-loop"), load=lambda: wrong))
    for name in ("constant", "mean", "range", "quarter_turn", "repetition", "offset"):
        assert row[name] >= 1.0, name


def test_a_filter_that_fails_is_reported_and_not_scored() -> None:
    def failing(image: np.ndarray, contrast: float, steps: int, tau: float) -> np.ndarray:
        if image.std() == 0:
            return image * np.float32("nan")
        raise RuntimeError("no")

    row = behaviour.probe(replace(method("numpy-loop"), load=lambda: failing))
    assert row["constant"] is row["mean"] is None
    assert "constant: NaN" in row["note"]
    assert "mean: RuntimeError" in row["note"]


def test_pixel_spacing_means_physical_units() -> None:
    growth = spacing_error(SPACED["whorl"].load())
    assert growth["growth_y"] == pytest.approx(1.0, abs=1e-4)
    assert growth["growth_x"] == pytest.approx(1.0, abs=1e-4)
    blind = spacing_error(lambda image, spacing, steps, tau: method("numpy-loop").load()(image, 1e6, steps, tau))
    assert blind["growth_y"] == pytest.approx(blind["h_y"] ** 2, rel=1e-3)


@pytest.fixture
def small_views(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(quality_turn, "SIZE", 65)
    monkeypatch.setattr(quality_turn, "MARGIN", 8)
    quality_turn.views.cache_clear()
    yield
    quality_turn.views.cache_clear()


@pytest.mark.usefixtures("small_views")
def test_the_turn_itself_adds_no_error() -> None:
    """A filter of single pixels commutes with every turn: what is left is the rounding of the pictures to float32."""
    difference, change = quality_turn.turn_error(lambda u, *_: np.sqrt(np.abs(u)), ONE, 0.4, 0)
    assert change > 1000
    assert (difference / change) ** 0.5 < 1e-5


@pytest.mark.usefixtures("small_views")
def test_smoothing_along_one_axis_is_caught() -> None:
    difference, change = quality_turn.turn_error(lambda u, *_: (u + np.roll(u, 1, 1)) / 2, ONE, 0.4, 0)
    assert (difference / change) ** 0.5 > 0.5


@pytest.mark.parametrize("turn", [Turn(1, 0), Turn(3, 4, 5)], ids=["upright", "turned"])
def test_the_noise_is_the_rendered_one(turn: Turn) -> None:
    """The matrix product is the sum of waves: 64 terms of size 5 and phases up to 2 pi 0.4 40, in float64."""
    noise = Waves(30.0, seed=1, count=64, cutoff=0.4)
    np.testing.assert_allclose(quality_turn.sampled(noise, 33, turn), render(noise, 33, turn=turn), atol=1e-10)
