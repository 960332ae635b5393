"""Adapting to a picture: gates alone, the same every time, and taken only where parts held back gain by it."""

from dataclasses import replace

import pytest
import torch

from whorl.automatic import NoiseModel
from whorl.denoising import Denoising
from whorl.networks import adaptation
from whorl.networks.adaptation import _better, _crops, _stein, adapted

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def few_steps(monkeypatch):
    monkeypatch.setattr(adaptation, "STEPS", 2)


def noisy(size=130, width=0.0):
    y, x = torch.meshgrid(torch.arange(float(size)), torch.arange(float(size)), indexing="ij")
    clean = (100 + 60 * torch.sin(x / 5) * torch.sin(y / 9))[None, None]
    model = NoiseModel((0.0,), (400.0,), (width,), -300.0, 600.0)
    return model, model.simulate(clean, seed=1)


def remover(model, u, **told):
    return Denoising(noise=model, **told).remover(model, [u], eight_bits=False, device=CPU)


def test_only_gates_change_and_every_time_alike(monkeypatch):
    monkeypatch.setattr(adaptation, "_better", lambda *_, **__: True)
    model, u = noisy()
    found, seen = remover(model, u).apply, []
    one, other = (adapted(found, [u], seen.append) for _ in range(2))
    assert seen == [1, 2, 1, 2]
    assert torch.equal(one(u), other(u))
    assert not torch.equal(one(u), found(u))
    before, after = (dict(each.denoisers[0].network.named_parameters()) for each in (found, one))
    changed = {name for name in before if not torch.equal(before[name], after[name])}
    assert changed
    assert all(".gate." in name for name in changed)


@pytest.mark.parametrize("refused", ["_stein", "_unseen"])
def test_both_judges_must_agree(monkeypatch, refused):
    verdicts = iter([refused != "_stein", refused != "_unseen"])
    monkeypatch.setattr(adaptation, "_better", lambda *_, **__: next(verdicts))
    model, u = noisy()
    found = remover(model, u).apply
    assert adapted(found, [u]) is found


def test_nothing_is_adapted_where_it_cannot_be_judged():
    model, u = noisy(size=100)
    small = remover(model, u).apply
    assert adapted(small, [u]) is small
    model, u = noisy(width=0.7)
    coloured = remover(model, u).apply
    assert adapted(coloured, [u]) is coloured


def test_a_model_that_does_not_fit_is_not_adapted_to():
    _, u = noisy()
    wrong = NoiseModel((0.0,), (1200.0,), (0.0,), -300.0, 600.0)
    found = remover(wrong, u, adapt=True)
    assert found.doubt
    assert not found.adapted


def test_what_is_doubted_of_a_model_is_said_of_an_adapted_network_too(monkeypatch):
    monkeypatch.setattr(adaptation, "_better", lambda *_, **__: True)
    model, u = noisy()
    for doubtful in (replace(model, coarse=1.0), replace(model, uncertainty=0.6)):
        found = remover(doubtful, u, adapt=True)
        assert found.adapted
        assert found.doubt == remover(doubtful, u).doubt != ""


def test_held_back_crops_are_not_learned_from():
    u = torch.arange(256.0).expand(1, 1, 192, 256) + 1000 * torch.arange(192.0)[:, None]
    learning, held = ([tuple(crop[0, 0, 0].tolist()) for crop in crops] for crops in _crops([u]))
    assert (len(learning), len(held)) == (2, 6)  # as many to learn from as there are steps
    assert not {*learning} & {*held}


@torch.no_grad()
def test_steins_estimate_is_the_error_but_for_the_noise():
    """In units of the noise its variance is 1."""
    model, u = noisy(size=192)
    denoiser = remover(model, u).apply.denoisers[0]
    y, x = torch.meshgrid(torch.arange(192.0), torch.arange(192.0), indexing="ij")
    clean = model.stabilise((100 + 60 * torch.sin(x / 5) * torch.sin(y / 9))[None, None])
    t = model.stabilise(u)
    estimate = float(_stein(denoiser, t, torch.Generator().manual_seed(3)).mean()) - 1
    # 36,864 pixels: the mean square of the noise is known to 0.7 %, the divergence to about as much.
    assert estimate == pytest.approx(float((denoiser(t) - clean).square().mean()), abs=0.04)


def test_better_asks_for_more_than_chance():
    assert _better([1.0, 1.1, 0.9], [0.9, 1.0, 0.8])
    assert not _better([1.0, 1.1, 0.9], [0.5, 1.4, 0.8])
    assert not _better([1.0, 1.0], [1.1, 1.1], sure=0.0)
