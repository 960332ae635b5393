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
ROWS = {"fold0": "fields, 16", "scalar-fold0": "scalars", "plain-fold0": "plain 3×3", "fields-first2": "fields, 2",
        "plain-first2": "plain, 2"}  # fmt: skip


def cells(*values: object) -> str:
    return "".join(f"\n     - {value}" for value in values)


def rounded(figures: dict[str, float]) -> list[str]:
    """As Python rounds; the results have five digits."""
    return [f"{figures[key]:.4f}" for key in ("auc", "dice")]


def test_the_folds() -> None:
    for name, row in FOUND["folds"].items():
        if name == "mean of 20":
            assert "mean of 20\n     -" + cells(*rounded(row)) in TEXT
        else:
            told = cells(TRAINED["runs"][name]["steps"], *rounded(row["mean"]))
            assert f"* - fold {name[-1]}{told}" in TEXT


def test_the_study() -> None:
    for name, words in ROWS.items():
        run = TRAINED["runs"][name]
        told = cells(f"{run['parameters']:,}", f"{run['steps']:,}", *rounded(FOUND["study"][name]))
        assert re.search(rf"\* - {re.escape(words)}[^\n]*{re.escape(told)}", TEXT), name


def test_angles_and_digits() -> None:
    ranges = [FOUND["angles"][name]["range of auc"] for name in ("fold0", "plain-fold0")]
    assert [f"{value:.4f}" for value in ranges] == ["0.0004", "0.0016"]
    assert f"{TRAINED['digits']['error in per cent']['test half, 10000']:.2f} % wrong" in TEXT


@pytest.mark.parametrize("name", ROWS)
def test_the_weights_of_a_run_still_fit_its_network(name: str) -> None:
    assert sum(p.numel() for p in trained(name).parameters()) == TRAINED["runs"][name]["parameters"]
