"""Programs that run the CUDA kernels, in Triton's interpreter where there is no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import torch

HERE = Path(__file__).parent


def errors_of(program: str, seconds: int) -> Any:
    """What the program prints, as JSON in its last line.

    A process of its own: whether kernels are interpreted is settled when triton is imported.
    """
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")}
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    done = subprocess.run(
        [sys.executable, str(HERE / program)], env=environment, capture_output=True, text=True, timeout=seconds
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])
