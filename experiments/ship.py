"""Turn the study's results into everything that is kept of them, in one command.

    PYTHONPATH=src python experiments/ship.py FOUND.json

writes ``experiments/results/study.json`` (less the errors of single images), the model cards of the package, and the
figures and tables of the documentation. Without FOUND.json the committed results are taken, so the command repeats
itself. Nothing is trained; three networks denoise one picture for the figures.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import torch
from figures import draw_all
from tables import write_tables

from whorl.networks.cards import ENDING, ModelCard, Run
from whorl.networks.spec import NAMED, NetworkSpec
from whorl.training.checkpoint import write_atomically

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "experiments" / "results" / "study.json"
CARDS = ROOT / "src" / "whorl" / "networks" / "cards"
PAGES = ROOT / "docs"

INSIDE = (
    "One of the five networks of the paper's figure, trained by its protocol (Adam 1e-3, 250 epochs, batches of 10). "
    "Scales are weighted by omega inside the diffusivity, as in the paper's energies."
)
PRINTED = (
    "One of the five networks of the paper's figure, trained by its protocol (Adam 1e-3, 250 epochs, batches of 10). "
    "The flux is the printed one: no omega inside the diffusivity."
)
BETTER = (
    "Isotropic coupling with weights that change smoothly over scales and steps, separately for flux and structure "
    "measure: 28 parameters, trained with Adam (0.03, cosine, 400 epochs). Chosen by validation scenes."
)

Trials = dict[str, Any]


def main() -> None:
    """Write everything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("found", type=Path, nargs="?", default=RESULTS)
    found = json.loads(parser.parse_args().found.read_text())
    trials: Trials = found["trials"]
    for trial in trials.values():
        for figures in trial.values():
            if isinstance(figures, dict):
                figures.pop("errors", None)
    RESULTS.parent.mkdir(exist_ok=True)
    write_atomically(RESULTS, _one_line_per_trial(found).encode())
    cards = [*_paper_cards(found), _card(found, "whorl-28", "better", "scheduled isotropic", BETTER)]
    CARDS.mkdir(exist_ok=True)
    for card in cards:
        card.write(CARDS / f"{card.name}{ENDING}")
        print(f"{card.name}: seeds {card.seeds}, chosen {card.chosen}")
    write_tables(trials, cards, PAGES / "experiment")
    draw_all(trials, cards, PAGES / "images")


def _paper_cards(found: dict[str, Any]) -> list[ModelCard]:
    cards = []
    for name in NAMED:
        cards.append(_card(found, name, "omega inside", name, INSIDE))
        cards.append(_card(found, f"{name}-printed", "paper", name, PRINTED))
    return cards


def _runs(trials: Trials, group: str, name: str) -> list[dict[str, Any]]:
    """All runs of one network, by seed."""
    found = [trial for key, trial in trials.items() if key.rpartition("/")[0] == f"{group}/{name}"]
    return sorted((trial for trial in found if "error" not in trial), key=lambda trial: int(trial["seed"]))


def _card(found: dict[str, Any], name: str, group: str, trial_name: str, about: str) -> ModelCard:
    """A card of all seeds; chosen is the one with the median variance on validation scenes (never on test ones)."""
    runs = _runs(found["trials"], group, trial_name)
    order = sorted(runs, key=lambda trial: trial["validation"]["variance"])
    first = runs[0]
    return ModelCard(
        name=name,
        network=NetworkSpec.from_dict(first["network"]),
        runs=tuple(Run(trial["seed"], _weights(trial), _figures(trial)) for trial in runs),
        chosen=order[(len(order) - 1) // 2]["seed"],
        training={key: value for key, value in first["training"].items() if key not in ("seed", "checkpoint_seconds")},
        data={key: value for key, value in first["data"].items() if key != "seed"},
        about=about,
        versions={**found["versions"], "device": first.get("device") or found["device"], "engine": found["engine"]},
    )


def _weights(trial: dict[str, Any]) -> dict[str, torch.Tensor]:
    return {name: torch.tensor(values, dtype=torch.float64) for name, values in trial["values"].items()}


def _figures(trial: dict[str, Any]) -> dict[str, float]:
    """What a run reached: 50 test images at 17 angles, PSNR in dB, population variance in dB²."""
    figures = {"loss": trial["loss"][-1], "train_psnr": trial["train_psnr"]}
    for key, prefix in (
        ("scene analytic", "scene"),
        ("rectangles analytic", "rectangles"),
        ("validation", "validation"),
    ):
        test = trial[key]
        figures |= {f"{prefix}_mean": test["mean"], f"{prefix}_variance": test["variance"]}
        figures[f"{prefix}_psnr_45"] = test["psnr"]["45"]
    return {key: round(value, 6) for key, value in figures.items()}


def _one_line_per_trial(found: dict[str, Any]) -> str:
    head = {key: value for key, value in found.items() if key != "trials"}
    lines = [f"{json.dumps(key)}: {json.dumps(trial, separators=(',', ':'))}" for key, trial in found["trials"].items()]
    return json.dumps(head)[:-1] + ', "trials": {\n' + ",\n".join(lines) + "\n}}\n"


if __name__ == "__main__":
    main()
