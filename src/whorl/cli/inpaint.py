"""``whorl inpaint``: fill in what is missing in pictures."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from whorl.cli.options import AsVolume, Common, SpacingText, option, prepare, with_common_options

EXAMPLES = (
    "whorl inpaint photo.png mask.png repaired.png      white in the mask: fill",
    "whorl inpaint photo.png alpha repaired.png         fill where the picture is transparent",
    "whorl inpaint field.tif nan repaired.tif           fill where samples are NaN",
    "whorl inpaint scan.png '#ff00ff' repaired.png      fill what has this colour",
    "whorl inpaint --fuzz 60 --grow 1 photo.jpg red repaired.png   and its soft edges",
    "whorl inpaint scans/ masks/ repaired/              folders; masks have the names of the pictures",
    "whorl inpaint tomo.mrc mask.mrc repaired.mrc       a volume, in three dimensions",
    "whorl inpaint --homogeneous photo.png mask.png repaired.png",
)


@partial(with_common_options, without=("tile", "per_page"))
def command(
    paths: Annotated[
        list[str],
        typer.Argument(
            metavar="IN... MASK OUT",
            show_default=False,
            help="Pictures, volumes or folders to repair; what is white where to fill, or a folder of such files, or "
            "alpha, nan, or a colour like red or '#ff0000'; last, where to write.",
        ),
    ],
    homogeneous: Annotated[
        bool, option("--homogeneous", "Fill with the smoothest shading; edges are not continued.")
    ] = False,
    biharmonic: Annotated[bool, option("--biharmonic", "The same, but slopes run on into the gap.")] = False,
    shock: Annotated[
        bool, option("--diffusion-shock", "Sharpen the edges that are continued; pictures with square pixels only.")
    ] = False,
    contrast: Annotated[
        float | None, option("--contrast -c GREY", "Contrast of edges. Default: 1/255 of the range.")
    ] = None,
    tolerance: Annotated[
        float | None, option("--tolerance GREY", "Stop this close to the final result. Default: 1/2550 of the range.")
    ] = None,
    grow: Annotated[int, option("--grow PX", "Fill so many pixels around the mask as well: soft edges.", min=0)] = 0,
    fuzz: Annotated[
        float, option("--fuzz GREY", "Take what differs from the colour by up to so much, of 255, in each channel.")
    ] = 0.0,
    most: Annotated[
        float | None,
        option(
            "--most SHARE", "Stop where more than this share would be filled. Default: 0.5; of nan, 1.", min=0, max=1
        ),
    ] = None,
    spacing: SpacingText = "auto",
    volume: AsVolume = False,
    *,
    common: Common,
) -> None:
    """Fill in what is missing: scratches, dead pixels, text, samples that were never taken.

    Edge-enhancing diffusion runs into the gaps from all sides until nothing changes by more than the tolerance; known
    pixels keep their values. It continues edges and shades. It does not invent texture, and a gap that is wider than
    what surrounds it comes out smooth.

    A mask may be soft: above half of white is filled. Of a mask on a transparent layer that is what is drawn, in
    whatever colour. With --grow the soft edges of what was painted over the picture are filled, too. --dry-run says
    how much would be filled.

    Pages of a stack are filled one by one, volumes in three dimensions. One mask serves all pictures and pages of its
    size; a mask with several pages, or a folder of masks, has one for each.
    """
    from whorl.cli.batch import Batch
    from whorl.cli.fillings import ByFilling
    from whorl.cli.treatments import as_spacing
    from whorl.inpainting.images import SHOCK

    ways = [way for way, asked in (("homogeneous", homogeneous), ("biharmonic", biharmonic), (SHOCK, shock)) if asked]
    if len(ways) > 1:
        raise ValueError(f"{' and '.join(f'--{way}' for way in ways)}: choose one of them.")
    if len(paths) < 3:
        raise ValueError("expected at least three paths: the pictures, the mask, and last where to write. Try --help.")
    *pictures, mask, out = paths
    treatment = ByFilling(
        mask, ways[0] if ways else "eed", prepare(common.device, common.threads), grow=grow, fuzz=fuzz, most=most,
        spacing=as_spacing(spacing), contrast=contrast, tolerance=tolerance,
    )  # fmt: skip
    Batch("inpaint", treatment, common, volume=volume).run([Path(path) for path in (*pictures, out)])
