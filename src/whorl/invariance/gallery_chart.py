"""The gallery as one figure and one table."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from whorl.invariance.chart import COLOURS, house_style
from whorl.invariance.gallery import NOISE, TURN, Showing, plates

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["draw_gallery", "gallery_table"]


def draw_gallery(showings: Sequence[Showing], path: Path | str, *, format: str | None = None) -> None:
    """Draw every model's pair of pictures, the input first and a chart of the rotation errors last."""
    from matplotlib.figure import Figure

    across = 3
    down = -(-(len(showings) + 2) // across)
    with house_style():
        figure = Figure(figsize=(15.0, 2.75 * down + 0.5), layout="constrained")
        figure.suptitle(
            f"Every model on one picture, upright and turned by {TURN.angle:.2f}° before filtering",
            fontsize=15,
            weight="bold",
        )
        grid: Any = figure.subfigures(down, across, wspace=0.02, hspace=0.02)
        cells = grid.flatten()
        _, noisy, turned = plates()
        _pair(cells[0], noisy[0], turned[0], "input", f"noise {NOISE:g}, drawn from formulas at both angles")
        for cell, showing in zip(cells[1:], showings, strict=False):
            setting = f"λ = {showing.contrast:g}, t = {showing.time:g}"
            note = f"{setting}   ·   {showing.psnr:.1f} dB   ·   turned: {showing.plate:.1%} off"
            _pair(cell, showing.upright, showing.turned, showing.name, note, _is_coupled(showing))
        _bars(cells[len(showings) + 1], showings)
        figure.savefig(path, dpi=130, format=format)


def gallery_table(showings: Sequence[Showing]) -> "Table":
    """The rotation errors of all models as a rich table."""
    from rich.table import Table

    table = Table(
        title="[bold]rotation errors[/bold], relative to the change each filter made",
        caption="no value was interpolated; plate: the noisy picture turned by 36.87°, compared at shared pixels",
    )
    table.add_column("model", style="bold", no_wrap=True)
    for heading in ("ulp at 90°", "at radius 65", "beside it", "at radius 65", "times", "plate", "dB"):
        table.add_column(heading, justify="left" if heading == "beside it" else "right")
    for s in showings:
        name, value = s.beside or ("", None)
        worse = f"{value / s.equal_radius:,.0f}" if value is not None and _is_coupled(s) else ""
        other = "" if value is None else f"{value:.1e}"
        plate, quality = f"{s.plate:.1%}", f"{s.psnr:.1f}"
        table.add_row(s.name, f"{s.ulp:.3g}", f"{s.equal_radius:.1e}", name, other, worse, plate, quality)
    return table


def _pair(cell: Any, upright: Tensor, turned: Tensor, title: str, note: str, coupled: bool = True) -> None:
    colour = COLOURS["ink"] if coupled else COLOURS["uncoupled"]
    left, right = cell.subplots(1, 2)
    for panel, picture in ((left, upright), (right, turned)):
        panel.imshow((picture.permute(1, 2, 0).clamp(0, 255) / 255).numpy(), interpolation="nearest")
        panel.set_axis_off()
    cell.suptitle(title, fontsize=12, weight="bold", color=colour)
    cell.supxlabel(note, fontsize=9)


def _bars(cell: Any, showings: Sequence[Showing]) -> None:
    """Equal-radius errors, coupled models against their uncoupled counterparts."""
    panel = cell.subplots(1, 1)
    places = range(len(showings))
    for place, s in zip(places, showings, strict=True):
        colour = COLOURS["coupled" if _is_coupled(s) else "uncoupled"]
        panel.plot(s.equal_radius, place, "o", color=colour, ms=6)
        if s.beside is not None and _is_coupled(s):
            panel.plot([s.equal_radius, s.beside[1]], [place, place], "-", color=COLOURS["rule"], lw=1.5, zorder=1)
            panel.plot(s.beside[1], place, "o", color=COLOURS["uncoupled"], ms=6)
    panel.axvline(2e-3, color=COLOURS["ink"], lw=0.8, ls=":")
    panel.set_xscale("log")
    panel.set_xlim(left=2e-6)  # room for the legend
    panel.set_yticks(list(places), [s.name for s in showings], fontsize=8)
    panel.invert_yaxis()
    panel.grid(axis="y", visible=False)
    panel.set_xlabel("spread at radius 65 / change (dotted: 0.002)", fontsize=8.5)
    panel.plot([], [], "o", color=COLOURS["coupled"], label="model")
    panel.plot([], [], "o", color=COLOURS["uncoupled"], label="without coupling")
    panel.legend(fontsize=8, loc="lower left")
    cell.suptitle("rotation error of a hill", fontsize=12, weight="bold")


def _is_coupled(showing: Showing) -> bool:
    return showing.name != "uncoupled"
