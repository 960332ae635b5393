"""The CUDA kernels against the reference, in their interpreter where there is no GPU."""

from typing import Any

import pytest
import torch

from engines.interpreted import errors_of
from whorl.models import build

pytest.importorskip("triton")
pytestmark = pytest.mark.xdist_group("triton")  # all cases are computed once, by one process

# Errors are relative to the change a step makes. The image of size 50 is rounded to 2e-6 and changes by 0.3 to 3, what
# is pulled back has the size 1 of its change. Parameter sums over all pixels cancel in part.
LIMITS = {"change": 1.5e-5, "pulled": 1e-5}
SUMS = 2e-5


@pytest.fixture(scope="module")
def errors() -> dict[str, dict[str, float]]:
    """All cases at once."""
    found: dict[str, dict[str, float]] = errors_of("triton_cases.py", 300)
    return found


def worst(found: dict[str, float]) -> dict[str, float]:
    return {name: error for name, error in found.items() if not error <= LIMITS.get(name, SUMS)}


def test_a_cell_step_and_its_derivatives_agree_with_the_reference(errors: dict[str, dict[str, float]]) -> None:
    cases = {name: worst(found) for name, found in errors.items() if "channels" in name}
    assert len(cases) == 8
    assert not any(cases.values()), cases


@pytest.mark.parametrize(("kind", "count"), [("multiscale", 4), ("model", 9), ("wide", 6), ("network", 3)])
def test_steps_and_their_derivatives_agree_with_the_reference(kind: str, count: int, errors: dict[str, Any]) -> None:
    cases = {name: worst(found) for name, found in errors.items() if name.startswith(kind)}
    assert len(cases) == count
    assert not any(cases.values()), cases


def test_a_step_spreads_what_is_not_finite_as_the_reference_does(errors: dict[str, dict[str, float]]) -> None:
    cases = {name: found["differ"] for name, found in errors.items() if name.startswith("unknown")}
    assert len(cases) == 8
    assert not any(cases.values()), cases


def test_all_numbers_of_a_step_have_derivatives(errors: dict[str, dict[str, float]]) -> None:
    assert len(errors["multiscale, own weights"]) == 6  # change, pulled, tau, contrast, both weights of scales


def test_steps_write_where_the_caller_wants(errors: dict[str, dict[str, float]]) -> None:
    assert errors["place"] == {"beside": 0.0, "onto": 0.0}


def test_kernels_that_are_wrong_on_a_device_are_found_out(errors: dict[str, dict[str, float]]) -> None:
    assert errors["check"] == {"trusted": 1.0, "broken": 1.0, "unknown": 1.0}


def test_a_processor_is_refused() -> None:
    model = build("perona-malik", contrast=9.0)
    with pytest.raises(ValueError, match="works on CUDA devices, the image is on cpu"):
        model(torch.rand(1, 1, 8, 8), 1.0, engine="triton")


def test_the_kernels_of_a_step_and_its_derivative_are_compiled_together() -> None:
    found = errors_of("triton_compiling.py", 300)
    assert sorted(found["together"]) == ["couple_kernel", "divergence_kernel", "step_kernel"]
    assert found["later"] == []
    # Those of Gaussians, of wide cells and of learned blocks, which the interpreter would take in other words, too.
    kinds = {
        "along_y",
        "along_x",
        "couple",
        "along",
        "law",
        "divergence",
        "wide",
        "analysis",
        "synthesis",
        "gate",
        "copy",
    }
    assert {name.removesuffix("_kernel") for name in found["others"]} == kinds
