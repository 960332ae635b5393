"""Result documents as plain text tables, with ratios to whorl and to a plain copy."""

from pathlib import Path
from typing import Any

__all__ = ["as_rst", "best_of_kinds", "columns", "render", "with_ratios"]

# column in the file -> (heading, format)
_SHOWN: dict[str, tuple[str, str]] = {
    "bound": ("bound", "{}"),
    "figure": ("measured", "{:.3g}"),
    "verdict": ("verdict", "{}"),
    "date": ("on", "{}"),
    "noisy": ("noisy", "{}"),
    "ours": ("whorl", "{}"),
    "others": ("best other diffusion", "{}"),
    "skimage-tv": ("TV", "{}"),
    "skimage-nlm": ("non-local means", "{}"),
    "bm4d": ("BM4D", "{}"),
    "ms_per_mpix_step": ("ms/Mpixel/step", "{:.2f}"),
    "cpu_ms_per_mpix_step": ("CPU ms", "{:.2f}"),
    "ms_per_mpix": ("ms/Mpixel", "{:.2f}"),
    "to_whorl": ("whorl is faster by", "{:.2f}x"),
    "to_copy": ("copies", "{:.2f}"),
    "gb_per_s": ("GB/s", "{:.1f}"),
    "psnr": ("PSNR dB", "{:.2f}"),
    "ssim": ("SSIM", "{:.3f}"),
    "count": ("pictures", "{:d}"),
    "distance": ("grey values from the limit", "{:.3f}"),
    "peak_mib": ("peak MiB", "{:.0f}"),
    "volumes": ("peak in volumes", "{:.2f}"),
    "ns_per_voxel_step": ("ns/voxel and step", "{:.1f}"),
    "turn_error": ("turn error", "{:.4f}"),
    "turn_error_0.25": ("at 0.25", "{:.4f}"),
    "turn_error_0.5": ("at 0.5", "{:.4f}"),
    "turn_z": ("3-4-5, z", "{:.4f}"),
    "turn_x": ("3-4-5, x", "{:.4f}"),
    "turn_diagonal": ("diagonal", "{:.4f}"),
    "turn_oblique": ("oblique", "{:.4f}"),
    "change": ("change", "{:.2f}"),
    "sphere": ("sphere", "{:.4f}"),
    "contrast": ("contrast", "{:.3g}"),
    "at_edge": ("range", "{}"),
    "time": ("time", "{:.3g}"),
    "fewer_steps": ("fewer steps by", "{:.2f}x"),
    "to_explicit": ("error of explicit steps", "{:.2f}x"),
    "error": ("error", "{:.2e}"),
    "gap": ("gap", "{:.1e}"),
    "x": ("x", "{:,.0f}"),
    "exponent": ("growth exponent", "{:.2f}"),
    "fields": ("fields kept", "{:.1f}"),
    "pictures": ("pictures held", "{:.1f}"),
    "grown_mib": ("MiB", "{:.0f}"),
    "constant": ("constant", "{:.1e}"),
    "mean": ("mean", "{:.1e}"),
    "range": ("range", "{:.1e}"),
    "quarter_turn": ("quarter turn", "{:.1e}"),
    "repetition": ("repetition", "{:.1e}"),
    "offset": ("offset", "{:.1e}"),
    "coupling": ("coupling", "{:.1e}"),
    "growth_y": ("growth y", "{:.3f}"),
    "growth_x": ("growth x", "{:.3f}"),
    "note": ("note", "{}"),
    "loss": ("loss", "{:.2f}"),
    "epochs": ("Adam epochs' time", "{:.1f}"),
    "to_paper": ("paper's 50 s over ours", "{:.1f}"),
    "call_cpu_s": ("CPU s", "{:.2f}"),
    "best_s": ("best s", "{:.4f}"),
    "median_s": ("median s", "{:.4f}"),
    "here_best_s": ("here, best s", "{:.3g}"),
    "here_median_s": ("median s", "{:.3g}"),
    "there_best_s": ("there, best s", "{:.3g}"),
    "there_median_s": ("median s", "{:.3g}"),
    "to_there_best": ("ratio of bests", "{:.3f}"),
    "to_there": ("ratio", "{:.3f}"),
    "to_there_cpu": ("CPU", "{:.3f}"),
    "spread": ("spread", "{:.0%}"),
}
_SORTED_BY = ("ms_per_mpix_step", "turn_error")


