"""The figures of the page on lines are those that were measured."""

import json
import re
from pathlib import Path

import pytest
from experiments.lines.networks import trained

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "experiments" / "lines" / "results"
TEXT = (ROOT / "docs" / "lines.rst").read_text(encoding="utf-8")
FOUND, TRAINED = (json.loads((RESULTS / name).read_text()) for name in ("drive.json", "training.json"))
RUNS, STUDY = TRAINED["runs"], FOUND["study"]
ROWS = {
    "fold0": "as shipped, 16 pictures; fold 0",
    "two": "as shipped, 2 pictures; fold 0",
    "plain-two": "plain 3×3 and ReLU, 2 pictures; fold 0",
    "fields-fold0": "fields in the stream, 16 pictures",
    "scalar-fold0": "scalars coupled inside blocks, 16 pictures",
    "plain-fold0": "plain 3×3 and ReLU, 16 pictures",
    "fields-first2": "fields in the stream, 2 pictures",
    "plain-first2": "plain 3×3 and ReLU, 2 pictures",
}


def rounded(figures: dict[str, float]) -> list[str]:
    """As Python rounds; the results have five digits."""
    return [f"{figures[key]:.4f}" for key in ("auc", "dice")]


@pytest.mark.parametrize("name", ROWS)
def test_the_rows_are_what_was_measured_and_their_weights_are_kept(name: str) -> None:
    run = RUNS[name]
    cells = (ROWS[name], f"{run['parameters']:,}", f"{run['steps']:,}", *rounded(STUDY[name]))
    assert "   * - " + "\n     - ".join(cells) + "\n" in TEXT
    assert sum(p.numel() for p in trained(name).parameters()) == run["parameters"]


def test_two_folds_of_the_shipped_kind() -> None:
    run, folds = RUNS["fold1"], [FOUND["folds"][f"fold{f}"] for f in (0, 1)]
    cells = ("the same at half the rate, 16 others; fold 1", f"{run['parameters']:,}", f"{run['steps']:,}")
    assert "   * - " + "\n     - ".join((*cells, *rounded(folds[1]["mean"]))) + "\n" in TEXT
    assert sum(p.numel() for p in trained("fold1").parameters()) == run["parameters"]
    each = [row for fold in folds for row in fold["each"].values()]
    auc, dice = (sum(row[key] for row in each) / len(each) for key in ("auc", "dice"))
    assert f"     - {auc:.4f}, {dice:.4f}; {run['parameters']:,} parameters\n" in TEXT


def test_the_sentences() -> None:
    text = re.sub(r"\s+", " ", TEXT)
    assert (
        f"Training took {RUNS['vessels-5k']['seconds']:.0f} s of one core: {RUNS['vessels-5k']['steps']:,} steps"
        in text
    )
    before = [*rounded(FOUND["folds"]["mean of 20"]), *rounded(STUDY["fields-fold0"])]
    assert "had AUC {} and Dice {} in the mean of five folds, and {} and {} on fold 0".format(*before) in text
    changes = [
        f"{FOUND['angles'][name][f'range of {key}']:.4f}"
        for key in ("auc", "dice")
        for name in ("fold0", "plain-fold0")
    ]
    words = "``fold 0`` changes by {} (six angles; the others follow by quarter turns), "
    words += "that of the plain network by {}; Dice by {} and {}"
    assert words.format(*changes) in text
    assert f"{TRAINED['digits']['error in per cent']['test half, 10000']:.2f} % wrong" in text
