"""The study's figures for the documentation."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from whorl.data import ANGLES, RectangleSet
from whorl.evaluation import AngleTable
from whorl.evaluation.charts import SHOWN, draw_angles, draw_comparison
from whorl.evaluation.reproduction import PAPER, Outcome
from whorl.networks.cards import ModelCard
from whorl.networks.scheduled import ScheduledNetwork

Trials = dict[str, Any]


def draw_all(trials: Trials, cards: Sequence[ModelCard], folder: Path) -> None:
    """Draw all figures into ``folder``."""
    by_name = {card.name: card for card in cards}
    shown = [_measured(trials, by_name[name], "omega inside", name) for name in PAPER]
    better = _measured(trials, by_name["whorl-28"], "better", "scheduled isotropic")
    draw_angles([*shown, better], folder / "experiment-psnr.png")
    printed = [_measured(trials, by_name[name], "paper", name) for name in PAPER]
    draw_angles(printed, folder / "experiment-psnr-printed.png")
    shown = [Outcome(by_name[name], RectangleSet(50), {by_name[name].chosen: shown[0].table}) for name in PAPER]
    draw_comparison(shown, folder / "experiment-comparison.png", image=SHOWN, dpi=110)
    draw_front(trials, "paper", "front", folder / "experiment-front.png")
    draw_front(trials, "omega inside, Gauss-Newton", "omega inside, front", folder / "experiment-front-converged.png")
    draw_better(trials, folder / "experiment-better.png")
    draw_schedule(by_name["whorl-28"], folder / "experiment-schedule.png")


def _measured(trials: Trials, card: ModelCard, group: str, name: str) -> Outcome:
    """Curves of the study as if they had been measured here: one row per angle with the PSNR it reached."""
    tables = {}
    for key, trial in trials.items():
        if key.rpartition("/")[0] == f"{group}/{name}":
            psnr = [trial["scene analytic"]["psnr"][str(angle)] for angle in ANGLES]
            errors = torch.tensor([[255.0**2 / 10 ** (value / 10)] for value in psnr], dtype=torch.float64)
            tables[trial["seed"]] = AngleTable(ANGLES, errors)
    return Outcome(card, RectangleSet(50), tables)


def draw_front(trials: Trials, named: str, group: str, path: Path) -> None:
    """Mean PSNR and variance over alpha, and the anisotropic network's way through gamma.

    The trials of ``group``, with those of ``named`` at alpha 0.41 and 0.5.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.2, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    for coupling, colour, mark in (("isotropic", "#00a3c4", "D"), ("anisotropic", "#f28e00", "o")):
        points = {alpha: trials[f"{named}/{coupling}-{alpha:g}/0"] for alpha in (0.41, 0.5)}
        for key, trial in trials.items():
            if key.startswith(f"{group}/{coupling} ") and key.endswith("gamma 0/0"):
                points[trial["network"]["alpha"]] = trial
        alphas = sorted(points)
        scenes = [points[alpha]["scene analytic"] for alpha in alphas]
        means, variances = [s["mean"] for s in scenes], [s["variance"] for s in scenes]
        left.plot(alphas, variances, color=colour, marker=mark, label=f"{coupling}, γ = 0", markersize=5)
        right.plot(variances, means, color=colour, marker=mark, label=f"{coupling}, γ = 0", markersize=5)
        for alpha, x, y in zip(alphas, variances, means, strict=True):
            if alpha in (0.0, 0.25, 0.41, 0.5):
                right.annotate(f"{alpha:g}", (x, y), xytext=(5, -9), textcoords="offset points", fontsize=7)
    for alpha, colour in ((0.0, "#b0b0b0"), (0.25, "#707070"), (0.41, "black")):
        found = [
            t["scene analytic"] for k, t in trials.items() if k.startswith(f"{group}/anisotropic alpha {alpha:.3f} ")
        ]
        if alpha == 0.41:
            found.insert(0, trials[f"{named}/anisotropic-0.41/0"]["scene analytic"])
        x, y = [s["variance"] for s in found], [s["mean"] for s in found]
        right.plot(x, y, color=colour, marker=".", linestyle="--", label=f"anisotropic, α = {alpha:g}, γ = 0 … 1")
    left.set(xlabel="α", ylabel="variance over the angles [dB²]", yscale="log")
    right.set(xlabel="variance over the angles [dB²]", ylabel="mean PSNR [dB]", xscale="log")
    for axes in (left, right):
        axes.grid(visible=True, color="#dddddd", linewidth=0.6)
        axes.legend(fontsize=7)
    right.set_title("numbers at the points: α", fontsize=8)
    figure.savefig(path, dpi=130)


