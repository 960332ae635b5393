"""``whorl export``: write a model or network as ONNX or torch.export file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from whorl.cli.options import Alpha, AsJson, Cell, Contrast, DryRun, Force, Gamma, option

EXAMPLES = (
    "whorl export eed.onnx --model eed --contrast 6 --time 20 --sigma 2",
    "whorl export brox.pt2 --model weickert-brox --contrast 12 --steps 25 --channels 3",
    "whorl export denoiser.onnx --network photo-grey",
)


def command(
    out: Annotated[str, typer.Argument(help="File to write, ending in .onnx or .pt2.")],
    model: Annotated[str | None, option("--model -m", "Name of the model; `whorl models` lists them.")] = None,
    network: Annotated[str | None, option("--network", "Name of a trained network, or the path of its card.")] = None,
    format: Annotated[
        str | None, option("--format", "onnx or pt2 (torch.export). Default: by the file's ending.")
    ] = None,
    contrast: Contrast = None,
    time: Annotated[float | None, option("--time -t", "Diffusion time.", min=0.0)] = None,
    steps: Annotated[int | None, option("--steps", "Number of automatic steps, instead of a time.", min=1)] = None,
    alpha: Alpha = None,
    cell: Cell = None,
    gamma: Gamma = None,
    sigma: Annotated[float | None, option("--sigma", "Presmoothing, in pixels.", min=0.0)] = None,
    diffusivity: Annotated[str | None, option("--diffusivity", "Name of the diffusivity.")] = None,
    channels: Annotated[
        int, option("--channels", "Image channels of a pt2 file; ONNX files take any number.", min=1)
    ] = 1,
    force: Force = False,
    dry_run: DryRun = False,
    as_json: AsJson = False,
) -> None:
    """Write a model or a trained network for other programs.

    The file takes float32 images (batch, channels, height, width) of any size, in grey values as here, and gives the
    filtered images. The number of steps is fixed in it; what it holds is written into its metadata.
    """
    from whorl.export import Chain, model_chain, write
    from whorl.export.write import file_format
    from whorl.foundations.atomic import check_target

    if (model is None) == (network is None):
        raise ValueError("give either --model or --network: one of them is what to export.")
    target = Path(out)
    chosen = file_format(target, format)
    check_target(target, force)
    what: Any
    if network is not None:
        if contrast is not None or time is not None or steps is not None or alpha is not None or cell or sigma or gamma:
            raise ValueError(f"{network} is trained: its contrast, steps and stencils are fixed. Leave them out.")
        from whorl.export.write import exportable
        from whorl.networks import load_card

        what = exportable(load_card(network))
    else:
        from whorl.models import build

        if contrast is None:
            raise ValueError(f"{model}: --contrast is missing. Give it in grey values, for example --contrast 12.")
        whole = build(
            str(model), contrast=contrast, alpha=alpha, cell=cell, gamma=gamma, sigma=sigma, diffusivity=diffusivity
        )
        what = model_chain(whole, time, steps=steps)
    if not dry_run:
        write(what, target, chosen, channels=channels, force=force)
    if isinstance(what, Chain):
        _report(str(target), chosen, what.steps, dict(what.about), dry_run, as_json)
    else:
        made = what.build()
        about = {"network": what.name, "noise": list(made.noise_range)}
        _report(str(target), chosen, len(made.schedule()), about, dry_run, as_json)


def _report(target: str, format: str, steps: int, about: dict[str, object], dry_run: bool, as_json: bool) -> None:
    if as_json:
        from whorl.foundations.strict_json import strict_json

        typer.echo(strict_json({"file": target, "format": format, "written": not dry_run, **about}, default=str))
        return
    verb = "Would write" if dry_run else "Wrote"
    typer.echo(f"{verb} {target}: {about.get('model') or about.get('network')}, {steps} steps, {format}")
