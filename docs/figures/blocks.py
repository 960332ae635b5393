"""Draw the paper's three block diagrams as SVG, to be set into a page: their ink is the page's own text colour.

Run from the repository's root: ``python docs/figures/blocks.py`` (needs nothing but Python).
"""

import re
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

FOLDER = Path(__file__).parent.parent / "images"
SHADE = "#2a9d8f"  # the coupling; legible on white and on black


@dataclass
class Drawing:
    """SVG elements in layers: shades below, lines above them, boxes and text on top."""

    name: str
    width: int
    height: int
    label: str
    shades: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    boxes: list[str] = field(default_factory=list)

    def text(self, x: float, y: float, content: str, *, anchor: str = "middle") -> None:
        for number, line in enumerate(lines := content.split("|")):
            shift = 18 * (number - (len(lines) - 1) / 2)
            place = f'x="{x:g}" y="{y + 5 + shift:g}" text-anchor="{anchor}"'
            self.boxes.append(f"<text {place}>{tex(line)}</text>")

    def box(self, x: float, y: float, content: str, width: float) -> None:
        self.boxes.append(
            f'<rect class="node" x="{x - width / 2:g}" y="{y - 17:g}" width="{width:g}" height="34" rx="7"/>'
        )
        self.text(x, y, content)

    def node(self, x: float, y: float, content: str, radius: float, height: float = 20) -> None:
        self.boxes.append(f'<ellipse class="node" cx="{x:g}" cy="{y:g}" rx="{radius:g}" ry="{height:g}"/>')
        self.text(x, y, content)

    def arrow(self, *points: tuple[float, float], note: str = "") -> None:
        path = " L".join(f"{x:g} {y:g}" for x, y in points)
        self.lines.append(f'<path d="M{path}" marker-end="url(#{self.name}-head)"/>')
        if note:
            (_, y0), (x, y) = points[-2], points[-1]
            self.text(x + 9, (y0 + y) / 2 - 2, note, anchor="start")

    def shade(self, x: float, y: float, half: float, to_x: float, to_y: float) -> None:
        """All channels of the box at ``(x, y)`` meet in one point: they are coupled."""
        self.shades.append(f'<path d="M{x - half:g} {y:g} L{to_x:g} {to_y:g} L{x + half:g} {y:g} Z"/>')

    def svg(self) -> str:
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" role="img"',
                f'  style="max-width:{self.width}px;width:100%;height:auto;display:block;margin:0 auto"',
                f'  aria-label="{escape(self.label)}" font-family="Georgia, \'DejaVu Serif\', serif" font-size="16">',
                f'<defs><marker id="{self.name}-head" viewBox="0 0 8 8" refX="7.5" refY="4"',
                '  markerWidth="8" markerHeight="8" orient="auto">',
                '<path d="M0 0.8 L8 4 L0 7.2 Z" fill="currentColor"/></marker></defs>',
                "<style>.node{fill:var(--pst-color-background,#fff);stroke:currentColor;stroke-width:1.2}"
                " .node+text,svg text{fill:currentColor}</style>",
                f'<g fill="{SHADE}" fill-opacity="0.3" stroke="{SHADE}" stroke-width="1.2">',
                *self.shades,
                "</g>",
                '<g fill="none" stroke="currentColor" stroke-width="1.2">',
                *self.lines,
                "</g>",
                *self.boxes,
                "</svg>",
                "",
            ]
        )


def tex(content: str) -> str:
    """``u^{k+1}_m`` with raised and lowered parts; single letters before them stay bold italic."""
    parts, offset, result = re.split(r"([_^](?:\{[^}]*\}|.))", content), 0.0, ""
    for part in parts:
        if not part:
            continue
        raised = {"^": -6.0, "_": 4.0}.get(part[0], 0.0)
        shown = part[1:].strip("{}") if raised else part
        size = ' font-size="11"' if raised else ""
        styled = re.sub(r"\b([uK])\b", r'<tspan font-style="italic" font-weight="bold">\1</tspan>', escape(shown))
        result += f'<tspan dy="{raised - offset:g}"{size}>{styled}</tspan>'
        offset = raised
    return result


