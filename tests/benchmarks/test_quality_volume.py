"""Filters of volumes take part as they say, noise is what it is called, and summaries take the best of every kind."""

import numpy as np
import pytest
from benchmarks.peers.volumes import DIFFUSION, contestants
from benchmarks.quality_volume import clean, noisy, phantom
from benchmarks.table import best_of_kinds
from benchmarks.targets import TARGETS

pytestmark = pytest.mark.filterwarnings("ignore")  # peers may warn as they like


@pytest.mark.parametrize("m", [m for m in contestants(20.0) if m.name != "bm4d"], ids=lambda m: m.name)
def test_volumes_go_in_and_come_out(m) -> None:
    u = np.random.default_rng(0).normal(100, 20, (12, 13, 14)).astype(np.float32)
    before = u.copy()
    out = m.load()(u, float(np.sqrt(np.prod(m.contrast_range))), 2, m.tau)
    assert (out.shape, out.dtype) == (u.shape, np.float32)
    assert out.std() < u.std()
    assert np.array_equal(u, before)


def test_whorl_filters_volumes_in_space() -> None:
    """A change in one slice reaches the next one, and channels are not meant."""
    u = np.zeros((9, 9, 9), np.float32)
    u[4, 4, 4] = 1.0
    for m in contestants(20.0):
        if m.library == "whorl":
            assert m.load()(u, 20.0, 1, m.tau)[3, 4, 4] > 0


def test_noise_is_what_it_is_called() -> None:
    u = np.full((30, 30, 30), 200.0, np.float32)
    assert np.std(noisy(u, "Gaussian", 20.0)) == pytest.approx(20.0, rel=0.02)
    assert np.mean(noisy(0 * u, "Rician", 20.0)) == pytest.approx(20.0 * (np.pi / 2) ** 0.5, rel=0.02)
    assert clean(phantom).min() == 0
    assert clean(phantom).max() == pytest.approx(255)


def row(method: str, library: str, psnr: float) -> dict:
    return {
        "method": method, "library": library, "psnr": psnr, "ssim": 0.5, "call_cpu_s": 0.1,
        "diffusion": library in DIFFUSION,
    }  # fmt: skip


def test_the_best_of_every_kind_counts() -> None:
    noise = {"method": "noisy volume", "library": "", "psnr": 20.0, "ssim": 0.1}
    rows = [noise, row("whorl-a", "whorl", 30.0), row("whorl-b", "whorl", 31.0), row("medpy", "medpy", 29.0)]
    rows += [row("bm4d", "bm4d", 33.0)]
    (found,) = best_of_kinds({"case": rows})
    assert found["ours"] == "31.00 (0.500, 0.1 s)"
    assert found["others"].startswith("29.00")
    assert found["bm4d"].startswith("33.00")
    assert found["skimage-tv"] == ""
    lead = next(t for t in TARGETS if t.suite == "quality_volume")
    worse = [*rows[:3], row("medpy", "medpy", 31.5)]
    assert lead.measure({"case": rows}) == pytest.approx(2.0)
    assert lead.measure({"case": rows, "worse": worse}) == pytest.approx(-0.5)
    assert not lead.met(-0.5)
