"""Figures and tables of docs/benchmarks.rst, from the committed result files alone: ``python -m benchmarks.draw``.

Colours: whorl in one, peers in grey, the plain copy as a line. Axes carry units; logarithmic where ratios matter.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, documents
from benchmarks.table import as_rst, with_ratios
from benchmarks.targets import as_rows

__all__ = ["draw"]

Rows = list[dict[str, Any]]
DOCS = Path(__file__).parents[1] / "docs" / "benchmarks"
OURS, THEIRS, COPY = "#0b6e75", "#b5b5b5", "#c4511d"


def draw(results: Path, out: Path, machine: str | None = None, form: str = "svg") -> list[Path]:
    """Draw everything there are results for; returns the files written."""
    found = {}
    for path, content in documents(results):
        if machine in (None, path.stem.split("--")[1]) and content["device"] == "cpu":
            found[content["suite"]] = content["cases"]
    out.mkdir(parents=True, exist_ok=True)
    written = []
    for name, figure in _FIGURES.items():
        suites, make = figure
        if all(suite in found for suite in suites):
            written.append(_save(make(*(found[suite] for suite in suites)), out / f"{name}.{form}"))
    for suite, cases in found.items():
        for number, (case, rows) in enumerate(cases.items()):
            path = out / f"{suite}-{number}.inc"
            path.write_text(as_rst(with_ratios(rows), case) + "\n")
            written.append(path)
    verdicts = out / "targets.inc"
    verdicts.write_text(as_rst(as_rows(results), "Targets") + "\n")
    return [*written, verdicts]


def _speed(grey: dict[str, Rows], colour: dict[str, Rows], tensor: dict[str, Rows]) -> Any:
    import matplotlib.pyplot as plt

    panels = {
        "grey: Perona–Malik": grey["1024² grey, 2 threads"],
        "colour: Gerig": colour["1024² colour, 2 threads"],
        "diffusion tensor": tensor["1024² grey, 2 threads"],
    }
    heights = [sum(r["method"] != "copy" for r in rows) for rows in panels.values()]
    figure, axes = plt.subplots(3, 1, figsize=(7, 6), sharex=True, height_ratios=heights, layout="constrained")
    for axis, (title, rows) in zip(axes, panels.items(), strict=True):
        bars = sorted((r for r in rows if r["method"] != "copy"), key=lambda r: -r["ms_per_mpix_step"])
        values = [r["ms_per_mpix_step"] for r in bars]
        drawn = axis.barh([r["method"] for r in bars], values, color=[_colour(r) for r in bars])
        axis.bar_label(drawn, fmt="{:.3g}", padding=3, fontsize=8)
        copy = next(r["ms_per_mpix_step"] for r in rows if r["method"] == "copy")
        axis.axvline(copy, color=COPY, linestyle="--", linewidth=1, label="plain copy")
        axis.set(xscale="log", title=title)
        axis.margins(x=0.15)
    axes[0].legend(loc="upper right", fontsize=8)
    axes[-1].set_xlabel("milliseconds per megapixel and explicit step, 1024², 2 threads (log)")
    return figure


def _scaling(cases: dict[str, Rows]) -> Any:
    import matplotlib.pyplot as plt

    names = [n for n in ("pixels", "steps", "scales", "channels", "threads") if n in cases]
    figure, axes = plt.subplots(1, len(names), figsize=(3 * len(names), 3.2), layout="constrained", squeeze=False)
    for axis, name in zip(axes[0], names, strict=True):
        for method in dict.fromkeys(r["method"] for r in cases[name]):
            rows = [r for r in cases[name] if r["method"] == method]
            x, seconds = [r["x"] for r in rows], [r["best_s"] for r in rows]
            ours = method.startswith("whorl")
            label = f"{method} ({rows[0]['exponent']:.2f})"
            axis.loglog(x, seconds, "o-", markersize=3, color=None if ours else THEIRS, label=label)
        axis.set(xlabel=name, ylabel="seconds" if axis is axes[0][0] else "")
        axis.legend(fontsize=6, title="growth exponent in brackets", title_fontsize=6)
    return figure


def _denoise(cases: dict[str, Rows]) -> Any:
    label = "seconds for the whole picture, 2 threads (log)"
    return _scatter(_merged(cases), "best_s", "psnr", label, "PSNR in dB", logarithmic=True)


def _turn(cases: dict[str, Rows]) -> Any:
    return _scatter(
        _merged(cases), "turn_error", "psnr", "error under the 3-4-5 turn, relative to the change", "PSNR in dB"
    )


def _schemes(cases: dict[str, Rows]) -> Any:
    """One panel for each stopping time; a line joins the schemes of a model."""
    import matplotlib.pyplot as plt

    times = sorted({r["time"] for rows in cases.values() for r in rows if "error" in r})
    figure, axes = plt.subplots(1, len(times), figsize=(4.6 * len(times), 3.8), layout="constrained", squeeze=False)
    markers = {"explicit": "o", "fed": "s", "fsi": "^"}
    for axis, time in zip(axes[0], times, strict=True):
        for case, rows in cases.items():
            rows = [r for r in rows if "error" in r and r["time"] == time]
            if not rows:
                continue
            (line,) = axis.plot([r["best_s"] for r in rows], [r["error"] for r in rows], linewidth=1)
            line.set_label(case.split(",")[0])
            for r in rows:
                marker = markers[r["method"].rsplit(" ", 1)[1]]
                axis.plot(r["best_s"], r["error"], marker, color=line.get_color(), markersize=5)
        axis.set(xscale="log", yscale="log", title=f"t = {time:g}", xlabel="seconds, 2 threads (log)")
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("relative error against fine steps (log)")
    for name, marker in markers.items():
        axes[0][0].plot([], [], marker, color="black", label=name)
    axes[0][0].legend(fontsize=7)
    return figure


def _merged(cases: dict[str, Rows]) -> dict[str, Rows]:
    """Slow models drawn with the others."""
    merged: dict[str, Rows] = {}
    for case, rows in cases.items():
        merged.setdefault(case.removesuffix(", slow models"), []).extend(rows)
    return merged


def _scatter(cases: dict[str, Rows], x: str, y: str, x_label: str, y_label: str, logarithmic: bool = False) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(cases), figsize=(max(5.5, 4.6 * len(cases)), 4.6), layout="constrained", squeeze=False
    )
    for axis, (case, rows) in zip(axes[0], cases.items(), strict=True):
        rows = [r for r in rows if x in r and y in r]
        for r in rows:
            axis.scatter(r[x], r[y], color=_colour(r), s=18, zorder=3)
        _label(axis, [(r[x], r[y], r["method"].removeprefix("whorl-")) for r in rows], logarithmic)
        axis.set(xlabel=x_label, ylabel=y_label, title=case)
        axis.grid(alpha=0.3)
    return figure


def _label(axis: Any, points: list[tuple[float, float, str]], logarithmic: bool) -> None:
    """Names beside their points; the lower of two that would overlap is moved down."""
    axis.set_xscale("log" if logarithmic else "linear")
    axis.margins(x=0.3, y=0.08)
    axis.figure.canvas.draw()
    taken: list[tuple[float, float, float]] = []
    for x, y, name in sorted(points, key=lambda p: -p[1]):
        at_x, at_y = axis.transData.transform((x, y))
        width = 3.6 * len(name)
        place = at_y
        for left, right, other in taken:
            if at_x < right and at_x + width > left and place > other - 9:
                place = other - 9
        taken.append((at_x, at_x + width, place))
        shift = (place - at_y) * 72 / axis.figure.dpi
        axis.annotate(name, (x, y), (4, shift - 2), textcoords="offset points", fontsize=6)


def _colour(row: dict[str, Any]) -> str:
    return OURS if row["method"].startswith("whorl") else THEIRS


def _save(figure: Any, path: Path) -> Path:
    import matplotlib.pyplot as plt

    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)
    return path


_FIGURES: dict[str, tuple[tuple[str, ...], Any]] = {
    "speed": (("speed_grey", "speed_colour", "speed_tensor"), _speed),
    "scaling": (("scaling",), _scaling),
    "denoise": (("quality_denoise",), _denoise),
    "turn": (("quality_turn",), _turn),
    "schemes": (("speed_time",), _schemes),
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.draw", description=__doc__)
    parser.add_argument("--results", type=Path, default=FOLDER, help="folder of the result files")
    parser.add_argument("--out", type=Path, default=DOCS, help="folder of the figures")
    parser.add_argument("--machine", help="draw this machine's results, where there are several")
    parser.add_argument("--format", default="svg", choices=("svg", "png"), help="of the figures")
    given = parser.parse_args()
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams.update({"svg.hashsalt": "whorl", "svg.fonttype": "none", "font.size": 9})
    for path in draw(given.results, given.out, given.machine, given.format):
        print(path)


if __name__ == "__main__":
    main()
