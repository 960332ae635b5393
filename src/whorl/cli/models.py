"""``whorl models``: what there is to choose from."""

import json

import typer

from whorl.cli.options import AsJson

EXAMPLES = ("whorl models", "whorl models --json")

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


def command(as_json: AsJson = False) -> None:
    """List the models by name: what they are good for, which options they take, and where they come from.

    The JSON form holds the columns of the paper's table as well: energy, equation, scheme, activation and reference.
    """
    from whorl.models.catalogue import ROWS

    if as_json:
        rows = [row.as_dict() | {"use": USES[row.name]} for row in ROWS]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for row in ROWS:
        options = f"; options {', '.join(row.options)}" if row.options else ""
        table.add_row(row.name, Text.assemble(USES[row.name], (f"\n{row.reference}{options}", "dim")))
    Console().print(table)
