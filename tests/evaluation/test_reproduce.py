"""``whorl evaluate`` and ``whorl reproduce`` on little pictures with untrained networks."""

import json
import statistics
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from whorl.cli.main import build
from whorl.data import ANGLES, RectangleSet
from whorl.errors import FileError
from whorl.evaluation import TestScenes, evaluate
from whorl.evaluation.angles import Store
from whorl.evaluation.experiment import experiment
from whorl.evaluation.reproduction import PAPER, verdict
from whorl.networks import NetworkSpec, build_network
from whorl.networks.cards import ModelCard, Run, load_card
from whorl.training import PROTOCOLS


@pytest.fixture
def cards(monkeypatch) -> list[ModelCard]:
    """Networks of two steps on two scales, and pictures of 32 x 32 pixels."""
    found = []
    for name in PAPER:
        coupling, alpha = name.split("-")
        spec = NetworkSpec(coupling, float(alpha), steps=2, scales=2)
        runs = tuple(
            Run(seed, build_network(spec).saved() | {"tau": torch.tensor([0.1 + 0.02 * seed]).double()})
            for seed in range(3)
        )
        found.append(ModelCard(name, spec, runs, chosen=1))
    small = RectangleSet
    monkeypatch.setattr("whorl.data.RectangleSet", lambda *a, **k: small(*a, **{**k, "size": 32}))
    return found


def run(out, cards, images=2, seeds=1, ways=("scene",), **how):
    return experiment(out, cards, images, seeds, ways, torch.device("cpu"), **how)


def test_results_have_the_promised_form(cards, tmp_path, monkeypatch):
    monkeypatch.setattr("whorl.evaluation.experiment.shipped_cards", lambda also: cards)
    said = call("reproduce", "--images", "2", "--out", str(tmp_path)).output
    found = json.loads((tmp_path / "results.json").read_text())
    assert list(found) == ["protocol", "models"]
    assert list(found["models"]) == list(PAPER)
    for figures in found["models"].values():
        assert list(figures) == ["psnr", "mean", "variance", "psnr_45"]
        assert list(figures["psnr"]) == [str(angle) for angle in ANGLES]
        assert figures["mean"] == pytest.approx(statistics.fmean(figures["psnr"].values()))
        assert figures["variance"] == pytest.approx(statistics.pvariance(figures["psnr"].values()))
        assert figures["psnr_45"] == figures["psnr"]["45"]
    for name in ("psnr.png", "comparison.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
    assert "2 images" in said
    assert "met" not in said
    assert "missed" not in said


def test_every_seed_is_listed_and_the_median_reported(cards, tmp_path):
    run(tmp_path, cards, seeds=3, ways=("scene", "rectangles"))
    details = json.loads((tmp_path / "details.json").read_text())
    results = json.loads((tmp_path / "results.json").read_text())
    assert list(details) == ["scene", "rectangles"]
    for name, entry in details["scene"].items():
        variances = [seed["variance"] for seed in entry["seeds"].values()]
        assert len(variances) == 3
        assert results["models"][name]["variance"] == statistics.median(variances) == entry["variance"]["median"]
        assert entry["variance"]["low"] <= entry["variance"]["mean"] <= entry["variance"]["high"]
    assert (tmp_path / "psnr-rectangles.png").exists()
    with pytest.raises(ValueError, match="3 training runs"):
        run(tmp_path, cards, seeds=4)


def test_what_was_measured_before_an_interruption_is_kept(cards, tmp_path, monkeypatch):
    calls = []

    def count(network, u):
        calls.append(len(u))
        if len(calls) == 40:
            raise KeyboardInterrupt
        return u

    monkeypatch.setattr("whorl.networks.base.DiffusionNetwork.forward", count)
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, cards)
    assert not (tmp_path / "results.json").exists()
    run(tmp_path, cards)
    assert len(calls) == 5 * len(ANGLES) + 1 + 3  # every angle once, the interrupted one twice; three pictures drawn
    run(tmp_path, cards)
    assert len(calls) == 5 * len(ANGLES) + 1 + 6  # nothing is measured again


def test_measurements_depend_on_what_is_measured(tmp_path):
    keys = {Store.key(values=[1.0], images=2), Store.key(values=[1.5], images=2), Store.key(values=[1.0], images=3)}
    assert len(keys) == 3
    store = Store(tmp_path / "m.json")
    scenes = TestScenes(RectangleSet(2, size=16), (10, 20))
    first = evaluate(lambda f: f, scenes, store=store, key="a")
    again = evaluate(lambda f: 0 * f, scenes, store=Store(tmp_path / "m.json"), key="a")
    assert torch.equal(first.errors, again.errors)


