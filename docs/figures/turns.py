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


def command_of(name: str) -> str:
    """What made a result file, less what all such commands begin with."""
    command: str = json.loads((RESULTS / name).read_text(encoding="utf-8"))["command"]
    return f"``{command.removeprefix('python -m experiments.turns ')}``"


def goals() -> Iterable[tuple[str, ...]]:
    """What was wanted, what was measured, and the command that measures it."""
    yield "goal", "wanted", "measured", "command"
    for file, rows in (
        ("turns_defaults.json", scenes), ("turns_levels.json", levels), ("turns_eed.json", one_setting),
        ("turns_goals.json", others), ("turns_costs.json", costs), ("turns_others.json", peers),
    ):  # fmt: skip
        for row in rows(measured(file)):
            yield *row, command_of(file)


def span(values: list[float], digits: int) -> str:
    """From the least to the largest."""
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def told_and_not(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], str]:
    """The rows with the noise told, and how much worse the others are at most."""
    told = rows[::2]
    pairs = list(zip(told, rows[1::2], strict=True))
    lost, more = max(a["psnr"] - b["psnr"] for a, b in pairs), max(worst(b) - worst(a) for a, b in pairs)
    return told, f"{lost:.2f} dB, {more:.4f}"


def scenes(rows: list[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """What people get on the scenes that decide."""
    told, less = told_and_not(rows)
    name = (
        f"noise told, {len(told)} scenes with edges of {min(r['edge'] for r in told)} to {max(r['edge'] for r in told)}"
    )
    reached = f"{span([r['psnr'] for r in told], 1)} dB, {span([worst(r) for r in told], 3)}"
    yield name, "34.5 dB, 0.02", reached
    yield "nothing told, the same scenes, less than told", "0.3 dB, 0.005", less


def levels(rows: list[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """The same on scenes that were not looked at before, by level of noise."""
    for noise in (20.0, 10.0, 30.0):
        told, less = told_and_not([row for row in rows if row["noise"] == noise])
        reached = f"{span([r['psnr'] for r in told], 1)} dB, {span([worst(r) for r in told], 3)}; untold less {less}"
        yield f"noise {noise:g}, {len(told)} further scenes", "34.5 dB, 0.02" if noise == 20 else "–", reached


def one_setting(rows: list[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """Edge-enhancing diffusion in one setting for all scenes."""
    for row in rows:
        name = f"``eed``, contrast {row['contrast']} of the noise, time {row['time']:g}, edges of {row['edge']}"
        reached = f"{row['psnr']:.1f} dB, {worst(row):.4f}"
        yield f"{name}, noise up to {row['cutoff']}", "37.2 dB and 0.0125 at once", reached


def others(rows: list[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """Edge-enhancing diffusion at its best, smooth pictures, photographs."""
    for row in rows:
        if row.get("model") == "eed":
            name = f"``eed``, rational, edges of {row['edge']}, noise up to {row['cutoff']}"
            yield f"{name}, at its best", "–", f"{row['psnr']:.1f} dB, {row['3-4-5']:.4f}, {row['5-12-13']:.4f}"
        elif "convex law" in row:
            name = f"smooth, convex law, contrast {row['contrast']:g}, time {row['time']:g}, seed {row['seed']}"
            yield name, "0.002", f"{row['wide']:.4f} (compact {row['compact']:.4f})"
        else:
            gained = f"{row['gain']:.2f} dB more, the least gain {row['least']:.2f} dB"
            yield f"{row['pictures']} of {row['photographs']}, noise 25", "0.15 dB more, none 0.2 dB worse", gained


def costs(rows: list[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """Times on the wide cell over those on the compact one."""
    for row in rows:
        name = f"``{row['cost']}``, {'grey' if row['channels'] == 1 else 'colour'}{', presmoothed' * ('sigma' in row)}"
        yield f"wide over compact cell: {name}", "2.4", f"{row['ratio']:.1f}"


def peers(rows: list[dict[str, Any]]) -> Iterable[tuple[str, str, str]]:
    """The smallest turn error at such a PSNR: nobody else has both at once."""
    errors = {row["name"]: max(row["errors"].values()) for row in rows if row["told"].startswith("best of")}
    mine = next(row for row in rows if row["told"] == "nothing")
    rivals = [r for r in rows if "," in r["name"]]
    closest, best = min(rivals, key=lambda r: errors[r["name"]]), max(rivals, key=lambda r: r["psnr"])
    yield (
        "default filter, nothing told, beside other libraries at their best", "smaller error at each PSNR",
        f"{mine['psnr']:.1f} dB, {max(mine['errors'].values()):.4f}; {closest['name']}: {closest['psnr']:.1f} dB, "
        f"{errors[closest['name']]:.4f}; {best['name']}: {best['psnr']:.1f} dB, {errors[best['name']]:.4f}",
    )  # fmt: skip


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
    finer = ([row[key] for key in ("contrast", "finer", "compact", "wide")] for row in measured("turns_finer.json"))
    table("turns-finer.csv", [("contrast", "pixels per pixel before", "compact cell", "wide cell"), *finer])
    libraries = [
        (
            r["name"],
            r["told"],
            f"{r['psnr']:.2f}",
            *(shown(e) if r["told"] != "–" else "–" for e in r["errors"].values()),
        )
        for r in measured("turns_others.json")
    ]
    table("turns-others.csv", [("filter", "told", "PSNR", "turned 3-4-5", "turned 5-12-13"), *libraries])


if __name__ == "__main__":
    main()
