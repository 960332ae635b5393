"""Learned energies as denoisers: the shipped ones keep what is proved of their kind, and reach their tolerance."""

import math

import numpy as np
import pytest
import torch

import whorl
from whorl.engines.cpu.learned.compiled_energy import CompiledEnergy
from whorl.errors import ShapeError
from whorl.networks import EnergySpec, energy_networks, load_card


@pytest.fixture(scope="module")
def scene():
    y, x = torch.meshgrid(torch.arange(24.0), torch.arange(24.0), indexing="ij")
    clean = (90 + 70 * (x > y) + 2 * y)[None, None]
    return clean, clean + 25 * torch.randn(clean.shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("name", energy_networks())
def test_shipped_energies_keep_their_limits_and_remove_noise(name, scene):
    network, (clean, noisy) = whorl.load(name), scene
    with torch.no_grad():
        term = network.term(noisy, 25.0)
        assert term.least >= (-0.97 if name == "energy-weak" else 0.0)
        found = network.minimum(noisy, term)
        assert found.reached
        assert (found.u - clean).square().mean() < 0.25 * (noisy - clean).square().mean()
        turned = network(torch.rot90(noisy, 1, (2, 3)), 25.0)
    # Both ends lie within tolerance * |f| / 0.03 of the minimiser at most; the others are stronger convex still.
    apart = float((torch.rot90(turned, -1, (2, 3)) - found.u).norm())
    assert apart <= 2 * network.tolerance * float(noisy.norm()) / (1 + term.least) * 1.1


@pytest.mark.parametrize("name", energy_networks())
def test_cards_say_how_they_were_made(name):
    card = load_card(name)
    assert set(card.figures["validation"]) == {"5.0", "15.0", "25.0"}
    assert card.training["iterations"] == sum(card.training["runs"]) > 1000
    assert card.data["name"] == "Train400"


def test_arrays_come_back_as_they_came():
    picture = np.full((20, 20), 100, np.uint8)
    result = whorl.load("energy-convex")(picture, 25.0)
    assert (result.shape, result.dtype) == (picture.shape, picture.dtype)
    assert int(np.abs(result.astype(int) - 100).max()) == 0


def test_the_convex_kind_expands_no_pair(scene):
    network, noisy = whorl.load("energy-convex"), scene[1].double()
    network, change = network.double(), torch.randn(4, 1, 24, 24, dtype=torch.float64)
    with torch.no_grad():
        network.tolerance, network.steps = 1e-6, 10000
        first = network(noisy, 25.0)
        for size, d in zip((0.1, 3.0, 30.0, 300.0), change.split(1), strict=True):
            other = network(noisy + size * d, 25.0)
            assert float((other - first).norm()) <= size * float(d.norm()) + 2e-6 * float((noisy + size * d).norm())


def test_bad_input_is_named():
    network = whorl.load("energy-convex")
    picture = torch.zeros(1, 1, 16, 16)
    with pytest.raises(ShapeError, match="1 channel"):
        network(torch.zeros(1, 2, 16, 16), 25.0)
    with pytest.raises(ValueError, match="one level of noise"):
        network(picture)
    with pytest.raises(ValueError, match="one level of noise"):
        network(picture, torch.full((1, 1, 16, 16), 10.0))
    with pytest.raises(ValueError, match="trained for noise 5 to 25"):
        network(picture, 60.0)
    with pytest.raises(ValueError, match="kind of energy"):
        EnergySpec("concave").build()  # type: ignore[arg-type]


def test_what_is_not_reached_is_said(scene):
    network = whorl.load("energy-convex")
    network.steps = 2
    with torch.no_grad(), pytest.warns(UserWarning, match="stopped after 2 steps"):
        network(scene[1], 25.0)


def test_influence_falls_within_the_stated_reach():
    network = EnergySpec("convex").build()
    assert network.reach == 12 * math.ceil(math.log(1e-4) / math.log((math.sqrt(41) - 1) / (math.sqrt(41) + 1)))


@pytest.mark.parametrize("name", energy_networks())
def test_compiled_derivatives_are_those_of_autograd(name, scene, monkeypatch):
    """The linear system going backwards asks the compiled energy; the answer is that of autograd."""
    network, (clean, noisy) = whorl.load(name), scene
    network.requires_grad_(True)
    taken, found = [], {}
    along = CompiledEnergy.along
    monkeypatch.setattr(CompiledEnergy, "along", lambda *a: taken.append(1) or along(*a))
    for engine in ("auto", "reference"):
        network.engine, network.tolerance = engine, 1e-6
        f = noisy.clone().requires_grad_()
        ((network(f, 15.0) - clean).square().mean()).backward()
        found[engine] = [f.grad, *(p.grad.clone() for p in network.parameters())]
        network.zero_grad()
        assert bool(taken) == (engine == "auto")
        taken.clear()
    for ours, theirs in zip(found["auto"], found["reference"], strict=True):
        # Slopes jump at knots: where rounding puts a length on the other side, second derivatives differ.
        assert float((ours - theirs).norm()) <= 0.01 * float(theirs.norm()) + 1e-7


def test_training_has_derivatives(scene):
    torch.manual_seed(0)
    network = EnergySpec("guided", (2, 2, 1), 10.0, 4, (4, 2, 1), 1, 1).build()
    (network(scene[1], 15.0) - scene[0]).square().mean().backward()
    assert all(p.grad is not None and bool(p.grad.isfinite().all()) for p in network.parameters())
    assert float(network.guide.bias.grad.abs().max()) > 0
