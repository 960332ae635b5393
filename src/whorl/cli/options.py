"""The vocabulary the verbs share: one word, one meaning, one help text. Use these as annotations of parameters."""

import functools
import inspect
import re
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

if TYPE_CHECKING:
    import torch


def option(words: str, help: str, **how: Any) -> Any:
    """An option from its names and the word for its value, such as ``"--contrast -c GREY"``."""
    names = [word for word in words.split() if word.startswith("-")]
    value = " ".join(word for word in words.split() if not word.startswith("-"))
    return typer.Option(*names, metavar=value or None, help=help, **how)


Paths = Annotated[
    list[str],
    typer.Argument(metavar="IN... OUT", show_default=False, help="Pictures or folders to read; last, where to write."),
]
PerPage = Annotated[
    bool, option("--per-page", "Measure what is measured on every page for itself; by default on all together.")
]
SpacingText = Annotated[
    str,
    option("--spacing auto|[Z,]Y,X", "Size of a pixel or voxel, of which the ratio counts; auto: as the file says."),
]
Tile = Annotated[str, option("--tile auto|N", "Side of the windows in pixels; auto: by cost, in little memory.")]
PagesMode = Annotated[
    Literal["separate", "channels"] | None,
    option(
        "--pages", "Pages of a file one by one (default), or all as the channels of one picture.", show_default=False
    ),
]
AsVolume = Annotated[bool, option("--volume", "Take a stack whose axes have no names for one volume, pages along z.")]
Memory = Annotated[
    str | None, option("--memory SIZE", "Memory for the whole program, such as 2GB; windows are cut to fit.")
]
Cluster = Annotated[
    str | None,
    option("--cluster ADDRESS", "Filter zarr on the workers of this dask scheduler, such as tcp://host:8786."),
]
ModelName = Annotated[
    str,
    option(
        "--model -m NAME",
        "Name of the model; `whorl models` lists them.",
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
    float | None, option("--contrast -c GREY", "Contrast lambda in grey values: stronger edges are kept.")
]
MeasuredContrast = Annotated[
    float | None,
    option(
        "--contrast -c GREY|auto",
        "Contrast lambda in grey values: stronger edges are kept. auto, the default: from the noise.",
        parser=_contrast,
    ),
]
Noise = Annotated[
    float | None, option("--noise SD", "Standard deviation of the noise in grey values. Default: measured.")
]
Time = Annotated[
    float | None, option("--time -t T", "Diffusion time: more means smoother. Default: by the noise, or 5 with -c.")
]
Alpha = Annotated[float | None, option("--alpha A", "Stencil parameter alpha, 0 to 1/2. Default: the model's own.")]
Cell = Annotated[
    str | None, option("--cell NAME", "Cells of the stencil: compact, 2x2 pixels, or wide, 4x4: turns better.")
]
Gamma = Annotated[
    float | None, option("--gamma G", "Stencil parameter gamma, 0 to 1; above 0 the model has no energy.")
]
SchemeName = Annotated[
    Literal["explicit", "fed", "fsi"],
    option("--scheme", "Time stepping; fed and fsi need far fewer steps for long times, a little coarser."),
]
DeviceName = Annotated[str, option("--device NAME", "Where to compute: cpu, cuda, cuda:1, ...")]
Threads = Annotated[
    int | None, option("--threads N", "Threads to compute with. Default: all there are.", min=1, max=1024)
]
Seed = Annotated[int, option("--seed N", "Seed of everything random.", min=0, max=2**63 - 1)]
Quiet = Annotated[bool, option("--quiet -q", "No progress, no summary; errors only.")]
AsJson = Annotated[bool, option("--json", "Print one JSON object instead of text.")]
DryRun = Annotated[bool, option("--dry-run -n", "Say what would be done, and write nothing.")]
Compression = Annotated[
    Literal["auto", "none", "deflate", "lzw", "zstd", "jpeg"],
    option("--compression", "Of TIFF output. auto: JPEG for what was JPEG, otherwise deflate, which loses nothing."),
]
Compare = Annotated[
    Path | None,
    option(
        "--compare FILE",
        "Draw picture or slices, result and their difference into this file, a PNG; for several, into a folder.",
    ),
]
Force = Annotated[bool, option("--force -f", "Overwrite an output that exists.")]


class Common(NamedTuple):
    """The options of every command that takes files and writes files."""

    tile: Tile = "auto"
    pages: PagesMode = None
    per_page: PerPage = False
    device: DeviceName = "cpu"
    threads: Threads = None
    compression: Compression = "auto"
    compare: Compare = None
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


def prepare(device: str = "cpu", threads: int | None = None) -> "torch.device":
    """The device of that name, checked; and the number of threads set for all engines of this process."""
    import torch

    from whorl.foundations.arrays import device_of

    if threads is not None:
        torch.set_num_threads(threads)  # the compiled engines take as many
    return device_of(device, torch.device("cpu"))


def as_tile(text: str) -> int | None:
    """The side of the windows from ``--tile``: ``auto`` or a number of pixels.

    >>> as_tile("auto"), as_tile("512")
    (None, 512)
    """
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--tile {text}: expected auto or a number of pixels such as 1024.")
    return int(text)


def as_memory(text: str | None) -> int | None:
    """A number of bytes from ``--memory``: a number with MB, GB, MiB or GiB behind it.

    >>> as_memory("2GB"), as_memory("512 MiB")
    (2000000000, 536870912)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([KMGT])(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"--memory {text}: expected a size such as 2GB or 512MB.")
    number, prefix, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(prefix.upper()) + 1))
