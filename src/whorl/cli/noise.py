"""``whorl noise``: what the noise of a picture is like."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from whorl.cli.options import AsJson, Force, option

if TYPE_CHECKING:
    from torch import Tensor

EXAMPLES = (
    "whorl noise photo.jpg",
    "whorl noise --plot noise.png micrograph.tif",
    "whorl noise --json stack.tif",
)


def command(
    picture: Annotated[Path, typer.Argument(metavar="FILE", help="The picture, stack or volume.")],
    plot: Annotated[
        Path | None, option("--plot FILE", "Draw variance over grey value, and the spectrum, into this file.")
    ] = None,
    as_json: AsJson = False,
    force: Force = False,
) -> None:
    """Measure the noise of a picture, from the picture alone.

    The variance of the noise at the grey value u is taken as a line, gain times u plus offset, for every channel; the
    pages of a stack have one noise together. Noise whose neighbours are correlated is compared with white noise after
    a Gaussian, whose width is told. The last line says by how much the standard deviation may be wrong: texture that
    fills the whole picture looks like noise.
    """
    from whorl.automatic.variance import noise_model
    from whorl.foundations.atomic import beside, check_target
    from whorl.foundations.strict_json import strict_json

    if plot is not None:
        check_target(plot, force)
    samples = list(_samples(picture))
    model = noise_model(samples)
    typer.echo(strict_json(dataclasses.asdict(model), indent=2) if as_json else str(model))
    if plot is not None:
        from whorl.evaluation.noise_chart import draw_noise

        with beside(plot, force) as part:
            draw_noise(samples, model, part, format=plot.suffix.removeprefix(".") or "png")


def _samples(path: Path) -> Iterator["Tensor"]:
    """Parts of all pages, or of the volumes, that stand for them."""
    import torch

    from whorl.files.formats import open_reader
    from whorl.files.volume import open_volume
    from whorl.large.pictures import sample_blocks
    from whorl.large.volumes import sample_boxes

    if (file := open_volume(path)) is not None:
        with file:
            yield from (torch.from_numpy(block)[None] for block in sample_boxes(file))
    else:
        with open_reader(path) as reader:
            yield from (torch.from_numpy(block)[None] for block in sample_blocks(reader.pages))
