"""Files that others made: looked at only where they are files."""

import stat
from pathlib import Path

from whorl.errors import FileError

__all__ = ["check_regular"]


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
