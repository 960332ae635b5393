"""The registry of capabilities is true: what it promises of an engine is there, and the docs show what it says."""

from pathlib import Path

import pytest
import torch

from whorl import engines
from whorl.activations import Anisotropic, CoherenceEnhancing, EdgeEnhancing, Isotropic, Uncoupled
from whorl.diffusivities import CLASSICAL, by_name
from whorl.engines import REGISTRY
from whorl.engines.capabilities import EVERY_LAW, table
from whorl.export import chain, onnx_model
from whorl.models import build
from whorl.operators import CellGradient, Composed, Smoothing
from whorl.steps import Step

NAMES = [kind.name for kind in CLASSICAL]


def step(law: str, kind: str) -> Step:
    """A step with this law: the last two laws look at a smoothed gradient without detail."""
    g = by_name(kind, 9.0)
    seen = Composed(CellGradient(0.5), Smoothing(0.6))
    activations = {
        "uncoupled": lambda: (Uncoupled(g), None),
        "isotropic": lambda: (Isotropic(g), None),
        "anisotropic": lambda: (Anisotropic(g), None),
        "edge-enhancing": lambda: (Anisotropic(EdgeEnhancing(g)), seen),
        "coherence-enhancing": lambda: (Anisotropic(CoherenceEnhancing(9.0), rho=1.0), seen),
    }
    activation, structure = activations[law]()
    return Step(CellGradient(), activation, structure)


@pytest.mark.parametrize("law", EVERY_LAW)
@pytest.mark.parametrize("kind", NAMES)
def test_every_law_and_diffusivity_is_taken_by_the_engines_that_claim_it(law, kind):
    u = torch.zeros(1, 1, 4, 4)
    for name in ("numba", "triton"):
        one = step(law, kind)
        found = REGISTRY[name].lacks(one.form, u.to("meta") if name == "triton" else u)
        assert not found or "is on meta" in found
        assert law in REGISTRY[name].laws
        assert kind in REGISTRY[name].diffusivities


def test_the_compiled_functions_are_those_of_the_registry():
    pytest.importorskip("numba")
    from whorl.engines.cpu.diffusivities import FUNCTIONS
    from whorl.engines.cpu.plane.fields import LAWS

    assert set(FUNCTIONS) == set(REGISTRY["numba"].diffusivities)
    assert set(LAWS) == set(REGISTRY["numba"].laws)


@pytest.mark.parametrize("law", EVERY_LAW)
def test_derivatives_are_there_where_the_registry_says_so(law):
    u = torch.rand(1, 1, 5, 6, dtype=torch.float64)
    taken = engines.select(step(law, "rational"), u, learning=True).name
    assert taken == ("numba" if law in REGISTRY["numba"].backward else "reference")


@pytest.mark.parametrize("kind", [*NAMES, "free-form"])
def test_the_export_writes_every_diffusivity(kind):
    pytest.importorskip("onnx")
    assert kind in REGISTRY["onnx"].diffusivities
    model = build("weickert-brox", contrast=9.0, diffusivity=kind)
    assert onnx_model(chain.model_chain(model, steps=1)).graph.node


def test_the_page_has_the_laws_and_diffusivities_of_the_registry():
    from whorl.page import catalogue

    shown = catalogue.describe((0.41,))
    assert set(shown["diffusivities"]) == set(REGISTRY["page"].diffusivities)
    laws = {build(name, contrast=9.0).activation.law.name for name in shown["models"]}
    assert laws | {shown["filling"]["eed"]["law"]} == set(REGISTRY["page"].laws)


def test_the_docs_show_the_table():
    page = (Path(__file__).parents[2] / "docs" / "engines.rst").read_text()
    assert "\n".join(f"   {line}" for line in table().splitlines()) in page
