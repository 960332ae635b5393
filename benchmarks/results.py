"""Result files: one JSON document for a suite, a machine and a device, written case by case.

``results/<suite>--<machine>--<device>.json``. A case is the smallest thing that can be measured fairly on its
own (all methods interleaved); it is written as soon as it is finished, so that a run that was stopped goes on where it
was. Files are written beside and renamed: never half a document.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks import machine

__all__ = ["FOLDER", "SCHEMA", "Document", "documents", "path_of", "validate"]

SCHEMA = 1
FOLDER = Path(__file__).parent / "results"
_HEAD = {
    "schema": int,
    "suite": str,
    "version": str,
    "device": str,
    "command": str,
    "date": str,
    "commit": str,
    "machine": dict,
    "versions": dict,
}


class Document:
    """The result file of one suite; ``with_case`` adds or replaces one case and saves."""

    def __init__(self, suite: str, command: str, device: str = "cpu", folder: Path = FOLDER) -> None:
        import whorl

        self.path = path_of(suite, machine.slug(device), device, folder)
        self._now = machine.origin()
        self.content: dict[str, Any] = {
            "schema": SCHEMA,
            "suite": suite,
            "version": whorl.__version__,
            "device": device,
            "command": command,
            **self._now,
            "machine": machine.describe(device),
            "versions": machine.versions(),
            "cases": {},
        }
        if self.path.exists():
            # What a stopped run left is kept: a file is as old as the first of its cases.
            before = json.loads(self.path.read_text())
            self.content |= {key: before[key] for key in ("cases", "date", "commit") if key in before}

    def has(self, case: str) -> bool:
        return case in self.content["cases"]

    def forget(self) -> None:
        self.content |= {"cases": {}, **self._now}

    def with_case(self, case: str, rows: list[dict[str, Any]]) -> None:
        self.content["cases"][case] = rows
        validate(self.content)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        beside = self.path.with_suffix(".part")
        beside.write_text(json.dumps(_rounded(self.content), indent=1, allow_nan=False) + "\n")
        os.replace(beside, self.path)


def path_of(suite: str, machine_name: str, device: str, folder: Path = FOLDER) -> Path:
    return folder / f"{suite}--{machine_name}--{device}.json"


def documents(folder: Path = FOLDER) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob("*.json")):
        yield path, json.loads(path.read_text())


def validate(content: dict[str, Any]) -> None:
    """Raise ValueError where a document breaks the contract; README.md lists the fields."""
    for key, kind in _HEAD.items():
        if not isinstance(content.get(key), kind):
            raise ValueError(f"result document: {key!r} must be a {kind.__name__}, got {content.get(key)!r}.")
    if content["schema"] != SCHEMA:
        raise ValueError(f"result document: schema {content['schema']} is not {SCHEMA}; measure again.")
    for key in ("processor", "cores"):
        if key not in content["machine"]:
            raise ValueError(f"result document: machine lacks {key!r}; use machine.describe().")
    for key in ("python", "whorl", "torch", "numpy"):
        if key not in content["versions"]:
            raise ValueError(f"result document: versions lack {key!r}; use machine.versions().")
    for case, rows in content["cases"].items():
        for row in rows:
            _validate_row(case, row)


def _validate_row(case: str, row: dict[str, Any]) -> None:
    if not isinstance(row.get("method"), str):
        raise ValueError(f"case {case!r}: a row without a method: {row!r}.")
    for key, value in row.items():
        if isinstance(value, float) and (value != value or abs(value) == float("inf")):
            raise ValueError(f"case {case!r}: {row['method']} has {key} = {value}; store None and say why in 'note'.")
        if key.endswith("_s") and value is not None and not value >= 0:
            raise ValueError(f"case {case!r}: {row['method']} has a negative time {key} = {value}.")


def _rounded(value: Any) -> Any:
    """Five significant digits: enough for any clock, and a diff a person can read."""
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {k: _rounded(v) for k, v in value.items()}
    return [_rounded(v) for v in value] if isinstance(value, list) else value
