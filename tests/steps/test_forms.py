"""The plain numbers of a step: found where there are any, and a reason in words where there are none."""

import pytest
import torch

from whorl.activations import Isotropic
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.diffusivities import Exponential
from whorl.models import build
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


def test_a_step_at_some_numbers_has_these_and_its_own_for_the_others() -> None:
    model = build("multiscale-isotropic", contrast=5.0)
    step = model.description
    contrast, beta = torch.tensor(7.0, dtype=torch.float64), 0.5 * step.own()[1]
    both = step.own()[1]
    assert step.at(Numbers(0.1)) is step
    for numbers, expected in ((Numbers(0.1, contrast), (7.0, both)), (Numbers(0.1, None, beta), (5.0, beta))):
        found = step.at(numbers).own()
        assert float(found[0]) == expected[0]
        assert torch.equal(found[1], expected[1])


@pytest.mark.parametrize("shape", [(), (1, 1, 1)], ids=str)
def test_a_level_without_axes_is_that_of_every_picture(shape) -> None:
    torch.manual_seed(0)
    block = GatedBlock(*(SteerableMap(2, fields=(2, 1)) for _ in range(2)), Gated((0, 0, 1), levelled=True))
    u, level = torch.rand(1, 2, 7, 6), torch.tensor(20.0)
    assert torch.equal(block(u, level=level.reshape(shape)), block(u, level=level.reshape(1, 1, 1, 1)))
