"""``whorl denoise``: remove noise with a trained network."""

from pathlib import Path
from typing import Annotated, Any

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
    channels: Annotated[
        str,
        typer.Option(
            "--channels",
            metavar="auto|separate|joint",
            help="separate: dyes, each with noise of its own. joint: colours of one picture. auto: joint for RGB.",
        ),
    ] = "auto",
    *,
    common: Common,
) -> None:
    """Remove the noise of photographs and micrographs with trained networks.

    Without --noise a model of the noise is measured on the picture: how its variance depends on the grey value, and
    whether neighbours are correlated. The picture is transformed so that its noise has one level, denoised, and
    transformed back. Where the result is expected to be worse than the picture, the picture is copied, and a line
    says so. Texture that fills the whole picture is taken for noise: give the level if you know it.

    With --noise, or another network, the noise is taken to be white and of one level.
    """
    from whorl.cli.batch import Batch
    from whorl.cli.machine import prepare
    from whorl.cli.treatments import ByNetwork
    from whorl.denoising import Denoising

    if channels not in ("auto", "separate", "joint"):
        raise ValueError(f"--channels {channels}: choose auto, separate or joint.")
    kind: Any = None if channels == "auto" else channels
    policy = Denoising(None if network == "auto" else network, noise, channels=kind)
    device = prepare(common.device, common.threads)
    treatment = ByNetwork(policy, device, per_page=common.per_page)
    Batch("denoise", treatment, common).run([Path(path) for path in paths])
