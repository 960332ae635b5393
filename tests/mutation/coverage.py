"""Which lines of some files each test runs, and how long it takes.

The tests that never run a faulty line cannot notice the fault; those that do are tried from the quickest on.
"""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

__all__ = ["Coverage", "lines_run"]

Line = tuple[str, int]


@dataclass
class Coverage:
    """The lines that ran while the tests were collected, and the lines and seconds of each test by its number."""

    on_import: set[Line] = field(default_factory=set)
    by_test: list[set[Line]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def reaching(self, lines: set[Line]) -> list[int]:
        """The tests that run one of the lines, the quickest first."""
        return self._quickest_first(number for number, run in enumerate(self.by_test) if run & lines)

    def all_tests(self) -> list[int]:
        """All tests, the quickest first."""
        return self._quickest_first(range(len(self.by_test)))

    def time_of(self, numbers: list[int]) -> float:
        """The seconds of these tests together."""
        return sum(self.seconds[number] for number in numbers)

    def _quickest_first(self, numbers: "Iterator[int] | range") -> list[int]:
        return sorted(numbers, key=lambda number: self.seconds[number])


@contextmanager
def lines_run(folder: str) -> Iterator[set[Line]]:
    """The lines of files below a folder that run inside the block."""
    found: set[Line] = set()
    ours: dict[CodeType, bool] = {}

    def on_line(frame: FrameType, event: str, arg: Any) -> Callable[..., Any]:
        found.add((frame.f_code.co_filename, frame.f_lineno))
        return on_line

    def on_call(frame: FrameType, event: str, arg: Any) -> Callable[..., Any] | None:
        code = frame.f_code
        if code not in ours:
            ours[code] = code.co_filename.startswith(folder)
        return on_line(frame, event, arg) if ours[code] else None

    before = sys.gettrace()
    sys.settrace(on_call)
    threading.settrace(on_call)
    try:
        yield found
    finally:
        sys.settrace(before)
        threading.settrace(before)  # type: ignore[arg-type]
