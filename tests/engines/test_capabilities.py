"""The registry of capabilities is true: what it promises of an engine is there, and the docs show what it says."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from whorl import engines
from whorl.activations import Anisotropic, CoherenceEnhancing, EdgeContinuing, EdgeEnhancing, Isotropic, Uncoupled
from whorl.cli.bench import table
from whorl.diffusivities import CLASSICAL, Rational, by_name
from whorl.engines import REGISTRY
from whorl.engines.capabilities import EVERY_LAW
from whorl.export import chain, onnx_model
from whorl.models import build
from whorl.operators import CellGradient, Composed, ScaleStack, Smoothing
from whorl.steps import Form, Numbers, Step

NAMES = [kind.name for kind in CLASSICAL]


def step(law: str, kind: str) -> Step:
    """A step with this law: those of tensors look at a smoothed gradient without detail."""
    g = by_name(kind, 9.0)
    seen = Composed(CellGradient(0.5), Smoothing(0.6))
    activations = {
        "uncoupled": lambda: (Uncoupled(g), None),
        "isotropic": lambda: (Isotropic(g), None),
        "anisotropic": lambda: (Anisotropic(g), None),
        "edge-enhancing": lambda: (Anisotropic(EdgeEnhancing(g)), seen),
        "edge-continuing": lambda: (Anisotropic(EdgeContinuing(9.0), rho=1.0), seen),
        "coherence-enhancing": lambda: (Anisotropic(CoherenceEnhancing(9.0), rho=1.0), seen),
    }
    activation, structure = activations[law]()
    return Step(CellGradient(), activation, structure)


@pytest.mark.parametrize("law", EVERY_LAW)
@pytest.mark.parametrize("kind", NAMES)
def test_every_law_and_diffusivity_is_taken_by_the_engines_that_claim_it(law, kind):
    u = torch.zeros(1, 1, 4, 4)
    for name in ("numba", "triton"):
        found = REGISTRY[name].lacks(step(law, kind).form(), u.to("meta") if name == "triton" else u)
        assert not found or "is on meta" in found
        assert bool(REGISTRY[name].gives(step(law, kind).form())) == (law in REGISTRY[name].laws())


def test_the_compiled_functions_are_those_of_the_registry():
    pytest.importorskip("numba")
    from whorl.engines.cpu.diffusivities import KINDS
    from whorl.engines.cpu.laws import NUMBERS

    assert set(KINDS) == set(REGISTRY["numba"].loops[0].diffusivities)
    assert {name.split(",")[0] for name in NUMBERS} == set(REGISTRY["numba"].laws())


def test_the_limit_of_rho_in_space_is_that_of_the_loops():
    pytest.importorskip("numba")
    from whorl.engines.cpu.space.steering import MARGIN

    assert max(line.rho for line in REGISTRY["numba"].loops if line.dimension == 3) == MARGIN - 1


@pytest.mark.parametrize("law", EVERY_LAW)
def test_derivatives_are_there_where_the_registry_says_so(law):
    u = torch.rand(1, 1, 5, 6, dtype=torch.float64)
    one = step(law, "rational")
    taken = engines.select(one, u, learning=True).name
    assert taken == ("numba" if REGISTRY["numba"].gives(one.form()) == "all" else "reference")


SEVERAL = {
    "coupled channels": Step(CellGradient(0.5), Anisotropic(EdgeEnhancing(by_name("rational", 9.0)), ("channels",))),
    "a detail": Step(CellGradient(0.41), Anisotropic(EdgeEnhancing(by_name("rational", 9.0)))),
    "a smoothed structure": Step(CellGradient(0.5), Anisotropic(EdgeEnhancing(by_name("rational", 9.0)), rho=1.0)),
}


@pytest.mark.parametrize("kind", SEVERAL)
def test_edges_of_several_gradients_are_right_or_refused(kind):
    """The loops for a single gradient take the trace of its tensor for the largest eigenvalue."""
    one, u = SEVERAL[kind], 100 * torch.rand(1, 2, 9, 8, dtype=torch.float64)
    assert engines.choose(one, u).name == "numba"
    assert engines.choose(one, u, learning=True).name == "reference"
    assert "several gradients" in REGISTRY["triton"].lacks(one.form())
    compiled, exact = (engines.advance(one, u, [Numbers(0.2)] * 2, engine) for engine in ("numba", "reference"))
    # A thousandth of the largest eigenvalue is the least distance of two that is divided by.
    assert (compiled - exact).abs().max() <= 1000 * torch.finfo(u.dtype).eps * u.max()


class Doubled(CellGradient):
    """An operator that is not what its base class says that it is made of."""

    def forward(self, u):
        return 2 * super().forward(u)


def test_an_operator_of_another_kind_is_not_taken_for_its_base_class():
    one = Step(Doubled(), Isotropic(by_name("rational", 9.0)))
    assert one.form() == "Doubled has no compiled form"
    assert engines.choose(one, torch.zeros(1, 1, 4, 4)).name == "reference"


class Squared(Rational):
    """A diffusivity that is not what the closed form of its base class says."""

    def forward(self, s2):
        return super().forward(s2) ** 2

    def psi(self, s2):
        return s2 * super().forward(s2)

    def slope(self, s2):
        return -2 * super().forward(s2) ** 3 / self._contrast_squared(s2)


class Turned(EdgeEnhancing):
    """A law that is not what the name of its base class says."""

    def rises(self, mu, spread):
        return tuple(0.5 * rise for rise in super().rises(mu, spread))


class Halved(Isotropic):
    """An activation that does not apply its law alone."""

    def forward(self, v, structure=None):
        return 0.5 * super().forward(v, structure)


@pytest.mark.parametrize(
    "activation",
    [Isotropic(Squared(9.0)), Anisotropic(Turned(Rational(9.0))), Halved(Rational(9.0))],
    ids=["diffusivity", "law", "activation"],
)
def test_what_people_derive_from_the_own_classes_computes_what_they_wrote(activation):
    one, u = Step(CellGradient(), activation), 50 * torch.rand(1, 1, 6, 7, dtype=torch.float64)
    assert engines.choose(one, u).name == "reference"
    found = engines.advance(one, u, [Numbers(0.2)])
    v = CellGradient()(u)
    assert torch.allclose(found, u - 0.2 * CellGradient().adjoint(activation(v)), rtol=1e-12)


WIDE = replace(CellGradient().parts(2), cell="wide")


def test_what_nobody_has_can_be_said_and_is_refused():
    scales = ScaleStack(CellGradient(spacing=(1.0, 1.0, 1.0)))
    four = Step(scales, Isotropic(by_name("rational", 9.0), ("scales",))).form(3)
    assert (four.dimension, len(four.flux.taps), len(four.omega)) == (3, 8, 8)
    assert not REGISTRY["numba"].lacks(four)
    assert "of its own has no compiled form in space" in REGISTRY["triton"].lacks(four)
    wide = Form("isotropic", "rational", WIDE, WIDE)
    assert not REGISTRY["triton"].lacks(wide)
    two = replace(wide, flux=WIDE.on_scales(*[((1.0, 0.2),) * 2] * 2, omega=(1.0, 1.0)))
    assert "of its own has no compiled form on CUDA devices" in REGISTRY["triton"].lacks(two)
    hessian = build("lysaker", contrast=9.0).description.form()
    assert (hessian.flux.name, hessian.flux.order) == ("hessian", 2)
    assert "'hessian' has no compiled form on CUDA devices" in REGISTRY["triton"].lacks(hessian)


@pytest.mark.parametrize("kind", [*NAMES, "free-form"])
def test_the_export_writes_every_diffusivity(kind):
    pytest.importorskip("onnx")
    model = build("weickert-brox", contrast=9.0, diffusivity=kind)
    assert not REGISTRY["onnx"].lacks(model.description.form())
    assert onnx_model(chain.model_chain(model, steps=1)).graph.node


def test_the_page_has_the_laws_and_diffusivities_of_the_registry():
    from whorl.page import catalogue

    shown = catalogue.describe((0.41,))
    assert set(shown["diffusivities"]) == set(REGISTRY["page"].loops[0].diffusivities)
    laws = {entry["law"] for entry in shown["models"].values()}
    assert laws | {shown["filling"]["eed"]["law"]} == set(REGISTRY["page"].laws())


def test_the_page_refuses_what_its_kernel_has_not(monkeypatch):
    from whorl.page import catalogue

    line = replace(REGISTRY["page"].loops[0], laws=("isotropic",))
    monkeypatch.setitem(REGISTRY, "page", replace(REGISTRY["page"], loops=(line,)))
    with pytest.raises(ValueError, match="the law 'uncoupled' is not on the page"):
        catalogue.describe((0.41,))


def test_the_docs_show_the_table():
    page = (Path(__file__).parents[2] / "docs" / "engines.rst").read_text()
    assert "\n".join(f"   {line}" for line in table().splitlines()) in page
