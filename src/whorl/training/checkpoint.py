"""Checkpoints: everything a run needs to go on, in one file that is either whole or not there.

A checkpoint is a safetensors file: the tensors (parameters, state of the optimiser) and, in its header, a JSON text
with configuration, history and versions. It is written beside its name, flushed to the disk and renamed, so a crash
at any moment leaves the previous checkpoint. Nothing in it is ever executed. As long as a run trains, its checkpoint
belongs to its process alone.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from whorl.errors import FileError
from whorl.foundations.atomic import check_regular, lock, write_bytes
from whorl.foundations.provenance import versions

FORMAT = "whorl checkpoint"
VERSION = 2
FIRST = "1"  # the version that had no hash yet


@dataclass(frozen=True)
class Checkpoint:
    """Tensors by name, and plain values for JSON.

    >>> import torch
    >>> Checkpoint({"weight": torch.zeros(3)}, {"step": 7}).meta["step"]
    7
    """

    tensors: Mapping[str, Tensor]
    meta: Mapping[str, Any] = field(default_factory=dict)


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write atomically; a file that is not a checkpoint of ours is never replaced, nor are non-finite values kept.

    >>> import tempfile, torch
    >>> from pathlib import Path
    >>> from whorl.training import Checkpoint, read_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checkpoint(Path(folder, "c.safetensors"), Checkpoint({"weight": torch.ones(3)}, {"step": 7}))
    ...     read_checkpoint(Path(folder, "c.safetensors")).meta["step"]
    7
    """
    from safetensors.torch import save

    for name, tensor in checkpoint.tensors.items():
        if not torch.isfinite(tensor).all():
            raise FileError(
                f"write_checkpoint({str(path)!r}): {name} holds NaN or infinity; the file is left as it was."
            )
    if path.exists():
        _header(path)
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in checkpoint.tensors.items()}
    meta = json.dumps({**checkpoint.meta, "versions": versions()})
    header = {"format": FORMAT, "version": str(VERSION), "meta": meta, "sha256": _hash(tensors, meta)}
    write_bytes(path, save(tensors, metadata=header))


def read_checkpoint(path: Path, like: Mapping[str, Tensor] | None = None) -> Checkpoint:
    """Read and check: whole, ours, of this version, finite, and with the names and shapes of ``like``.

    Anything else raises :class:`~whorl.errors.FileError` and leaves the file alone.

    >>> import tempfile, torch
    >>> from pathlib import Path
    >>> from whorl.training import Checkpoint, write_checkpoint
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_checkpoint(Path(folder, "c.safetensors"), Checkpoint({"weight": torch.ones(3)}, {"step": 7}))
    ...     read_checkpoint(Path(folder, "c.safetensors")).meta["step"]
    7
    """
    from safetensors import SafetensorError
    from safetensors.torch import load

    header = _header(path)
    try:
        tensors = load(path.read_bytes())
        if header["version"] != FIRST and _hash(tensors, header["meta"]) != header["sha256"]:
            raise ValueError("its contents are not those that were written")
        meta = json.loads(header["meta"])
    except (SafetensorError, KeyError, ValueError) as error:
        raise FileError(f"{path}: damaged checkpoint ({error}). Delete it, or resume from another one.") from None
    for name, tensor in tensors.items():
        if not torch.isfinite(tensor).all():
            raise FileError(f"{path}: {name} holds NaN or infinity. Delete it, or resume from another one.")
    if like is not None:
        expected = {name: tuple(tensor.shape) for name, tensor in like.items()}
        found = {name: tuple(tensor.shape) for name, tensor in tensors.items()}
        differing = sorted(n for n in expected.keys() | found.keys() if expected.get(n) != found.get(n))
        if differing:
            shown = ", ".join(f"{n}: {found.get(n)} for {expected.get(n)}" for n in differing[:3])
            raise FileError(f"{path}: belongs to another network or optimiser ({shown}). Train under another name.")
    return Checkpoint(tensors, meta)


def _hash(tensors: Mapping[str, Tensor], meta: str) -> str:
    """The SHA-256 of everything a checkpoint says: a bit that flips on the disk is noticed."""
    found = hashlib.sha256(meta.encode())
    for name, tensor in sorted(tensors.items()):
        found.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        found.update(tensor.reshape(-1).view(torch.uint8).numpy().tobytes())
    return found.hexdigest()


def _header(path: Path) -> dict[str, str]:
    """The text header, if the file is a whole checkpoint of ours."""
    from safetensors import SafetensorError, safe_open

    check_regular(path)
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
    except (OSError, SafetensorError) as error:
        raise FileError(
            f"{path}: not a whorl checkpoint, or cut off ({error}). It is left untouched; choose another name."
        ) from None
    if header.get("format") != FORMAT:
        raise FileError(f"{path}: not a whorl checkpoint. It is left untouched; choose another name.")
    if header.get("version") not in (FIRST, str(VERSION)):
        raise FileError(
            f"{path}: checkpoint version {header.get('version')}, this whorl reads version {VERSION}. "
            "Use the whorl that wrote it, or choose another name."
        )
    return dict(header)


@contextmanager
def claimed(checkpoint: Path) -> Iterator[None]:
    """Keep other processes from training into ``checkpoint`` during the block.

    A small file ``.NAME.lock`` beside it is locked; the lock ends with the process, however it ends.
    """
    place = checkpoint.with_name(f".{checkpoint.name}.lock")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(place)
    except OSError as error:
        raise FileError(f"{checkpoint}: cannot be written ({error.strerror}). Choose another folder.") from None
    if descriptor is None:
        raise FileError(
            f"{checkpoint}: another training is writing there. Wait until it has ended, or choose another folder."
        )
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            place.unlink()
        os.close(descriptor)


def _locked(place: Path) -> int | None:
    """The open, locked file; None where another process has locked it."""
    while True:
        descriptor = os.open(place, os.O_RDWR | os.O_CREAT, 0o666)
        if lock(descriptor) is False:
            os.close(descriptor)
            return None
        try:
            if os.path.samestat(os.fstat(descriptor), os.stat(place)):
                return descriptor
        except FileNotFoundError:
            pass
        os.close(descriptor)  # its last owner removed it between our two calls
