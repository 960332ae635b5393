"""``whorl denoise``: remove noise with a trained network."""

import sys
from pathlib import Path
from typing import Annotated, Any

from whorl.cli.options import (
    AsVolume,
    Cluster,
    Common,
    Memory,
    Paths,
    SpacingText,
    as_memory,
    option,
    prepare,
    with_common_options,
)

EXAMPLES = (
    "whorl denoise photo.jpg clean.png",
    "whorl denoise --noise 15 photo.jpg clean.png",
    "whorl denoise --strength 0.7 --compare sheet.png photo.jpg clean.jpg",
    "whorl denoise --report sheet.png micrograph.tif clean.tif",
    "whorl denoise --network runs/mine/network.safetensors scans/ clean/",
)


@with_common_options
def command(
    paths: Paths,
    network: Annotated[
        str,
        option(
            "--network auto|NAME|FILE",
            "auto: photo-grey or photo-colour, as the picture asks for. Or another network, or the file of one.",
        ),
    ] = "auto",
    noise: Annotated[
        str | None,
        option(
            "--noise SD|rician",
            "Standard deviation of the noise in grey values; or rician, for magnitudes. Default: estimated.",
        ),
    ] = None,
    channels: Annotated[
        str,
        option(
            "--channels auto|separate|joint",
            "separate: dyes, each with noise of its own. joint: colours of one picture. auto: joint for RGB.",
        ),
    ] = "auto",
    adapt: Annotated[
        bool,
        option("--adapt", "Let the network adapt to the picture, where that is seen to help; takes a while."),
    ] = False,
    strength: Annotated[
        float, option("--strength S", "How much of the change is made, from 0 to 1: less leaves a little grain.")
    ] = 1.0,
    report: Annotated[
        Path | None,
        option(
            "--report FILE",
            "Draw picture, result, what was removed and the noise, with the numbers, into this file; for several, into "
            "a folder.",
        ),
    ] = None,
    spacing: SpacingText = "auto",
    memory: Memory = None,
    volume: AsVolume = False,
    cluster: Cluster = None,
    *,
    common: Common,
) -> None:
    """Remove the noise of photographs and micrographs with trained networks.

    Without --noise a model of the noise is measured on the picture: how its variance depends on the grey value, and
    whether neighbours are correlated. The picture is transformed so that its noise has one level, denoised, and
    transformed back. Where the result is expected to be worse than the picture, the picture is copied, and a line
    says so. Texture that fills the whole picture is taken for noise: give the level if you know it.

    With --noise, or another network, the noise is taken to be white and of one level.

    Volumes are taken in windows, with the voxel size of the file: where voxels are not cubes, a network for pictures
    has a share.

    What was removed is compared with the noise model; where it does not look like such noise, a sentence says so.
    """
    from whorl.cli.batch import Batch
    from whorl.cli.treatments import ByNetwork, as_spacing
    from whorl.denoising import Denoising

    if channels not in ("auto", "separate", "joint"):
        raise ValueError(f"--channels {channels}: choose auto, separate or joint.")
    kind: Any = None if channels == "auto" else channels
    told = None if network == "auto" else network
    watch = _silent if common.quiet or not sys.stderr.isatty() else _tell
    policy = Denoising(told, _told(noise), channels=kind, adapt=adapt, watch=watch, strength=strength)
    device = prepare(common.device, common.threads)
    treatment = ByNetwork(policy, device, spacing=as_spacing(spacing), per_page=common.per_page)
    how: dict[str, Any] = {"volume": volume, "memory": as_memory(memory), "report": report, "cluster": cluster}
    Batch("denoise", treatment, common, **how).run([Path(path) for path in paths])


def _tell(step: int) -> None:
    """Show how far adaptation has come, in a line that the next one replaces."""
    from whorl.networks.adaptation import STEPS

    print(f"\rwhorl denoise: adapting, step {step} of {STEPS}", end="" if step < STEPS else "\n", file=sys.stderr)


def _silent(step: int) -> None:
    pass


def _told(noise: str | None) -> float | str | None:
    """The number in ``--noise``; words stay words."""
    try:
        return None if noise is None else float(noise)
    except ValueError:
        return noise
