"""What was done to a file, in words and as a record."""

from collections.abc import Sequence
from typing import Any

from whorl.files.layout import Layout
from whorl.large.plan import Plan


def described(layout: Layout, plan: Plan, chosen: dict[str, Any]) -> dict[str, Any]:
    """The record of a page or volume: its kind, the settings chosen for it, and how it was cut."""
    record: dict[str, Any] = {"width": layout.width, "height": layout.height, "channels": layout.channels}
    record |= {"colour": layout.colour, "dtype": str(layout.dtype), **chosen}
    return record | {"windows": plan.count, "passes": len(plan.passes), "halo": plan.halo}


def summary(pages: Sequence[dict[str, Any]]) -> str:
    """What was done to the pages of a file, in words: size, model or network, settings, windows.

    >>> page = {"width": 640, "height": 480, "colour": "rgb", "dtype": "uint8", "windows": 1, "model": "gerig"}
    >>> summary([page | {"contrast": 8.25, "contrast_measured": True, "time": 5.0, "spacing": [1.0, 1.0], "steps": 21}])
    '640 x 480 rgb uint8, gerig, contrast 8.25 (measured), time 5 in 21 steps'
    """
    page = pages[0]
    depth = f" x {page['depth']}" if "depth" in page else ""
    words = [f"{page['width']} x {page['height']}{depth} {page['colour']} {page['dtype']}"]
    if len(pages) > 1:
        words[0] += f", {len(pages)} pages"
    words.append(str(page.get("model") or page.get("network")))
    if "adapted" in page:
        words[-1] += " adapted" if page["adapted"] else " (not adapted: held-back parts did not gain)"
    if "filled" in page:
        words[-1] = f"{100 * sum(other['filled'] for other in pages) / len(pages):.3g} % filled by {words[-1]}"
        if "distance" in page:
            words.append(f"{max(other['distance'] for other in pages):.2g} grey values from the final result")
        return ", ".join(words)
    copied = sum(bool(other.get("copied")) for other in pages)
    if copied == len(pages):
        why = "the result would be no better" if page.get("returned") else "no noise was found"
        return ", ".join([*words, f"{why}: copied"])
    for name in ("contrast", "noise"):
        if name in page:
            words.append(f"{name} {_range(pages, name)}{' (measured)' if page[f'{name}_measured'] else ''}")
    if page.get("strength", 1.0) != 1:
        words.append(f"strength {page['strength']:.3g}")
    if "time" in page:
        words.append(f"time {page['time']:.4g}" + (f" in {page['steps']} steps" if "steps" in page else ""))
    if {*page.get("spacing", [])} - {1.0} and depth:
        words.append("voxels {:.4g} x {:.4g} x {:.4g}".format(*reversed(page["spacing"])))
    elif page.get("spacing", [1.0, 1.0]) != [1.0, 1.0] and not depth:
        words.append("pixels {:.4g} high and {:.4g} wide".format(*page["spacing"]))
    if page["windows"] > 1:
        words.append(f"in {page['windows']} windows")
    if copied:
        words.append(f"{copied} copied: without noise, or no better after it")
    return ", ".join(words)


def _range(pages: Sequence[dict[str, Any]], name: str) -> str:
    low, high = (f"{end(page[name] for page in pages):.4g}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def duration(seconds: float) -> str:
    """A time as people say it."""
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"


def listed(names: Sequence[str], most: int = 10) -> str:
    """Some of the names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
