"""The figures of the page on energies are those that were measured."""

import json
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOUND = json.loads((ROOT / "experiments" / "results" / "energies.json").read_text())
STUDY = json.loads((ROOT / "experiments" / "results" / "energy_study.json").read_text())
TEXT = (ROOT / "docs" / "energies.rst").read_text(encoding="utf-8")


def test_the_crops() -> None:
    for name, row in FOUND["measure"]["rows"].items():
        told = "".join(f"\n     - {row[level]['psnr']:.2f}" for level in ("5", "15", "25"))
        assert f"   * - ``{name}``{told}\n" in TEXT
        assert row["25"]["residual"] <= 1e-4


def test_the_lipschitz_constants() -> None:
    rows = FOUND["lipschitz"]["rows"]
    for name, factor in rows.items():
        assert f"   * - ``{name}``\n     - {factor:.2f}\n" in TEXT
    assert rows["energy-convex"] <= 1


def test_whole_pictures_and_the_study() -> None:
    for row in FOUND["whole"]["rows"].values():
        assert f"**{row['25']['psnr']:.2f}**" in TEXT
    colour, turns = STUDY["colour"]["rows"], STUDY["turns"]["rows"]
    for name in ("energy-convex", "energy-weak"):
        assert f"**{colour[name]['psnr']:.2f}**" in TEXT
        assert f"{turns[name]['36.9']:.3f}" in TEXT
        assert f"``{name}`` {STUDY['deblur']['rows'][name]['psnr']:.2f}" in TEXT