@pytest.mark.parametrize("name", ["results.json", "measurements.json"])
def test_files_of_others_are_kept(cards, tmp_path, name):
    (tmp_path / name).write_text('{"mine": 1}')
    with pytest.raises(FileError, match=name):
        run(tmp_path, cards)
    assert (tmp_path / name).read_text() == '{"mine": 1}'


def test_a_verdict_needs_the_full_test():
    assert verdict("uncoupled-0.41", 0.6, 49) == ""
    assert verdict("uncoupled-0.41", 0.6, 50) == "met"
    assert verdict("uncoupled-0.41", 0.4, 50) == "missed"
    assert verdict("anisotropic-0.5", 0.0009, 50) == "met"
    assert verdict("anisotropic-0.5", 0.001, 50) == "missed"
    assert verdict("another", 0.0, 50) == ""


def call(*words: str):
    return CliRunner().invoke(build(words), list(words))


def test_evaluate_prints_the_figures(cards, tmp_path):
    path: Path = tmp_path / "card.safetensors"
    cards[0].write(path)
    words = ["evaluate", str(path), "--images", "1", "--angles", "15,45", "--size", "32"]
    said = call(*words)
    assert said.exit_code == 0, said.output
    assert "variance" in said.output
    assert "45°" in said.output
    found = json.loads(call(*words, "--json", "--seeds", "3").output)
    assert list(found["seeds"]) == ["0", "1", "2"]
    assert set(found["seeds"]["0"]["psnr"]) == {"15", "45"}


def test_train_evaluate_and_reproduce_explain_themselves(tmp_path):
    for words in (
        ("evaluate", "resnet"),
        ("evaluate", "anisotropic-0.41", "--angles", "a"),
        ("reproduce", "--turning", "none"),
        ("reproduce", "--train", "--protocol", "luck"),
        ("train", "resnet", "--out", str(tmp_path)),
        ("train", "isotropic-0.41", "--protocol", "luck", "--out", str(tmp_path)),
        ("train", "isotropic-0.41", "--turning", "none", "--out", str(tmp_path)),
    ):
        said = call(*words)
        assert said.exit_code == 2, (words, said.output)


def test_training_writes_a_card_that_can_be_evaluated(tmp_path):
    more = ["--images", "2", "--size", "16", "--epochs", "1", "--out", str(tmp_path), "--quiet"]
    said = call("train", "isotropic-0.5", *more)
    assert said.exit_code == 0, said.output
    said = call("evaluate", str(tmp_path / "network.safetensors"), "--images", "1", "--size", "16", "--angles", "45")
    assert said.exit_code == 0, said.output


def test_training_the_five_by_second_order_ends_with_the_table(tmp_path, monkeypatch):
    """The command from start to table, with one iteration on two pictures of 16 x 16 pixels for each network."""
    small = RectangleSet
    monkeypatch.setattr("whorl.training.recipe.RectangleSet", lambda count, *a, **k: small(2, *a, **{**k, "size": 16}))
    monkeypatch.setattr("whorl.data.RectangleSet", lambda *a, **k: small(*a, **{**k, "size": 16}))
    monkeypatch.setitem(PROTOCOLS, "gauss-newton", replace(PROTOCOLS["gauss-newton"], epochs=1, images=2))
    said = call("reproduce", "--train", "--protocol", "gauss-newton", "--images", "1", "--out", str(tmp_path))
    assert said.exit_code == 0, said.output
    results = json.loads((tmp_path / "results.json").read_text())
    card = load_card(tmp_path / "cards" / f"{next(iter(PAPER))}.safetensors")
    assert card.training["optimiser"] == "gauss-newton"
    assert list(results["models"]) == list(PAPER)
    assert sorted(path.stem for path in (tmp_path / "cards").iterdir()) == sorted(PAPER)


def no_such_number(name: str):
    raise AssertionError(f"{name} is no JSON")


def test_json_holds_nothing_that_json_does_not_know(cards, tmp_path):
    """A single image has no spread: its numbers are null, not NaN."""
    cards[0].write(tmp_path / "card.safetensors")
    card = str(tmp_path / "card.safetensors")
    words = ("evaluate", card, "--images", "1", "--angles", "45", "--size", "32", "--json")
    assert "null" in call(*words).output
    json.loads(call(*words).output, parse_constant=no_such_number)
    run(tmp_path / "out", cards, images=1)
    for name in ("results.json", "details.json"):
        json.loads((tmp_path / "out" / name).read_text(), parse_constant=no_such_number)
