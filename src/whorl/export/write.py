"""Writing a chain, whole or not at all."""

from collections.abc import Callable
from pathlib import Path

from whorl.errors import FileError
from whorl.export.chain import Chain
from whorl.export.onnx_file import write_onnx
from whorl.export.photo import write_photo_onnx
from whorl.export.photo_pt2 import write_photo_pt2
from whorl.export.pt2 import write_pt2
from whorl.foundations.atomic import beside
from whorl.networks.photo_cards import PhotoCard

__all__ = ["FORMATS", "write", "write_photo"]

FORMATS = {"onnx": ".onnx", "pt2": ".pt2"}
"""The formats and the endings of their files."""


def write(chain: Chain, path: str | Path, format: str | None = None, *, channels: int = 1, force: bool = False) -> Path:
    """Write a chain as ONNX or ``torch.export`` file and return where it is.

    Parameters
    ----------
    chain : Chain
        What :func:`whorl.export.model_chain` or :func:`whorl.export.network_chain` gives.
    path : str or Path
        The file to write.
    format : str, optional
        ``"onnx"`` or ``"pt2"``; by default what the ending of ``path`` says.
    channels : int
        Image channels of a ``pt2`` file; ONNX files take any number.
    force : bool
        Whether to replace a file that exists.
    """
    target = Path(path)
    chosen = file_format(target, format)
    with beside(target, force) as part:
        if chosen == "onnx":
            write_onnx(chain, part)
        else:
            _renamed(lambda path: write_pt2(chain, path, channels), part)
    return target


def write_photo(card: PhotoCard, path: str | Path, format: str | None = None, *, force: bool = False) -> Path:
    """Write a network for photographs, likewise."""
    target = Path(path)
    with beside(target, force) as part:
        if file_format(target, format) == "onnx":
            write_photo_onnx(card, part)
        else:
            _renamed(lambda path: write_photo_pt2(card, path), part)
    return target


def _renamed(write: Callable[[Path], None], part: Path) -> None:
    """Torch writes only files that end in .pt2, so the archive is written beside the part and renamed."""
    detour = part.with_name(part.name + FORMATS["pt2"])
    try:
        write(detour)
        detour.replace(part)
    finally:
        detour.unlink(missing_ok=True)


def file_format(target: Path, format: str | None) -> str:
    """The format asked for, or the one that the file's ending names."""
    if format is None:
        named = [name for name, ending in FORMATS.items() if ending == target.suffix.lower()]
        if not named:
            raise FileError(f"{target}: the ending does not name a format. End in .onnx or .pt2, or give --format.")
        return named[0]
    if format not in FORMATS:
        raise ValueError(f"export: unknown format {format!r}; there are {' and '.join(FORMATS)}.")
    return format
