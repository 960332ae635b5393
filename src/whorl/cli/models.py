"""``whorl models``: what there is to choose from."""

from typing import Annotated

import typer

from whorl.cli.options import AsJson
from whorl.foundations.strict_json import strict_json

EXAMPLES = ("whorl models", "whorl models eed gerig", "whorl models --json")


def command(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these models.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the models: the columns of the paper's table, and what each model is good for."""
    from whorl.models.catalogue import ROWS, row

    rows = [row(name) for name in names] if names else list(ROWS)
    if as_json:
        typer.echo(strict_json([entry.as_dict() for entry in rows], indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for entry in rows:
        table.add_row(Text(entry.name, style="bold not dim"), Text(entry.use, style="bold"))
        table.add_row("  energy", entry.energy)
        table.add_row("  equation", entry.pde)
        table.add_row("  scheme", entry.scheme)
        table.add_row("  activation", entry.activation)
        table.add_row("  reference", entry.reference)
        table.add_row("  options", ", ".join(entry.options) or "none of its own", end_section=True)
        table.add_row("", "")
    Console().print(table)
