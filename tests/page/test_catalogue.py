"""The page's description of the library is the library's: models, diffusivities, scales and steps, as they are now."""

import json
import re
from typing import Any

import pytest

from whorl import diffusivities
from whorl.automatic import traces
from whorl.models import names
from whorl.page import kernel
from whorl.page.catalogue import ALPHAS, MEASURE, TARGET, describe


@pytest.fixture(scope="module")
def committed() -> dict[str, Any]:
    text = TARGET.read_text(encoding="utf-8")
    content = re.fullmatch(r"// [^\n]*\nexport default (.*);\n", text, re.DOTALL)
    assert content is not None
    described: dict[str, Any] = json.loads(content[1])
    return described


def test_file_says_what_the_library_says(committed: dict[str, Any]) -> None:
    some = (0.0, 0.17, 0.41, 0.5)
    fresh = json.loads(json.dumps(describe(some)))
    for name, model in committed["models"].items():
        if model["alphas"] == [None]:
            continue
        assert sorted({*ALPHAS, model["options"]["alpha"]}) == model["alphas"]
        kept = [k for k, alpha in enumerate(model["alphas"]) if alpha in (*some, model["options"]["alpha"])]
        for part in (model, model["twin"]):
            part["steps"] = {cell: [steps[k] for k in kept] for cell, steps in part["steps"].items()}
        model["alphas"] = [model["alphas"][k] for k in kept]
        assert fresh["models"][name] == model, "stale: run python -m whorl.page.catalogue"
    assert fresh == committed, "stale: run python -m whorl.page.catalogue"


def test_noise_is_measured_with_the_weights_of_the_library() -> None:
    assert MEASURE.read_bytes() == traces.FILE.read_bytes(), "stale: run python -m whorl.page.catalogue"


def test_every_model_and_diffusivity_is_in_it(committed: dict[str, Any]) -> None:
    assert list(committed["models"]) == names()
    assert list(committed["diffusivities"]) == [name for name in diffusivities.names() if name != "free-form"]


def test_kernel_knows_the_same_names(drive: Any, committed: dict[str, Any]) -> None:
    known = drive("kernelNames", lenient=True)
    assert sorted(known["diffusivities"]) == sorted(committed["diffusivities"])
    assert {part["law"] for model in committed["models"].values() for part in (model, model["twin"])} <= set(
        known["laws"]
    )


def test_header_of_the_kernel_has_the_formulas_of_the_library() -> None:
    assert kernel.TARGET.read_text(encoding="utf-8") == kernel.header(), "stale: run make kernel"
