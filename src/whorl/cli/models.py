"""``whorl models``: what there is to choose from."""

import json
from typing import Annotated

import typer

from whorl.cli.options import AsJson

EXAMPLES = ("whorl models", "whorl models eed gerig", "whorl models --json")

USES = {
    "perona-malik": "Smooths inside regions, keeps edges, leaves noise on strong edges. Channels one by one.",
    "you-kaveh": "Fourth order: smooth shading without staircases, but speckles. Channels one by one.",
    "lysaker": "Fourth order by the full Hessian: smooth shading, no staircases. Channels one by one.",
    "gerig": "Perona-Malik for colour: an edge in one channel is kept in all.",
    "weickert-brox": "Smooths along edges but not across, all channels together. The default.",
    "multiscale-isotropic": "Sees eight scales at once: strong noise, coarse structure.",
    "multiscale-anisotropic": "The same with a diffusion tensor: strong noise, edges and lines.",
    "uncoupled": "Each direction for itself: the counter-example, not invariant under rotation.",
    "eed": "Edges found on a presmoothed picture, smoothed along: noisy edges. Channels one by one.",
    "weickert-integration": "Many directions side by side: what the tensor models do with two, at more cost.",
}


def command(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Only these models.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show the models: the columns of the paper's table, and what each model is good for."""
    from whorl.models.catalogue import ROWS, row

    rows = [row(name) for name in names] if names else list(ROWS)
    if as_json:
        typer.echo(
            json.dumps([entry.as_dict() | {"use": USES[entry.name]} for entry in rows], indent=2, ensure_ascii=False)
        )
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column()
    for entry in rows:
        table.add_row(Text(entry.name, style="bold not dim"), Text(USES[entry.name], style="bold"))
        table.add_row("  energy", entry.energy)
        table.add_row("  equation", entry.pde)
        table.add_row("  scheme", entry.scheme)
        table.add_row("  activation", entry.activation)
        table.add_row("  reference", entry.reference)
        table.add_row("  options", ", ".join(entry.options) or "none of its own", end_section=True)
        table.add_row("", "")
    Console().print(table)
