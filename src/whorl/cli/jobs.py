"""Which file goes where: the arguments ``IN... OUT`` of a verb as pairs of paths."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from whorl.errors import FileError
from whorl.files.formats import SUFFIXES, is_zarr
from whorl.foundations.atomic import check_target

__all__ = ["pairs"]


def pairs(paths: Sequence[Path], force: bool = False) -> list[tuple[Path, Path]]:
    """Inputs with their outputs, for arguments as ``cp`` takes them.

    One file to a file name; or several files and folders into a folder, which need not exist. Of folders all pictures
    are taken, with their subfolders. Nothing is written before all outputs are known to be free (or ``force``).
    """
    if len(paths) < 2:
        raise FileError("expected at least two paths: the pictures to read, and last where to write. Try --help.")
    *sources, target = paths
    for source in sources:
        if not os.path.lexists(source):
            raise FileError(f"{source}: No such file or folder.")
    folder = _is_folder(sources, target)
    found = [pair for source in sources for pair in _expanded(source, target, folder)]
    if not found:
        raise FileError(f"{sources[0]}: no picture inside. Looked for {', '.join(SUFFIXES)}.")
    _check_distinct(found)
    taken = [out for _, out in found if out.exists()]
    if taken and not force:
        more = f" (and {len(taken) - 1} more)" if len(taken) > 1 else ""
        raise FileError(f"{taken[0]}{more}: exists already and is kept. Use --force to replace it.")
    for _, out in found:
        check_target(out, force, folder=out.suffix == ".zarr")
    return found


def _is_folder(sources: Sequence[Path], target: Path) -> bool:
    """Whether the outputs go into a folder of that name, or the one output has that name."""
    single = len(sources) == 1 and not _is_plain_folder(sources[0])
    named = target.suffix.lower() in SUFFIXES
    if _is_plain_folder(target) or (not single and not target.exists() and not named):
        return True
    if not single:
        raise FileError(f"{target}: is a file name, but there are several pictures to write. Name a folder last.")
    return not target.suffix


def _is_plain_folder(path: Path) -> bool:
    return path.is_dir() and not is_zarr(path)


def _expanded(source: Path, target: Path, folder: bool) -> Iterator[tuple[Path, Path]]:
    if not _is_plain_folder(source):
        yield source, target / source.name if folder else target
        return
    for picture in _pictures(source, target.resolve()):
        yield picture, target / picture.relative_to(source)


def _pictures(folder: Path, leave_out: Path) -> Iterator[Path]:
    """Pictures in a folder and its subfolders, in order; hidden ones and the output folder are left out."""
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.resolve() == leave_out:
            continue
        if path.is_dir() and not is_zarr(path):
            yield from _pictures(path, leave_out)
        elif path.suffix.lower() in SUFFIXES:
            yield path


def _check_distinct(found: Sequence[tuple[Path, Path]]) -> None:
    seen: dict[Path, Path] = {}
    for source, out in found:
        if out in seen:
            raise FileError(
                f"{source} and {seen[out]} would both be written to {out}. Filter them into separate folders."
            )
        seen[out] = source
