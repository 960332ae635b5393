"""``whorl reproduce``: the paper's experiment, its figures and numbers, from nothing but formulas."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whorl.cli.options import DeviceName, Force, Quiet, Threads

if TYPE_CHECKING:
    import torch

    from whorl.networks.cards import ModelCard

EXAMPLES = (
    "whorl reproduce",
    "whorl reproduce --images 50 --seeds 3 --turning both",
    "whorl reproduce --train --protocol gauss-newton --out runs/mine",
    "whorl reproduce --models",
)


def command(
    images: Annotated[int, typer.Option(min=1, help="Test images per angle; the paper's test has 50.")] = 5,
    seeds: Annotated[int, typer.Option(min=1, help="Training seeds per network; with 1 the chosen one.")] = 1,
    turning: Annotated[str, typer.Option(help="What turns in the test: scene, rectangles or both.")] = "scene",
    also: Annotated[list[str] | None, typer.Option(help="Another trained network, or a card, to measure.")] = None,
    train: Annotated[bool, typer.Option("--train", help="Train from scratch instead of the shipped weights.")] = False,
    protocol: Annotated[str, typer.Option(help="With --train: paper, converged or gauss-newton.")] = "paper",
    models: Annotated[bool, typer.Option("--models", help="Show the ten untrained models on one picture.")] = False,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for figures and numbers.")] = Path("reproduction"),
    device: DeviceName = "cpu",
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Run five trained networks over the rotated test scenes, as in the paper's experiment.

    Writes results.json, details.json (every seed), psnr.png (PSNR over the angle) and comparison.png (results at 45°)
    and prints a table paper / ours / verdict; a verdict needs the full test of 50 images.

    Interrupt it whenever you like: what has been measured or trained is kept in OUT, and the same command goes on.
    """
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    if models:
        models_figure(out, force=force, quiet=quiet)
        return
    torch.set_flush_denormal(True)  # exp(-large) is full of numbers that are slow and mean nothing
    if turning not in ("scene", "rectangles", "both"):
        raise ValueError(f"--turning {turning}: choose scene, rectangles or both.")
    ways = ("scene", "rectangles") if turning == "both" else (turning,)
    place = torch.device(device)
    cards = trained_cards(out, protocol, seeds, place, quiet=quiet) if train else shipped_cards(also or [])
    experiment(out, cards, images, seeds, ways, place, force=force, quiet=quiet)


def shipped_cards(also: list[str]) -> "list[ModelCard]":
    """The paper's five networks from the package, and others by name or path."""
    from whorl.evaluation.paper import PAPER
    from whorl.networks.cards import load_card

    return [load_card(name) for name in [*PAPER, *also]]


def trained_cards(out: Path, protocol: str, seeds: int, device: "torch.device", *, quiet: bool) -> "list[ModelCard]":
    """The paper's five networks, trained here; runs and cards are kept below ``out``."""
    from whorl.evaluation.paper import PAPER
    from whorl.networks.recipe import Recipe
    from whorl.networks.spec import named
    from whorl.training import PROTOCOLS
    from whorl.training.progress import show

    if protocol not in PROTOCOLS:
        raise ValueError(f"--protocol {protocol}: choose one of {', '.join(PROTOCOLS)}.")
    cards = []
    for name in PAPER:
        recipe, runs = Recipe(named(name), training=PROTOCOLS[protocol]), {}
        for seed in range(seeds):
            runs[seed] = recipe.with_seed(seed).train(
                device=device,
                checkpoint=out / "runs" / protocol / f"{name}-{seed}.safetensors",
                progress=show(f"{name}, seed {seed}", quiet=quiet),
            )
        cards.append(recipe.card(name, runs))
        cards[-1].write(out / "cards" / f"{name}.json")
    return cards


def experiment(
    out: Path,
    cards: "list[ModelCard]",
    images: int,
    seeds: int,
    ways: tuple[str, ...],
    device: "torch.device",
    *,
    force: bool = False,
    quiet: bool = False,
) -> None:
    """Measure, draw, write and print."""
    import json

    from whorl.cli.progress import progress
    from whorl.data import ANGLES, RectangleSet
    from whorl.evaluation.angles import TestScenes
    from whorl.evaluation.charts import SHOWN, draw_angles, draw_comparison, result_table
    from whorl.evaluation.reproduction import measure, report, report_details, wanted_seeds
    from whorl.evaluation.store import Store
    from whorl.files.atomic import beside, check_target

    numbers, details = out / "results.json", out / "details.json"
    for target in (numbers, details):
        check_target(target, force or _ours(target))
    store = Store(out / "measurements.json")
    work = len(ways) * len(ANGLES) * images * sum(len(wanted_seeds(card, seeds)) for card in cards)
    found = []
    with progress(f"{len(cards)} networks at {len(ANGLES)} angles", total=work, quiet=quiet) as advance:
        for way in ways:
            scenes = TestScenes(RectangleSet(images, turning=way), device=device)  # type: ignore[arg-type]
            found.append(measure(cards, scenes, seeds, store, advance=advance))
    with beside(numbers, force=True) as part:
        part.write_text(json.dumps(report(found[0], cards[0].training), indent=1) + "\n", encoding="utf-8")
    with beside(details, force=True) as part:
        everything = report_details([m for measured in found for m in measured])
        part.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    for way, measured in zip(ways, found, strict=True):
        name = "psnr.png" if way == ways[0] else f"psnr-{way}.png"
        with beside(out / name, force=True) as part:
            draw_angles(measured, part)
    with beside(out / "comparison.png", force=True) as part:
        draw_comparison(found[0], part, image=SHOWN)
    if not quiet:
        from rich.console import Console

        console = Console()
        for measured in found:
            console.print(result_table(measured))
        console.print(f"Written to {out}: results.json, details.json, psnr.png, comparison.png", highlight=False)


def _ours(path: Path) -> bool:
    """Whether a file was written by this command before, and may be brought up to date."""
    import json

    try:
        found = json.loads(path.read_text())
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and bool({"protocol", "scene", "rectangles"} & found.keys())


def models_figure(out: Path, *, force: bool = False, quiet: bool = False) -> None:
    """Figure and table of the ten models, as ``models.png`` and ``models.json`` in the folder ``out``."""
    import json

    from whorl import models
    from whorl.cli.progress import progress
    from whorl.files.atomic import beside, check_target
    from whorl.invariance.gallery import show_all
    from whorl.invariance.gallery_chart import draw_gallery, gallery_table

    figure, numbers = out / "models.png", out / "models.json"
    for target in (figure, numbers):
        check_target(target, force)
    with progress("filtering with every model", total=len(models.names()), quiet=quiet) as advance:
        showings = show_all(progress=advance)
    with beside(figure, force) as part:
        draw_gallery(showings, part, format="png")
    with beside(numbers, force) as part:
        report = {"models": {showing.name: showing.as_dict() for showing in showings}}
        part.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")
    if not quiet:
        from rich.console import Console

        console = Console()
        console.print(gallery_table(showings))
        console.print(f"Figure: {figure}   Numbers: {numbers}", highlight=False)
