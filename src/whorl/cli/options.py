"""The vocabulary the verbs share: one word, one meaning, one help text. Use these as annotations of parameters."""

import functools
import inspect
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any, Literal, NamedTuple

import typer

__all__ = [
    "Alpha",
    "AsJson",
    "Common",
    "Contrast",
    "DeviceName",
    "DryRun",
    "Force",
    "Gamma",
    "MeasuredContrast",
    "Memory",
    "ModelName",
    "Noise",
    "PagesMode",
    "Paths",
    "PerPage",
    "Quiet",
    "SchemeName",
    "Seed",
    "SpacingText",
    "Threads",
    "Tile",
    "Time",
    "with_common_options",
]

Paths = Annotated[
    list[str],
    typer.Argument(metavar="IN... OUT", show_default=False, help="Pictures or folders to read; last, where to write."),
]
PerPage = Annotated[
    bool,
    typer.Option("--per-page", help="Measure what is measured on every page for itself; by default on all together."),
]
SpacingText = Annotated[
    str,
    typer.Option(
        "--spacing",
        metavar="auto|[Z,]Y,X",
        help="Size of a pixel or voxel, of which the ratio counts; auto: as the file says.",
    ),
]
Tile = Annotated[
    str,
    typer.Option("--tile", metavar="auto|N", help="Side of the windows in pixels; auto: by cost, in little memory."),
]
PagesMode = Annotated[
    Literal["separate", "channels"] | None,
    typer.Option(
        "--pages",
        show_default=False,
        help="Pages of a file one by one (default), or all as the channels of one picture.",
    ),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory for the whole program, such as 2GB; windows are cut to fit."),
]
ModelName = Annotated[
    str,
    typer.Option(
        "--model",
        "-m",
        metavar="NAME",
        help="Name of the model; `whorl models` lists them.",
        autocompletion=lambda: import_module("whorl.models").names(),
    ),
]


def _contrast(text: str) -> float | None:
    """A number, or None for ``auto``."""
    if text == "auto":
        return None
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"expected a number of grey values or auto, got {text!r}.") from None


Contrast = Annotated[
    float | None,
    typer.Option("--contrast", "-c", metavar="GREY", help="Contrast lambda in grey values: stronger edges are kept."),
]
MeasuredContrast = Annotated[
    float | None,
    typer.Option(
        "--contrast",
        "-c",
        metavar="GREY|auto",
        parser=_contrast,
        help="Contrast lambda in grey values: stronger edges are kept. auto, the default: from the noise.",
    ),
]
Noise = Annotated[
    float | None,
    typer.Option("--noise", metavar="SD", help="Standard deviation of the noise in grey values. Default: measured."),
]
Time = Annotated[
    float | None,
    typer.Option(
        "--time", "-t", metavar="T", help="Diffusion time: more means smoother. Default: by the noise, or 5 with -c."
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option("--alpha", metavar="A", help="Stencil parameter alpha, 0 to 1/2. Default: the model's own."),
]
Cell = Annotated[
    str | None,
    typer.Option(
        "--cell", metavar="NAME", help="Cells of the stencil: compact, 2x2 pixels, or wide, 4x4: turns better."
    ),
]
Gamma = Annotated[
    float | None,
    typer.Option("--gamma", metavar="G", help="Stencil parameter gamma, 0 to 1; above 0 the model has no energy."),
]
SchemeName = Annotated[
    Literal["explicit", "fed", "fsi"],
    typer.Option("--scheme", help="Time stepping; fed and fsi need far fewer steps for long times, a little coarser."),
]
DeviceName = Annotated[str, typer.Option("--device", metavar="NAME", help="Where to compute: cpu, cuda, cuda:1, ...")]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, max=1024, metavar="N", help="Threads to compute with. Default: all there are."),
]
Seed = Annotated[int, typer.Option("--seed", min=0, max=2**63 - 1, metavar="N", help="Seed of everything random.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary; errors only.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of text.")]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Say what would be done, and write nothing.")]
Force = Annotated[bool, typer.Option("--force", "-f", help="Overwrite an output that exists.")]


class Common(NamedTuple):
    """The options of every command that takes files and writes files."""

    tile: Tile = "auto"
    pages: PagesMode = None
    per_page: PerPage = False
    device: DeviceName = "cpu"
    threads: Threads = None
    force: Force = False
    dry_run: DryRun = False
    as_json: AsJson = False
    quiet: Quiet = False


def with_common_options(command: Callable[..., None], without: Sequence[str] = ()) -> Callable[..., None]:
    """The command with the options of :class:`Common` behind its own; it gets them as ``common``."""
    own = [p for p in inspect.signature(command).parameters.values() if p.name != "common"]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=Common._field_defaults[name], annotation=kind)
        for name, kind in Common.__annotations__.items()
        if name not in without
    ]

    @functools.wraps(command)
    def called(**given: Any) -> None:
        common = Common(**{name: given.pop(name) for name in Common._fields if name in given})
        command(**given, common=common)

    called.__signature__ = inspect.Signature([*own, *more])  # type: ignore[attr-defined]
    called.__annotations__ = {p.name: p.annotation for p in (*own, *more)}
    return called
