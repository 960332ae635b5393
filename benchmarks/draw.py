"""Figures and tables of docs/benchmarks.rst, from the committed result files alone: ``python -m benchmarks.draw``.

Colours: whorl in one, peers in grey, the plain copy as a line. Axes carry units; logarithmic where ratios matter.
"""

import argparse
from pathlib import Path
from typing import Any

from benchmarks.results import FOLDER, documents
from benchmarks.table import as_rst, best_of_kinds, with_ratios
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
    if "quality_volume" in found:
        summary = best_of_kinds(found["quality_volume"])
        (out / "quality_volume.inc").write_text(as_rst(summary, "PSNR in dB (SSIM, processor time)") + "\n")
        written.append(out / "quality_volume.inc")
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
    axes[-1].xaxis.set_major_formatter("{x:g}")
    axes[0].legend(loc="upper right", fontsize=8)
    axes[-1].set_xlabel("milliseconds per megapixel and explicit step, 1024², 2 threads (log)")
    return figure


def _scaling(cases: dict[str, Rows]) -> Any:
    """A panel for each thing that grows; dotted, linear growth from our first point."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, 3, figsize=(10, 7), layout="constrained")
    for axis, (name, rows) in zip(axes.flat, cases.items(), strict=False):
        timed = "best_s" in rows[0]
        styles = iter((":", "-.", "--"))
        for method in dict.fromkeys(r["method"] for r in rows):
            line = [r for r in rows if r["method"] == method]
            x, y = [r["x"] for r in line], [r["best_s" if timed else "fields"] for r in line]
            ours = method.startswith("whorl")
            label = f"{method}, exponent {line[0]['exponent']:.2f}" if timed and name != "threads" else method
            look = {"linestyle": "-"} if ours else {"linestyle": next(styles), "color": "#777777"}
            axis.loglog(x, y, marker="o", markersize=3, label=label, **look)
            if method == rows[0]["method"] and name != "threads":
                axis.loglog([x[0], x[-1]], [y[0], y[0] * x[-1] / x[0]], ":", color=COPY, linewidth=1, label="linear")
        quantity = "seconds (log)" if timed else "fields kept in training (log)"
        axis.set(xlabel=name if timed else "steps", ylabel=quantity)
        if name != "pixels":
            axis.set_xticks(sorted({r["x"] for r in rows}))
            axis.xaxis.set_major_formatter("{x:g}")
            axis.minorticks_off()
        _plain_ticks(axis.yaxis)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    for axis in axes.flat[len(cases) :]:
        axis.set_visible(False)
    return figure


def _denoise(cases: dict[str, Rows]) -> Any:
    label = "seconds for the whole picture, 2 threads (log)"
    return _scatter(_raised(_merged(cases)), "best_s", "psnr", label, "PSNR in dB", logarithmic=True)


def _turn(cases: dict[str, Rows]) -> Any:
    return _scatter(
        _merged(cases), "turn_error", "psnr", "error under the 3-4-5 turn, relative to the change", "PSNR in dB"
    )


def _schemes(cases: dict[str, Rows]) -> Any:
    """One panel for each stopping time; dotted, what a scheme must stay below and left of to be worth it."""
    import matplotlib.pyplot as plt

    cases = {case: [r for r in rows if "error" in r] for case, rows in cases.items()}
    cases = {case: rows for case, rows in cases.items() if rows}
    times = sorted({rows[0]["time"] for rows in cases.values()})
    colours = {model: f"C{i}" for i, model in enumerate(dict.fromkeys(case.split(",")[0] for case in cases))}
    schemes = dict.fromkeys(_scheme(r) for rows in cases.values() for r in rows)
    markers = dict(zip(schemes, "os^Dv*PX", strict=False))
    figure, axes = plt.subplots(1, len(times), figsize=(4.6 * len(times), 4.2), layout="constrained", squeeze=False)
    for axis, time in zip(axes[0], times, strict=True):
        for case, rows in cases.items():
            if rows[0]["time"] != time:
                continue
            colour = colours[case.split(",")[0]]
            for r in rows:
                axis.plot(r["best_s"], r["error"], markers[_scheme(r)], color=colour, markersize=6)
            explicit = next(r for r in rows if _scheme(r) == "explicit")
            span, twice = [explicit["best_s"] / 5, explicit["best_s"]], 2 * explicit["error"]
            axis.plot(span, [twice, twice], ":", color=colour, linewidth=1)
            axis.plot(span[0], twice, "|", color=colour, markersize=8)
        axis.set(xscale="log", yscale="log", title=f"t = {time:g}", xlabel="seconds, 2 threads (log)")
        _plain_ticks(axis.xaxis)
        _plain_ticks(axis.yaxis)
        axis.grid(alpha=0.3)
    axes[0][0].set_ylabel("relative error against fine steps (log)")
    handles = [plt.Line2D([], [], color=colour, linewidth=4, label=model) for model, colour in colours.items()]
    handles += [plt.Line2D([], [], color="black", marker=m, linestyle="", label=name) for name, m in markers.items()]
    figure.legend(handles=handles, fontsize=7, loc="outside lower center", ncols=len(handles))
    return figure


def _scheme(row: dict[str, Any]) -> str:
    return str(row["method"].rsplit(" ", 1)[1])


def _plain_ticks(axis: Any) -> None:
    """1, 2, 5 of each decade (of many decades 1 alone), written as numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 1000 * low else (1.0,)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def _merged(cases: dict[str, Rows]) -> dict[str, Rows]:
    """Slow models drawn with the others."""
    merged: dict[str, Rows] = {}
    for case, rows in cases.items():
        merged.setdefault(case.removesuffix(", slow models"), []).extend(rows)
    return merged


