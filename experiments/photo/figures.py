"""Draw the figures and tables of the page on networks for photographs from the committed results.

PYTHONPATH=src python experiments/photo/figures.py
"""

import json
import math
from pathlib import Path

import matplotlib
import numpy as np
import torch

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from whorl.operators.stencils import SteerableStencils, steerable_stencils

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "experiments" / "photo" / "results"
IMAGES, PAGES = ROOT / "docs" / "images", ROOT / "docs" / "photographs"
INK, OURS, OTHERS, THIRD = "#1d2733", "#b5452c", "#5b7083", "#3f7d58"

ANCHORS = {
    "CRR-NN": (13.8e3, 28.10),
    "WCRR-NN": (13.8e3, 28.68),
    "VN 5×5": (6.7e3, 28.78),
    "VN 7×7": (19.2e3, 28.92),
    "tiny-GDLNet": (8e3, 28.92),
    "TNRD": (26.9e3, 28.92),
    "NLNet": (24e3, 28.98),
    "DnCNN-small": (66e3, 29.05),
    "CSCNet, CDLNet": (64e3, 29.11),
    "GDLNet, small": (66e3, 29.13),
    "GDLNet": (188e3, 29.22),
    "FFDNet": (485e3, 29.19),
    "DnCNN-S": (556e3, 29.23),
    "DRUNet": (32e6, 29.48),
}
UNCOUNTED = {"BM3D": 28.57, "TV, tuned": 27.48}  # methods without trained parameters, or with one
PLACES = {"TNRD": (7, -3), "photo-27k-strict": (-78, -2), "photo-66k": (-24, 8), "CSCNet, CDLNet": (7, -5),
          "VN 7×7": (-20, -13), "tiny-GDLNet": (-30, -13), "NLNet": (-34, -3), "photo-8k": (-45, -3), "CRR-NN": (6, -3),
          "photo-27k-stable": (8, -3), "photo-27k": (-24, 8), "photo-grey": (7, -11), "DnCNN-S": (6, 3),
          "VN 5×5": (-6, -13), "FFDNet": (6, -8), "GDLNet, small": (7, 3), "DnCNN-small": (7, -6),
          "WCRR-NN": (7, -3), "DRUNet": (-34, -12)}  # fmt: skip
FRONT = {"photo-66k": (6, -2), "photo-27k-stable": (6, -6), "photo-27k": (6, -6), "photo-8k": (6, 1), "turn": (5, 4),
         "rho2": (-20, -10), "alternate": (5, -1), "small": (5, -4), "rho1": (5, -8), "photo-grey": (5, -9),
         "dncnn-27k": (-44, 4), "resnet-27k": (-20, 5), "guided-16": (-42, 0), "guided-8": (-14, -10),
         "guided-1": (4, 3), "unguided": (-42, 0), "large": (-10, 6), "deeper": (5, -3),
         "photo-27k-strict": (-30, 6)}  # fmt: skip
TARGETS = (
    ("at most 8k parameters", "photo-8k", "test_25", ">", 28.92),
    ("at most 27k parameters", "photo-27k", "test_25", "≥", 29.10),
    ("at most 66k parameters", "photo-66k", "test_25", "≥", 29.18),
    ("stable, at most 27k", "photo-27k-stable", "test_25", "≥", 28.95),
)


def main() -> None:
    """Draw everything."""
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "whorl",
         "axes.grid": True, "grid.color": "#e3e7ea", "axes.axisbelow": True, "text.color": INK, "axes.labelcolor": INK}
    )  # fmt: skip
    PAGES.mkdir(exist_ok=True)
    calls = {
        name: json.loads((RESULTS / f"{name}.json").read_text())["trials"]
        for name in (
            "explore",
            "final",
            "longer",
            "alone",
            "onward",
            "last",
            "turned",
            "guided",
            "leading",
            "leading-onward",
        )
    }
    latest: dict = {}
    for name in ("final", "longer", "onward", "last", "turned", "leading", "leading-onward"):
        latest |= calls[name]
    parameters(latest)
    front(calls, latest)
    stencils()
    tables(latest, calls["alone"]["photo-27k"])


