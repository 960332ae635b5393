"""Every law on square and other pixels, coupled or not: a file computes what the reference does, or is refused."""

from typing import Any

import pytest
from tests.export.test_export import assert_as_exact_as_python, picture, run_onnx
from torch import Tensor

from whorl.activations import (
    Activation,
    Anisotropic,
    CoherenceEnhancing,
    EdgeContinuing,
    EdgeEnhancing,
    Isotropic,
    Uncoupled,
)
from whorl.diffusivities import Rational
from whorl.export import Chain, model_chain, onnx_model
from whorl.export.chain import network_chain, refuse
from whorl.export.pt2 import ConvolutionChain
from whorl.models import Model, build
from whorl.networks import load
from whorl.operators import CellGradient, Composed, Operator, ScaleStack, Smoothing, sample_scales

LAWS: dict[str, Any] = {
    "uncoupled": lambda couple: Uncoupled(Rational(15.0), couple),
    "isotropic": lambda couple: Isotropic(Rational(15.0), couple),
    "anisotropic": lambda couple: Anisotropic(Rational(15.0), couple),
    "edge-enhancing": lambda couple: Anisotropic(EdgeEnhancing(Rational(15.0)), couple),
    "edge-continuing": lambda couple: Anisotropic(EdgeContinuing(15.0), couple),
    "coherence-enhancing": lambda couple: Anisotropic(CoherenceEnhancing(15.0), couple),
}
COUPLINGS = {"nothing": (), "channels": ("channels",), "scales": ("scales",), "both": ("channels", "scales")}
SPACINGS = {"square": 1.0, "unequal": (1.0, 2.0)}
STEPS = 3


def steering(kind: str, spacing: Any) -> tuple[Operator, Operator | None]:
    """The operators of flux and structure."""
    flux = CellGradient(0.41, spacing)
    if kind == "the gradient itself":
        return flux, None
    if kind == "a smoothed gradient":
        return flux, Composed(CellGradient(0.5, spacing), Smoothing(0.8, spacing=spacing))
    return ScaleStack(flux, sample_scales(2, 0.4, 1.5)), None


def model(law: str, coupling: str, spacing: str, kind: str) -> Model:
    operator, structure = steering(kind, SPACINGS[spacing])
    phi: Activation = LAWS[law](COUPLINGS[coupling])
    return Model(operator, phi, structure=structure, name=f"{law} of {kind}")


def run_onnx_file(chain: Chain, image: Tensor) -> Tensor:
    return run_onnx(onnx_model(chain), image)


def test_nothing_in_a_file_learns() -> None:
    chain = network_chain(load("anisotropic-0.41"))
    assert not any(parameter.requires_grad for parameter in ConvolutionChain(chain).parameters())


def run_pt2(chain: Chain, image: Tensor) -> Tensor:
    """The module that is traced for the file: tracing it takes seconds, and is tested with every model."""
    refuse(chain.form, "pt2")
    return ConvolutionChain(chain)(image)


# Where there is one scale alone, coupled scales are scales alone.
KINDS = [
    (coupling, kind) for coupling in ("nothing", "channels") for kind in ("the gradient itself", "a smoothed gradient")
]
KINDS += [(coupling, "two scales") for coupling in COUPLINGS]


@pytest.mark.parametrize(("coupling", "kind"), KINDS)
@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("law", LAWS)
def test_files_are_right_or_refused(law: str, coupling: str, spacing: str, kind: str) -> None:
    chosen, image = model(law, coupling, spacing, kind), picture((1, 2, 9, 8))
    if chosen.activation.law.name not in ("uncoupled", "isotropic", "anisotropic", "edge-enhancing"):
        with pytest.raises(ValueError, match=f"{law!r} cannot be exported"):
            model_chain(chosen, steps=STEPS)
        return
    chain = model_chain(chosen, steps=STEPS)
    time = STEPS * chosen.automatic_step()
    python, exact = (chosen(u, time, engine="reference") for u in (image, image.double()))
    assert (exact - image).abs().max() > 1
    for write in (run_onnx_file, run_pt2):
        assert_as_exact_as_python(write(chain, image), python, exact)


def test_a_contrast_for_each_channel_is_for_pt2_alone() -> None:
    chosen = build("multiscale-isotropic", contrast=[[15.0, 9.0], [5.0, 30.0]], scales=2)
    chain, image = model_chain(chosen, steps=STEPS), picture((1, 2, 9, 8))
    with pytest.raises(ValueError, match=r"channels and scales cannot be exported as ONNX. Write a .pt2 file"):
        onnx_model(chain)
    time = STEPS * chosen.automatic_step()
    python, exact = (chosen(u, time, engine="reference") for u in (image, image.double()))
    assert_as_exact_as_python(run_pt2(chain, image), python, exact)
