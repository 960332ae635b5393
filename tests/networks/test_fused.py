"""Networks in fused kernels agree with plain torch, in the kernels' interpreter where there is no GPU."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from whorl.networks import NetworkSpec, build_network
from whorl.networks.recipe import Recipe
from whorl.training import TrainingConfig

HERE = Path(__file__).parent
# Relative to the change of the image: grey values near 255 are rounded to 1.5e-5 and change by about 10.
LIMITS = {"image": 1e-5, "gradient by image": 1e-5, "by parameters": 1e-5}


@pytest.fixture(scope="module")
def errors() -> dict[str, dict[str, float]]:
    pytest.importorskip("triton")
    environment = {**os.environ, "PYTHONPATH": str(HERE.parents[1] / "src")}
    if not torch.cuda.is_available():
        environment["TRITON_INTERPRET"] = "1"
    program = [sys.executable, str(HERE / "fused_cases.py")]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_values_and_gradients_agree(errors):
    assert len(errors) == 3
    beyond = {case: found for case, found in errors.items() if any(found[n] > LIMITS[n] for n in LIMITS)}
    assert not beyond


def test_what_the_kernels_cannot_do_is_refused():
    with pytest.raises(ValueError, match="centred"):
        build_network(NetworkSpec(centred=True)).fused()


def test_training_is_fused_by_itself_where_that_is_possible():
    pytest.importorskip("triton")
    recipe = Recipe(NetworkSpec())
    assert recipe.fusible("cuda:1")
    assert not recipe.fusible("cpu")
    assert not replace(recipe, training=TrainingConfig(optimiser="gauss-newton")).fusible("cuda")
    assert not replace(recipe, network=NetworkSpec(centred=True)).fusible("cuda")
