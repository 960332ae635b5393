"""``whorl evaluate``: PSNR over the rotation angle of a trained network."""

from typing import Annotated

import typer

from whorl.cli.options import AsJson, DeviceName, Quiet, Threads

EXAMPLES = (
    "whorl evaluate anisotropic-0.41",
    "whorl evaluate runs/anisotropic/card.json --images 50 --turning rectangles",
    "whorl evaluate anisotropic-0.41 --seeds 3 --json",
)


def command(
    network: Annotated[str, typer.Argument(help="Name of a trained network, or path of a model card.")],
    images: Annotated[int, typer.Option(min=1, help="Test images per angle; the paper's test has 50.")] = 5,
    turning: Annotated[str, typer.Option(help="What turns: scene or rectangles.")] = "scene",
    edges: Annotated[str, typer.Option(help="Rendering of edges: analytic, 4x4 or hard.")] = "analytic",
    angles: Annotated[str, typer.Option(help="Angles in degrees, separated by commas. Default: 5, 10, ..., 85.")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="How many of the card's training seeds; 1 takes the chosen.")] = 1,
    size: Annotated[int, typer.Option(min=8, help="Pixels along a side of an image.")] = 256,
    device: DeviceName = "cpu",
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure how well a network denoises rectangle scenes at every angle.

    Prints PSNR by angle, mean, and variance over the angles (population, dB²). Scenes and noise are the same for every
    angle.
    """
    import torch

    from whorl.cli.progress import progress
    from whorl.data import ANGLES, RectangleSet
    from whorl.evaluation.angles import TestScenes
    from whorl.evaluation.reproduction import measure, report_details, wanted_seeds
    from whorl.evaluation.store import Store
    from whorl.foundations.strict_json import strict_json
    from whorl.networks.cards import load_card

    if threads is not None:
        torch.set_num_threads(threads)
    torch.set_flush_denormal(True)
    try:
        degrees = tuple(int(word) for word in angles.split(",")) if angles else ANGLES
    except ValueError:
        raise ValueError(f"--angles {angles}: expected whole numbers separated by commas, such as 15,45,75.") from None
    card = load_card(network)
    rectangles = RectangleSet(images, turning=turning, edges=edges, size=size)  # type: ignore[arg-type]
    scenes = TestScenes(rectangles, degrees, device)
    work = len(wanted_seeds(card, seeds)) * len(degrees) * images
    with progress(f"{card.name} at {len(degrees)} angles", total=work, quiet=quiet or as_json) as advance:
        (found,) = measure([card], scenes, seeds, Store(), advance=advance)
    if as_json:
        typer.echo(strict_json(report_details([found])[rectangles.turning][card.name]))
        return
    for seed, table in found.tables.items():
        typer.echo(f"{card.name}, seed {seed}, {images} images per angle, {rectangles.turning} turned")
        typer.echo("  angle   " + " ".join(f"{angle:5d}°" for angle in table.angles))
        typer.echo("  PSNR/dB " + " ".join(f"{value:6.2f}" for value in table.psnr.values()))
        typer.echo(f"  mean {table.mean:.2f} dB, variance {table.variance:.3g} dB² (population, over the angles)")