def draw_better(trials: Trials, path: Path) -> None:
    """Mean PSNR against variance: the paper's networks in both readings, and the candidates."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7.6, 4.6), layout="constrained")
    axes = figure.subplots()
    kinds = {
        "paper": ("paper's protocol, printed flux", "#00a3c4", "s"),
        "omega inside": ("paper's protocol, ω inside g", "#d11f2f", "o"),
        "better": ("candidates of up to 30 parameters", "#2a8c2a", "^"),
    }
    for group, (label, colour, mark) in kinds.items():
        found = {k.split("/")[1]: t for k, t in trials.items() if k.startswith(f"{group}/") and "error" not in t}
        points = [(t["scene analytic"]["variance"], t["scene analytic"]["mean"]) for t in found.values()]
        axes.plot(*zip(*points, strict=True), linestyle="", marker=mark, color=colour, label=label)
        names = (
            ["scheduled isotropic", "scheduled gamma 1", "scheduled", "scheduled omega"]
            if group == "better"
            else list(found)
        )
        for name in names:
            if name in found:
                scene = found[name]["scene analytic"]
                shown = "whorl-28" if name == "scheduled isotropic" else name
                place = (5, -10) if name.startswith("isotropic") else (5, 4)
                point = (scene["variance"], scene["mean"])
                axes.annotate(shown, point, place, textcoords="offset points", fontsize=7)
    reached = trials["paper/anisotropic-0.41/0"]["scene analytic"]["mean"]
    axes.plot([1e-5, 0.014, 0.014], [reached + 1, reached + 1, 37], color="black", linewidth=0.8, ls=":")
    axes.text(0.0135, 36.7, "wanted: variance ≤ 0.014,\n1 dB above the paper's", fontsize=7, ha="right", va="top")
    axes.set(
        xscale="log", xlabel="variance over the angles [dB²]", ylabel="mean PSNR [dB]", xlim=(2e-4, 5), ylim=(26.5, 36)
    )
    axes.grid(visible=True, color="#dddddd", linewidth=0.6)
    axes.legend(fontsize=8, loc="lower right")
    figure.savefig(path, dpi=130)


def draw_schedule(card: ModelCard, path: Path) -> None:
    """Which scales steer and which carry the flux at every step of the scheduled network."""
    from matplotlib.figure import Figure

    network = card.build()
    assert isinstance(network, ScheduledNetwork)
    with torch.no_grad():
        flux, measure = network.weights()
    sigma = network.stack.sampling.sigma
    figure = Figure(figsize=(8.4, 3.6), layout="constrained")
    for axes, weights, title in zip(figure.subplots(1, 2), (measure, flux), ("structure measure", "flux"), strict=True):
        share = weights / weights.sum(1, keepdim=True)
        image = axes.imshow(share.T.numpy(), origin="lower", cmap="magma", vmin=0, aspect="auto")
        axes.set_xticks(range(len(share)), [str(k + 1) for k in range(len(share))])
        axes.set_yticks(range(len(sigma)), [f"{s:.2g}" for s in sigma])
        axes.set(ylabel="scale σ")
        axes.set_title(f"{title}: share of the scales", fontsize=9)
        figure.colorbar(image, ax=axes)
        level = [f"{math.log10(float(x)):.1f}" for x in weights.sum(1)]
        axes.set_xlabel("step\nlog₁₀ of the sum: " + "  ".join(level), fontsize=7)
    figure.savefig(path, dpi=130)
