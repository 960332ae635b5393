"""Turn error over PSNR: ``python docs/figures/turns.py`` writes docs/images/turns.png and docs/turns.csv."""

import csv
import json
from pathlib import Path

import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "experiments" / "results" / "turns.json"
COLOURS = {"perona-malik": "C0", "weickert-brox": "C2", "eed": "C1", "uncoupled": "C3"}
COLUMNS = ("model", "law", "sigma", "cell", "psnr", "3-4-5", "5-12-13")


def main() -> None:
    """Draw what ``python -m experiments.turns settings`` measured."""
    rows = json.loads(RESULTS.read_text(encoding="utf-8"))["rows"]
    figure, axes = plt.subplots(figsize=(7, 4.4), layout="constrained")
    for model, colour in COLOURS.items():
        for smoothed, marker in ((False, "o"), (True, "^")):
            for cell, fill in (("compact", "none"), ("wide", colour)):
                chosen = [r for r in rows if (r["model"], r["sigma"] > 0, r["cell"]) == (model, smoothed, cell)]
                x, y = [r["psnr"] for r in chosen], [r["3-4-5"] for r in chosen]
                axes.scatter(x, y, marker=marker, facecolors=fill, edgecolors=colour, s=34)
        axes.scatter([], [], color=colour, label=model)
    for marker, label in (("o", "not presmoothed"), ("^", "sigma 1")):
        axes.scatter([], [], marker=marker, color="grey", label=label)
    for fill, label in (("none", "compact cell"), ("grey", "wide cell")):
        axes.scatter([], [], marker="s", facecolors=fill, edgecolors="grey", label=label)
    axes.set(yscale="log", xlabel="PSNR in dB, at the best contrast and time", ylabel="error under the 3-4-5 turn")
    axes.grid(alpha=0.3, which="both")
    axes.legend(fontsize=8, ncols=2)
    figure.savefig(DOCS / "images" / "turns.png", dpi=130)
    with (DOCS / "turns.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows([f"{r[c]:.2f}" if c == "psnr" else r[c] for c in COLUMNS] for r in rows)


if __name__ == "__main__":
    main()
