"""Whole or not at all: an output is written beside its place and moved there when it is complete.

Pipes and devices that bear a file's name are refused, not opened.
"""

import contextlib
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from whorl.errors import FileError

LONGEST = 224  # bytes of a name that leave room for an ending within 255


@contextmanager
def beside(target: Path, force: bool = False, *, folder: bool = False) -> Iterator[Path]:
    """Give a path next to ``target`` to write to; it becomes ``target`` if the block ends well and is gone if not.

    With ``folder`` the path is a new folder. What the system refuses in the block (disk full, no permission) is a
    :class:`~whorl.errors.FileError` that names the target.

    A run that was killed (SIGKILL, power) leaves ``.NAME.<pid>.part``; it is locked only while its process lives, and
    the next run for the same target removes what nobody has locked. A folder that was being replaced is put back.
    """
    _sweep(target)
    check_target(target, force, folder=folder)
    part = hidden(target, f".{os.getpid()}.part")
    missing = [outer for outer in target.parents if not outer.exists()]
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        holder = _hold(part, folder)
    except OSError as error:
        raise _refused(target, error) from None
    try:
        yield part
        _flush(part)
        check_target(target, force, folder=folder)  # somebody else may have written it meanwhile
        move(part, target)
        _flush(target.parent)
    except BaseException as error:
        _remove(part)
        for outer in missing:  # innermost first
            with contextlib.suppress(OSError):
                outer.rmdir()
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _refused(target, error) from None
        raise
    finally:
        os.close(holder)


def hidden(target: Path, ending: str = "") -> Path:
    """A hidden name beside the target; of a name near the longest that systems take, a hash stands for it."""
    name = os.fsencode(target.name)
    short = target.name if len(name) <= LONGEST else hashlib.sha256(name).hexdigest()
    return target.with_name(f".{short}{ending}")


def write_bytes(target: Path, content: bytes) -> None:
    """Write a file in one piece, whole or not at all; one that exists is replaced."""
    with beside(target, force=True) as part:
        part.write_bytes(content)


def check_target(target: Path, force: bool = False, *, folder: bool = False) -> None:
    """Refuse a target that exists and may not be replaced."""
    try:
        exists = target.exists()
    except (OSError, ValueError) as error:
        raise _refused(target, error) from None
    if exists and not force:
        raise FileError(f"{target}: exists already and is kept. Use --force (force=True) to replace it.")
    if target.is_dir() and not folder:
        raise FileError(f"{target}: is a folder. Give the name of a file.")


def lock(descriptor: int) -> bool | None:
    """Lock an open file until it is closed or its process ends: True; False where another process has locked it.

    None where the system or the file system knows no locks.
    """
    try:
        import fcntl
    except ModuleNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def move(part: Path, target: Path) -> None:
    """Give a complete file or folder its name; what had that name goes."""
    if not target.is_dir():
        os.replace(part, target)
        return
    old = part.with_suffix(".old")  # a folder cannot be replaced in one go
    holder = os.open(target, os.O_RDONLY)
    try:
        lock(holder)
        os.replace(target, old)
        try:
            os.replace(part, target)
        except BaseException:
            os.replace(old, target)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        os.close(holder)


def _hold(part: Path, folder: bool) -> int:
    """Create ``part`` and lock it as long as this process lives."""
    if folder:
        part.mkdir()
    else:
        part.touch()
    descriptor = os.open(part, os.O_RDONLY)
    lock(descriptor)
    return descriptor


def _sweep(target: Path) -> None:
    """Remove what killed runs left for this target; put back a folder that a run was killed in replacing."""
    ours = re.compile(re.escape(hidden(target).name) + r"\.\d+\.(part|old)")
    try:
        found = [entry for entry in os.listdir(target.parent) if ours.fullmatch(entry)]
    except OSError:
        return
    for part in (target.parent / name for name in found):
        with contextlib.suppress(OSError):
            descriptor = os.open(part, os.O_RDONLY)
            try:
                if lock(descriptor) is not True:
                    continue
                if part.suffix == ".old" and not os.path.lexists(target):
                    os.replace(part, target)
                else:
                    _remove(part)
            finally:
                os.close(descriptor)


def _remove(part: Path) -> None:
    if not part.is_dir():
        part.unlink(missing_ok=True)
        return
    give_up = time.monotonic() + 5
    for _ in range(3):  # a library may have started more writes than the one that failed; they come in late
        while part.exists() and time.monotonic() < give_up:
            shutil.rmtree(part, ignore_errors=True)
        time.sleep(0.05)


def _flush(path: Path) -> None:
    """Bring a file, or the names in a folder, to the disk: the name must not come before the contents."""
    if os.name != "posix" and path.is_dir():
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _refused(target: Path, error: Exception) -> FileError:
    reason = getattr(error, "strerror", None) or str(error)
    return FileError(f"{target}: cannot be written ({reason}). Make room there, or choose another place.")


def check_regular(path: Path) -> int:
    """The size of a file in bytes. Pipes and devices, which may keep a reader waiting for ever, are refused."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise FileError(f"{path}: cannot be read ({reason}). Check the path and its permissions.") from None
    if stat.S_ISDIR(found.st_mode):
        raise FileError(f"{path}: is a folder, no file. Name a file inside it.")
    if not stat.S_ISREG(found.st_mode):
        raise FileError(f"{path}: is a pipe or a device, no file. Copy its contents into a file first.")
    return found.st_size
