"""The CUDA kernels in space against the reference, in their interpreter where there is no GPU."""

import pytest
import torch

from engines.interpreted import errors_of
from whorl.models import build

pytest.importorskip("triton")


def test_steps_in_space_agree_with_the_reference() -> None:
    errors = errors_of("triton_volumes.py", 600)
    # Relative to the change of one or two steps, which is as large as the volume: some twenty roundings of float32.
    assert len(errors) == 8
    assert not {case: error for case, error in errors.items() if not error <= 3e-6}


def test_a_volume_on_the_processor_is_refused() -> None:
    model = build("perona-malik", contrast=9.0)
    with pytest.raises(ValueError, match="works on CUDA devices, the image is on cpu"):
        model(torch.rand(1, 1, 4, 8, 8), 1.0, engine="triton")
