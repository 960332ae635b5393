"""The page that leads from the paper to the code, made from ``map.toml``.

Each entry names an object and quotes one line of its source. The line's number is looked up when the page is built, so
it is always right; a line that is no longer there stops the build and fails the tests.
"""

import importlib
import inspect
import tomllib
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

MAP = Path(__file__).with_name("map.toml")
ROOT = Path(__file__).parents[1]


class Place(NamedTuple):
    """Where a line stands."""

    path: str
    number: int
    name: str


def entries(kind: str) -> list[dict]:
    """All entries of a kind: ``"equation"``, ``"row"`` or ``"principle"``."""
    return tomllib.loads(MAP.read_text(encoding="utf-8"))[kind]


def find(entry: dict) -> Place:
    """The place of an entry's line, or an error that names what has gone."""
    module, path = _module_of(entry["object"])
    found = module
    for part in path:
        found = getattr(found, part)
    lines, first = inspect.getsourcelines(found)
    first = max(first, 1)  # of a module, counting starts at 0
    hits = [first + index for index, line in enumerate(lines) if entry["line"] in line]
    if not hits:
        raise LookupError(f"map.toml: {entry['object']} has no line {entry['line']!r}.")
    source = Path(inspect.getsourcefile(found) or "").resolve().relative_to(ROOT)
    return Place(source.as_posix(), hits[0], ".".join(path))


def _module_of(dotted: str) -> tuple[ModuleType, list[str]]:
    """The longest part of a dotted name that is a module, and the names within it."""
    parts = dotted.split(".")
    for count in range(len(parts) - 1, 0, -1):
        try:
            return importlib.import_module(".".join(parts[:count])), parts[count:]
        except ModuleNotFoundError:
            continue
    raise LookupError(f"map.toml: there is no {dotted}.")


def table(kind: str) -> str:
    """The entries of a kind as a table in reStructuredText."""
    lines = [".. list-table::", "   :widths: 46 54", "   :class: readers-map", ""]
    for entry in entries(kind):
        place = find(entry)
        lines += [f"   * - {_label(entry)} {entry['says']}", ""]
        if "math" in entry:
            lines += [f"       .. math:: {entry['math']}", ""]
        lines += [f"     - ``{place.name}``, ``{place.path}``, line {place.number}", ""]
        lines += ["       .. code-block:: python", "", f"          {entry['line']}", ""]
        if "note" in entry:
            lines += [f"       {entry['note']}", ""]
    return "\n".join(lines)


def _label(entry: dict) -> str:
    if "number" in entry:
        return f"**({entry['number']})**"
    return f"**{entry['name']}.**" if " " in entry["name"] else f"``{entry['name']}``:"