def render(content: dict[str, Any], title: str, path: Path | None = None) -> str:
    """One table for each case of a document."""
    machine = content["machine"]
    lines = [f"\n{title}", f"{machine['processor']}, {machine['cores']} cores; whorl {content['version']}"]
    if path is not None:
        lines[-1] += f"; {path.name}"
    for case, rows in content["cases"].items():
        lines += ["", f"  {case}", *("    " + line for line in _grid(_ordered(with_ratios(rows))))]
    return "\n".join(lines)


def as_rst(rows: list[dict[str, Any]], title: str) -> str:
    """The same table for the documentation."""
    rows = _ordered(rows)
    keys = columns(rows)
    lines = [f".. list-table:: {title}", "   :header-rows: 1", ""]
    for row in [["", *(_SHOWN[key][0] for key in keys)], *_body(rows, keys)]:
        lines += [f"   {'* - ' if i == 0 else '  - '}{cell}" for i, cell in enumerate(row)]
    return "\n".join(lines)


def with_ratios(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Add ``to_whorl`` and ``to_copy`` where times per step are there; whorl's fastest method of the case counts."""
    steps = {r["method"]: r["ms_per_mpix_step"] for r in rows if "ms_per_mpix_step" in r}
    ours = [t for name, t in steps.items() if name.startswith("whorl")]
    if not ours:
        return rows
    copy = steps.get("copy")
    return [
        {**r, "to_whorl": r["ms_per_mpix_step"] / min(ours), "to_copy": r["ms_per_mpix_step"] / copy if copy else None}
        for r in rows
    ]


def best_of_kinds(cases: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """One row for each case of a search for quality: PSNR, SSIM and processor seconds of the best of every kind."""

    def told(rows: list[dict[str, Any]]) -> str:
        best = max(rows, key=lambda row: row["psnr"], default=None)
        if best is None:
            return ""
        seconds = f", {best['call_cpu_s']:.2g} s" if "call_cpu_s" in best else ""
        return f"{best['psnr']:.2f} ({best['ssim']:.3f}{seconds})"

    summary = []
    for case, rows in cases.items():
        diffusion = [row for row in rows if row.get("diffusion")]
        found = {"noisy": told([row for row in rows if not row["library"]])}
        found["ours"] = told([row for row in diffusion if row["library"] == "whorl"])
        found["others"] = told([row for row in diffusion if row["library"] != "whorl"])
        found |= {name: told([row for row in rows if row["method"] == name]) for name in _OTHER_KINDS}
        summary.append({"method": case, **found})
    return summary


_OTHER_KINDS = ("skimage-tv", "skimage-nlm", "bm4d")


def columns(rows: list[dict[str, Any]]) -> list[str]:
    return [key for key in _SHOWN if any(_cell(row.get(key), "{}") != "-" for row in rows)]


def _ordered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    for key in _SORTED_BY:
        if rows and all(key in row for row in rows):
            return sorted(rows, key=lambda row: row[key])
    if rows and all("psnr" in row for row in rows):
        return sorted(rows, key=lambda row: -row["psnr"])
    return rows


def _grid(rows: list[dict[str, Any]]) -> list[str]:
    keys = columns(rows)
    head = ["method", *(_SHOWN[key][0] for key in keys)]
    body = _body(rows, keys)
    widths = [max(len(line[i]) for line in [head, *body]) for i in range(len(head))]
    return [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in [head, *body]
    ]


def _body(rows: list[dict[str, Any]], keys: list[str]) -> list[list[str]]:
    return [[row["method"], *(_cell(row.get(key), _SHOWN[key][1]) for key in keys)] for row in rows]


def _cell(value: Any, form: str) -> str:
    if value is None or value is False or value == "":
        return "-"
    if value is True:  # the only flag: the search ended at an end of its range
        return "at its end"
    return form.format(value)