def parameters(latest: dict) -> None:
    """PSNR over the number of parameters."""
    figure, axes = plt.subplots(figsize=(7.2, 5.4), layout="constrained")
    for label, (count, value) in ANCHORS.items():
        axes.plot(count, value, "o", color=OTHERS, ms=4)
        axes.annotate(label, (count, value), PLACES.get(label, (4, 4)), textcoords="offset points", color=OTHERS,
                      fontsize=7.5)  # fmt: skip
    for name, trial in latest.items():
        if name.startswith("photo") and "test_25" in trial and name != "photo-colour":
            axes.plot(trial["parameters"], trial["test_25"], "D", color=OURS, ms=5)
            axes.annotate(name, (trial["parameters"], trial["test_25"]), PLACES.get(name, (6, 2)),
                          textcoords="offset points", color=OURS, fontsize=7.5)  # fmt: skip
    for name in ("resnet-27k",):
        axes.plot(latest[name]["parameters"], latest[name]["test_25"], "s", color=THIRD, ms=4)
        axes.annotate("plain ResNet, trained much shorter", (latest[name]["parameters"], latest[name]["test_25"]),
                      (8, -22), textcoords="offset points", color=THIRD, fontsize=7.5)  # fmt: skip
    lowest = 28.0
    for label, value in UNCOUNTED.items():
        axes.axhline(value, color=OTHERS, lw=0.8, ls="--")
        note = label if value > lowest else f"{label}: {value:.2f}, below"
        axes.annotate(note, (3e6, max(value, lowest)), (0, 3), textcoords="offset points", color=OTHERS, fontsize=7.5)
    axes.set(xscale="log", xlabel="parameters", ylabel="PSNR in dB", title="BSD68, noise 25",
             xlim=(3e3, 5e7), ylim=(lowest, 29.55))  # fmt: skip
    figure.savefig(IMAGES / "photo-parameters.svg", metadata={"Date": None})


def front(calls: dict, latest: dict) -> None:
    """PSNR against the error under the 3-4-5 turn; earlier states of a network have no name."""
    figure, axes = plt.subplots(figsize=(7.2, 5.2), layout="constrained")
    styles = {
        "explore": (OTHERS, "500 steps"),
        "final": (THIRD, "2,600 to 5,200 steps of 16 patches"),
        "longer": ("#c08a2d", "and 3,000 more"),
        "onward": (OURS, "16,250 steps of 32 patches"),
        "last": ("#7d3c98", "4,000 to 8,000 more of 32 patches"),
        "turned": ("#1f6f8b", "photo-27k and 150 with a term on turns"),
        "guided": ("#9aa7b2", "1,500 steps of 32 patches"),
        "leading": (INK, "7,750 steps of 32 patches"),
        "leading-onward": ("#d07a9b", "photo-66k, 21,000 more in all"),
    }
    for call, (colour, label) in styles.items():
        first = True
        for name, trial in calls[call].items():
            if "turn_25" not in trial or trial["spec"]["channels"] == 3 or trial["test_25"] < 28.1:
                continue
            axes.plot(
                trial["turn_25"]["36.9"], trial["test_25"], "o", color=colour, ms=4.5, label=label if first else None
            )
            first = False
            if latest.get(name, trial) is trial:
                axes.annotate(name, (trial["turn_25"]["36.9"], trial["test_25"]), FRONT.get(name, (4, 3)),
                              textcoords="offset points", fontsize=7, color=colour)  # fmt: skip
    axes.axvline(0.03, color=INK, lw=0.8, ls=":")
    axes.set(xscale="log", xlabel="error under the 3-4-5 turn, relative to what is removed", ylabel="PSNR in dB",
             title="BSD68, noise 25; the dotted line is the target for turns")  # fmt: skip
    figure.legend(frameon=False, fontsize=7.5, ncols=2, loc="outside lower center")
    figure.savefig(IMAGES / "photo-front.svg", metadata={"Date": None})


