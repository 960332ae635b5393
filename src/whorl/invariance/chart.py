"""The evidence as one figure: what the measurements saw, for a filter and, beside it, one that lacks its coupling."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.data.synthetic import Bump, Turn, render
from whorl.invariance.coincidence import coincident_points
from whorl.invariance.evidence import Exhibit
from whorl.invariance.filters import values_at

COLOURS = {"coupled": "#0b6e99", "uncoupled": "#c8553d", "ink": "#2b2d33", "paper": "#ffffff", "rule": "#d9dbe0"}
INKED = ("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color")
TURN = Turn(4, 3, 5)
SIZE = 161


def draw_evidence(
    exhibit: Exhibit, path: Path | str, *, beside: Exhibit | None = None, format: str | None = None
) -> None:
    """Draw the evidence for one filter into a file: PNG, PDF or SVG by its ending, or by ``format``.

    Upper row: the whorl filtered upright, filtered turned, and the difference at the pixels both share. Lower row: the
    change of the hill over the radius, at radius 65 over the angle, and the error of the turned whorl over the angle.
    Nothing in it is interpolated. ``beside`` is drawn with it, such as the uncoupled twin.
    """
    from matplotlib.figure import Figure

    with house_style():
        figure = Figure(figsize=(12.6, 7.4), layout="constrained")
        rows: Any = figure.subfigures(2, 1, height_ratios=(0.92, 1.0))
        upper, lower = rows
        figure.suptitle(
            f"{exhibit.name}: rotation invariance, measured without interpolation", fontsize=14, weight="bold"
        )
        everyone = [(e, COLOURS["coupled" if e.coupled else "uncoupled"]) for e in (exhibit, beside) if e]
        _whorls(upper, everyone)
        left, middle, right = lower.subplots(1, 3)
        _profile(left, everyone)
        _circle(middle, everyone)
        _angles(right, everyone)
        figure.savefig(path, dpi=150, format=format)


def house_style() -> Any:
    """The look of all figures of this folder, as a context manager."""
    import matplotlib

    return matplotlib.rc_context(
        {
            "font.size": 9.5,
            "axes.titlesize": 10.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            **dict.fromkeys(INKED, COLOURS["ink"]),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": COLOURS["rule"],
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "legend.frameon": False,
            "figure.facecolor": COLOURS["paper"],
            "savefig.facecolor": COLOURS["paper"],
        }
    )


def _whorls(row: Any, everyone: list[tuple[Exhibit, str]]) -> None:
    """Whorl filtered upright and turned, and their difference at shared pixels."""
    panels = row.subplots(1, 2 + len(everyone))
    pairs = [_turned_pair(exhibit) for exhibit, _ in everyone]
    shown = pairs[0][0].min().item(), pairs[0][0].max().item()
    titles = "filtered", f"turned by {TURN.angle:.1f}°, then filtered"
    for panel, picture, title in zip(panels[:2], pairs[0], titles, strict=True):
        panel.imshow(picture[0, 0].numpy(), cmap="gray", vmin=shown[0], vmax=shown[1])
        panel.set_title(title)
        panel.set_axis_off()
    # one colour scale for both differences, or the eye would compare nothing
    points, turned_points = (SIZE // 2 + points for points in coincident_points(TURN, SIZE // 2 - 16))
    differences = [values_at(turned, turned_points)[0] - values_at(upright, points)[0] for upright, turned in pairs]
    limit = max(float(d.abs().max()) for d in differences) or 1.0
    for panel, (e, _), difference in zip(panels[2:], everyone, differences, strict=True):
        spots = panel.scatter(
            *points.T.numpy(), c=difference.numpy(), s=6.0, cmap="RdBu_r", vmin=-limit, vmax=limit, linewidths=0
        )
        panel.set_aspect("equal")
        panel.invert_yaxis()
        panel.set_axis_off()
        error = min(e.error.turns, key=lambda error: abs(error.angle - TURN.angle))
        panel.set_title(f"difference{'' if e is everyone[0][0] else f', {e.name}'}: {_percent(error.relative)}")
    row.colorbar(spots, ax=list(panels[2:]), shrink=0.8, label="difference in grey values at shared pixels")


def _profile(panel: Any, everyone: list[tuple[Exhibit, str]]) -> None:
    """Change of the hill at every pixel, over its radius: one curve if the filter is rotationally invariant."""
    hill = render(Bump(), 225, channels=everyone[0][0].setting.channels)
    y, x = (axis.double() - 112 for axis in torch.meshgrid(torch.arange(225), torch.arange(225), indexing="ij"))
    radius = (x * x + y * y).sqrt()
    # the eight symmetries add nothing but ink: one octant shows it all
    octant = (x >= y) & (y >= 0) & (radius > 45) & (radius < 104)
    for exhibit, colour in reversed(everyone):
        change = (_filter(exhibit, hill) - hill)[0, 0, octant]
        look = {"ms": 1.6, "mec": "none", "mfc": colour, "label": exhibit.name, "rasterized": True}
        panel.plot(radius[octant].numpy(), change.numpy(), ".", **look)
    panel.axvline(65, color=COLOURS["ink"], lw=0.8, ls=":")
    panel.set_xlabel("radius in pixels (dotted: 65)")
    panel.set_ylabel("change in grey values")
    panel.set_title("the hill, every pixel of an octant")
    handles, labels = panel.get_legend_handles_labels()
    panel.legend(handles[::-1], labels[::-1], markerscale=6, loc="lower right")


def _circle(panel: Any, everyone: list[tuple[Exhibit, str]]) -> None:
    """Change at the lattice points of radius 65, over their angle."""
    for exhibit, colour in everyone:
        radius = exhibit.error.radius
        mean = sum(radius.changes) / len(radius.changes)
        angles = [angle for angle in radius.angles if angle <= 90]  # they ascend from 0
        off = [100 * (change - mean) / radius.change for change in radius.changes[: len(angles)]]
        panel.plot(
            angles, off, "o-", color=colour, ms=4.5, lw=1.2, label=f"{exhibit.name}: {_percent(radius.relative)}"
        )
    panel.set_xticks(range(0, 91, 15))
    panel.set_xlabel("angle of the lattice point in degrees")
    panel.set_ylabel("off the mean, % of the change")
    panel.set_title(f"the hill at radius {everyone[0][0].error.radius.radius}")
    panel.margins(y=0.08)
    panel.legend(loc="best")


def _angles(panel: Any, everyone: list[tuple[Exhibit, str]]) -> None:
    """Relative error of the turned whorl, over the angle."""
    for exhibit, colour in everyone:
        turns, probes = exhibit.error.turns, exhibit.error.angles
        panel.semilogy([e.angle for e in turns], [e.relative for e in turns], "s", color=colour, ms=5)
        panel.semilogy([e.angle for e in probes], [e.relative for e in probes], "o-", color=colour, mfc="white", ms=5)
    panel.plot([], [], "s", color=COLOURS["ink"], label="at shared pixels")
    panel.plot([], [], "o-", color=COLOURS["ink"], mfc="white", label="at turning points")
    panel.set_xticks(range(0, 91, 15))
    panel.set_xlim(0, 90)
    panel.set_xlabel("turned by, in degrees")
    panel.set_ylabel("difference / change")
    panel.set_title("the whorl at any angle")
    panel.legend(loc="best")


def _turned_pair(exhibit: Exhibit) -> list[Tensor]:
    pictures = (
        render(exhibit.setting.scene, SIZE, turn=turn, channels=exhibit.setting.channels) for turn in (0.0, TURN)
    )
    return [_filter(exhibit, picture) for picture in pictures]


def _filter(exhibit: Exhibit, picture: Tensor) -> Tensor:
    with torch.no_grad():
        return exhibit.filter(picture.to(exhibit.device)).cpu()


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %"