def single() -> Drawing:
    """The diffusion block: the operator's channels are coupled."""
    d = Drawing(
        "single",
        470,
        590,
        "Diffusion block: convolution K, coupled activation, convolution minus K transposed, skip connection",
    )
    x, skip = 265, 430
    d.arrow((x, 4), (x, 34))
    d.box(x, 51, "u^k", 70)
    d.arrow((x, 68), (x, 123), note="K")
    d.box(x, 140, "K u^k", 90)
    d.shade(x, 157, 33, x, 213)
    d.node(x, 215, "τ Φ(·)", 42, 22)
    d.shade(x, 273, 33, x, 217)
    d.box(x, 290, "τ Φ(K u^k)", 120)
    d.arrow((x, 307), (x, 362), note="−K^⊤")
    d.box(x, 379, "−τ K^⊤ Φ(K u^k)", 170)
    d.arrow((x, 396), (x, 435))
    d.node(x, 450, "+", 15, 15)
    d.arrow((x, 465), (x, 504))
    d.box(x, 521, "u^{k+1}", 80)
    d.arrow((x, 538), (x, 584))
    d.arrow((x + 35, 51), (skip, 51), (skip, 450), (x + 15, 450))
    d.text(skip + 10, 250, "Id", anchor="start")
    for y, name in (
        (96, "convolution"),
        (215, "coupled|activation"),
        (335, "convolution"),
        (450, "skip|connection"),
    ):
        d.text(85, y, name)
    return d


def several(kind: str) -> Drawing:
    """The fully coupled blocks: for image channels, and for scales."""
    scales = kind == "multiscale"
    count = "L" if scales else "M"
    label = (
        "Fully coupled multiscale diffusion block: one convolution per scale, one activation for all scales, "
        "weighted sum over scales, skip connection"
        if scales
        else "Fully coupled multi-channel diffusion block: the same convolution for each image channel, "
        "one activation for all channels, skip connection"
    )
    d = Drawing(kind, 960, 690, label)
    columns = (("1", 250), ("2", 465), (count, 765))
    middle, dots, skip = 540, 625, 915
    d.arrow((middle, 4), (middle, 34))
    d.box(middle, 51, "u^k" if scales else "u^k_1, …, u^k_M", 80 if scales else 140)
    for index, x in columns:
        K, u = (f"K_{index}", "u^k") if scales else ("K", f"u^k_{index}")
        back = f"K^⊤_{index}" if scales else "K^⊤"
        state = f"Φ(u^k, {K} {u})"
        d.arrow((middle, 68), (middle, 92), (x, 92), (x, 143), note=K)
        d.box(x, 160, f"{K} {u}", 100)
        d.shade(x, 177, 40, middle, 240)
        d.shade(x, 303, 40, middle, 240)
        d.box(x, 320, f"τ {state}", 160)
        d.arrow((x, 337), (x, 395), note=f"−{back}")
        d.box(x, 412, f"−τ {back} {state}", 198)
        join = 492 - 15
        d.lines.append(f'<path d="M{x} 429 L{x} 455 L{middle} 455"/>')
        if scales:
            d.text(x + 9, 443, f"· ω_{index}", anchor="start")
    d.arrow((middle, 455), (middle, join if scales else 479))
    d.node(middle, 240, "τ Φ(u^k, ·)", 62, 24)
    for y in (160, 320, 412):
        d.text(dots, y - 2, "⋯")
    if scales:
        d.node(middle, 492, "+", 15, 15)
        d.arrow((middle, 507), (middle, 525))
        d.box(middle, 542, "−τ Σ_ℓ ω_ℓ K^⊤_ℓ Φ(u^k, K_ℓ u^k)", 268)
    else:
        d.box(middle, 496, "−τ K^⊤ Φ(u^k, K u^k_1), …, −τ K^⊤ Φ(u^k, K u^k_M)", 410)
    top = 559 if scales else 513
    d.arrow((middle, top), (middle, 573))
    d.node(middle, 588, "+", 15, 15)
    d.arrow((middle, 603), (middle, 621))
    d.box(middle, 638, "u^{k+1}" if scales else "u^{k+1}_1, …, u^{k+1}_M", 90 if scales else 170)
    d.arrow((middle, 655), (middle, 686))
    d.arrow((middle + (40 if scales else 70), 51), (skip, 51), (skip, 588), (middle + 15, 588))
    d.text(skip + 10, 250, "Id", anchor="start")
    names = [(110, "convolution"), (240, "fully coupled|activation"), (366, "convolution"), (588, "skip|connection")]
    if scales:
        names.append((492, "weighted sum|over scales"))
    for y, name in names:
        d.text(75, y, name)
    return d


if __name__ == "__main__":
    for drawing in (single(), several("multichannel"), several("multiscale")):
        target = FOLDER / f"block-{drawing.name}.svg"
        target.write_text(drawing.svg(), encoding="utf-8")
        print(target)
