"""Going on after a kill: where a long run keeps what is done, and whether another run may use it."""

import dataclasses
import hashlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from whorl import __version__
from whorl.errors import FileError
from whorl.foundations.atomic import hidden
from whorl.foundations.samples import working_dtype
from whorl.large.plan import Plan, size_in_words
from whorl.large.scratch import Journal

Begin = Callable[[str], Journal]
"""Opens the journal of the next part of a run, which has that identity."""


def work_folder(target: Path) -> Path:
    """Where a long run keeps what is done."""
    return hidden(target, ".whorl")


@contextmanager
def journals(target: Path) -> Iterator[Begin]:
    """Journals of the parts of a run; they stay when it is interrupted, and go when it ends well or with an error."""
    folder = work_folder(target)
    opened: list[Journal] = []

    def begin(identity: str) -> Journal:
        opened.append(Journal(folder / str(len(opened)), identity))
        return opened[-1]

    def remove() -> None:
        for journal in opened:
            journal.remove()
        if opened:
            shutil.rmtree(folder, ignore_errors=True)

    try:
        yield begin
    except Exception:
        remove()
        raise
    except BaseException:  # Ctrl-C and the like: the next run goes on
        for journal in opened:
            journal.leave()
        raise
    remove()


def check_room(target: Path, chosen: Plan, result: int, values: int, dtype: np.dtype[Any]) -> None:
    """Refuse at once what the disk cannot hold: the ``result`` in bytes twice, and up to two images between passes.

    Such an image has so many ``values``, in full precision. The files of a former run count as free.
    """
    needed = 2 * result + values * min(len(chosen.passes) - 1, 2) * working_dtype(dtype).itemsize
    folder = work_folder(target)
    held = sum(512 * path.stat().st_blocks for path in folder.rglob("*")) if folder.exists() else 0
    free = shutil.disk_usage(target.parent).free + held
    if needed > free:
        need, have = size_in_words(needed), size_in_words(free)
        raise FileError(
            f"{target}: cannot be written: {need} are needed on the disk, {have} are free. "
            "Make room there, or choose another place."
        )


def identity(chosen: Plan, source: Path | None, *about: Any) -> str:
    """One hash over what is computed, and from what: a run must not go on with the windows of another.

    It covers every number of the filter, and names, sizes and times of all files of the source (chunks of a zarr array
    included), if the source is a file. A file that was written again has another time of change, even if its date was
    put back.
    """
    cut = (chosen.shape, chosen.sides, [len(part) for part in chosen.passes])
    digest = hashlib.sha256(repr((__version__, cut, about)).encode())
    visited: dict[int, Any] = {}
    for part in chosen.passes:
        for stage in part:
            _add(digest, stage.apply, visited)
    for entry in [] if source is None else sorted([source, *source.rglob("*")] if source.is_dir() else [source]):
        known = entry.stat()
        digest.update(repr((str(entry.resolve()), known.st_size, known.st_mtime_ns, known.st_ctime_ns)).encode())
    return digest.hexdigest()


def _add(digest: Any, value: Any, visited: dict[int, Any]) -> None:
    """Add a value to a hash by what it holds: numbers, arrays, modules with their weights, and objects made of them."""
    if id(value) in visited:
        digest.update(b"again")
        return
    if isinstance(value, nn.Module):
        visited[id(value)] = value
        digest.update(repr((getattr(value, "settings", None), value)).encode())
        for tensor in value.state_dict().values():
            _add(digest, tensor, {})
    elif isinstance(value, torch.Tensor | np.ndarray):
        samples = value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value
        digest.update(repr((samples.shape, samples.dtype)).encode() + samples.tobytes())
    elif isinstance(value, list | tuple | dict):
        for part in (part for pair in value.items() for part in pair) if isinstance(value, dict) else value:
            _add(digest, part, visited)
    elif dataclasses.is_dataclass(value) or (hasattr(value, "__dict__") and not callable(getattr(value, "mro", None))):
        visited[id(value)] = value
        digest.update(repr((type(value).__qualname__, getattr(value, "__qualname__", ""))).encode())
        _add(digest, vars(value), visited)
    else:
        digest.update(repr(value).encode())
