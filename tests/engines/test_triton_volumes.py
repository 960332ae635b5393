"""The CUDA kernels in space against the reference, in their interpreter where there is no GPU."""

import pytest
import torch

from engines.interpreted import errors_of
from whorl.models import build

pytest.importorskip("triton")
pytestmark = pytest.mark.xdist_group("triton in space")  # all cases are computed once, by one process


@pytest.fixture(scope="module")
def errors() -> dict[str, float]:
    """All cases at once."""
    found: dict[str, float] = errors_of("triton_volumes.py", 600)
    return found


def test_steps_in_space_agree_with_the_reference(errors: dict[str, float]) -> None:
    cases = {case: error for case, error in errors.items() if "(" in case and "gaussian" not in case}
    # Relative to the change of one or two steps, which is as large as the volume: some twenty roundings of float32.
    assert len(cases) == 10
    assert not {case: error for case, error in cases.items() if not error <= 3e-6}


def test_gaussians_in_space_agree_with_the_reference(errors: dict[str, float]) -> None:
    cases = {case: error for case, error in errors.items() if case.startswith("gaussian")}
    # Three sums, in each as many roundings of float32 as it has taps, most of them of small terms.
    assert len(cases) == 4
    assert not {case: error for case, error in cases.items() if not error <= 5e-7}


def test_gaussians_write_into_their_volumes_only(errors: dict[str, float]) -> None:
    assert errors["outside"] == 0.0


def test_constants_stay_to_the_last_bit_in_space(errors: dict[str, float]) -> None:
    cases = {case: error for case, error in errors.items() if case.startswith("constant")}
    assert len(cases) == 4
    assert not any(cases.values()), cases


def test_a_volume_on_the_processor_is_refused() -> None:
    model = build("perona-malik", contrast=9.0)
    with pytest.raises(ValueError, match="works on CUDA devices, the image is on cpu"):
        model(torch.rand(1, 1, 4, 8, 8), 1.0, engine="triton")
