"""``whorl train``: train a network for photographs or volumes, or one of the paper's experiment."""

from pathlib import Path
from typing import Annotated, Any

import typer

from whorl.cli.options import DeviceName, Quiet, Seed, Threads, option, prepare

EXAMPLES = (
    "whorl train photo-27k --data pictures/ --noise 25 --out runs/mine",
    "whorl train photo-8k --data pictures/ --noise 25 --steps 3000 --batch 4 --size 48 --out runs/small",
    "whorl train mine --from photo-27k --data pictures/ --steps 500 --batch 4 --size 48 --out runs/mine",
    "whorl train volume-5k --data scans/ --from volume-5k --steps 200 --batch 2 --out runs/scans",
    "whorl train vessels-5k --data annotated/ --steps 2000 --out runs/vessels",
    "whorl train mine --from vessels-5k --data annotated/ --steps 500 --out runs/mine",
    "whorl train anisotropic-0.41 --out runs/anisotropic",
    "whorl train isotropic-0.5 --protocol converged --seed 1 --out runs/isotropic",
    "whorl train anisotropic-0.41 --optimiser gauss-newton --out runs/newton",
    "torchrun --nproc-per-node 2 -m whorl train anisotropic-0.41 --out runs/two",
)


def command(
    name: Annotated[
        str, typer.Argument(help="Network: photo-27k, photo-8k, ..., vessels-5k, or anisotropic-0.41, ...")
    ],
    out: Annotated[str, option("--out -o", "Folder for checkpoint and trained network.")],
    data: Annotated[
        str, option("--data FOLDER", "Photographs, volumes (without it those are drawn), or annotated pictures.")
    ] = "",
    noise: Annotated[
        float | None, option("--noise SD", "Noise on photographs. Default: as the network is made.")
    ] = None,
    steps: Annotated[
        int, option("--steps", "Steps of training, in whole epochs of up to 250; more prolong a run.", min=1)
    ] = 12000,
    start: Annotated[str, option("--from NAME", "Fine-tune this trained network for photographs, or file.")] = "",
    old: Annotated[str, option("--old FOLDER", "Pictures as --from was trained on, to tell what it loses there.")] = "",
    patience: Annotated[int, option("--patience", "Stop after so many epochs without gain; 0: never.", min=0)] = 0,
    protocol: Annotated[
        str, option("--protocol", "Settings to start from: paper, converged or gauss-newton.")
    ] = "paper",
    optimiser: Annotated[str | None, option("--optimiser", "adam, whitened or gauss-newton.")] = None,
    epochs: Annotated[int | None, option("--epochs", "Epochs, or Gauss-Newton iterations.", min=1)] = None,
    batch: Annotated[int | None, option("--batch", "Images per step, over all processes.", min=1)] = None,
    rate: Annotated[float | None, option("--rate", "Learning rate.", min=0.0, max=1.0)] = None,
    images: Annotated[int, option("--images", "Training images.", min=1)] = 100,
    size: Annotated[
        int | None,
        option("--size", "Pixels along a side: 64 for photos, 32 for volumes, 96 for lines, else 256.", min=8),
    ] = None,
    angle: Annotated[int, option("--angle", "Direction of the rectangles, in degrees.")] = 30,
    turning: Annotated[str, option("--turning", "What turns: scene or rectangles.")] = "scene",
    edges: Annotated[str, option("--edges", "Rendering of edges: analytic, 4x4 or hard.")] = "analytic",
    checkpoint_seconds: Annotated[
        float | None, option("--checkpoint-seconds", "Least time between checkpoints.", min=0)
    ] = None,
    seed: Seed = 0,
    device: DeviceName = "cpu",
    threads: Threads = None,
    quiet: Quiet = False,
) -> None:
    """Train a network on noisy photographs, on annotated pictures, or on noisy rectangle scenes.

    With --data a network for photographs learns from noisy patches of the pictures in a folder; every 33rd picture is
    held back to show how well it does on pictures it has not seen. A network for volumes learns in the same way from
    the volumes in a folder, or from drawn ones without --data. With --from a trained network learns your pictures;
    the PSNR on those held back, and on the pictures of --old, is told before and after.

    Networks for lines learn from annotated pictures: 21.png comes with 21-lines.png, or 21-vessels.png, white where
    lines are, and may come with 21-mask.png, white inside the field of view. Every fifth picture is held back.

    The run can be interrupted or killed at any moment: the same command goes on from its checkpoint and ends with the
    same parameters. Started by torchrun, all processes train one network together.

    OUT receives checkpoint.safetensors, metrics.csv, curve.png and, at the end, network.safetensors, which
    `whorl evaluate`, `whorl denoise` and `whorl.load` read.
    """
    import dataclasses

    from whorl.data import RectangleSet
    from whorl.files.scans import scans
    from whorl.networks import LineSpec, PhotoSpec, load_card, named
    from whorl.networks.cards import ENDING
    from whorl.training import PROTOCOLS
    from whorl.training.annotated import Annotated
    from whorl.training.distributed import join_team
    from whorl.training.history import show
    from whorl.training.recipe import Recipe, Scenes, gains, line_recipe, photo_recipe
    from whorl.training.records import Recorded

    spec = load_card(start).network if start else named(name)
    if protocol not in PROTOCOLS:
        raise ValueError(f"--protocol {protocol}: choose one of {', '.join(PROTOCOLS)}.")
    given = {"batch": batch, "rate": rate, "checkpoint_seconds": checkpoint_seconds, "optimiser": optimiser}
    given["patience"] = patience or None
    changes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    if optimiser == "gauss-newton" and isinstance(spec, LineSpec | PhotoSpec):
        raise ValueError(f"--optimiser gauss-newton: {name} has too many numbers. Take adam or whitened.")
    if isinstance(spec, LineSpec):
        if not data:
            raise ValueError(
                f"{name}: a network for lines. Say with --data which folder of annotated pictures to take."
            )
        if noise is not None:
            raise ValueError(f"--noise {noise:g}: networks for lines remove no noise. Leave it out.")
        recipe = line_recipe(name, Path(data), steps, start or None, **changes, seed=seed, size=size)
    elif data or start or isinstance(spec, PhotoSpec):
        changes |= {"seed": seed, **({"size": size} if size else {})}
        volumes = isinstance(spec, PhotoSpec) and spec.dimension == 3
        found = scans(Path(data), size or 32) if volumes and data else None
        recipe = photo_recipe(name, Path(data) if data else None, noise, steps, start or None, found, **changes)
    else:
        changes |= {} if epochs is None else {"epochs": epochs}
        base = PROTOCOLS["gauss-newton"] if optimiser == "gauss-newton" and protocol == "paper" else PROTOCOLS[protocol]
        scenes = RectangleSet(images, "train", turning=turning, edges=edges, size=size or 256)  # type: ignore[arg-type]
        recipe = Recipe(spec, Scenes(scenes, angle), dataclasses.replace(base, **changes)).with_seed(seed)
    team, own = join_team(prepare(device, threads))
    card = Path(out) / f"network{ENDING}"
    try:
        trained, history = recipe.train(
            device=own,
            checkpoint=Path(out) / f"checkpoint{ENDING}",
            team=team,
            progress=(told := Recorded(Path(out), show(name, quiet=quiet or not team.leads)) if team.leads else None),
        )
        if team.leads and told is not None:
            told.write(history)
            recipe.card(name, {seed: (trained, history)}).write(card)
            if not quiet:
                typer.echo(f"{card}: last epoch: {history.last.words}")
                if isinstance(recipe.data, Annotated):
                    typer.echo(f"Dice on pictures held back: {recipe.data.dice(trained, own):.4f}")
                if history.stopped == "no gain":
                    typer.echo(f"stopped after {len(history.epochs)} epochs: {patience} without gain")
                for where, before, after in gains(recipe, trained, old, own):
                    typer.echo(f"on {where}: {before:.2f} -> {after:.2f} dB ({after - before:+.2f})")
    finally:
        team.leave()
