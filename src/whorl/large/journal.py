"""What of a long run is done already, so that it can go on after it was killed."""

import os
import shutil
from pathlib import Path

from whorl.errors import FileError
from whorl.foundations.atomic import lock

__all__ = ["Journal"]

IDENTITY, DONE = "run", "done"


class Journal:
    """A folder with the scratch files of a run and one line for each window that is done.

    ``identity`` stands for what is computed from what; a folder that was left by a run with another one is emptied. A
    line is written when the samples of its window are on the disk, so a window counts as done only when it is. The
    folder is locked as long as the run lives.
    """

    def __init__(self, folder: Path, identity: str) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.holder = os.open(folder, os.O_RDONLY)
        if lock(self.holder) is False:
            os.close(self.holder)
            raise FileError(f"{folder}: another run for the same output is under way. Wait for it, or stop it.")
        said = folder / IDENTITY
        if not said.exists() or said.read_text() != identity:
            for old in folder.iterdir():
                shutil.rmtree(old) if old.is_dir() else old.unlink()
            said.write_text(identity)
        log = folder / DONE
        # The last line may have been cut short by the kill: without its end it does not count.
        lines = log.read_text().rpartition("\n")[0].splitlines() if log.exists() else []
        log.write_text("".join(f"{line}\n" for line in lines))
        self.log = log.open("a")
        self.done = set(lines)
        self.resumed = bool(lines)

    def __contains__(self, entry: tuple[int, int | str]) -> bool:
        """Whether a window of a pass, or ``(pass, "all")``, is done."""
        return "{} {}".format(*entry) in self.done

    def mark(self, entry: tuple[int, int | str]) -> None:
        """Write down that it is done."""
        self.done.add("{} {}".format(*entry))
        self.log.write("{} {}\n".format(*entry))
        self.log.flush()
        os.fsync(self.log.fileno())

    def leave(self) -> None:
        """Close the journal; another run can go on with it."""
        self.log.close()
        os.close(self.holder)

    def remove(self) -> None:
        """The run is over: nothing of it is left."""
        self.leave()
        shutil.rmtree(self.folder, ignore_errors=True)
