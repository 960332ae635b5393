"""Every model on the embedded picture, upright and turned: what the filters do, and how far they turn with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from whorl.data.plate import plate_picture
from whorl.data.synthetic import Turn
from whorl.invariance.chart import COLOURS, house_style
from whorl.invariance.coincidence import coincident_points
from whorl.invariance.evidence import SETTINGS, counterpart, flow
from whorl.invariance.filters import ratio, root_mean_square
from whorl.invariance.radius import equal_radius_error
from whorl.invariance.symmetries import symmetry_error
from whorl.metrics import psnr
from whorl.models import ROWS, Model, build

if TYPE_CHECKING:
    from rich.table import Table

NOISE = 20.0
SIZE = 257
MARGIN = 8  # pixels near the border see a frame that does not turn
TURN = Turn(4, 3, 5)
SHOWN = {row.name: row.plate for row in ROWS}
"""Contrast and time near each model's best PSNR on the noisy plate; the uncoupled model has those of its twin."""


@dataclass(frozen=True)
class Showing:
    """One model: its pictures and its numbers.

    Attributes
    ----------
    name, contrast, time
        The model and how it filtered the plate.
    upright, turned : Tensor
        The filtered plate, and the filtered plate turned by 36.87 degrees, ``(3, y, x)``.
    psnr : float
        Of the upright result against the clean plate, in dB (value range 255).
    plate : float
        Difference of the two results at the shared pixels relative to the change, root mean squares. Its edges and
        noise are as fine as the pixel grid allows, and steeper than the contrast. Models that sharpen turn the noise
        there into edges, which differ from grid to grid. So this number is a few per cent, where that of the hill is a
        few ten-thousandths.
    ulp, equal_radius : float
        From :func:`~whorl.invariance.symmetry_error` and :func:`~whorl.invariance.equal_radius_error`, at the contrast
        and time of :data:`~whorl.invariance.evidence.SETTINGS`.
    beside : (str, float) or None
        Name and equal-radius error of the model's uncoupled counterpart.
    """

    name: str
    contrast: float
    time: float
    upright: Tensor
    turned: Tensor
    psnr: float
    plate: float
    ulp: float
    equal_radius: float
    beside: tuple[str, float] | None

    def as_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        numbers = {key: value for key, value in vars(self).items() if not isinstance(value, Tensor)}
        if self.beside is not None:
            numbers["beside"] = {"name": self.beside[0], "equal_radius": self.beside[1]}
        return numbers


def show_all(progress: Callable[[float], None] | None = None) -> list[Showing]:
    """All models in the order of the catalogue; ``progress`` is told 1 after each."""
    showings = []
    for name in SHOWN:
        showings.append(show(name))
        if progress is not None:
            progress(1.0)
    return showings


def show(name: str) -> Showing:
    """Filter the plate with one model, upright and turned, and measure it."""
    contrast, time = SHOWN[name]
    clean, noisy, turned_noisy = plates()
    filter = flow(build(name, contrast=contrast), time)
    with torch.no_grad():
        upright, turned = filter(noisy), filter(turned_noisy)
    p, q = (SIZE // 2 + points for points in coincident_points(TURN, SIZE // 2 - MARGIN))
    difference = turned[..., q[:, 1], q[:, 0]] - upright[..., p[:, 1], p[:, 0]]
    change = (upright - noisy)[..., p[:, 1], p[:, 0]]
    quality = float(psnr(upright, clean, value_range=255.0))
    plate = ratio(root_mean_square(difference), root_mean_square(change))
    return Showing(name, contrast, time, upright[0], turned[0], quality, plate, *_evidence(name))


def _evidence(name: str) -> tuple[float, float, tuple[str, float] | None]:
    setting = SETTINGS[name]
    model = build(name, contrast=setting.contrast)
    other = counterpart(model)

    def equal_radius(model: Model) -> float:
        return equal_radius_error(flow(model, setting.time), channels=setting.channels).relative

    ulp = symmetry_error(flow(model, setting.time), channels=setting.channels).ulp
    return ulp, equal_radius(model), None if other is None else (other.name, equal_radius(other))


@cache
def plates() -> tuple[Tensor, Tensor, Tensor]:
    """The clean, the noisy, and the noisy turned plate; drawn once, since noise from formulas takes its time."""
    clean = plate_picture(SIZE)
    return clean, plate_picture(SIZE, noise=NOISE), plate_picture(SIZE, turn=TURN, noise=NOISE)


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
