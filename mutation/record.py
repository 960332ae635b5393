"""Files of what became of each fault and of what each test reaches: an interrupted run goes on where it stopped.

One line for each decided fault, written as soon as it is decided. A fault stands for the code it is in: after a change
of the file around it, it is tried again. One line for each test, good until its file or the folder of the faults
changes: where a change elsewhere makes a test reach more of it, a fault may be tried with too few tests, and counts as
survived rather than as noticed.
"""

import hashlib
import json
import math
import os
from collections.abc import Iterable
from pathlib import Path

from mutation.coverage import Line
from mutation.trials import ROOT, Trial

__all__ = ["Record", "TestRecord"]


def _append(path: Path, entry: dict[str, object]) -> None:
    """One line, in one piece, so that several processes may add theirs."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(file, f"{json.dumps(entry)}\n".encode())
    finally:
        os.close(file)


def _entries(path: Path | None) -> list[dict[str, object]]:
    lines = path.read_text(encoding="utf-8").splitlines() if path and path.exists() else []
    return [json.loads(line) for line in lines]


def _hash(parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24]


class Record:
    """What is known of the faults of a folder; without a file nothing is kept."""

    def __init__(self, path: Path | None, folder: str = "") -> None:
        self.path, self.folder = path, folder
        self.noticed = {entry["key"] for entry in _entries(path) if entry["noticed"]}

    def has_noticed(self, trial: Trial) -> bool:
        """Whether a test noticed this fault before; the others are tried again, with the tests of today."""
        return self.key(trial) in self.noticed

    def add(self, trial: Trial, noticed: str, seconds: float) -> None:
        """Write down what noticed a fault, if anything did, and after how many seconds."""
        if self.path is not None:
            entry = {"key": self.key(trial), "noticed": noticed, "seconds": round(seconds, 2), "fault": str(trial)}
            _append(self.path, entry)

    @staticmethod
    def key(trial: Trial) -> str:
        """The same for the same fault in the same code."""
        return _hash([trial.module, trial.mutant.source])

    @property
    def tests(self) -> "TestRecord":
        """What the tests reach, in a second file."""
        return TestRecord(self.path and self.path.with_name(f"{self.path.name}.tests"), self.folder)


class TestRecord:
    """What is known of tests: the lines they reach and the seconds they take, infinitely many if they were stopped."""

    __test__ = False

    def __init__(self, path: Path | None, folder: str = "") -> None:
        self.path = path
        self.known = {entry["key"]: entry for entry in _entries(path)}
        shared = [*sorted((ROOT / "src/whorl" / folder).rglob("*.py")), *sorted((ROOT / "tests").glob("c*.py"))]
        self.folder = _hash(file.read_text(encoding="utf-8") for file in shared) if path else ""

    def get(self, test: str, longest: float) -> tuple[set[Line], float] | None:
        """The lines and seconds of a test, if they are known; one that was stopped earlier than now is not."""
        entry = self.known.get(self.key(test))
        if entry is None or (entry["seconds"] is None and entry["longest"] < longest):
            return None
        lines = {(str(ROOT / file), line) for file, found in entry["lines"].items() for line in found}
        return lines, math.inf if entry["seconds"] is None else entry["seconds"]

    def add(self, test: str, longest: float, lines: set[Line], seconds: float) -> None:
        """Write down one test, which was stopped after the longest time if it took longer."""
        if self.path is None:
            return
        by_file: dict[str, list[int]] = {}
        for file, line in sorted(lines):
            by_file.setdefault(str(Path(file).relative_to(ROOT)), []).append(line)
        taken = {"seconds": None, "longest": longest} if math.isinf(seconds) else {"seconds": seconds}
        _append(self.path, {"key": self.key(test), "lines": by_file, **taken})

    def key(self, test: str) -> str:
        """The same for the same test in the same file, on the same folder."""
        return _hash([self.folder, test, (ROOT / test.split("::")[0]).read_text(encoding="utf-8")]) if self.path else ""
