"""A file of what became of each fault, so that an interrupted run goes on where it stopped.

One line for each decided fault, written as soon as it is decided. A fault stands for the code it is in: after a change
of the file around it, it is tried again.
"""

import hashlib
import json
import os
from pathlib import Path

from mutation.trials import Trial

__all__ = ["Record"]


class Record:
    """What is known of faults; without a file nothing is kept."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
        self.noticed = {entry["key"] for entry in map(json.loads, lines) if entry["noticed"]}

    def has_noticed(self, trial: Trial) -> bool:
        """Whether a test noticed this fault before; the others are tried again, with the tests of today."""
        return self.key(trial) in self.noticed

    def add(self, trial: Trial, noticed: str, seconds: float) -> None:
        """Append one line, in one piece, so that several processes may do so; ``noticed`` says by what, if at all."""
        if self.path is None:
            return
        entry = {"key": self.key(trial), "noticed": noticed, "seconds": round(seconds, 2), "fault": str(trial)}
        file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(file, f"{json.dumps(entry)}\n".encode())
        finally:
            os.close(file)

    @staticmethod
    def key(trial: Trial) -> str:
        """The same for the same fault in the same code."""
        return hashlib.sha256(f"{trial.module}\n{trial.mutant.source}".encode()).hexdigest()[:24]
