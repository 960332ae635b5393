"""Many pictures, one after the other: what is wrong with one does not stop the others."""

import logging
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer

from whorl.cli.jobs import Jobs, jobs
from whorl.cli.options import Common
from whorl.cli.progress import progress
from whorl.cli.treatments import Treatment
from whorl.files import SUFFIXES, Page
from whorl.files.formats import is_zarr
from whorl.files.volume import VolumeFile, open_volume, volume_kind
from whorl.files.zarr_arrays import address, is_remote
from whorl.files.zarr_volume import ZarrVolume
from whorl.foundations.atomic import check_target
from whorl.foundations.strict_json import strict_json
from whorl.large import Stage
from whorl.large.cluster import Chosen, check_store, filter_store
from whorl.large.pictures import Job, filter_file
from whorl.large.resuming import work_folder
from whorl.large.volumes import filter_volume, plan_volume

WENT_ON = "went on where it was stopped"


class Batch:
    """Runs a treatment over pairs of files and reports: text for people, or one JSON object."""

    def __init__(
        self,
        verb: str,
        treatment: Treatment,
        common: Common,
        *,
        volume: bool = False,
        memory: int | None = None,
        preview: int | None = None,
        report: Path | None = None,
        cluster: str | None = None,
    ) -> None:
        if volume and common.pages is not None:
            raise ValueError(f"--volume and --pages {common.pages} contradict each other. Give one of them.")
        self.verb, self.treatment, self.tile, self.pages = verb, treatment, as_tile(common.tile), common.pages
        self.dry_run, self.volume, self.memory, self.preview = common.dry_run, volume, memory, preview
        self.cluster = cluster
        self.force, self.quiet, self.as_json = common.force, common.quiet, common.as_json
        self.compression = None if common.compression == "auto" else common.compression
        self.sheets = {
            name: path for name, path in (("compare", common.compare), ("report", report)) if path is not None
        }

    def run(self, paths: Sequence[Path]) -> list[dict[str, Any]]:
        """Filter every pair of ``IN... OUT``, and describe it; exit code 2 in the end where one failed."""
        apart = self.cluster is not None or any(map(is_remote, paths))
        found = Jobs([self._stores(paths)]) if apart else jobs(paths, self.force)
        self._check_sheets(len(found.pairs))
        records: list[dict[str, Any]] = [{"input": str(path), "error": error} for path, error in found.closed]
        logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # damaged files are told of once, by our own line
        with progress(self.treatment.doing, total=len(found.pairs), quiet=self.quiet or self.dry_run) as advance:
            for source, target in found.pairs:
                one = self._apart if apart else self._one
                records.append(one(source, target, None if self.dry_run else advance))
                self._draw(records[-1])
                if not self.as_json:
                    self._tell(records[-1])
        skipped = [str(path) for path in found.skipped]
        if self.as_json:
            written = not self.dry_run and not any("error" in record for record in records)
            typer.echo(strict_json({"written": written, "files": records, "skipped": skipped}, indent=2))
        else:
            for record in records[: len(found.closed)]:
                self._tell(record)
            if skipped and not self.quiet:
                typer.echo(f"Skipped, as their names are not those of pictures: {_listed(skipped)}.")
        if any("error" in record for record in records):
            raise typer.Exit(1 if any("bug" in record for record in records) else 2)
        return records

    def _check_sheets(self, count: int) -> None:
        for name, path in self.sheets.items():
            check_target(path, self.force)
            if count != 1 or self.dry_run:
                raise ValueError(f"--{name} draws the result of one file. Give one file, and no --dry-run.")

    def _draw(self, record: dict[str, Any]) -> None:
        """Draw the sheets about a file that were asked for."""
        from whorl.cli.compare import write_compare
        from whorl.cli.report import write_report

        for name, path in self.sheets.items() if "error" not in record else ():
            if name == "compare":
                write_compare(record, summary(record["pages"]), path, self.force)
            else:
                write_report(record, path, self.force)
            record[name] = str(path)

    def _one(self, source: Path, target: Path, advance: Callable[[float], None] | None) -> dict[str, Any]:
        """Filter one picture (only look at it without ``advance``) and describe what was done."""
        chosen: list[dict[str, Any]] = []

        def choose(pages: Sequence[Page]) -> Iterator[Sequence[Stage]]:
            for stages, numbers in self.treatment.chosen(pages):
                chosen.append(numbers)
                yield stages

        record: dict[str, Any] = {"input": str(source), "output": str(target)}
        start = time.perf_counter()
        how: dict[str, Any] = {"tile": self.tile, "memory": self.memory}
        try:
            if (file := self._opened(source)) is not None:
                with file:
                    told = "--compare" if "compare" in self.sheets else "--compression" if self.compression else ""
                    if told:
                        raise ValueError(f"{source}: {told} is for pictures, and this is a volume. Leave it out.")
                    return record | self._volume(file, target, advance, how)
            if self.preview is not None:
                raise ValueError(f"{source}: --preview is for volumes. Give --volume if its pages are slices of one.")
            how["pages"] = self.pages or "separate"
            how |= {"device": self.treatment.device, "force": self.force, "compression": self.compression}
            tiff = SUFFIXES.get(target.suffix.lower()) == "tiff"
            if self.treatment.lossless and tiff and self.compression is None:
                how["compression"] = "deflate"
            job = filter_file(source, target, choose, advance=advance, dry_run=advance is None, **how)
        except (KeyboardInterrupt, SystemExit):
            if work_folder(target).exists():
                print(f"whorl {self.verb}: {target}: stopped; the same command goes on from here.", file=sys.stderr)
            raise
        except Exception as error:  # one picture must not stop the others
            if os.environ.get("WHORL_TRACEBACK"):
                raise
            return record | _failure(error, source, target)
        record |= {"seconds": round(time.perf_counter() - start, 3), "resumed": job.resumed} if advance else {}
        if doubts := [number["doubt"] for number in chosen if number.get("doubt") and not number.get("copied")]:
            record["hint"] = doubts[0].removesuffix(".")
        if len(chosen) > 1 and self.pages is None and self.treatment.volumes:
            record["hint"] = "filtered as separate pictures; --volume takes them as one volume"
        if job.resumed:
            record["hint"] = WENT_ON
        return record | {"pages": [_described(job, number, page) for number, page in enumerate(chosen)]}

    def _stores(self, paths: Sequence[Path]) -> tuple[Path, Path]:
        """The two zarr arrays of a command for many machines."""
        if len(paths) != 2 or self.pages == "channels" or self.preview is not None or self.sheets:
            raise ValueError("--cluster and addresses take one zarr array in and one out, no sheet and no --pages.")
        if not is_remote(paths[0]) and not is_zarr(paths[0]):
            raise ValueError(f"{paths[0]}: workers read chunks, which only zarr has. Convert it to zarr first.")
        check_store(paths[1], self.force)
        return paths[0], paths[1]

    def _apart(self, source: Path, target: Path, advance: Callable[[float], None] | None) -> dict[str, Any]:
        """Filter one array on a cluster, or behind an address; only plan it without ``advance``."""
        record: dict[str, Any] = {"input": address(source), "output": address(target)}
        start = time.perf_counter()
        try:
            found, plans, chosen, resumed = filter_store(
                source, target, partial(_chosen, self.treatment), cluster=self.cluster, tile=self.tile,
                volume=self.volume if self.treatment.volumes and self.pages is None else None, memory=self.memory,
                force=self.force, device=str(self.treatment.device), advance=advance,
            )  # fmt: skip
        except Exception as error:
            if os.environ.get("WHORL_TRACEBACK"):
                raise
            return record | _failure(error, source, target)
        record |= {"seconds": round(time.perf_counter() - start, 3), "resumed": resumed} if advance else {}
        record |= {"hint": WENT_ON} if resumed else {}
        depth = {"depth": found.shape[0], "colour": "volume"} if len(found.space) == 3 else {}
        page: dict[str, Any] = {"width": found.shape[-1], "height": found.shape[-2], "channels": found.filtered}
        page |= {"colour": found.layout.colour, "dtype": str(found.layout.dtype)} | depth
        cuts = [{"windows": plan.count, "passes": len(plan.passes), "halo": plan.halo} for plan in plans]
        return record | {"pages": [page | told | cut for told, cut in zip(chosen, cuts, strict=True)]}

    def _opened(self, source: Path) -> VolumeFile | None:
        """The volume in a file; None for pictures, and where stacks are to be taken for pictures."""
        if volume_kind(source) or (self.treatment.volumes and self.pages is None):
            return open_volume(source, self.volume)
        return None

    def _volume(
        self, file: VolumeFile, target: Path, advance: Callable[[float], None] | None, how: dict[str, Any]
    ) -> dict[str, Any]:
        """Filter the volumes of a file in their three dimensions; only plan it without ``advance``."""
        start = time.perf_counter()
        stages, chosen = self.treatment.volume(file)
        if self.preview is not None and advance is not None:
            from whorl.cli.preview import preview

            plan = plan_volume(file, stages, **how)
            picture, seconds = preview(file, target, stages, plan, self.preview, self.treatment.device)
            record: dict[str, Any] = {"output": str(picture), "seconds": round(time.perf_counter() - start, 3)}
            record |= {"whole_seconds": seconds, "hint": f"to compute all of it takes about {_duration(seconds)}"}
        elif advance is None:
            plan, record = plan_volume(file, stages, **how), {}
        else:
            plan, resumed = filter_volume(
                file, target, stages, device=self.treatment.device, force=self.force, advance=advance, **how
            )
            record = {"seconds": round(time.perf_counter() - start, 3), "resumed": resumed}
            record |= {"hint": WENT_ON} if resumed else {}
        page: dict[str, Any] = {"width": file.shape[2], "height": file.shape[1], "depth": file.shape[0]}
        page |= {"channels": file.channels, "colour": "volume", "dtype": str(file.dtype), **chosen}
        page |= {"windows": plan.count, "sides": list(plan.sides), "passes": len(plan.passes), "halo": plan.halo}
        return record | {"pages": [page] * file.count}

    def _tell(self, record: dict[str, Any]) -> None:
        if "error" in record:
            print(f"whorl {self.verb}: {record['error']}", file=sys.stderr)
        elif not self.quiet:
            took = "" if self.dry_run else f", {_duration(record['seconds'])}"
            hint = f"; {record['hint']}" if "hint" in record else ""
            typer.echo(f"{record['input']} -> {record['output']}: {summary(record['pages'])}{took}{hint}")


