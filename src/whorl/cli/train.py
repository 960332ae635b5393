"""``whorl train``: train a network of the experiment."""

from typing import Annotated

import typer

from whorl.cli.options import DeviceName, Quiet, Seed, Threads

EXAMPLES = (
    "whorl train anisotropic-0.41 --out runs/anisotropic",
    "whorl train isotropic-0.5 --protocol converged --seed 1 --out runs/isotropic",
    "whorl train anisotropic-0.41 --optimiser gauss-newton --out runs/newton",
    "torchrun --nproc-per-node 2 -m whorl train anisotropic-0.41 --out runs/two",
)


def command(
    name: Annotated[str, typer.Argument(help="Network: uncoupled-0.41, isotropic-0.41, anisotropic-0.41, ...")],
    out: Annotated[str, typer.Option("--out", "-o", help="Folder for checkpoint and model card.")],
    protocol: Annotated[str, typer.Option(help="Settings to start from: paper, converged or gauss-newton.")] = "paper",
    optimiser: Annotated[str | None, typer.Option(help="adam or gauss-newton.")] = None,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs, or Gauss-Newton iterations.")] = None,
    batch: Annotated[int | None, typer.Option(min=1, help="Images per step, over all processes.")] = None,
    rate: Annotated[float | None, typer.Option(help="Learning rate.")] = None,
    images: Annotated[int, typer.Option(min=1, help="Training images.")] = 100,
    size: Annotated[int, typer.Option(min=8, help="Pixels along a side of an image.")] = 256,
    angle: Annotated[int, typer.Option(help="Direction of the rectangles, in degrees.")] = 30,
    turning: Annotated[str, typer.Option(help="What turns: scene or rectangles.")] = "scene",
    edges: Annotated[str, typer.Option(help="Rendering of edges: analytic, 4x4 or hard.")] = "analytic",
    checkpoint_seconds: Annotated[float | None, typer.Option(min=0, help="Least time between checkpoints.")] = None,
    seed: Seed = 0,
    device: DeviceName = "cpu",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on noisy rectangle scenes.

    The run can be interrupted or killed at any moment: the same command goes on from its checkpoint and ends with the
    same parameters. Started by torchrun, all processes train one network together.

    OUT receives checkpoint.safetensors and, at the end, card.json for `whorl evaluate` and `whorl.load`.
    """
    import dataclasses
    from pathlib import Path
    from typing import Any

    import torch

    from whorl.data import RectangleSet
    from whorl.networks.recipe import Recipe
    from whorl.networks.spec import named
    from whorl.training import PROTOCOLS
    from whorl.training.distributed import join_team
    from whorl.training.reporters import show

    if protocol not in PROTOCOLS:
        raise ValueError(f"--protocol {protocol}: choose one of {', '.join(PROTOCOLS)}.")
    if threads is not None:
        torch.set_num_threads(threads)
    base = PROTOCOLS["gauss-newton"] if optimiser == "gauss-newton" and protocol == "paper" else PROTOCOLS[protocol]
    asked = {
        "optimiser": optimiser,
        "epochs": epochs,
        "batch": batch,
        "rate": rate,
        "checkpoint_seconds": checkpoint_seconds,
    }
    changes: dict[str, Any] = {key: value for key, value in asked.items() if value is not None}
    data = RectangleSet(images, "train", turning=turning, edges=edges, size=size)  # type: ignore[arg-type]
    recipe = Recipe(named(name), data, angle, dataclasses.replace(base, **changes)).with_seed(seed)
    team, own = join_team(torch.device(device))
    folder = Path(out)
    try:
        network, history = recipe.train(
            device=own,
            checkpoint=folder / "checkpoint.safetensors",
            team=team,
            progress=show(name, quiet=quiet or not team.leads),
        )
        if team.leads:
            recipe.card(name, {seed: (network, history)}).write(folder / "card.json")
            if not quiet:
                last = history.last
                typer.echo(
                    f"{folder / 'card.json'}: loss {last.loss:.2f}, PSNR {last.psnr:.2f} dB on the training images"
                )
    finally:
        team.leave()
