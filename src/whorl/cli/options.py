"""The vocabulary the verbs share: one word, one meaning, one help text. Use these as annotations of parameters."""

from typing import Annotated

import typer

__all__ = [
    "Alpha",
    "AsJson",
    "Contrast",
    "DeviceName",
    "DryRun",
    "Force",
    "Gamma",
    "ModelName",
    "Quiet",
    "Seed",
    "Threads",
    "Time",
]

ModelName = Annotated[str, typer.Option("--model", "-m", help="Name of the model; `whorl models` lists them.")]
Contrast = Annotated[
    float | None,
    typer.Option("--contrast", "-c", min=0.0, help="Contrast lambda in grey values: steeper edges are kept."),
]
Time = Annotated[float, typer.Option("--time", "-t", min=0.0, help="Diffusion time: more means smoother.")]
Alpha = Annotated[
    float | None,
    typer.Option("--alpha", min=0.0, max=0.5, help="Stencil parameter alpha, 0 to 1/2. Default: the model's own."),
]
Gamma = Annotated[
    float,
    typer.Option("--gamma", min=0.0, max=1.0, help="Stencil parameter gamma, 0 to 1; above 0 the model has no energy."),
]
DeviceName = Annotated[str, typer.Option("--device", help="Where to compute: cpu, cuda, cuda:1, ...")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads to compute with. Default: all the machine has.")
]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be done, and write nothing.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite an output that exists.")]
