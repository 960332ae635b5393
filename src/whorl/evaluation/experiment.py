"""The paper's experiment from cards to files: measure every network at every angle, write numbers and figures."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import torch

from whorl import data
from whorl.data.rectangles import Turning
from whorl.evaluation.angles import Store, TestScenes
from whorl.evaluation.charts import SHOWN, draw_angles, draw_comparison
from whorl.evaluation.reproduction import PAPER, Outcome, measure, report, report_details, wanted_seeds
from whorl.foundations.atomic import beside, check_target, write_bytes
from whorl.foundations.strict_json import strict_json
from whorl.networks.cards import ModelCard, load_card


def shipped_cards(also: Sequence[str] = ()) -> list[ModelCard]:
    """The paper's five networks from the package, and others by name or path."""
    return [load_card(name) for name in [*PAPER, *also]]


def work(cards: Sequence[ModelCard], images: int, seeds: int, ways: Sequence[Turning]) -> int:
    """Number of images that :func:`experiment` filters."""
    return len(ways) * len(data.ANGLES) * images * sum(len(wanted_seeds(card, seeds)) for card in cards)


def experiment(
    out: Path,
    cards: Sequence[ModelCard],
    images: int,
    seeds: int,
    ways: Sequence[Turning],
    device: torch.device | str = "cpu",
    *,
    force: bool = False,
    advance: Callable[[int], None] = lambda images: None,
) -> list[list[Outcome]]:
    """Measure the networks for every way of turning the test scenes, and write numbers and figures into ``out``.

    What has been measured is kept there angle by angle, so the same call goes on after an interruption. ``advance`` is
    told how many images were filtered.
    """
    numbers, details = out / "results.json", out / "details.json"
    for target in (numbers, details):
        check_target(target, force or _ours(target))
    store = Store(out / "measurements.json")
    found = [
        measure(cards, TestScenes(data.RectangleSet(images, turning=way), device=device), seeds, store, advance=advance)
        for way in ways
    ]
    everything = report_details([m for measured in found for m in measured])
    for target, values in ((numbers, report(found[0], cards[0].training)), (details, everything)):
        write_bytes(target, f"{strict_json(values, indent=1)}\n".encode())
    for way, measured in zip(ways, found, strict=True):
        name = "psnr.png" if way == ways[0] else f"psnr-{way}.png"
        with beside(out / name, force=True) as part:
            draw_angles(measured, part)
    with beside(out / "comparison.png", force=True) as part:
        draw_comparison(found[0], part, image=SHOWN)
    return found


def _ours(path: Path) -> bool:
    """Whether a file was written by the experiment before, and may be brought up to date."""
    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and bool({"protocol", "scene", "rectangles"} & found.keys())
