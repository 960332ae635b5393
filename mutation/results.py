"""The table of shares in ``results.md``: a row for each folder, with day and commit of the measurement."""

import subprocess
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from mutation.plans import PLANS
from mutation.trials import ROOT

__all__ = ["RESULTS", "write_down"]

RESULTS = Path(__file__).with_name("results.md")


def write_down(folder: str, killed: int, survived: int, words: Sequence[str], file: Path = RESULTS) -> None:
    """Put the folder's row in place of its old one; rows stand in the order of the plans."""
    options = " ".join(_asked(words)) or "as planned"
    share = f"{killed / max(1, killed + survived):.1%}".replace("%", " %")
    numbers = f"| {killed + survived} | {killed} | {survived} | {share} |"
    row = f"| {folder} {numbers} {options} | {date.today()} | {_commit()} |"
    lines = file.read_text(encoding="utf-8").splitlines()
    known = {line.split("|")[1].strip(): line for line in lines if line.startswith("|")}
    rows = {name: row if name == folder else known[name] for name in PLANS if name == folder or name in known}
    first, last = (next(place for place in places if lines[place].startswith("|")) for places in _both_ways(lines))
    head = lines[first : first + 2]
    file.write_text("\n".join([*lines[:first], *head, *rows.values(), *lines[last + 1 :]]) + "\n", encoding="utf-8")


def _asked(words: Sequence[str]) -> list[str]:
    """What the share depends on: neither where it is recorded, nor by how many processes it is measured."""
    free = ("--record", "--jobs")
    return [
        word
        for before, word in zip(("", *words), words, strict=False)
        if not {before, word} & {*free} and word not in PLANS and word != "--write"
    ]


def _both_ways(lines: list[str]) -> tuple[range, range]:
    forwards = range(len(lines))
    return forwards, forwards[::-1]


def _commit() -> str:
    """The commit, with a mark where files have changed since."""
    said = subprocess.run(
        ["git", "describe", "--always", "--dirty=+"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return said.stdout.strip() or "unknown"
