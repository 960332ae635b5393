"""The study's tables for the documentation, as reStructuredText."""

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whorl.evaluation.reproduction import PAPER, verdict
from whorl.networks.cards import ModelCard
from whorl.training.checkpoint import write_atomically

Trials = dict[str, Any]

READINGS = (
    ("paper", "printed flux, paper's protocol"),
    ("omega inside", "omega inside g"),
    ("rectangles turned", "training scenes with rectangles turned"),
    ("edges 4x4", "training edges of 4×4 samples"),
    ("edges hard", "training edges hard"),
    ("batch 4", "batches of 4"),
    ("batch 20", "batches of 20"),
    ("batch 100", "one batch of 100"),
    ("centred", "structure tensor without the Haar detail (centred)"),
    ("converged", "converged (rate 0.03, cosine)"),
    ("omega inside, centred", "omega inside g, centred"),
    ("omega inside, converged", "omega inside g, converged (rate 0.03, cosine)"),
    ("omega inside, Gauss-Newton", "omega inside g, converged (Gauss-Newton, 20 images)"),
)


def write_tables(trials: Trials, cards: Sequence[ModelCard], folder: Path) -> None:
    """Write all tables below ``folder``."""
    folder.mkdir(exist_ok=True)
    for name, text in {
        "verdict": verdicts(cards),
        "rectangles": rectangles(cards),
        "readings": readings(trials),
        "better": better(trials),
        "edges": edges(trials),
        "single": single(trials),
    }.items():
        write_atomically(folder / f"{name}.inc", text.encode())


def grid(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A list table."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in [heads, *rows]:
        lines += [f"   {'* -' if k == 0 else '  -'} {cell}".rstrip() for k, cell in enumerate(row)]
    return "\n".join(lines) + "\n"


def each(values: Sequence[float], places: int) -> str:
    """Numbers of all seeds, in two significant digits."""
    return ", ".join(f"{value:.{places}g}" for value in values)


def verdicts(cards: Sequence[ModelCard]) -> str:
    """Paper, ours, verdict: the full test, whole scenes turned, every seed."""
    rows = []
    for card in cards:
        variances = [run.figures["scene_variance"] for run in card.runs]
        median, name = statistics.median(variances), card.name.removesuffix("-printed")
        claim = PAPER.get(name)
        rows.append(
            [
                f"``{card.name}``",
                f"{claim.variance:.3g}" if claim else "",
                f"{'≥' if claim.at_least else '≤'} {claim.bound:g}" if claim else "≤ 0.014",
                f"**{median:.2g}**",
                each(variances, 3),
                (verdict(name, median, 50) if claim else ("met" if median <= 0.014 else "missed")),
                f"{statistics.median(run.figures['scene_mean'] for run in card.runs):.2f}",
                f"{statistics.median(run.figures['scene_psnr_45'] for run in card.runs):.2f}",
            ]
        )
    heads = ("network", "paper", "wanted", "ours (median)", "every seed", "verdict", "mean PSNR", "at 45°")
    return grid(heads, rows)


def rectangles(cards: Sequence[ModelCard]) -> str:
    """Each rectangle turned about its own centre."""
    rows = []
    for card in cards:
        figures = [run.figures for run in card.runs]
        claim = PAPER.get(card.name.removesuffix("-printed"))
        rows.append(
            [
                f"``{card.name}``",
                each([f["rectangles_variance"] for f in figures], 3),
                f"{statistics.median(f['rectangles_mean'] for f in figures):.2f}",
                f"{claim.psnr_45}" if claim and claim.psnr_45 else "",
                each([f["rectangles_psnr_45"] for f in figures], 4),
            ]
        )
    return grid(("network", "variance, every seed", "mean PSNR", "paper, one picture at 45°", "ours at 45°"), rows)


def readings(trials: Trials) -> str:
    """Variance and mean PSNR by reading and network; medians over the seeds there are."""
    rows = []
    for group, label in READINGS:
        row = [label]
        for name in PAPER:
            found = [t for key, t in trials.items() if key.rpartition("/")[0] == f"{group}/{name}" and "error" not in t]
            scenes = [trial["scene analytic"] for trial in found]
            if scenes:
                variance = statistics.median(scene["variance"] for scene in scenes)
                row.append(f"{variance:.2g} ({statistics.median(scene['mean'] for scene in scenes):.2f})")
            else:
                row.append("")
        if any(row[1:]):
            rows.append(row)
    return grid(("reading", *PAPER), rows)


def edges(trials: Trials) -> str:
    """Training and test on the same kind of edges."""
    rows = []
    for kind in ("4x4", "hard"):
        for name in PAPER:
            trial = trials.get(f"edges {kind}/{name}/0")
            if trial and "error" not in trial:
                own, exact = trial[f"scene {kind}"], trial["scene analytic"]
                rows.append([kind, f"``{name}``"] + [f"{t['variance']:.2g} ({t['mean']:.2f})" for t in (exact, own)])
    return grid(("training edges", "network (printed flux)", "tested on exact edges", "tested on the same edges"), rows)


def better(trials: Trials) -> str:
    """The candidates, with what they were judged by."""
    rows = []
    for key, trial in trials.items():
        if key.startswith("better/") and "error" not in trial:
            _, name, seed = key.split("/")
            own, test = trial["validation"], trial["scene analytic"]
            cells = [f"{t['mean']:.2f}, {t['variance']:.2g}" for t in (own, test)]
            rows.append([f"{name}, seed {seed}", str(sum(len(v) for v in trial["values"].values())), *cells])
    return grid(("candidate", "parameters", "validation: mean PSNR, variance", "test: mean PSNR, variance"), rows)


def single(trials: Trials) -> str:
    """One scale instead of eight, all trained to the end by second order."""
    rows = []
    for coupling in ("isotropic", "anisotropic"):
        keys = [key for key in trials if key.startswith(f"single scale/{coupling} ")]
        for key in [*keys, f"omega inside, Gauss-Newton/{coupling}-0.41/0"]:
            trial = trials.get(key, {"error": "not run"})
            if "error" not in trial:
                scene, sigma = trial["scene analytic"], trial["network"]["sigma"]
                scales = f"σ = {sigma:g}" if sigma else "**eight scales, ω inside g**"
                rows.append([coupling, scales, f"{scene['mean']:.2f}", f"{scene['variance']:.2g}"])
    return grid(("coupling", "scales", "mean PSNR", "variance"), rows)
