"""``whorl evaluate``: PSNR over the rotation angle of a trained network."""

from itertools import product
from typing import Annotated, Any

import typer

from whorl.cli.options import AsJson, DeviceName, Quiet, Threads, option, prepare

EXAMPLES = (
    "whorl evaluate anisotropic-0.41",
    "whorl evaluate runs/anisotropic/network.safetensors --images 50 --turning rectangles",
    "whorl evaluate anisotropic-0.41 --seeds 3 --json",
    "whorl evaluate photo-grey --data BSD68 --noise 25 --seeds 3",
)


def command(
    network: Annotated[str, typer.Argument(help="Name of a trained network, or path of a model card.")],
    data: Annotated[str, option("--data FOLDER", "Photographs, for a network that denoises them.")] = "",
    noise: Annotated[float, option("--noise SD", "Noise added to the photographs.")] = 25.0,
    beside: Annotated[str, option("--beside NAME", "Another network to compare with on photographs.")] = "",
    images: Annotated[int, option("--images", "Test images per angle; the paper's test has 50.", min=1)] = 5,
    turning: Annotated[str, option("--turning", "What turns: scene or rectangles.")] = "scene",
    edges: Annotated[str, option("--edges", "Rendering of edges: analytic, 4x4 or hard.")] = "analytic",
    angles: Annotated[str, option("--angles", "Angles in degrees, separated by commas. Default: 5, 10, ..., 85.")] = "",
    seeds: Annotated[
        int, option("--seeds", "How many of the card's training seeds, or of the noise on photographs.", min=1)
    ] = 1,
    size: Annotated[int, option("--size", "Pixels along a side of an image.", min=8)] = 256,
    device: DeviceName = "cpu",
    threads: Threads = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Measure how well a network denoises photographs, or rectangle scenes at every angle.

    A network for photographs is measured on the pictures of --data with white Gaussian noise that is not clipped: the
    mean PSNR over the pictures (peak 255, results clipped to 0..255), for each seed of the noise.

    For a network of the paper's experiment it prints PSNR by angle, mean, and variance over the angles (population,
    dB²). Scenes and noise are the same for every angle.
    """
    import torch

    from whorl.cli.progress import progress
    from whorl.data import ANGLES, RectangleSet
    from whorl.evaluation.angles import Store, TestScenes
    from whorl.evaluation.reproduction import measure, report_details, wanted_seeds
    from whorl.foundations.strict_json import strict_json
    from whorl.networks import ModelCard, PhotoSpec, load_card

    prepare(device, threads)
    torch.set_flush_denormal(True)
    card: ModelCard = load_card(network)
    if data or isinstance(card.network, PhotoSpec):
        _photographs(card, data, noise, seeds, device, beside, as_json=as_json, quiet=quiet)
        return
    try:
        degrees = tuple(int(word) for word in angles.split(",")) if angles else ANGLES
    except ValueError:
        raise ValueError(f"--angles {angles}: expected whole numbers separated by commas, such as 15,45,75.") from None
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


def _photographs(
    card: Any, data: str, noise: float, seeds: int, device: str, beside: str, *, as_json: bool, quiet: bool
) -> None:
    from whorl.cli.progress import progress
    from whorl.data.photographs import photographs
    from whorl.evaluation.angles import denoised_psnr
    from whorl.foundations.strict_json import strict_json
    from whorl.networks import Denoiser, load, photo_networks

    if not data:
        raise ValueError(f"{card.name}: a network for photographs. Say with --data which folder of pictures to take.")
    if not 0 < noise < float("inf"):
        raise ValueError(f"--noise {noise}: expected a positive standard deviation in grey values.")
    remover = Denoiser(card.build().to(device), noise)
    pictures = photographs(data, remover.network.channels or 1)
    if not beside and card.name not in photo_networks():  # own networks are compared with the one of the package
        beside = "photo-colour" if remover.network.channels == 3 else "photo-grey"
    removers: dict[str, Any] = {"": remover, "noisy": lambda u: u}
    if beside:
        removers[beside] = Denoiser(load(beside).to(device), noise)
    found: dict[str, dict[int, dict[str, float]]] = {name: {} for name in removers}
    total = seeds * len(pictures) * len(removers)
    with progress(f"{card.name} on {len(pictures)} pictures", total=total, quiet=quiet or as_json) as on:
        for name, seed in product(removers, range(seeds)):
            found[name][seed] = denoised_psnr(removers[name], pictures, noise, seed, device=device, advance=on)
    each = {name: {k: sum(psnr.values()) / len(psnr) for k, psnr in by.items()} for name, by in found.items()}
    others = {name: sum(by.values()) / len(by) for name, by in each.items()}
    means, mean = each[""], others.pop("")
    if as_json:
        record = {"network": card.name, "data": data, "noise": noise, "mean": mean, "by_seed": means, "psnr": found[""]}
        record |= {"beside": others}
        typer.echo(strict_json(record))
        return
    typer.echo(f"{card.name}, {len(pictures)} pictures of {data}, noise {noise:g}")
    for seed, value in means.items():
        typer.echo(f"  seed {seed}: {value:.3f} dB")
    typer.echo(f"  mean {mean:.3f} dB")
    for name, value in others.items():
        typer.echo(f"  {name}: {value:.3f} dB ({mean - value:+.3f} by {card.name})")
