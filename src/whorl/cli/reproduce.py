"""``whorl reproduce``: figures and numbers from nothing but formulas."""

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import Force, Quiet, Threads

EXAMPLES = ("whorl reproduce", "whorl reproduce --out figures --force")


def command(
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for figure and numbers.")] = Path("reproduction"),
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Filter an embedded picture with every model, upright and turned.

    Writes one labelled figure (models.png) and the rotation errors (models.json), and prints them as a table.
    """
    import torch

    if threads is not None:
        torch.set_num_threads(threads)
    models_figure(out, force=force, quiet=quiet)


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
