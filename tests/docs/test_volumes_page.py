"""The figures of the page on volumes are those that were measured."""

import json
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "volumes.rst").read_text(encoding="utf-8")
FOUND = json.loads((ROOT / "experiments" / "results" / "volumes.json").read_text())
METHODS = ("eed", "volume-5k", "volume-30k", "bm4d")


def test_every_row_of_the_table() -> None:
    for name, row in FOUND["quality"].items():
        cells = "".join(f"\n     - {row[method]:.2f}" for method in METHODS)
        assert f"* - {name}{cells}" in TEXT
    cells = "".join(f"\n     - {FOUND['turns'][method]:.4f}" for method in METHODS)
    assert f"* - error under turns of space{cells}" in TEXT


def test_the_distance_from_bm4d() -> None:
    told = [row for name, row in FOUND["quality"].items() if "Rician" not in name]
    for method in ("volume-5k", "volume-30k"):
        assert f"- BM4D \N{MINUS SIGN} {-fmean(row[method] - row['bm4d'] for row in told):.2f} dB" in TEXT


def test_the_networks_of_topaz() -> None:
    for name, row in FOUND["peers"].items():
        cells = "".join(f"\n     - {value:.2f}" for value in row.values())
        assert f"* - {name.split()[-1]}{cells}" in TEXT
