"""``whorl deblur``: take away a blur whose kernel is known."""

from functools import partial
from pathlib import Path
from typing import Annotated

from whorl.cli.options import Common, Noise, Paths, option, prepare, with_common_options

EXAMPLES = (
    "whorl deblur picture.png --kernel k.png sharp.png",
    "whorl deblur --noise 5 --energy energy-weak picture.png --kernel k.png sharp.png",
    "whorl deblur --stein --kernel k.png blurred/ sharp/",
)


@partial(with_common_options, without=("tile", "per_page"))
def command(
    paths: Paths,
    kernel: Annotated[Path, option("--kernel -k FILE", "The blur of one point as a picture; black is 0.")],
    energy: Annotated[
        str, option("--energy NAME", "energy-convex, energy-weak, energy-guided or the file of one.")
    ] = "energy-convex",
    noise: Noise = None,
    stein: Annotated[
        bool, option("--stein", "Choose the weight by Stein's estimate: takes longer, smooths less.")
    ] = False,
    *,
    common: Common,
) -> None:
    """Take a known blur away from pictures: camera shake, defocus, the point spread of a microscope.

    The result is the minimiser of how far its blur is from the picture and of a learned energy, which is convex by
    default: there is nothing that chance decides. How much the energy counts follows from the noise. Nothing is assumed
    of what lies beyond the border.
    """
    from whorl.cli.batch import Batch
    from whorl.cli.sharpening import ByKernel

    how = ("stein" if stein else "discrepancy", prepare(common.device, common.threads))
    Batch("deblur", ByKernel(kernel, energy, noise, *how), common).run([Path(path) for path in paths])
