"""The CUDA kernels in space against the reference, in their interpreter where there is no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from whorl.models import build

pytest.importorskip("triton")

HERE = Path(__file__).parent


def test_steps_in_space_agree_with_the_reference() -> None:
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")}
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run(
        [sys.executable, str(HERE / "triton_volumes.py")], env=environment, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stderr
    errors = json.loads(done.stdout.splitlines()[-1])
    # Relative to the change of two steps, which is as large as the volume: some twenty roundings of float32.
    assert len(errors) == 8
    assert not {case: error for case, error in errors.items() if not error <= 3e-6}


def test_a_volume_on_the_processor_is_refused() -> None:
    model = build("perona-malik", contrast=9.0)
    with pytest.raises(ValueError, match="works on CUDA devices, the image is on cpu"):
        model(torch.rand(1, 1, 4, 8, 8), 1.0, engine="triton")
