"""The plain numbers of a step: found where there are any, and a reason in words where there are none."""

import pytest
import torch

from whorl.activations import Anisotropic, Isotropic, Uncoupled
from whorl.activations.gated import Gated
from whorl.blocks.gated import GatedBlock
from whorl.diffusivities import Exponential
from whorl.models import build
from whorl.operators import CellGradient, Composed, ScaleStack, Smoothing, sample_scales
from whorl.operators.steerable import SteerableMap
from whorl.steps import Numbers, Step
from whorl.steps.form import Form, form_of
from whorl.steps.gated import GatedForm, GatedStep


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


@pytest.mark.parametrize("d", [2, 3])
def test_a_diffusion_tensor_has_the_entries_of_its_law(d: int) -> None:
    law = Exponential(3.0)
    count = [form_of(d, CellGradient(), phi(law)).entries for phi in (Isotropic, Uncoupled, Anisotropic)]
    assert count == [1, d, len(torch.triu_indices(d, d)[0])]


def test_channels_are_steered_where_another_operator_or_a_gaussian_does_it() -> None:
    """Empty where they steer themselves; else the Gaussians of both axes, before and after squaring."""
    law, K = Exponential(3.0), CellGradient()
    none, sigma = ((1.0,), (1.0,)), Composed(K, Smoothing(1.0))
    assert form_of(2, K, Anisotropic(law)).steering == ()
    presmoothed = form_of(2, K, Anisotropic(law), sigma)
    assert presmoothed.steering == (*presmoothed.structure.taps[0], *none)
    assert presmoothed.steering[0] != (1.0,)
    smoothed = form_of(2, K, Anisotropic(law, rho=1.0))
    assert smoothed.steering == (*none, *smoothed.rho)
    assert smoothed.rho[0] != (1.0,)


def test_scales_are_coupled_where_there_are_two_or_weights() -> None:
    law, two = Exponential(3.0), ScaleStack(CellGradient(), sample_scales(2, 0.5, 2.0))
    assert form_of(2, two, Isotropic(law, ("scales",))).couple_scales
    assert not form_of(2, two, Isotropic(law, ("channels",))).couple_scales
    assert not form_of(2, CellGradient(), Isotropic(law, ("scales",))).couple_scales
    assert form_of(2, CellGradient(), Isotropic(law, ("scales",), scale_weights=(2.0,))).couple_scales
    assert form_of(2, two, Isotropic(law, ("scales",), scale_weights=(2.0, 3.0))).inside == (2.0, 3.0)


def test_both_operators_of_a_block_need_a_form() -> None:
    compiled, wide = SteerableMap(2, fields=(2, 2, 1)), SteerableMap(2, fields=(2, 2, 1), size=7)
    for K1, K2 in ((compiled, wide), (wide, compiled), (wide, wide)):
        assert isinstance(GatedBlock(K1, K2, Gated(K1.orders)).description().form, str)
    assert isinstance(GatedBlock(compiled, compiled, Gated(compiled.orders)).description().form, GatedForm)


def test_a_form_is_made_anew_after_somebody_wrote_into_the_weights_of_its_scales() -> None:
    stack = ScaleStack(CellGradient(), sample_scales(2, 0.5, 2.0))
    step = Step(stack, Isotropic(Exponential(3.0), ("scales",), scale_weights=torch.ones(2, dtype=torch.float64)))
    weights = step.activation.scale_weights
    assert isinstance(weights, torch.Tensor)
    for written in (stack.omega, weights):
        first = step.form()
        assert step.form() is first
        written.mul_(2)
        assert isinstance(step.form(), Form)
        assert step.form() is not first


def test_numbers_left_open_are_the_step_s_own() -> None:
    step = build("perona-malik", contrast=3.0).description
    given = Numbers(torch.tensor(0.2, dtype=torch.float64), torch.tensor(7.0, dtype=torch.float64))
    for size in (0.2, given.tau):
        assert step.complete(Numbers(size)).plain() == Numbers(0.2, 3.0, (1.0,), (1.0,))
    assert step.complete(given).plain() == Numbers(0.2, 7.0, (1.0,), (1.0,))
    whole = step.complete(given)
    assert step.complete(whole) is whole
    assert all(isinstance(part, torch.Tensor) for part in step.complete(whole._replace(tau=0.1)))


def test_blocks_compute_in_the_precision_of_the_stream_unless_told() -> None:
    K = SteerableMap(2, fields=(2, 1))
    assert isinstance(GatedStep(K, K, Gated(K.orders)).form, GatedForm)
    assert "bfloat16" in str(GatedStep(K, K, Gated(K.orders), half=True).form)