def stencils() -> None:
    """How well stencils of order 1 turn, over the frequency."""
    figure, axes = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
    y, x = np.mgrid[-2:3, -2:3].astype(float)
    gaussian = x * np.exp(-(x**2 + y**2) / (2 * 0.7**2))
    scharr = np.array([[-3.0, 0, 3], [-10, 0, 10], [-3, 0, 3]])
    smooth = np.array([0.037659, 0.249153, 0.426375, 0.249153, 0.037659])
    derive = np.array([0.109604, 0.276691, 0.0, -0.276691, -0.109604])
    rows = {
        "sampled Gaussian, σ = 0.7, 5×5": (gaussian, OTHERS, "-"),
        "Scharr 3×3": (scharr, OTHERS, "--"),
        "Farid–Simoncelli 5×5": (np.outer(smooth, derive), OTHERS, ":"),
    }
    rho = np.linspace(0.02, 0.5, 97)
    for label, (taps, colour, line) in rows.items():
        pair = torch.from_numpy(np.stack([taps, taps.T])[None])
        axes.plot(rho, error(SteerableStencils(1, pair, (0.0,), 0.5), 0, rho), line, color=colour, label=label, lw=1.4)
    for size, line in ((3, "--"), (5, "-"), (7, ":")):
        label = f"fitted {size}×{size}, first"
        axes.plot(rho, error(steerable_stencils(1, size, 1), 0, rho), line, color=OURS, label=label, lw=1.6)
    axes.plot(rho, error(steerable_stencils(1, 5, 2), 1, rho), "-.", color=OURS, label="fitted 5×5, second", lw=1.2)
    axes.axvline(0.35, color=INK, lw=0.8, ls=":")
    axes.set(yscale="log", ylim=(1e-6, 1), xlabel="frequency in cycles per pixel", ylabel="part that does not turn",
             title="Stencils of angular order 1, fitted up to the dotted line")  # fmt: skip
    figure.legend(frameon=False, fontsize=7.5, ncols=2, loc="outside lower center")
    figure.savefig(IMAGES / "photo-stencils.svg", metadata={"Date": None})


def error(found: SteerableStencils, number: int, rho: np.ndarray) -> np.ndarray:
    """The share of a stencil that does not turn with the direction, at each frequency."""
    phi = torch.linspace(0, 2 * math.pi, 129, dtype=torch.float64)[:-1]
    radius = torch.from_numpy(2 * math.pi * rho)[:, None]
    parts = found.transfer(radius * phi.sin(), radius * phi.cos())[number]
    upright = (parts[0] + 1j * parts[1]) * torch.exp(-1j * phi)
    rest = upright - upright.mean(1, keepdim=True)
    return ((rest.abs() ** 2).mean(1) / (upright.abs() ** 2).mean(1)).sqrt().clamp(min=1e-7).numpy()


def tables(latest: dict, fast: dict) -> None:
    """The figures of the shipped networks, and the targets."""
    rows = [("network", "parameters", "noise 15", "25", "50", "turn 36.9°", "turn 22.6°")]
    for name, trial in latest.items():
        values = [f"{trial[f'test_{level}']:.2f}" if f"test_{level}" in trial else "" for level in (15, 25, 50)]
        turns = [f"{trial['turn_25'][angle]:.3f}" for angle in ("36.9", "22.6")]
        rows.append((name, f"{trial['parameters']:,}", *values, *turns))
    write("figures", rows)
    met = [("target", "network", "asked for", "reached", "")]
    for label, name, key, sign, value in TARGETS:
        reached = latest[name][key]
        good = reached > value if sign == ">" else reached >= value
        met.append((label, name, f"{sign} {value:.2f} dB", f"{reached:.3f} dB", "met" if good else "missed"))
    strict, free = latest["photo-27k-strict"], latest["photo-27k"]
    turn, loss = strict["turn_25"]["36.9"], free["test_25"] - strict["test_25"]
    met.append(
        ("turn error at most 0.03", "photo-27k-strict", "≤ 0.03", f"{turn:.4f}", "met" if turn <= 0.03 else "missed")
    )
    met.append(
        (
            "within 0.1 dB of the free one",
            "photo-27k-strict",
            "≤ 0.1 dB",
            f"{loss:.3f} dB",
            "met" if loss <= 0.1 else "missed",
        )
    )
    seconds, reached = fast["seconds"], fast["test_25"]
    good = "met" if reached >= 29.0 and seconds <= 180 else "missed"
    met.append(
        ("29.0 dB in 3 minutes of an H200", "photo-27k", "≥ 29.00 dB", f"{reached:.3f} dB in {seconds:.0f} s", good)
    )
    write("targets", met)


def write(name: str, rows: list) -> None:
    """A table for Sphinx."""
    lines = [".. list-table::", "   :header-rows: 1", ""]
    for row in rows:
        lines += [f"   {'* -' if i == 0 else '  -'} {cell}".rstrip() for i, cell in enumerate(row)]
    (PAGES / f"{name}.inc").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
