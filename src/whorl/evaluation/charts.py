"""The paper's two figures, redrawn from our numbers in its layout."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from whorl.evaluation.reproduction import FULL_TEST, PAPER, Outcome
from whorl.metrics import psnr

if TYPE_CHECKING:
    from rich.table import Table

STYLES: dict[str, dict[str, Any]] = {
    "uncoupled-0.41": {"color": "black", "linestyle": "--", "marker": "*"},
    "isotropic-0.41": {"color": "#00a3c4", "linestyle": ":", "marker": "D"},
    "anisotropic-0.41": {"color": "#f28e00", "linestyle": "-.", "marker": "x"},
    "isotropic-0.5": {"color": "#1f3fd1", "linestyle": ":", "marker": "s"},
    "anisotropic-0.5": {"color": "#d11f2f", "linestyle": "-.", "marker": "o"},
}
"""Colours, lines and marks of the paper's figure (its cyan and orange a little darker, for the screen)."""

SHOWN = 3
"""The test scene of the comparison: much edge, few slivers."""

COMPARED = ("uncoupled-0.41", "isotropic-0.41", "anisotropic-0.41")


def draw_angles(measured: Sequence[Outcome], path: Path | str, *, format: str = "png") -> None:
    """PSNR over the rotation angle, one line per network; further networks in grey and green."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 5.2), layout="constrained")
    axes: Any = figure.subplots()
    lowest, highest = 24.0, 32.0
    for number, m in enumerate(measured):
        name, values = m.card.name, m.table.psnr
        extra = {"color": ("#808080", "#2a8c2a")[number % 2], "linestyle": "-", "marker": "^"}
        label = PAPER[name].label if name in PAPER else name
        axes.plot(values.keys(), values.values(), label=label, linewidth=1.6, markersize=5, **STYLES.get(name, extra))
        lowest, highest = min(lowest, min(values.values()) - 0.5), max(highest, max(values.values()) + 0.5)
    axes.set(xlim=(0, 90), ylim=(lowest, highest), xlabel="rotation angle", ylabel="PSNR [dB]")
    axes.set_xticks(range(0, 91, 15), [f"{angle}°" for angle in range(0, 91, 15)])
    axes.set_yticks([y for y in range(1, 100, 2) if lowest <= y <= highest])
    axes.grid(visible=True, color="#cccccc", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    images, turning = measured[0].rectangles.count, measured[0].rectangles.turning
    what = "whole scene turned" if turning == "scene" else "each rectangle turned"
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    axes.set_title(f"Denoising quality on rotated test scenes ({images} per angle, {what})", fontsize=10)
    figure.savefig(path, dpi=150, format=format)


def draw_comparison(
    measured: Sequence[Outcome], path: Path | str, *, image: int, angle: int = 45, format: str = "png", dpi: int = 150
) -> None:
    """Ground truth and noisy picture above, the results of three networks below, each with its PSNR."""
    from matplotlib.figure import Figure

    one = [m for m in measured if m.card.name in COMPARED]
    rectangles = one[0].rectangles
    chosen = dataclasses.replace(rectangles, count=image + 1)
    clean, noisy = (pictures[image:] for pictures in chosen.pairs(angle))
    shown = [("ground truth", clean), ("noisy", noisy.clamp(0, 255))]
    with torch.no_grad():
        for m in one:
            label = PAPER[m.card.name].label.split(",")[0]
            shown.append((label, m.card.build(m.median_seed)(noisy)))
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    grid = figure.add_gridspec(2, 6)
    places = [grid[0, 1:3], grid[0, 3:5], *(grid[1, 2 * k : 2 * k + 2] for k in range(len(one)))]
    for place, (label, picture) in zip(places, shown, strict=True):
        axes: Any = figure.add_subplot(place)
        axes.imshow(picture[0, 0].numpy(), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
        axes.set(xticks=[], yticks=[])  # the frame shows where a white picture ends
        axes.spines[:].set_color("#bbbbbb")
        quality = f"\nPSNR {float(psnr(picture, clean, value_range=255.0)):.1f} dB" if label != "ground truth" else "\n"
        axes.set_title(label + quality, fontsize=9)
    figure.suptitle(f"Test scene {image}, rotation angle {angle}°", fontsize=10)
    figure.savefig(path, dpi=dpi, format=format)


def result_table(measured: Sequence[Outcome]) -> "Table":
    """Paper, ours and verdict as a rich table."""
    from rich.table import Table

    first = measured[0]
    images = first.rectangles.count
    what = "whole scene turned" if first.rectangles.turning == "scene" else "each rectangle turned"
    small = "" if images >= FULL_TEST else f"; a verdict needs {FULL_TEST}"
    seeds = max(len(m.tables) for m in measured)
    table = Table(
        title=f"[bold]{what}[/bold], {images} images at {len(first.table.angles)} angles{small}",
        caption="variance: population variance over the angles of the mean PSNR, dB²"
        + (f"; median of {seeds} training seeds" if seeds > 1 else ""),
    )
    table.add_column("network", no_wrap=True, style="bold")
    every = ("all seeds",) if seeds > 1 else ()
    for heading in ("variance\npaper", "\nours", *every, "verdict", "PSNR 45°\npaper", "\nours", "mean\nPSNR"):
        table.add_column(heading, justify="right", no_wrap=heading != "all seeds")
    for m in measured:
        claim, own = PAPER.get(m.card.name), m.table.psnr.get(45)
        each = ["  ".join(f"{m.tables[seed].variance:.2g}" for seed in sorted(m.tables))] if seeds > 1 else []
        colour = {"met": "[green]met[/green]", "missed": "[red]missed[/red]"}.get(m.verdict, "–")
        table.add_row(
            m.card.name,
            f"{claim.variance:.3g}" if claim else "–",
            f"{m.variance:.2g}",
            *each,
            colour,
            f"{claim.psnr_45:.1f}" if claim and claim.psnr_45 else "–",
            f"{own:.2f}" if own is not None else "–",
            f"{m.table.mean:.2f}",
        )
    return table
