"""``python -m benchmarks [SUITE ...]``: run suites, go on where a run was stopped, print the tables."""

import argparse
from importlib import import_module
from pathlib import Path

from benchmarks.results import FOLDER, documents
from benchmarks.suite import Suite, run_suite
from benchmarks.table import render

SUITES = (
    "speed_grey",
    "speed_colour",
    "speed_tensor",
    "speed_coherence",
    "speed_volume",
    "speed_models",
    "speed_time",
    "schedules",
    "speed_smoothing",
    "speed_photo",
    "memory",
    "behaviour",
    "quality_denoise",
    "quality_turn",
    "quality_turn_volume",
    "quality_volume",
    "quality_real",
    "speed_fill",
    "quality_fill",
    "scaling",
    "latency",
    "page",
    "training",
)


def suites() -> dict[str, Suite]:
    found = [import_module(f"benchmarks.{name}").SUITE for name in SUITES]
    return {suite.name: suite for suite in (*found, import_module("benchmarks.training").LONG)}


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("suite", nargs="*", help=f"of {', '.join(SUITES)}; all standard ones by default")
    parser.add_argument("--again", action="store_true", help="measure cases anew that have results already")
    parser.add_argument("--case", default="", metavar="TEXT", help="only cases whose name contains this text")
    parser.add_argument("--slow", action="store_true", help="also cases that take minutes")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the result files")
    parser.add_argument("--table", action="store_true", help="measure nothing, print what the result files say")
    given = parser.parse_args(arguments)
    known = suites()
    for name in given.suite:
        if name not in known:
            parser.error(f"suite {name!r} is unknown; one of {', '.join(known)}")
    chosen = [known[name] for name in given.suite] or [s for s in known.values() if s.standard]
    if not given.table:
        for suite in chosen:
            run_suite(suite, given.again, given.case, given.slow, given.out)
    names = {suite.name for suite in chosen}
    for path, content in documents(given.out):
        if content["suite"] in names:
            print(render(content, known[content["suite"]].title, path))


if __name__ == "__main__":
    main()
