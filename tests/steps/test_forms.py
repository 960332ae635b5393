"""The plain numbers of a step: found where there are any, and a reason in words where there are none."""

import torch

from whorl.activations import Isotropic
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.diffusivities import Exponential
from whorl.operators import CellGradient, Composed, Smoothing
from whorl.operators.steerable import SteerableMap
from whorl.steps import Numbers
from whorl.steps.form import Form, form_of
from whorl.steps.gated import GatedForm


class Unknown(CellGradient):
    """An operator of somebody else's, of which no engine knows the parts."""

    def parts(self, dimension):
        return None


def test_flux_and_structure_must_both_be_known() -> None:
    phi, known, unknown = Isotropic(Exponential(3.0)), CellGradient(), Unknown()
    assert isinstance(form_of(2, known, phi), Form)
    assert isinstance(form_of(2, known, phi, Composed(known, Smoothing(1.0))), Form)
    assert form_of(2, unknown, phi) == "Unknown has no compiled form"
    assert form_of(2, known, phi, unknown) == "Unknown has no compiled form"
    assert form_of(2, unknown, phi, known) == "Unknown has no compiled form"


def test_no_derivative_reaches_detached_numbers() -> None:
    numbers = Numbers(*(torch.ones(2, requires_grad=True) for _ in range(4)))
    assert not any(part.requires_grad for part in numbers.detached())
    assert all(torch.equal(part, other) for part, other in zip(numbers.detached(), numbers, strict=True))


def test_a_level_for_each_picture_has_a_form_and_a_map_of_levels_has_none() -> None:
    K1, K2 = (SteerableMap(2, fields=(2, 2, 1)) for _ in range(2))
    block = GatedBlock(K1, K2, Gated(K1.orders, levelled=True))
    for level in (None, torch.tensor(0.3), torch.zeros(3, 1, 1, 1)):
        assert isinstance(block.description(level).form, GatedForm)
    for shape in ((1, 1, 8, 8), (1, 1, 1, 2), (1, 1, 2, 1)):
        assert block.description(torch.zeros(shape)).form == "a map of noise levels has no compiled form"
    assert block.description(half=True).form == "a block in bfloat16 has no compiled form"
