"""Turn error over PSNR: ``python docs/figures/turns.py`` writes docs/images/turns.png and docs/turns*.csv."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

DOCS = Path(__file__).parents[1]
RESULTS = DOCS.parent / "experiments" / "results"
COLOURS = {"perona-malik": "C0", "weickert-brox": "C2", "eed": "C1", "uncoupled": "C3"}
COLUMNS = ("model", "law", "sigma", "cell", "psnr", "3-4-5", "5-12-13")


SHORT = (
    ("weickert-brox", "exponential", 0.0), ("perona-malik", "charbonnier", 0.0), ("perona-malik", "rational", 1.0),
    ("eed", "exponential", 1.0), ("eed", "rational", 1.0), ("eed", "charbonnier", 1.0),
)  # fmt: skip
"""The flows of the short table."""


def measured(name: str) -> list[dict[str, Any]]:
    """The rows of a result file."""
    rows: list[dict[str, Any]] = json.loads((RESULTS / name).read_text(encoding="utf-8"))["rows"]
    return rows


def table(name: str, rows: Iterable[Iterable[Any]]) -> None:
    """A table for the documentation; the first row names the columns."""
    with (DOCS / name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def worst(row: dict[str, Any]) -> float:
    """The larger of both turn errors."""
    return float(max(row["3-4-5"], row["5-12-13"]))


def shown(error: float) -> str:
    """Four digits; nobody's error is nought."""
    return f"{error:.4f}" if error >= 5e-5 else "< 0.0001"


def short(rows: list[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    """PSNR and turn error of a few flows on both cells."""
    yield "flow", "compact cell", "wide cell"
    for model, law, sigma in SHORT:
        chosen = [r for r in rows if (r["model"], r["law"], r["sigma"]) == (model, law, sigma)]
        name = f"``{model}``, {law}" + f", sigma {sigma:g}" * (sigma > 0)
        yield name, *(f"{r['psnr']:.1f} dB, {r['3-4-5']:.4f}" for r in chosen)


def goals() -> Iterable[tuple[str, str, str]]:
    """What was wanted of the scenes, smooth pictures, photographs and times, and what was measured."""
    scenes, others = measured("turns_defaults.json"), measured("turns_goals.json")
    pairs = list(zip(scenes[::2], scenes[1::2], strict=True))
    told = [pair[0] for pair in pairs]
    dB, edges = [row["psnr"] for row in told], [row["edge"] for row in told]
    yield "goal", "wanted", "measured"
    yield (
        f"noise told, {len(told)} scenes with edges of {min(edges)} to {max(edges)}", "34.5 dB, 0.02",
        f"{min(dB):.1f} to {max(dB):.1f} dB, {min(map(worst, told)):.3f} to {max(map(worst, told)):.3f}",
    )  # fmt: skip
    lost, more = max(a["psnr"] - b["psnr"] for a, b in pairs), max(worst(b) - worst(a) for a, b in pairs)
    yield "nothing told, all scenes, less than told", "0.3 dB, 0.005", f"{lost:.2f} dB, {more:.4f}"
    for row in measured("turns_eed.json"):
        name = f"``eed``, contrast {row['contrast']} of the noise, time {row['time']:g}, edges of {row['edge']}"
        yield (
            f"{name}, noise up to {row['cutoff']}", "37.2 dB and 0.0125 at once",
            f"{row['psnr']:.1f} dB, {worst(row):.4f}",
        )  # fmt: skip
    for row in others:
        if row.get("model") == "eed":
            name = f"``eed``, rational, edges of {row['edge']}, noise up to {row['cutoff']}"
            yield f"{name}, at its best", "–", f"{row['psnr']:.1f} dB, {row['3-4-5']:.4f}, {row['5-12-13']:.4f}"
        elif "convex law" in row:
            name = f"smooth, convex law, contrast {row['contrast']:g}, time {row['time']:g}, seed {row['seed']}"
            yield name, "0.002", f"{row['wide']:.4f} (compact {row['compact']:.4f})"
        elif "cost" in row:
            name = f"``{row['cost']}``, {'grey' if row['channels'] == 1 else 'colour'}" + ", presmoothed" * (
                "sigma" in row
            )
            yield f"wide over compact cell: {name}", "2.4", f"{row['wide/compact']:.1f}"
        else:
            gained = f"{row['gain']:.2f} dB more, the least gain {row['least']:.2f} dB"
            yield f"{row['pictures']} of {row['photographs']}, noise 25", "0.15 dB more, none 0.2 dB worse", gained


def main() -> None:
    """Draw and tabulate what ``python -m experiments.turns`` measured."""
    rows = measured("turns.json")
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
    cells = [[f"{r[c]:.2f}" if c == "psnr" else r[c] for c in COLUMNS] for r in rows]
    table("turns.csv", [COLUMNS, *cells])
    table("turns-short.csv", short(rows))
    table("turns-goals.csv", goals())
    others = [
        (
            r["name"],
            r["told"],
            f"{r['psnr']:.2f}",
            *(shown(e) if r["told"] != "–" else "–" for e in r["errors"].values()),
        )
        for r in measured("turns_others.json")
    ]
    table("turns-others.csv", [("filter", "told", "PSNR", "turned 3-4-5", "turned 5-12-13"), *others])


if __name__ == "__main__":
    main()
