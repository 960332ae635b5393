"""The networks in the package: there, loadable offline, and as good as their cards say."""

import json
import socket
import statistics
from pathlib import Path

import pytest
import torch

import whorl
from whorl.data import RectangleSet
from whorl.evaluation import TestScenes, evaluate
from whorl.evaluation.paper import PAPER, verdict
from whorl.models import count_parameters
from whorl.networks import available, load_card
from whorl.networks.spec import BETTER, NAMED, PRINTED, named

SHIPPED = [*NAMED, *PRINTED, *BETTER]
STUDY = Path(__file__).parents[2] / "experiments" / "results" / "study.json"


def test_the_names_are_those_of_the_structures():
    assert set(available()) == set(SHIPPED)
    assert list(NAMED) == list(PAPER)


@pytest.mark.parametrize("name", SHIPPED)
def test_networks_load_without_a_network(name, monkeypatch):
    def refuse(*_):
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    network = whorl.load(name)
    assert network.spec == named(name)
    assert count_parameters(network) == (28 if name in BETTER else 10)
    u = torch.full((1, 1, 12, 12), 100.0)
    assert torch.equal(network(u), u)


@pytest.mark.parametrize("name", SHIPPED)
def test_cards_repeat_the_study_and_choose_by_validation(name):
    trials, card = json.loads(STUDY.read_text())["trials"], load_card(name)
    by_values = {json.dumps(trial["values"]): trial for trial in trials.values() if "values" in trial}
    for run in card.runs:
        trial = by_values[json.dumps(run.values)]
        assert trial["network"] == card.network.as_dict()
        assert trial["seed"] == run.seed
        figures = trial["scene analytic"]["psnr"].values()
        assert run.figures["scene_variance"] == pytest.approx(statistics.pvariance(figures), abs=1e-5)
    judged = sorted(run.figures["validation_variance"] for run in card.runs)
    assert card.run().figures["validation_variance"] == judged[(len(judged) - 1) // 2]


@pytest.mark.parametrize("name", NAMED)
def test_the_papers_figures_are_met(name):
    card = load_card(name)
    assert len(card.runs) >= 3
    variance = statistics.median(run.figures["scene_variance"] for run in card.runs)
    assert verdict(name, variance, 50) == "met"


@pytest.mark.parametrize("suffix", ["", "-printed"])
def test_rectangles_turned(suffix):
    uncoupled, isotropic, anisotropic = (
        load_card(f"{name}-0.41{suffix}") for name in ("uncoupled", "isotropic", "anisotropic")
    )
    assert statistics.median(run.figures["rectangles_variance"] for run in uncoupled.runs) >= 0.8
    assert statistics.median(run.figures["rectangles_psnr_45"] for run in isotropic.runs) >= 27.8
    assert statistics.median(run.figures["rectangles_psnr_45"] for run in anisotropic.runs) >= 28.8


@pytest.mark.parametrize("group", ["paper", "omega inside"])
@pytest.mark.parametrize("turning", ["scene", "rectangles"])
def test_anisotropic_coupling_is_better_at_every_angle(group, turning):
    trials = json.loads(STUDY.read_text())["trials"]
    one, other = (
        trials[f"{group}/{name}-0.41/0"][f"{turning} analytic"]["psnr"] for name in ("anisotropic", "isotropic")
    )
    assert all(one[angle] > other[angle] for angle in one)


def test_the_better_network_is_better_and_as_invariant():
    better, paper = load_card("whorl-28"), load_card("anisotropic-0.41")
    assert len(better.runs) >= 3
    mean, reference = (statistics.median(run.figures["scene_mean"] for run in card.runs) for card in (better, paper))
    assert mean >= reference + 1
    assert statistics.median(run.figures["scene_variance"] for run in better.runs) <= 0.014


@pytest.mark.parametrize("name", ["uncoupled-0.41", "anisotropic-0.41", "whorl-28"])
def test_pictures_come_out_as_well_as_the_card_says(name):
    # Two of fifty pictures: their PSNR scatters around the mean by 1.5 dB or so, broken parameters are off by 5 dB
    card = load_card(name)
    found = evaluate(card.build(), TestScenes(RectangleSet(2), (45,)))
    assert found.psnr[45] == pytest.approx(card.run().figures["scene_psnr_45"], abs=4)


@pytest.mark.slow
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SHIPPED)
def test_fifty_pictures_give_the_cards_figure(name):
    # The cards' figures come from a GPU in float32: pictures agree to about 1e-3 grey values, PSNR to 1e-4 dB
    card = load_card(name)
    found = evaluate(card.build(), TestScenes(RectangleSet(50), (45,)))
    assert found.psnr[45] == pytest.approx(card.run().figures["scene_psnr_45"], abs=1e-3)
