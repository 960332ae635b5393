"""A module's step is described once, and anew as soon as one of its parts is another."""

import pytest
import torch

from whorl.activations import Isotropic
from whorl.blocks import DiffusionBlock
from whorl.diffusivities import Charbonnier, Exponential
from whorl.models import build
from whorl.networks import NetworkSpec, build_network
from whorl.operators import CellGradient


def model(contrast: float = 12.0, alpha: float = 0.41):
    made = build("perona-malik", contrast=contrast, alpha=alpha)
    return made, lambda u: made.step(u, 0.2)


def block(contrast: float = 12.0, alpha: float = 0.41):
    made = DiffusionBlock(CellGradient(alpha), Isotropic(Exponential(contrast)), tau=0.2)
    return made, made


def network(contrast: float = 60.0, alpha: float = 0.41):
    spec = NetworkSpec("isotropic", steps=2, scales=2, scheduled=True, alpha=alpha)
    made = build_network(spec)
    if contrast != 60.0:
        made.activation = Isotropic(Charbonnier(1.0), ("channels", "scales"), scale_weights=made.activation.inside)
    return made, made


@pytest.fixture
def u(rng: torch.Generator) -> torch.Tensor:
    return 100 * torch.rand(1, 2, 9, 8, generator=rng, dtype=torch.float64)


@pytest.mark.parametrize("make", [model, block, network], ids=lambda make: make.__name__)
@pytest.mark.parametrize("part", ["activation", "operator"])
def test_a_part_that_is_replaced_counts_from_then_on(make, part: str, u: torch.Tensor) -> None:
    made, run = make()
    u = u[:, :1] if make is network else u
    other = make(contrast=5.0)[0] if part == "activation" else make(alpha=0.1)[0]
    expected, as_before = make(contrast=5.0)[1] if part == "activation" else make(alpha=0.1)[1], make()[1]
    with torch.no_grad():
        assert torch.equal(run(u), as_before(u))
        assert made.description is made.description  # kept as long as nothing changes
        first = made.description
        setattr(made, part, getattr(other, part))
        assert made.description is not first
        assert getattr(made.description, part) is getattr(other, part)
        assert torch.equal(run(u), expected(u))
        assert not torch.equal(run(u), as_before(u))
