"""Writing models and networks as files, whole or not at all."""

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from whorl import __version__
from whorl.errors import FileError
from whorl.export.chain import FORMATS, Chain, network_chain
from whorl.export.onnx_file import onnx_model
from whorl.export.photo import photo_onnx, photo_program
from whorl.export.pt2 import METADATA, exported_program
from whorl.foundations.atomic import beside
from whorl.networks import DiffusionNetwork, ModelCard, PhotoNetwork


def exportable(card: ModelCard) -> Chain | ModelCard:
    """A trained network as the export takes it: a chain of steps, or the card of a network for photographs."""
    network = card.build()
    if isinstance(network, DiffusionNetwork):
        return network_chain(network, card.name)
    if not isinstance(network, PhotoNetwork):
        raise ValueError(f"{card.name}: networks of the kind {card.network.kind!r} cannot be exported.")
    return card


def write(
    what: Chain | ModelCard, path: str | Path, format: str | None = None, *, channels: int = 1, force: bool = False
) -> Path:
    """Write a model or a network as ONNX or ``torch.export`` file and return where it is.

    Parameters
    ----------
    what : Chain or ModelCard
        What :func:`whorl.export.model_chain` or :func:`whorl.export.network_chain` gives, or the card of a network.
    path : str or Path
        The file to write.
    format : str, optional
        ``"onnx"`` or ``"pt2"``; by default what the ending of ``path`` says.
    channels : int
        Image channels of a chain in a ``pt2`` file; ONNX files take any number, networks for photographs their own.
    force : bool
        Whether to replace a file that exists.

    Examples
    --------
    >>> import tempfile, whorl
    >>> chain = whorl.export.model_chain(whorl.models.build("perona-malik", contrast=5.0), time=0.4)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     whorl.export.write(chain, f"{folder}/filter.onnx").name
    'filter.onnx'
    """
    target, what = Path(path), what if isinstance(what, Chain) else exportable(what)
    chosen = file_format(target, format)
    with beside(target, force) as part:
        if chosen == "onnx":
            model = onnx_model(what) if isinstance(what, Chain) else photo_onnx(what)
            part.write_bytes(model.SerializeToString())
        elif isinstance(what, Chain):
            _save(exported_program(what, channels), part, {"channels": channels, **what.about})
        else:
            _save(photo_program(what), part, {"card": what.as_dict()})
    return target


def _save(program: Any, part: Path, about: dict[str, Any]) -> None:
    """Torch writes only files that end in .pt2, so the archive is written beside the part and renamed."""
    detour, told = part.with_name(part.name + FORMATS["pt2"]), {"whorl": __version__, **about}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about torch's own parts
            torch.export.save(program, detour, extra_files={METADATA: json.dumps(told, default=str)})
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
