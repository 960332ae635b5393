"""``whorl reproduce``: the paper's experiment, its figures and numbers, from nothing but formulas."""

from pathlib import Path
from typing import Annotated, Any

from whorl.cli.options import DeviceName, Force, Quiet, Threads, option, prepare

EXAMPLES = (
    "whorl reproduce",
    "whorl reproduce --images 50 --seeds 3 --turning both",
    "whorl reproduce --train --protocol gauss-newton --out runs/mine",
    "whorl reproduce --models",
)


def command(
    images: Annotated[int, option("--images", "Test images per angle; the paper's test has 50.", min=1)] = 5,
    seeds: Annotated[int, option("--seeds", "Training seeds per network; with 1 the chosen one.", min=1)] = 1,
    turning: Annotated[str, option("--turning", "What turns in the test: scene, rectangles or both.")] = "scene",
    also: Annotated[list[str] | None, option("--also", "Another trained network, or a card, to measure.")] = None,
    train: Annotated[bool, option("--train", "Train from scratch instead of the shipped weights.")] = False,
    protocol: Annotated[str, option("--protocol", "With --train: paper, converged or gauss-newton.")] = "paper",
    models: Annotated[bool, option("--models", "Show the ten untrained models on one picture.")] = False,
    out: Annotated[Path, option("--out -o", "Folder for figures and numbers.")] = Path("reproduction"),
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

    place = prepare(device, threads)
    if models:
        models_figure(out, force=force, quiet=quiet)
        return
    torch.set_flush_denormal(True)  # exp(-large) is full of numbers that are slow and mean nothing
    if turning not in ("scene", "rectangles", "both"):
        raise ValueError(f"--turning {turning}: choose scene, rectangles or both.")
    from whorl.cli.progress import progress
    from whorl.data import ANGLES
    from whorl.evaluation.charts import result_table
    from whorl.evaluation.experiment import experiment, shipped_cards, work
    from whorl.training.history import show
    from whorl.training.recipe import trained_cards

    ways: tuple[Any, ...] = ("scene", "rectangles") if turning == "both" else (turning,)
    if train:
        cards = trained_cards(out, protocol, seeds, place, lambda title: show(title, quiet=quiet))
    else:
        cards = shipped_cards(also or [])
    title = f"{len(cards)} networks at {len(ANGLES)} angles"
    with progress(title, total=work(cards, images, seeds, ways), quiet=quiet) as advance:
        found = experiment(out, cards, images, seeds, ways, place, force=force, advance=advance)
    if not quiet:
        from rich.console import Console

        console = Console()
        for measured in found:
            console.print(result_table(measured))
        console.print(f"Written to {out}: results.json, details.json, psnr.png, comparison.png", highlight=False)


def models_figure(out: Path, *, force: bool = False, quiet: bool = False) -> None:
    """Figure and table of the ten models, as ``models.png`` and ``models.json`` in the folder ``out``."""
    from whorl import models
    from whorl.cli.progress import progress
    from whorl.foundations.atomic import beside, check_target
    from whorl.foundations.strict_json import strict_json
    from whorl.invariance.gallery import draw_gallery, gallery_table, show_all

    figure, numbers = out / "models.png", out / "models.json"
    for target in (figure, numbers):
        check_target(target, force)
    with progress("filtering with every model", total=len(models.names()), quiet=quiet) as advance:
        showings = show_all(progress=advance)
    with beside(figure, force) as part:
        draw_gallery(showings, part, format="png")
    with beside(numbers, force) as part:
        report = {"models": {showing.name: showing.as_dict() for showing in showings}}
        part.write_text(strict_json(report, indent=2) + "\n", encoding="utf-8")
    if not quiet:
        from rich.console import Console

        console = Console()
        console.print(gallery_table(showings))
        console.print(f"Figure: {figure}   Numbers: {numbers}", highlight=False)
