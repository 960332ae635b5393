"""Which lines of some files each test runs, and how long it takes.

The tests that never run a faulty line cannot notice the fault; those that do are tried from the quickest on.
"""

import ast
import builtins
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from mutation.exchange import exchange, faulty_functions, functions_of

__all__ = ["Coverage", "Line", "lines_run", "mark_lines"]

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

    def all_tests(self, file: str) -> list[int]:
        """All tests: those that run anything of a file, the quickest first, then the others."""
        near = {number for number, run in enumerate(self.by_test) if any(path == file for path, _ in run)}
        return self._quickest_first(near) + self._quickest_first({*range(len(self.by_test))} - near)

    def quick(self, numbers: list[int], seconds: float) -> list[int]:
        """Those of the tests, in their order, that take no more than so many seconds together."""
        chosen = []
        for number in numbers:
            seconds -= self.seconds[number]
            if seconds >= 0:
                chosen.append(number)
        return chosen

    def time_of(self, numbers: list[int]) -> float:
        """The seconds of these tests together."""
        return sum(self.seconds[number] for number in numbers)

    def _quickest_first(self, numbers: Iterable[int]) -> list[int]:
        return sorted(numbers, key=lambda number: self.seconds[number])


def mark_lines(folder: Path) -> set[Line]:
    """The lines of statements inside functions below a folder that run from now on; good for one process, for ever.

    Each function gets code that says which statement comes next. Tracing takes several times as long.
    """
    found: set[Line] = set()
    setattr(builtins, _MARK, lambda *line: found.add(line))
    for path in folder.rglob("*.py"):
        marked = _Marked(str(path)).visit(ast.parse(path.read_text(encoding="utf-8")))
        codes = faulty_functions(path, ast.unparse(ast.fix_missing_locations(marked))) or {}
        known = functions_of(path)
        exchange(known, {key: code for key, code in codes.items() if key in known})
    return found


_MARK = "_this_line_runs_now"


class _Marked(ast.NodeTransformer):
    """Puts a mark before every statement of every function."""

    def __init__(self, path: str) -> None:
        self.path, self.inside = path, False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        before, self.inside = self.inside, True
        self.generic_visit(node)
        self.inside = before
        return node

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if self.inside and isinstance(block, list):
                setattr(node, name, [part for statement in block for part in self._with_mark(statement)])
        return node

    def _with_mark(self, statement: ast.stmt) -> list[ast.stmt]:
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):  # a docstring
            return [statement]
        name, place = ast.Name(_MARK, ast.Load()), [ast.Constant(self.path), ast.Constant(statement.lineno)]
        return [ast.copy_location(ast.Expr(ast.Call(name, place, [])), statement), statement]


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
