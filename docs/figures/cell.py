"""Draw the cell in space: its seven Haar details, and the stencil of the Laplacian they add up to.

All signs and weights are read off the operators. Run from the repository's root: ``python docs/figures/cell.py``.
"""

from fractions import Fraction
from itertools import product
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes

from whorl.operators import Laplacian
from whorl.operators.cells import Detail, details, haar

TARGET = Path(__file__).parent.parent / "images" / "cell-volume.png"
INK, PLUS, MINUS, LINE = "#1f2933", "#c2410c", "#1d4ed8", "#9aa5b1"
NAMES = {1: "p", 2: "r", 3: "t"}


def place(x: float, y: float, z: float) -> tuple[float, float]:
    """A point of space on paper: x to the right, y down, z backwards."""
    return x + 0.42 * z, -y + 0.30 * z


def edges(axes: Axes, size: int = 1) -> None:
    """The edges of a cube of so many steps."""
    for corner in product(range(size + 1), repeat=3):
        for axis in range(3):
            end = list(corner)
            end[axis] += 1
            if end[axis] <= size:
                (x0, y0), (x1, y1) = place(*corner), place(*end)
                axes.plot([x0, x1], [y0, y1], color=LINE, linewidth=1.1, zorder=1)


def signs(detail: Detail) -> dict[tuple[int, int, int], int]:
    """The sign with which each corner (x, y, z) of a cell enters a detail, read off single bright voxels."""
    found = {}
    for x, y, z in product((0, 1), repeat=3):
        volume = torch.zeros(1, 1, 2, 2, 2)
        volume[0, 0, z, y, x] = 4.0
        found[x, y, z] = int(haar(volume)[detail][0, 0, 1, 1, 1])
    return found


def name(detail: Detail) -> str:
    return f"${NAMES[len(detail)]}" + (f"_{{{''.join('xyz'[k] for k in detail)}}}$" if len(detail) < 3 else "$")


def draw_detail(axes: Axes, detail: Detail) -> None:
    edges(axes)
    for corner, sign in signs(detail).items():
        x, y = place(*corner)
        axes.scatter([x], [y], s=340, color=PLUS if sign > 0 else MINUS, zorder=3)
        mark = "+" if sign > 0 else "−"
        axes.text(x, y - 0.012, mark, color="white", ha="center", va="center", fontsize=14, zorder=4)
    axes.set_title(name(detail), fontsize=17, pad=6)


def draw_stencil(axes: Axes) -> None:
    impulse = torch.zeros(1, 1, 5, 5, 5, dtype=torch.float64)
    impulse[0, 0, 2, 2, 2] = 1
    weights = Laplacian()(impulse)[0, 0, 0, 0]
    edges(axes, 2)
    colours = {0: MINUS, 1: PLUS, 2: "#d97706", 3: "#ca8a04"}
    kinds = {0: "centre", 1: "face", 2: "edge", 3: "corner"}
    shown: dict[int, str] = {}
    for x, y, z in product(range(3), repeat=3):
        distance = abs(x - 1) + abs(y - 1) + abs(z - 1)
        axes.scatter(*place(x, y, z), s=(170, 150, 80, 45)[distance], color=colours[distance], zorder=3 - 0.1 * z)
        shown[distance] = str(Fraction(float(weights[z + 1, y + 1, x + 1])).limit_denominator(100)).replace("-", "−")
    for distance, text in sorted(shown.items()):
        axes.scatter([], [], s=70, color=colours[distance], label=f"{kinds[distance]}  {text}")
    spacing = {"handletextpad": 0.1, "columnspacing": 0.8}
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, 0.1), ncols=2, frameon=False, fontsize=11, **spacing)
    axes.set_title(r"Laplacian, $\alpha = 1/6$", fontsize=15, pad=6)


def draw() -> plt.Figure:
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 12, "text.color": INK})
    figure, grid = plt.subplots(2, 4, figsize=(12, 6.4), facecolor="white")
    for axes in grid.flat:
        axes.set_aspect("equal")
        axes.axis("off")
        axes.margins(0.22)
    for axes, detail in zip(grid.flat, details(3), strict=False):
        draw_detail(axes, detail)
    draw_stencil(grid[1, 3])
    origin = grid[0, 0]
    beside = {"x": ((0.5, 1, 0), (0, -0.2)), "y": ((0, 0.5, 0), (-0.16, 0)), "z": ((1, 1, 0.5), (0.16, -0.08))}
    for label, (middle, (right, up)) in beside.items():
        x, y = place(*middle)
        origin.text(x + right, y + up, label, ha="center", va="center", fontsize=13, style="italic")
    figure.subplots_adjust(left=0.01, right=0.99, top=0.94, bottom=0.1, wspace=0.05, hspace=0.2)
    return figure


if __name__ == "__main__":
    draw().savefig(TARGET, dpi=130)
