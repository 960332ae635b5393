"""Draw the README's figure: a fingerprint whorl, upright and turned, filtered with and without coupling.

The 3-4-5 turn carries every fifth pixel onto a pixel. Rendered about five neighbouring points, the turned lattices
share *all* pixels with the upright one, so the difference on the right is exact everywhere: no value is interpolated.

Contrast, time and diffusivity were chosen among several settings so that the effect of coupling is plain; the
documentation's first page tells of settings in which it is not.

Run from the repository's root: ``python docs/figures/readme.py`` (about half a minute).
"""

from io import BytesIO
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import torch
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import Circle
from PIL import Image
from torch import Tensor

from whorl.data.synthetic import Faded, Turn, Waves, Whorl, render
from whorl.invariance import coincident_points
from whorl.models import Model, build

SIZE, RADIUS, TURN = 201, 90, Turn(4, 3, 5)
CONTRAST, TIME = 3.0, 35.0
LIMIT = 30.0  # grey values at the ends of the colour scale
INK, COUPLED, UNCOUPLED = "#1f2933", "#0b7a75", "#b3402e"
TARGET = Path(__file__).parent.parent / "images" / "readme.png"


def fingerprint(x: Tensor, y: Tensor) -> Tensor:
    """Ridges 20 pixels apart under noise that is a formula, too, and so turns with them."""
    whorl = Faded(Whorl(period=20.0), radius=84.0, width=3.0, strength=0.75)
    return whorl(x, y) + Waves(deviation=12.0, seed=3)(x, y)


def difference(model: Model, upright: Tensor) -> Tensor:
    """Turned result minus upright result at every pixel of a disc, ``(y, x)``."""
    centre = SIZE // 2
    result = torch.zeros(SIZE, SIZE, dtype=torch.float64)
    p, turned_p = coincident_points(TURN, RADIUS + 6)
    for shift in range(int(TURN.norm)):
        turned = model(render(fingerprint, SIZE, turn=TURN, centre=(float(shift), 0.0)), TIME)[0, 0]
        q = p + torch.tensor([shift, 0])
        inside = q.square().sum(-1) <= RADIUS**2
        (x, y), (x_turned, y_turned) = (points[inside].T + centre for points in (q, turned_p))
        result[y, x] = turned[y_turned, x_turned] - upright[y, x]
    return result


