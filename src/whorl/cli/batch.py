"""Many pictures, one after the other: what is wrong with one does not stop the others."""

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import typer

from whorl.cli.jobs import jobs
from whorl.cli.progress import progress
from whorl.cli.treatments import Treatment
from whorl.files import Page
from whorl.foundations.strict_json import strict_json
from whorl.large import Stage
from whorl.large.pictures import Job, Pages, filter_file, inspect

__all__ = ["Batch", "as_tile"]


class Batch:
    """Runs a treatment over pairs of files and reports: text for people, or one JSON object."""

    def __init__(
        self,
        verb: str,
        treatment: Treatment,
        tile: int | None,
        pages: Pages,
        *,
        force: bool,
        quiet: bool,
        as_json: bool,
    ) -> None:
        self.verb, self.treatment, self.tile, self.pages = verb, treatment, tile, pages
        self.force, self.quiet, self.as_json = force, quiet, as_json

    def run(self, paths: Sequence[Path], dry_run: bool = False) -> None:
        """Filter every pair of ``IN... OUT``; exit code 2 in the end where one failed."""
        found = jobs(paths, self.force)
        records: list[dict[str, Any]] = [{"input": str(path), "error": error} for path, error in found.closed]
        logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # damaged files are told of once, by our own line
        with progress("filtering", total=len(found.pairs), quiet=self.quiet or dry_run) as advance:
            for source, target in found.pairs:
                records.append(self._one(source, target, None if dry_run else advance))
                if not self.as_json:
                    self._tell(records[-1], dry_run)
        skipped = [str(path) for path in found.skipped]
        if self.as_json:
            typer.echo(strict_json({"written": not dry_run, "files": records, "skipped": skipped}, indent=2))
        else:
            for record in records[: len(found.closed)]:
                self._tell(record, dry_run)
            if skipped and not self.quiet:
                typer.echo(f"Skipped, as no pictures by their names: {_listed(skipped)}.")
        if any("error" in record for record in records):
            raise typer.Exit(1 if any("bug" in record for record in records) else 2)

    def _one(self, source: Path, target: Path, advance: Callable[[float], None] | None) -> dict[str, Any]:
        """Filter one picture (only look at it without ``advance``) and describe what was done."""
        chosen: list[dict[str, Any]] = []

        def choose(page: Page) -> Sequence[Stage]:
            stages, numbers = self.treatment.stages(page)
            chosen.append(numbers)
            return stages

        record: dict[str, Any] = {"input": str(source), "output": str(target)}
        start = time.perf_counter()
        try:
            if advance is None:
                job = inspect(source, target, choose, tile=self.tile, pages=self.pages)
            else:
                job = filter_file(
                    source, target, choose, tile=self.tile, pages=self.pages, device=self.treatment.device,
                    force=self.force, advance=advance,
                )  # fmt: skip
        except Exception as error:  # one picture must not stop the others
            if os.environ.get("WHORL_TRACEBACK"):
                raise
            return record | _failure(error, source, target)
        record |= {"seconds": round(time.perf_counter() - start, 3)} if advance else {}
        return record | {"pages": [_described(job, number, page) for number, page in enumerate(chosen)]}

    def _tell(self, record: dict[str, Any], dry_run: bool) -> None:
        if "error" in record:
            print(f"whorl {self.verb}: {record['error']}", file=sys.stderr)
        elif not self.quiet:
            page, more = record["pages"][0], len(record["pages"]) - 1
            size = f"{page['width']} x {page['height']} {page['colour']} {page['dtype']}"
            what = ", ".join(f"{key} {_short(page[key])}" for key in page if key not in LAYOUT)
            pages = f" and {more} more page{'s' if more > 1 else ''}" if more else ""
            took = "" if dry_run else f", {record['seconds']:.1f} s"
            typer.echo(f"{record['input']} -> {record['output']}: {size}{pages}, {what}{took}")


LAYOUT = ("width", "height", "channels", "colour", "dtype")


def as_tile(text: str) -> int | None:
    """The side of the windows from ``--tile``: ``auto`` or a number of pixels.

    >>> as_tile("auto"), as_tile("512")
    (None, 512)
    """
    if text == "auto":
        return None
    if not text.isdigit() or int(text) < 1:
        raise ValueError(f"--tile {text}: expected auto or a number of pixels such as 1024.")
    return int(text)


def _failure(error: Exception, source: Path, target: Path) -> dict[str, Any]:
    """What to tell of a picture that could not be filtered; errors that nobody foresaw are marked as bugs."""
    known = isinstance(error, ValueError | OSError | MemoryError)
    text = " ".join(str(error).split()) or "out of memory"
    text = text if known else f"{type(error).__name__}: {text}"
    text = text if str(source) in text or str(target) in text else f"{source}: {text}"
    return {"error": text} if known else {"error": text, "bug": True}


def _listed(names: Sequence[str], most: int = 10) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def _described(job: Job, number: int, chosen: dict[str, Any]) -> dict[str, Any]:
    layout, plan = job.layouts[number], job.plans[number]
    record: dict[str, Any] = {"width": layout.width, "height": layout.height, "channels": layout.channels}
    record |= {"colour": layout.colour, "dtype": str(layout.dtype), **chosen}
    return record | {"windows": plan.count, "passes": len(plan.passes), "halo": plan.halo}


def _short(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