def _raised(cases: dict[str, Rows], window: float = 2.6) -> dict[str, Rows]:
    """Who is further below the best than the window stands at its lower end, with its figure in the name."""
    raised = {}
    for case, rows in cases.items():
        rows = [r for r in rows if "best_s" in r]
        floor = max(r["psnr"] for r in rows) - window
        low = [{**r, "psnr": floor, "method": f"{r['method']} ↓ {r['psnr']:.1f} dB"} for r in rows if r["psnr"] < floor]
        raised[case] = [r for r in rows if r["psnr"] >= floor] + low
    return raised


def _scatter(cases: dict[str, Rows], x: str, y: str, x_label: str, y_label: str, logarithmic: bool = False) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(cases), figsize=(max(7.5, 5.6 * len(cases)), 5.6), layout="constrained", squeeze=False
    )
    for axis, (case, rows) in zip(axes[0], cases.items(), strict=True):
        rows = [r for r in rows if r.get(x) is not None and r.get(y) is not None]
        for r in rows:
            axis.scatter(r[x], r[y], color=_colour(r), s=18, zorder=3)
        axis.set(xlabel=x_label, ylabel=y_label if axis is axes[0][0] else "", title=case)
        axis.grid(alpha=0.3)
        if logarithmic:
            axis.set_xscale("log")
            axis.margins(x=0.2, y=0.06)
            _plain_ticks(axis.xaxis)
        else:
            axis.set_xlim(0, 1.3 * max(r[x] for r in rows))
    figure.canvas.draw()  # places are known only now
    for axis, (_, rows) in zip(axes[0], cases.items(), strict=True):
        _label(axis, [(r[x], r[y], _short(r["method"])) for r in rows if r.get(x) is not None and y in r])
    return figure


def _short(method: str) -> str:
    """``eed weickert, sigma 0.7`` for ``whorl-eed sigma=0.7 diffusivity=weickert``."""
    name, *options = method.removeprefix("whorl-").split(" ")
    chosen = [o.removeprefix("diffusivity=") for o in options if o.startswith("diffusivity=")]
    widths = [o.replace("sigma=", ", σ ") for o in options if o.startswith("sigma=")]
    below = f" {' '.join(options[options.index('↓') :])}" if "↓" in options else ""
    return " ".join([name, *chosen]) + "".join(widths) + below


def _label(axis: Any, points: list[tuple[float, float, str]]) -> None:
    """Names beside their points, methods at one place on one label; each goes where it covers nothing yet."""
    places: dict[tuple[float, float], list[str]] = {}
    for x, y, name in points:
        at = axis.transData.transform((x, y))
        near = next((p for p in places if abs(p[0] - at[0]) < 2 and abs(p[1] - at[1]) < 2), (at[0], at[1]))
        places.setdefault(near, []).append(name)
    scale = axis.figure.dpi / 72
    dots = [(x - 4 * scale, y - 4 * scale, x + 4 * scale, y + 4 * scale) for x, y in places]
    taken: list[tuple[float, float, float, float]] = list(dots)
    frame = axis.get_window_extent()
    for (x, y), names in sorted(places.items(), key=lambda item: -item[0][1]):
        text = ", ".join(names)
        width, height = 3.9 * scale * len(text), 8 * scale
        rises = [sign * k * height for k in range(8) for sign in (1, -1)][1:]
        for rise, left in ((rise, left) for rise in rises for left in (False, True)):
            at_x = x - 6 * scale - width if left else x + 6 * scale
            box = (at_x, y + rise - height / 2, at_x + width, y + rise + height / 2)
            if box[0] > frame.x0 and box[2] < frame.x1 and not any(_overlap(box, other) for other in taken):
                break
        taken.append(box)
        line = {"arrowstyle": "-", "linewidth": 0.4, "color": "#777777", "relpos": (float(left), 0.5)}
        axis.annotate(
            text, axis.transData.inverted().transform((x, y)), (-6 if left else 6, rise / scale),
            textcoords="offset points", fontsize=6.5, ha="right" if left else "left", va="center",
            arrowprops=line if rise else None,
        )  # fmt: skip


def _overlap(a: tuple[float, float, float, float], b: tuple[float, float, float, float]) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


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