def disc(axis: Axes, picture: Tensor, *, error: bool = False) -> None:
    """Show the picture within the disc that is compared."""
    low, high = (-LIMIT, LIMIT) if error else (20.0, 235.0)
    shown = axis.imshow(picture, cmap="RdBu_r" if error else "gray", vmin=low, vmax=high, interpolation="bilinear")
    rim = Circle((SIZE // 2, SIZE // 2), RADIUS, facecolor="none", edgecolor="#9aa5b1", linewidth=0.8)
    axis.add_patch(rim)
    shown.set_clip_path(rim)
    low, high = SIZE // 2 - RADIUS - 2, SIZE // 2 + RADIUS + 2
    axis.set(xlim=(low, high), ylim=(high, low))
    axis.axis("off")


def draw() -> plt.Figure:
    plt.rcParams.update({"font.family": "DejaVu Sans", "font.size": 13, "text.color": INK})
    figure = plt.figure(figsize=(11, 6.95), facecolor="white")
    grid = figure.add_gridspec(
        2,
        5,
        width_ratios=(1, 0.14, 1, 1, 1),
        left=0.006,
        right=0.994,
        top=0.872,
        bottom=0.115,
        wspace=0.02,
        hspace=0.19,
    )
    u, u_turned = render(fingerprint, SIZE), render(fingerprint, SIZE, turn=TURN)
    for line, (picture, label) in enumerate(((u, "noisy fingerprint"), (u_turned, f"turned by {TURN.angle:.1f}°"))):
        axis = figure.add_subplot(grid[line, 0])
        disc(axis, picture[0, 0])
        axis.text(0.5, -0.035, label, transform=axis.transAxes, ha="center", va="top")
    rows = (("weickert-brox", "coupled activation", COUPLED), ("uncoupled", "uncoupled activation", UNCOUPLED))
    for line, (name, title, colour) in enumerate(rows):
        model = build(name, contrast=CONTRAST, diffusivity="charbonnier")
        v, v_turned = model(u, TIME)[0, 0], model(u_turned, TIME)[0, 0]
        error = difference(model, v)
        share = float(error.square().sum().sqrt() / _in_disc(v - u[0, 0]).square().sum().sqrt())
        for column, picture in enumerate((v, v_turned, error)):
            axis = figure.add_subplot(grid[line, 2 + column])
            disc(axis, picture, error=column == 2)
            if column == 0:
                axis.text(-0.055, 0.5, title, transform=axis.transAxes, rotation=90, ha="center", va="center",
                          color=colour, fontsize=15, fontweight="bold")  # fmt: skip
            if column == 2:
                text = f"{100 * share:.1f} % of the change"
                axis.text(0.5, -0.035, text, transform=axis.transAxes, ha="center", va="top", color=colour,
                          fontweight="bold")  # fmt: skip
    for column, title in ((0, "input"), (2, "filtered"), (3, "turned, then filtered"), (4, "difference, turned back")):
        box = grid[0, column].get_position(figure)
        figure.text((box.x0 + box.x1) / 2, 0.88, title, ha="center", va="bottom", fontsize=14)
    figure.text(0.5, 0.985, "Filter, then turn – or turn, then filter?", ha="center", va="top", fontsize=19,
                fontweight="bold")  # fmt: skip
    _colour_bar(figure, grid[1, 4].get_position(figure))
    return figure


def _in_disc(picture: Tensor) -> Tensor:
    r = torch.arange(SIZE) - SIZE // 2
    return picture * (r[:, None].square() + r.square() <= RADIUS**2)


def _colour_bar(figure: plt.Figure, box) -> None:
    axis = figure.add_axes((box.x0 + 0.035, 0.05, box.x1 - box.x0 - 0.07, 0.017))
    axis.imshow(torch.linspace(-1, 1, 256)[None], aspect="auto", cmap="RdBu_r")
    axis.set(yticks=[], xticks=[0, 127.5, 255], xticklabels=[f"−{LIMIT:.0f}", "grey values", f"+{LIMIT:.0f}"])
    axis.tick_params(length=0, labelsize=11, pad=3, labelcolor=INK)
    for spine in axis.spines.values():
        spine.set_visible(False)


def _indexed(image: Image.Image) -> Image.Image:
    """The image in the colours the figure is made of: greys, the colour scale, and inks blended with white."""
    greys = [3 * (k / 79,) for k in range(80)]
    scale = [to_rgb(matplotlib.colormaps["RdBu_r"](k / 100)) for k in range(101)]
    inks = [[1 - k / 8 * (1 - c) for c in to_rgb(ink)] for ink in (INK, COUPLED, UNCOUPLED) for k in range(1, 9)]
    palette = np.rint(255 * np.array([*greys, *scale, *inks])).astype(np.int64)
    colours, index = np.unique(np.asarray(image).reshape(-1, 3), axis=0, return_inverse=True)
    nearest = [np.square(palette - colour).sum(-1).argmin() for colour in colours.astype(np.int64)]
    result = Image.fromarray(np.array(nearest, np.uint8)[index].reshape(image.height, image.width), "P")
    result.putpalette(palette.astype(np.uint8).tobytes())
    return result


if __name__ == "__main__":
    buffer = BytesIO()
    draw().savefig(buffer, dpi=120)
    TARGET.parent.mkdir(exist_ok=True)
    _indexed(Image.open(buffer).convert("RGB")).save(TARGET, optimize=True)
    print(f"{TARGET}: {TARGET.stat().st_size / 1000:.0f} kB")
