"""How the page looks and reads: light, dark and on a phone, for eyes, for hands and for screen readers.

With WHORL_SCREENSHOTS=docs/images the pictures of the documentation are taken anew.
"""

import base64
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

PHONE = {"viewport": {"width": 375, "height": 812}, "deviceScaleFactor": 2, "hasTouch": True, "isMobile": True}
DESKTOP = {"viewport": {"width": 1360, "height": 1020}}


@pytest.mark.parametrize(
    ("name", "options", "fragment", "part"),
    [
        ("filter", {**DESKTOP, "colorScheme": "light"}, "#scene=whorl&angle=30", ""),
        ("network", {**DESKTOP, "colorScheme": "light"}, "#scene=bars&model=network&angle=30", ""),
        ("fill", {**DESKTOP, "colorScheme": "light"}, "#scene=bars&mode=fill", ""),
        ("turn", {**DESKTOP, "colorScheme": "light"}, "#scene=whorl&angle=35", ".proof"),
        ("dark", {**DESKTOP, "colorScheme": "dark"}, "#scene=rectangles&angle=30&model=eed", ""),
        ("phone", {**PHONE, "colorScheme": "light"}, "#scene=whorl&angle=30", ""),
        ("phone-turn", {**PHONE, "colorScheme": "dark"}, "#scene=rectangles&model=eed&angle=35", ".proof"),
    ],
)
def test_screenshots(drive: Any, name: str, options: dict[str, Any], fragment: str, part: str) -> None:
    folder = os.environ.get("WHORL_SCREENSHOTS")
    result = drive(
        "screenshot", fragment=fragment, part=part, complete=bool(folder) and "fill" not in name, options=options
    )
    assert result["overflow"] == 0, "nothing may stick out to the side"
    shot = Image.open(io.BytesIO(base64.b64decode(result["content"]))).convert("RGB")
    corner = np.asarray(shot)[5, 5].mean()
    assert corner < 60 if options["colorScheme"] == "dark" else corner > 200
    if folder:
        _save(shot, Path(folder) / f"page-{name}.png", widths=(500, 420) if "phone" in name else (1100, 960))


@pytest.mark.parametrize(
    "fragment", ["#scene=whorl", "#scene=bars&mode=fill", "#scene=bars&model=eed&contrast=9&time=3"]
)
def test_nothing_sticks_out_on_the_narrowest_phone(drive: Any, fragment: str) -> None:
    narrow = {"viewport": {"width": 320, "height": 640}, "hasTouch": True, "isMobile": True}
    assert drive("screenshot", fragment=fragment, part="", complete=False, options=narrow)["overflow"] == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(drive: Any, packages: Path, scheme: str) -> None:
    axe = (packages.parent / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(90, 160, (48, 64, 3), dtype=np.uint8)).save(buffer, "PNG")
    content = base64.b64encode(buffer.getvalue()).decode()
    # The policy of the page refuses scripts from outside, also that of the test.
    options = {"colorScheme": scheme, "bypassCSP": True}
    assert drive("accessibility", axe=axe, content=content, options=options, lenient=True) == []


def _save(shot: Image.Image, target: Path, widths: tuple[int, ...], limit: int = 300_000) -> None:
    """Full colour as large as the limit allows; a palette where noise makes even that too dear."""
    for width in widths:
        small = shot.resize((width, round(shot.height * width / shot.width)), Image.Resampling.LANCZOS)
        small.save(target, optimize=True)
        if target.stat().st_size <= limit:
            return
    small.quantize(256, Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE).save(target, optimize=True)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(drive: Any, scheme: str) -> None:
    pairs = drive("colours", options={"colorScheme": scheme})
    assert len(pairs) > 30
    for what, front, back in pairs:
        one, two = sorted((_luminance(front), _luminance(back)))
        assert (two + 0.05) / (one + 0.05) >= 4.5, what


def _luminance(colour: list[float]) -> float:
    """Relative luminance as WCAG defines it."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (value / 255 for value in colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_every_control_has_a_name_and_is_reached_by_tab(drive: Any) -> None:
    result = drive("controls")
    controls = result["all"]
    assert [control["html"] for control in controls if not control["name"]] == []
    # Within a group of radio buttons the arrow keys move, so that Tab stops at the chosen one only.
    expected = {k for k, control in enumerate(controls) if not control["aside"]}
    assert [controls[k]["html"] for k in sorted(expected - set(result["reached"]))] == []


def test_theme_follows_the_system_until_it_is_chosen(drive: Any) -> None:
    shades = drive("theme", options={"colorScheme": "dark"})
    assert shades[0] != shades[1] == shades[2]
