"""Every model with every diffusivity, precision, pixel size, scheme and engine, on images of any magnitude."""

import pytest
import torch
from hypothesis import given, note
from hypothesis import strategies as st

from whorl import diffusivities, models
from whorl.schemes import SCHEMES

ENGINES = ["reference", "auto"]


@st.composite
def cases(draw) -> dict:
    name = draw(st.sampled_from(models.names()))
    options = models.row(name).options
    settings: dict = {"diffusivity": draw(st.sampled_from(diffusivities.names()))}
    if name == "eed" and settings["diffusivity"] == "tv":  # needs g(0) = 1
        settings["diffusivity"] = "charbonnier"
    if name == "ced":  # has a law of its own instead
        settings["diffusivity"] = None
    settings["spacing"] = draw(st.sampled_from([(1.0, 1.0), (1.0, 2.0), (0.7, 0.3)]))
    if "alpha" in options:
        settings["alpha"] = draw(st.sampled_from([None, 0.0, 0.3, 0.5]))
    if "cell" in options:
        settings["cell"] = draw(st.sampled_from([None, "wide"]))
    if "gamma" in options:
        settings["gamma"] = draw(st.sampled_from([0.0, 0.5]))
    if "sigma" in options:
        settings["sigma"] = draw(st.sampled_from([None, 0.0, 0.8]))
    if "scales" in options:
        settings["scales"] = draw(st.integers(1, 3))
    return {
        "name": name,
        "settings": {key: value for key, value in settings.items() if value is not None},
        "contrast": draw(st.floats(0.2, 3.0)),
        "steps": draw(st.integers(1, 3)),
        "scheme": draw(st.sampled_from(SCHEMES)),
        "engine": draw(st.sampled_from(ENGINES)),
        "shape": (1, draw(st.integers(1, 4)), draw(st.integers(1, 9)), draw(st.integers(1, 12))),
        "seed": draw(st.integers(0, 2**31)),
    }


def build(case: dict, unit: float = 1.0) -> models.Model:
    return models.build(case["name"], contrast=case["contrast"] * unit, **case["settings"])


def image(case: dict, dtype: torch.dtype, unit: float = 1.0) -> torch.Tensor:
    draw = torch.Generator().manual_seed(case["seed"])
    return (unit * torch.randn(case["shape"], dtype=torch.float64, generator=draw)).to(dtype)


def run(case: dict, u: torch.Tensor, unit: float = 1.0, engine: str | None = None) -> torch.Tensor:
    model = build(case, unit)
    time = case["steps"] * model.automatic_step()
    with torch.no_grad():
        return model(u, time=time, scheme=case["scheme"], engine=engine or case["engine"])


@given(cases(), st.sampled_from([torch.float32, torch.float64]), st.integers(-30, 30))
def test_any_magnitude_is_filtered_right_or_refused(case: dict, dtype: torch.dtype, magnitude: int) -> None:
    """Scaling image and contrast scales the result; what cannot be computed is refused in words."""
    if case["settings"].get("diffusivity") == "tv" and dtype == torch.float32:
        # The slope of g = 1/s is an inverse cube: beyond 1e12 float32 cannot hold it.
        magnitude = max(-12, min(12, magnitude))
    unit = 10.0**magnitude
    u = image(case, dtype, unit)
    expected = run(case, image(case, torch.float64), engine="reference")
    try:
        found = run(case, u, unit)
    except ValueError as reason:
        note(str(reason))
        assert abs(magnitude) > 10  # ordinary magnitudes are never refused
        assert any(word in str(reason) for word in ("overflow", "contrast", "steps", "time"))
        return
    assert found.dtype == dtype
    assert torch.isfinite(found).all()
    gap = (found.double() / unit - expected).abs().max()
    largest = float(image(case, torch.float64).abs().max())
    note(f"off by {float(gap) / largest / torch.finfo(dtype).eps:.0f} eps of the largest value")
    assert gap <= 500 * torch.finfo(dtype).eps * largest


@given(cases(), st.sampled_from([torch.float32, torch.float64]))
def test_mean_is_kept_and_constants_stay(case: dict, dtype: torch.dtype) -> None:
    u = 3 + image(case, dtype)
    found = run(case, u)
    eps = torch.finfo(dtype).eps
    for before, after in zip(u.double().mean((2, 3)).flatten(), found.double().mean((2, 3)).flatten(), strict=True):
        assert float(after) == pytest.approx(float(before), abs=100 * eps * float(u.abs().max()))
    flat = torch.full(case["shape"], 0.1, dtype=dtype)
    assert torch.equal(run(case, flat), flat)


@given(cases())
def test_quarter_turns_and_mirrors(case: dict) -> None:
    case = {**case, "settings": {**case["settings"], "spacing": (1.0, 1.0)}}
    u = image(case, torch.float64)
    straight = run(case, u)
    bound = 500 * torch.finfo(torch.float64).eps * float(u.abs().max())
    assert (run(case, u.rot90(1, (2, 3))) - straight.rot90(1, (2, 3))).abs().max() <= bound
    assert (run(case, u.flip(3)) - straight.flip(3)).abs().max() <= bound


@given(cases())
def test_energy_and_norm_never_rise_at_the_limit(case: dict) -> None:
    model, u = build(case), image(case, torch.float64)
    tau = model.step_limit()
    with torch.no_grad():
        after = model.step(u, tau, engine=case["engine"])
        assert after.norm() <= u.norm() * (1 + 1e-12)
        if not model.no_energy():
            assert model.energy(after) <= model.energy(u) * (1 + 1e-12) + 1e-300


@given(cases(), st.sampled_from([torch.float32, torch.float64]))
def test_derivatives_are_those_of_the_reference(case: dict, dtype: torch.dtype) -> None:
    """Backwards through one step, by the engine and by the reference in float64."""
    model = build(case)
    tau = model.automatic_step()
    direction = torch.randn(case["shape"], dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    gradients = []
    for engine, precision in ((case["engine"], dtype), ("reference", torch.float64)):
        u = image(case, precision).requires_grad_()
        (gradient,) = torch.autograd.grad((model.step(u, tau, engine=engine) * direction.to(precision)).sum(), u)
        gradients.append(gradient.double())
    found, expected = gradients
    # Curvature of g amplifies what rounding does to its argument: a small multiple of the precision.
    assert (found - expected).norm() <= 2000 * torch.finfo(dtype).eps * (expected.norm() + direction.norm())
