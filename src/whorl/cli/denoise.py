"""``whorl denoise``: remove noise with a trained network."""

from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import Common, Paths, with_common_options

EXAMPLES = (
    "whorl denoise photo.jpg clean.png",
    "whorl denoise --noise 15 photo.jpg clean.png",
    "whorl denoise --network runs/mine/network.safetensors scans/ clean/",
)


@with_common_options
def command(
    paths: Paths,
    network: Annotated[
        str,
        typer.Option(
            "--network",
            metavar="auto|NAME|FILE",
            help="auto: photo-grey or photo-colour, as the picture asks for. Or another network, or the file of one.",
        ),
    ] = "auto",
    noise: Annotated[
        float | None,
        typer.Option(
            "--noise", metavar="SD", help="Standard deviation of the noise in grey values. Default: estimated."
        ),
    ] = None,
    *,
    common: Common,
) -> None:
    """Remove white Gaussian noise from photographs with a trained network.

    The networks for photographs take the level of the noise as an input, from 5 to 55 grey values of 8 bits. Pictures
    with weaker or stronger noise, or with more bits, are scaled so that their noise lies in that range.

    Without --noise the level is measured where the picture has least detail, and reported. Texture that fills the whole
    picture is taken for noise, and compressed noise is underestimated: give the level if you know it.
    """
    from whorl.cli.batch import Batch
    from whorl.cli.machine import prepare
    from whorl.cli.treatments import ByNetwork
    from whorl.denoising import Denoising

    policy, device = Denoising(None if network == "auto" else network, noise), prepare(common.device, common.threads)
    treatment = ByNetwork(policy, device, per_page=common.per_page)
    Batch("denoise", treatment, common).run([Path(path) for path in paths])
