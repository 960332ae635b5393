"""The three blocks of the paper's figures, and what keeps them positive and sized."""

import pytest
import torch

from whorl.activations import Isotropic
from whorl.activations.gated import Gated
from whorl.blocks import (
    DiffusionBlock,
    MirrorFold,
    MirrorPad,
    ResNetBlock,
    diffusion_block,
    literal_stencils,
    multichannel_block,
    multiscale_block,
)
from whorl.blocks.gated import GatedBlock
from whorl.diffusivities import Exponential
from whorl.energies import Energy
from whorl.foundations.positive import Positive, geometric
from whorl.operators import CellGradient, Hessian, ScaleStack, sample_scales
from whorl.operators.steerable import SteerableMap
from whorl.schemes import equal_steps


def test_each_block_couples_what_its_design_principle_says():
    assert diffusion_block().activation.couple == ()
    assert multichannel_block().activation.couple == ("channels",)
    assert multiscale_block().activation.couple == ("channels", "scales")
    with pytest.raises(ValueError, match="gamma = 0.5"):
        multichannel_block(anisotropic=False, gamma=0.5)


@pytest.mark.parametrize("make", [multichannel_block, multiscale_block])
def test_blocks_are_by_default_those_of_the_best_network_of_the_paper(make):
    """Anisotropic with alpha = 0.41; the scales are weighed inside the diffusivity, as in the paper's energies."""
    u = 20 * torch.randn(1, 2, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    by_default, told = make(contrast=10.0).double(), make(contrast=10.0, alpha=0.41, anisotropic=True).double()
    assert torch.equal(by_default(u), told(u))
    for other in ({"alpha": 0.43}, {"anisotropic": False}):
        assert not torch.equal(by_default(u), make(contrast=10.0, **other).double()(u))
    if make is multiscale_block:
        sampling = sample_scales()
        assert by_default.activation.inside == pytest.approx(sampling.omega)
        assert make(omega_inside=False).activation.inside is None


@pytest.mark.parametrize("make", [diffusion_block, multichannel_block, multiscale_block])
def test_trainable_blocks_train_contrast_step_and_weights(make):
    block = make(contrast=10.0, trainable=True)
    u = 20 * torch.randn(1, 2, 8, 8, generator=torch.Generator().manual_seed(0))
    block(u).square().sum().backward()
    trained = [parameter for parameter in block.parameters() if parameter.requires_grad]
    assert sum(parameter.numel() for parameter in trained) == (10 if make is multiscale_block else 2)
    assert all((parameter.grad != 0).all() for parameter in trained)
    assert not [p for p in make(contrast=10.0).parameters() if p.requires_grad]


def test_blocks_stack_into_a_network():
    network = torch.nn.Sequential(*(multichannel_block(contrast=5.0, trainable=True) for _ in range(3)))
    assert network(torch.rand(2, 3, 9, 9)).shape == (2, 3, 9, 9)


def test_every_path_of_the_literal_network_adds_its_biases():
    """Equation (37): biases that are not zero shift the responses and the result."""
    block = multiscale_block(contrast=10.0, sampling=sample_scales(2, 0.5, 2.0))
    u = 20 * torch.randn(1, 1, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    network = block.to_resnext(channels=1)
    with torch.no_grad():
        before = network(u)
        network.b2.copy_(torch.tensor([3.0, 4.0]).view_as(network.b2))
        assert torch.allclose(network(u), before + 7, rtol=0, atol=1e-12)


def test_mirror_modules_are_transposes():
    u, v = torch.randn(1, 2, 4, 5, dtype=torch.float64), torch.randn(1, 2, 10, 11, dtype=torch.float64)
    assert torch.allclose((MirrorPad(3)(u) * v).sum(), (u * MirrorFold(3)(v)).sum())


def test_stencils_are_the_literal_ones():
    x = torch.tensor([[-0.5, 0.5], [-0.5, 0.5]], dtype=torch.float64)
    stencils = literal_stencils(CellGradient(0.0))[0]
    assert torch.equal(stencils[0], x)
    assert torch.equal(stencils[1], x.T)
    assert torch.equal(stencils[2], torch.tensor([[0.5, -0.5], [-0.5, 0.5]], dtype=torch.float64))
    assert literal_stencils(Hessian()).shape == (1, 4, 5, 5)
    assert literal_stencils(ScaleStack(CellGradient(), sample_scales(2, 0.5, 2.0))).shape == (2, 4, 10, 10)


def test_energy_of_uncoupled_scales_weighs_them_outside():
    """Without coupling of scales the energy is the weighted sum of the energies of the scales."""
    sampling = sample_scales(2, 0.5, 2.0)
    K, phi = ScaleStack(CellGradient(), sampling), Isotropic(Exponential(3.0))
    u = (5 * torch.randn(1, 1, 7, 6, dtype=torch.float64)).requires_grad_()
    energy = Energy(K, phi)
    (gradient,) = torch.autograd.grad(energy(u), u)
    assert torch.allclose(gradient, energy.gradient(u.detach()), rtol=0, atol=1e-12)


def test_positive_numbers():
    assert Positive([1.0, 2.0])().tolist() == [1.0, 2.0]
    for bad in (0.0, -1.0, 1e-40, 1e40, float("nan")):
        with pytest.raises(ValueError, match="tau must lie in"):
            Positive(bad, name="tau")
    assert geometric(1.0, 8.0, 3) == pytest.approx([1, 2, 4, 8])


def test_equal_steps_reach_the_time_without_a_needless_one():
    for time, largest in [(1.0, 0.1), (0.3, 0.1), (2.0, 0.4), (1e-3, 5.0), (7.77, 0.31)]:
        steps = equal_steps(time, largest)
        assert sum(steps) == pytest.approx(time, rel=1e-14)
        assert max(steps) <= largest * (1 + 1e-11)
        assert len(steps) - 1 < time / largest
    assert equal_steps(0.0, 0.4) == []


@pytest.mark.parametrize("scales", [2, 3])
def test_a_block_of_several_scales_has_no_single_path(scales):
    operator = ScaleStack(CellGradient(0.3), sample_scales(scales))
    with pytest.raises(ValueError, match=f"{scales} scales, a ResNet block one path"):
        ResNetBlock(operator, Isotropic(Exponential(5.0), ("scales",)), 0.1, 1, None)


def test_the_diffusion_block_has_the_alpha_of_the_paper():
    u = 20 * torch.randn(1, 1, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    by_default = diffusion_block(10.0).double()(u)
    assert torch.equal(by_default, diffusion_block(10.0, alpha=0.41).double()(u))
    assert not torch.equal(by_default, diffusion_block(10.0, alpha=0.43).double()(u))


@pytest.mark.parametrize("operator", [CellGradient(0.3), Hessian(), CellGradient(0.3, 2.0)], ids=repr)
def test_literal_stencils_are_no_larger_than_they_need_be(operator):
    """Not all numbers at their rim are zero; and by default the network is one for grey pictures."""
    block = DiffusionBlock(operator, Isotropic(Exponential(10.0)), 0.05).double()
    u = 20 * torch.randn(1, 1, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for network in (block.to_resnet(), block.to_resnext()):
        assert torch.allclose(network(u), block(u), rtol=0, atol=1e-12)
        weight = network.W1[0][1].weight.detach()
        assert float(weight[..., [0, -1], :].abs().sum()) > 0
        assert float(weight[..., [0, -1]].abs().sum()) > 0


def test_learned_blocks_compute_in_the_precision_of_the_stream():
    K = SteerableMap(2, fields=(2, 1))
    block = GatedBlock(K, K, Gated(K.orders))
    assert not block.description().half
    assert block.description(None, True).half


@pytest.mark.parametrize("make", [diffusion_block, multichannel_block])
def test_untold_blocks_have_contrast_1_and_steps_of_a_fifth(make):
    u = torch.randn(1, 2, 9, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert torch.equal(make().double()(u), make(1.0, 0.2, alpha=0.41).double()(u))
