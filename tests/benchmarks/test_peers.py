"""Adapters do what they say: shape, type, chaining, contrast and step size, on tiny pictures."""

import numpy as np
import pytest
from benchmarks.peers import Method, catalogue, method

EVERYONE = catalogue(installed=False)
pytestmark = pytest.mark.filterwarnings("ignore")  # peers may warn as they like


def loaded(m: Method):
    if not m.installed():
        pytest.skip(f"{m.distribution} is not installed")
    return m.load()


def picture(m: Method) -> np.ndarray:
    shape = (13, 18, 3) if m.layout == "colour" else (13, 18)
    return np.random.default_rng(3).normal(128, 20, shape).astype(np.float32)


@pytest.mark.parametrize("m", EVERYONE, ids=lambda m: m.name)
def test_array_in_array_out_and_steps_chain(m: Method) -> None:
    run, u = loaded(m), picture(m)
    before, contrast = u.copy(), float(np.sqrt(np.prod(m.contrast_range)))
    out = run(u, contrast, 4, m.tau)
    assert out.dtype == np.float32
    assert out.shape == u.shape
    assert np.isfinite(out).all()
    assert out.std() < u.std()
    np.testing.assert_array_equal(u, before)
    if m.timed and m.chains:
        np.testing.assert_allclose(run(run(u, contrast, 2, m.tau), contrast, 2, m.tau), out, atol=1e-3)


@pytest.mark.parametrize("name", ["numpy-loop-tuned", "torch-loop", "medpy", "diplib-perona-malik"])
def test_four_neighbour_methods_solve_the_same_equation(name: str) -> None:
    """Away from the border (DIPlib takes black outside) they agree to rounding: contrast and tau are converted."""
    m = method(name)
    run, u = loaded(m), picture(m)
    ours = method("numpy-loop").load()(u, 15.0, 3, 0.2)
    inner = (slice(4, -4), slice(4, -4))
    np.testing.assert_allclose(run(u, 15.0, 3, 0.2)[inner], ours[inner], rtol=0, atol=2e-4)


@pytest.mark.parametrize(
    "name", ["numpy-loop", "itk-gradient-fixed", "opencv", "vtk", "ants", "whorl-perona-malik", "whorl-eed"]
)
def test_one_unit_of_time_is_the_same_for_everyone(name: str) -> None:
    """In the linear limit the variance of a bump grows by 2 t."""
    m = method(name)
    run = loaded(m)
    y, x = np.mgrid[-40:41, -40:41]
    bump = (250 * np.exp(-(x**2 + y**2) / 32)).astype(np.float32)
    inner = (slice(10, -10), slice(10, -10))  # ten steps carry whatever lies outside ten pixels inwards

    def variance(u: np.ndarray) -> float:
        weights = u[inner].astype(np.float64)
        return float((weights * x[inner] ** 2).sum() / weights.sum())

    tolerance = 0.25 if m.precision == "uint8" else 1e-3  # eight bits swallow changes below half a grey value
    growth = variance(run(bump, 1e6, 10, m.tau)) - variance(bump)
    assert growth == pytest.approx(2 * 10 * m.tau, rel=tolerance)


@pytest.mark.parametrize("m", [m for m in EVERYONE if m.library == "whorl"], ids=lambda m: m.name)
def test_whorl_is_compared_at_its_automatic_step(m: Method) -> None:
    import whorl

    step = whorl.models.build(m.model, contrast=20.0).automatic_step()
    assert 0.95 * step <= m.tau <= step
