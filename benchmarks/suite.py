"""A suite is a name and its cases; running one fills a result file case by case."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks.results import FOLDER, Document

__all__ = ["Case", "Rows", "Suite", "run_suite"]

Rows = list[dict[str, Any]]
Case = Callable[[], Rows]


@dataclass(frozen=True)
class Suite:
    """``cases()`` names the cases that can be run here, in order; each returns its rows."""

    name: str
    title: str
    cases: Callable[[], dict[str, Case]]
    slow_cases: Callable[[], dict[str, Case]] = dict  # on request only
    standard: bool = True  # part of `make bench`


def run_suite(suite: Suite, again: bool = False, only: str = "", slow: bool = False, folder: Path = FOLDER) -> Document:
    """Run what is missing (``again``: everything) and save after each case; ``only`` is part of a case's name."""
    document = Document(suite.name, f"python -m benchmarks {suite.name}", folder=folder)
    if again and not only:
        document.forget()
    for name, case in {**suite.cases(), **(suite.slow_cases() if slow else {})}.items():
        if only not in name or (document.has(name) and not again):
            continue
        begun = perf_counter()
        print(f"{suite.name}: {name} ...", end=" ", file=sys.stderr, flush=True)
        document.with_case(name, case())
        print(f"{perf_counter() - begun:.1f} s", file=sys.stderr, flush=True)
    return document