def _chosen(treatment: Treatment, found: ZarrVolume | Sequence[Page]) -> Chosen:
    """What a treatment chooses for the volumes or pages of an array."""
    return [treatment.volume(found)] * found.count if isinstance(found, ZarrVolume) else [*treatment.chosen(found)]


def as_tile(text: str) -> int | None:
    """The side of the windows from ``--tile``: ``auto`` or a number of pixels.

    >>> as_tile("auto"), as_tile("512")
    (None, 512)
    """
    if text == "auto":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise ValueError(f"--tile {text}: expected auto or a number of pixels such as 1024.")
    return int(text)


def as_memory(text: str | None) -> int | None:
    """A number of bytes from ``--memory``: a number with MB, GB, MiB or GiB behind it.

    >>> as_memory("2GB"), as_memory("512 MiB")
    (2000000000, 536870912)
    """
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([KMGT])(i?)B?", text.strip(), re.IGNORECASE)
    if found is None:
        raise ValueError(f"--memory {text}: expected a size such as 2GB or 512MB.")
    number, prefix, binary = found.groups()
    return int(float(number) * (1024 if binary else 1000) ** ("KMGT".index(prefix.upper()) + 1))


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


def summary(pages: Sequence[dict[str, Any]]) -> str:
    """What was done to the pages of a file, in words: size, model or network, settings, windows.

    >>> page = {"width": 640, "height": 480, "colour": "rgb", "dtype": "uint8", "windows": 1, "model": "gerig"}
    >>> summary([page | {"contrast": 8.25, "contrast_measured": True, "time": 5.0, "spacing": [1.0, 1.0], "steps": 21}])
    '640 x 480 rgb uint8, gerig, contrast 8.25 (measured), time 5 in 21 steps'
    """
    page = pages[0]
    depth = f" x {page['depth']}" if "depth" in page else ""
    words = [f"{page['width']} x {page['height']}{depth} {page['colour']} {page['dtype']}"]
    if len(pages) > 1:
        words[0] += f", {len(pages)} pages"
    words.append(str(page.get("model") or page.get("network")))
    if "adapted" in page:
        words[-1] += " adapted" if page["adapted"] else " (not adapted: held-back parts did not gain)"
    if "filled" in page:
        words[-1] = f"{100 * sum(other['filled'] for other in pages) / len(pages):.3g} % filled by {words[-1]}"
        if "distance" in page:
            words.append(f"{max(other['distance'] for other in pages):.2g} grey values from the final result")
        return ", ".join(words)
    copied = sum(bool(other.get("copied")) for other in pages)
    if copied == len(pages):
        why = "the result would be no better" if page.get("returned") else "no noise was found"
        return ", ".join([*words, f"{why}: copied"])
    for name in ("contrast", "noise"):
        if name in page:
            words.append(f"{name} {_range(pages, name)}{' (measured)' if page[f'{name}_measured'] else ''}")
    if page.get("strength", 1.0) != 1:
        words.append(f"strength {page['strength']:.3g}")
    if "time" in page:
        words.append(f"time {page['time']:.4g}" + (f" in {page['steps']} steps" if "steps" in page else ""))
    if {*page.get("spacing", [])} - {1.0} and depth:
        words.append("voxels {:.4g} x {:.4g} x {:.4g}".format(*reversed(page["spacing"])))
    elif page.get("spacing", [1.0, 1.0]) != [1.0, 1.0] and not depth:
        words.append("pixels {:.4g} high and {:.4g} wide".format(*page["spacing"]))
    if page["windows"] > 1:
        words.append(f"in {page['windows']} windows")
    if copied:
        words.append(f"{copied} copied: without noise, or no better after it")
    return ", ".join(words)


def _range(pages: Sequence[dict[str, Any]], name: str) -> str:
    low, high = (f"{end(page[name] for page in pages):.4g}" for end in (min, max))
    return low if low == high else f"{low} to {high}"


def _duration(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 60 else f"{int(seconds // 60)} min {int(seconds % 60)} s"
