"""Which file goes where: the arguments ``IN... OUT`` of a verb as pairs of paths."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from whorl.errors import FileError
from whorl.files.formats import READ_ONLY, SUFFIXES, is_zarr
from whorl.files.volume import is_dicom, volume_kind
from whorl.foundations.atomic import check_target


@dataclass
class Jobs:
    """Inputs with their outputs; what folders hold besides pictures; and folders that could not be looked into."""

    pairs: list[tuple[Path, Path]] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    closed: list[tuple[Path, str]] = field(default_factory=list)


def jobs(paths: Sequence[Path], force: bool = False) -> Jobs:
    """What to do for arguments as ``cp`` takes them.

    One file to a file name; or several files and folders into a folder, which need not exist. Of folders all pictures
    are taken, with their subfolders, each of which is visited once, whatever links lead there. Pictures in a format
    that is only read become PNG, DICOM becomes NIfTI. Nothing is written before all outputs are known to be free (or
    ``force``).
    """
    if len(paths) < 2:
        raise FileError("expected at least two paths: the pictures to read, and last where to write. Try --help.")
    if Path("-") in paths:
        raise FileError("-: standard input and output are not supported. Name files, or a folder to write into.")
    *sources, target = paths
    for source in sources:
        if not os.path.lexists(source):
            raise FileError(f"{source}: No such file or folder.")
    folder = _is_folder(sources, target)
    found = Jobs()
    for source in sources:
        if _is_plain_folder(source):
            _look_into(source, source, target, found, {_identity(target)})
        else:
            found.pairs.append((source, _in_folder(target, source, Path(source.name)) if folder else target))
    if not found.pairs and not found.closed:
        raise FileError(f"{sources[0]}: no picture inside. Looked for {', '.join((*SUFFIXES, *READ_ONLY))}.")
    _check_distinct(found.pairs)
    taken = [out for _, out in found.pairs if os.path.lexists(out)]
    if taken and not force:
        more = f" (and {len(taken) - 1} more)" if len(taken) > 1 else ""
        raise FileError(f"{taken[0]}{more}: exists already and is kept. Use --force to replace it.")
    for _, out in found.pairs:
        check_target(out, force, folder=out.suffix in (".zarr", ".dcm"))
    return found


def _is_folder(sources: Sequence[Path], target: Path) -> bool:
    """Whether the outputs go into a folder of that name, or the one output has that name."""
    single = len(sources) == 1 and not _is_plain_folder(sources[0])
    named = target.suffix.lower() in SUFFIXES or bool(volume_kind(target))
    if _is_plain_folder(target) or (not single and not os.path.exists(target) and not named):
        return True
    if not single:
        raise FileError(f"{target}: is a file name, but there are several pictures to write. Name a folder last.")
    return not target.suffix


def _is_plain_folder(path: Path) -> bool:
    return os.path.isdir(path) and not is_zarr(path) and not is_dicom(path)


def _in_folder(target: Path, source: Path, name: Path) -> Path:
    if volume_kind(source) == "dicom":
        return target / name.with_name(f"{name.name.removesuffix('.dcm')}.nii.gz")
    return target / (name.with_suffix(".png") if name.suffix.lower() in READ_ONLY else name)


def _look_into(folder: Path, top: Path, target: Path, found: Jobs, visited: set[tuple[int, int] | None]) -> None:
    """Collect the pictures in a folder and its subfolders, in order; hidden ones and the output are left out."""
    if _identity(folder) in visited:
        return
    visited.add(_identity(folder))
    try:
        inside = sorted(folder.iterdir())
    except OSError as error:
        found.closed.append((folder, f"{folder}: cannot be looked into ({error.strerror}). Check its permissions."))
        return
    for path in inside:
        if path.name.startswith("."):
            continue
        if _is_plain_folder(path):
            _look_into(path, top, target, found, visited)
        elif path.suffix.lower() in (*SUFFIXES, *READ_ONLY) or volume_kind(path):
            found.pairs.append((path, _in_folder(target, path, path.relative_to(top))))
        else:
            found.skipped.append(path)


def _identity(path: Path) -> tuple[int, int] | None:
    """The same for every name of a folder; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _check_distinct(found: Sequence[tuple[Path, Path]]) -> None:
    sources: dict[Path, Path] = {}
    for source, out in found:
        if out in sources:
            raise FileError(
                f"{source} and {sources[out]} would both be written to {out}. Filter them into separate folders."
            )
        sources[out] = source
