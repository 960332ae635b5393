"""The chain of directories in a TIFF file, followed before any page is looked at: it must end, and soon enough."""

import io
from pathlib import Path
from typing import Literal

from whorl.errors import FileError
from whorl.files.base import MAX_PAGES

__all__ = ["directories"]

MOST_TAGS = 4096  # of one directory; real ones have some dozens


def directories(path: Path) -> int:
    """The number of directories (pages and previews).

    Refuses a chain that returns to a directory it has passed, leads out of the file, or is longer than any stack.
    """
    with path.open("rb") as file:
        size = file.seek(0, io.SEEK_END)
        file.seek(0)
        head = file.read(16)
        order: Literal["little", "big"] = "little" if head[:2] == b"II" else "big"
        big = int.from_bytes(head[2:4], order) == 43
        wide, counter, entry = (8, 8, 20) if big else (4, 2, 12)
        offset = int.from_bytes(head[8:16] if big else head[4:8], order)
        passed: set[int] = set()
        while offset:
            if offset in passed:
                raise FileError(f"{path}: its directory {len(passed)} points back to an earlier one; damaged.")
            if len(passed) == MAX_PAGES:
                raise FileError(f"{path}: holds more than {MAX_PAGES} pages. Split it into several files.")
            passed.add(offset)
            file.seek(offset)
            tags = int.from_bytes(file.read(counter), order)
            if not 0 < tags <= MOST_TAGS or offset + counter + tags * entry + wide > size:
                raise FileError(f"{path}: directory {len(passed)} is damaged or cut off. Get the file again.")
            file.seek(tags * entry, io.SEEK_CUR)
            offset = int.from_bytes(file.read(wide), order)
    if not passed:
        raise FileError(f"{path}: a TIFF file without any page. Get the file again.")
    return len(passed)
