"""``whorl denoise``: remove noise with a trained network."""

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import AsJson, DeviceName, DryRun, Force, PagesMode, Paths, PerPage, Quiet, Threads, Tile

EXAMPLES = (
    "whorl denoise noisy.png clean.png",
    "whorl denoise --noise 25 noisy.tif clean.tif",
    "whorl denoise --network isotropic-0.41 scans/ clean/",
)


def command(
    paths: Paths,
    network: Annotated[
        str,
        typer.Option("--network", metavar="NAME|CARD", help="A network of the package, or the path of a model card."),
    ] = "anisotropic-0.41",
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise", metavar="SD", help="Standard deviation of the noise in grey values. Default: estimated."
        ),
    ] = None,
    tile: Tile = "auto",
    pages: PagesMode = "separate",
    per_page: PerPage = False,
    device: DeviceName = "cpu",
    threads: Threads = None,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Remove white Gaussian noise with a trained network.

    A network is trained for one level of noise. The picture is scaled so that its noise has that level, filtered, and
    scaled back: N(c u) / c with c = (level trained for) / (level of the picture). A shift of the grey values changes
    nothing. The networks have seen rectangles only: edges come out well, texture less so.

    Without --noise the level is estimated from the finest details (median of the Haar detail), and reported. Fine
    texture is taken for noise, and compressed noise is underestimated: give the level if you know it.
    """
    from whorl.cli.batch import Batch, as_tile
    from whorl.cli.machine import prepare
    from whorl.cli.treatments import Denoising

    treatment = Denoising(network, noise, prepare(device, threads), per_page=per_page)
    batch = Batch("denoise", treatment, as_tile(tile), pages, force=force, quiet=quiet, as_json=as_json)
    batch.run([Path(path) for path in paths], dry_run=dry_run)
