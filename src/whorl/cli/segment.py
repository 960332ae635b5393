"""``whorl segment``: find lines, such as the vessels of an eye."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from whorl.cli.options import DeviceName, Force, Paths, Quiet, Threads, option, prepare

if TYPE_CHECKING:
    from numpy.typing import NDArray

EXAMPLES = (
    "whorl segment eye.png chances.png",
    "whorl segment --mask vessels.png --overlay shown.png eye.png chances.tif",
    "whorl segment eyes/ chances/",
    "whorl segment --network runs/mine/network.safetensors fibres.png chances.png",
)

SHOWN = (40, 220, 90)
"""The colour of lines in an overlay: photographs of the retina have no green."""


def command(
    paths: Paths,
    network: Annotated[str, option("--network NAME|FILE", "The network, or the file of one.")] = "vessels-5k",
    view: Annotated[
        Path | None, option("--view FILE", "A picture, white inside the field of view. Default: found.")
    ] = None,
    mask: Annotated[Path | None, option("--mask FILE", "Write the lines in white on black into this file.")] = None,
    overlay: Annotated[Path | None, option("--overlay FILE", "Draw the lines over the picture into this file.")] = None,
    threshold: Annotated[
        float, option("--threshold P", "From this chance on a pixel is a line, in mask and overlay.", min=0, max=1)
    ] = 0.45,
    device: DeviceName = "cpu",
    threads: Threads = None,
    force: Force = False,
    quiet: Quiet = False,
) -> None:
    """Find lines in pictures: by default vessels in colour photographs of the retina.

    The result is the chance of a line at every pixel: 8 bits, white is 1; in TIFF files numbers from 0 to 1. Brightness
    and contrast are evened out, and the dark frame around the field of view is found automatically.
    """
    import numpy as np

    from whorl import files
    from whorl.cli.jobs import jobs
    from whorl.foundations.atomic import check_target
    from whorl.networks import segment

    found = jobs([Path(path) for path in paths], force)
    for name, path in (("--mask", mask), ("--overlay", overlay)):
        if path is not None:
            check_target(path, force)
            if len(found.pairs) != 1:
                raise ValueError(f"{name} is for one picture. Give one file.")
    inside = None if view is None else files.read(view).colours.mean(-1)
    where = prepare(device, threads)
    for source, target in found.pairs:
        picture = files.read(source)
        colours, plain = picture.colours, picture.layout.filtered == 1
        try:
            chances = segment(
                colours[..., 0] if plain else colours, network, channel_axis=None if plain else -1, view=inside,
                device=where,
            )  # fmt: skip
        except ValueError as error:
            raise ValueError(f"{source}: {error}") from None
        tiff = files.SUFFIXES.get(target.suffix.lower()) == "tiff"
        target.parent.mkdir(parents=True, exist_ok=True)
        _write(target, chances if tiff else np.rint(255 * chances).astype(np.uint8), force)
        lines = chances >= threshold
        if mask is not None:
            _write(mask, np.where(lines, 255, 0).astype(np.uint8), force)
        if overlay is not None:
            _write(overlay, drawn_over(colours, chances, lines), force)
        if not quiet:
            share = lines.sum() / max(1, int((chances > 0).sum()))
            typer.echo(f"{source} -> {target}: lines on {100 * share:.1f} % of the field of view")


def _write(path: Path, samples: "NDArray[Any]", force: bool) -> None:
    from whorl import files

    values = samples if samples.ndim == 3 else samples[..., None]
    height, width, channels = values.shape
    layout = files.Layout(height, width, channels, values.dtype, "rgb" if channels == 3 else "grey")
    files.write(path, files.Picture(values, layout), force)


def drawn_over(colours: "NDArray[Any]", chances: "NDArray[Any]", lines: "NDArray[Any]") -> "NDArray[Any]":
    """The picture in 8 bits with its lines in colour: the surer, the stronger."""
    import numpy as np

    low, high = float(colours.min()), float(colours.max())
    shown = np.broadcast_to((colours - low) * (255 / (high - low)), (*lines.shape, 3))
    cover = (chances * lines)[..., None]
    drawn: NDArray[Any] = np.rint((1 - cover) * shown + cover * np.array(SHOWN)).astype(np.uint8)
    return drawn
