"""``whorl inpaint``: fill in what is missing in a picture."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from whorl.cli.options import AsJson, DeviceName, Force, Quiet, Threads

EXAMPLES = (
    "whorl inpaint photo.png mask.png repaired.png      white in the mask: fill",
    "whorl inpaint photo.png alpha repaired.png         fill where the picture is transparent",
    "whorl inpaint field.tif nan repaired.tif           fill where samples are NaN",
    "whorl inpaint scan.png '#ff00ff' repaired.png      fill what has this colour",
    "whorl inpaint --homogeneous photo.png mask.png repaired.png",
)


def command(
    picture: Annotated[Path, typer.Argument(metavar="IN", help="Picture to repair.", show_default=False)],
    mask: Annotated[
        str,
        typer.Argument(
            metavar="MASK",
            help="A picture that is white where to fill; or alpha, nan, or a colour.",
            show_default=False,
        ),
    ],
    out: Annotated[Path, typer.Argument(metavar="OUT", help="Where to write.", show_default=False)],
    homogeneous: Annotated[
        bool, typer.Option("--homogeneous", help="Fill with the smoothest shading; edges are not continued.")
    ] = False,
    biharmonic: Annotated[bool, typer.Option("--biharmonic", help="The same, but slopes run on into the gap.")] = False,
    contrast: Annotated[
        float | None,
        typer.Option("--contrast", "-c", metavar="GREY", help="Contrast of edges. Default: 2/255 of the range."),
    ] = None,
    tolerance: Annotated[
        float | None,
        typer.Option(
            "--tolerance", metavar="GREY", help="Stop this close to the final result. Default: 1/2550 of the range."
        ),
    ] = None,
    device: DeviceName = "cpu",
    threads: Threads = None,
    force: Force = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Fill in what is missing: scratches, dead pixels, text, samples that were never taken.

    Edge-enhancing diffusion runs into the gaps from all sides until nothing changes by more than the tolerance; known
    pixels keep their values. It continues edges and shades. It does not invent texture, and a gap that is wider than
    what surrounds it comes out smooth.
    """
    import json

    import numpy as np

    from whorl import files
    from whorl.cli.machine import prepare
    from whorl.errors import FileError
    from whorl.inpainting import inpaint

    if homogeneous and biharmonic:
        raise ValueError("--homogeneous and --biharmonic: choose one of them.")
    target = prepare(device, threads)
    source = files.read(picture)
    if out.exists() and not force:
        raise FileError(f"{out}: exists already and is kept. Use --force to replace it.")
    gaps = _gaps(mask, source, picture)
    model = "homogeneous" if homogeneous else "biharmonic" if biharmonic else "eed"
    reported: list[float] = []
    with _status(quiet or as_json) as show:

        def report(distance: float) -> None:
            reported.append(distance)
            show(distance)

        repaired = inpaint(
            source.colours, gaps, model, channel_axis=-1, contrast=contrast, tolerance=tolerance, device=target,
            report=report,
        )  # fmt: skip
    done = source.with_colours(repaired)
    if mask == "alpha":
        done.samples[..., source.layout.filtered :][gaps] = np.max(source.samples[..., source.layout.filtered :])
    files.write(out, done, force)
    share, distance = float(gaps.mean()), reported[-1] if reported else 0.0
    if as_json:
        typer.echo(json.dumps({"out": str(out), "model": model, "filled": share, "distance": distance}))
    elif not quiet:
        typer.echo(f"{out}: {100 * share:.3g} % filled by {model}, {distance:.2g} grey values from the final result")


def _gaps(mask: str, source: Any, path: Path) -> Any:
    """Where to fill, as an array of bool ``(y, x)``."""
    import numpy as np

    from whorl import files
    from whorl.errors import FileError

    if mask == "nan":
        if source.samples.dtype.kind != "f":
            raise FileError(f"{path}: has no NaN, its samples are {source.samples.dtype}. Give a mask as a picture.")
        return ~np.isfinite(source.colours).all(-1)
    if mask == "alpha":
        if source.layout.filtered == source.samples.shape[-1]:
            raise FileError(f"{path}: has no alpha channel. Give a mask as a picture, or a colour.")
        return source.samples[..., source.layout.filtered] == 0
    if mask.startswith("#"):
        return (source.colours == _colour(mask, source)).all(-1)
    shown = files.read(mask)
    if shown.samples.shape[:2] != source.samples.shape[:2]:
        sizes = [f"{s.samples.shape[1]} x {s.samples.shape[0]}" for s in (shown, source)]
        raise FileError(f"{mask}: the mask has {sizes[0]} pixels, the picture {sizes[1]}. Make them equal.")
    values = np.unique(shown.colours)
    if len(values) > 2:
        raise FileError(
            f"{mask}: a mask is black and white, this one has {len(values)} values from {values[0]} to {values[-1]}. "
            "Apply a threshold first."
        )
    return shown.colours.any(-1)


def _colour(mask: str, source: Any) -> Any:
    """The samples of a colour written like ``#ff00ff``, in the type of the picture."""
    import numpy as np

    from whorl.errors import FileError

    channels, kind = source.layout.filtered, source.samples.dtype
    digits = mask[1:]
    if len(digits) != 6 or not all(d in "0123456789abcdefABCDEF" for d in digits):
        raise FileError(f"{mask}: a colour is written with six digits, like '#ff00ff'.")
    values = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)])
    if kind.kind not in "ui":
        raise FileError(f"{mask}: colours are known for pictures of integers, this one has {kind}. Give a mask.")
    if channels == 1 and len(set(values.tolist())) == 1:
        values = values[:1]
    if len(values) != channels:
        raise FileError(f"{mask}: the picture has {channels} colour channel(s). Give a mask as a picture.")
    return (values * (np.iinfo(kind).max // 255)).astype(kind)


@contextmanager
def _status(quiet: bool) -> Iterator[Callable[[float], None]]:
    """A line on stderr that says how far away the steady state still is; nothing where there is no terminal."""
    from rich.console import Console

    from whorl.cli.signals import honour

    with Console(stderr=True, quiet=quiet).status("filling in, coarse to fine") as status:

        def report(distance: float) -> None:
            honour()
            status.update(f"filling in: about {distance:.2g} grey values from the final result")

        yield report
