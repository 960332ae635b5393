"""Many pictures, one after the other: an error in one does not stop the others."""

import logging
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import typer

from whorl.cli.jobs import Jobs, jobs
from whorl.cli.options import Common, as_tile
from whorl.cli.progress import progress
from whorl.cli.treatments import Treatment
from whorl.cli.words import described, duration, listed, summary
from whorl.files import SUFFIXES, Page
from whorl.files.formats import is_zarr
from whorl.files.layout import Layout
from whorl.files.volume import VolumeFile, open_volume, volume_kind
from whorl.files.zarr_arrays import address, is_remote
from whorl.files.zarr_volume import ZarrVolume
from whorl.foundations.atomic import check_target
from whorl.foundations.strict_json import strict_json
from whorl.large import Stage
from whorl.large.cluster import check_store, filter_store
from whorl.large.pictures import filter_file
from whorl.large.plan import How
from whorl.large.resuming import work_folder
from whorl.large.tasks import Chosen
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
        self.verb, self.treatment, self.pages, self.cluster = verb, treatment, common.pages, cluster
        self.how = How(as_tile(common.tile), memory, treatment.device, common.force)
        self.dry_run, self.volume, self.preview = common.dry_run, volume, preview
        self.force, self.quiet, self.as_json = common.force, common.quiet, common.as_json
        self.compression = None if common.compression == "auto" else common.compression
        self.sheets = {
            name: path for name, path in (("compare", common.compare), ("report", report)) if path is not None
        }

    def run(self, paths: Sequence[Path]) -> list[dict[str, Any]]:
        """Filter every pair of ``IN... OUT``, and describe it; exit code 2 in the end where one failed."""
        apart = self.cluster is not None or any(map(is_remote, paths))
        found = Jobs([self._stores(paths)]) if apart else jobs(paths, self.force)
        sheets = self._sheets([target for _, target in found.pairs], paths[-1])
        records: list[dict[str, Any]] = [{"input": str(path), "error": error} for path, error in found.closed]
        logging.getLogger("tifffile").setLevel(logging.CRITICAL)  # damaged files are told of once, by our own line
        with progress(self.treatment.doing, total=len(found.pairs), quiet=self.quiet or self.dry_run) as advance:
            for source, target in found.pairs:
                records.append(self._one(source, target, None if self.dry_run else advance, apart))
                self._draw(records[-1], sheets.get(target, {}))
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
                typer.echo(f"Skipped, as their names are not those of pictures: {listed(skipped)}.")
        if any("error" in record for record in records):
            raise typer.Exit(1 if any("bug" in record for record in records) else 2)
        return records

    def _sheets(self, targets: Sequence[Path], out: Path) -> dict[Path, dict[str, Path]]:
        """Where the sheets about every result go: into the file that was named, or the folder, for several results."""
        found: dict[Path, dict[str, Path]] = {target: {} for target in targets}
        for name, path in self.sheets.items():
            if self.dry_run or self.preview is not None:
                raise ValueError(f"--{name} draws results. Leave out --dry-run and --preview.")
            if len(targets) > 1 and path.suffix:
                raise ValueError(f"--{name} {path}: there are several results. Name a folder for their sheets.")
            taken: set[Path] = set()
            for target in targets:
                below = target.relative_to(out) if out in target.parents else Path(target.name)
                sheet = path / below.with_suffix(".png") if len(targets) > 1 else path
                sheet = sheet if sheet not in taken else path / below.with_name(f"{below.name}.png")
                check_target(sheet, self.force)
                taken.add(sheet)
                found[target][name] = sheet
        return found

    def _draw(self, record: dict[str, Any], sheets: dict[str, Path]) -> None:
        """Draw the sheets about a file that were asked for."""
        if not sheets or "error" in record:
            return
        from whorl.cli.compare import write_compare
        from whorl.cli.report import write_report

        for name, path in sheets.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            if name == "compare":
                write_compare(record, summary(record["pages"]), path, self.force, self.volume)
            else:
                write_report(record, path, self.force, self.volume)
            record[name] = str(path)

    def _one(self, source: Path, target: Path, advance: Callable[[float], None] | None, apart: bool) -> dict[str, Any]:
        """Filter one file (only look at it without ``advance``) and describe what was done."""
        name, work = (address, self._apart) if apart else (str, self._filtered)
        record: dict[str, Any] = {"input": name(source), "output": name(target)}
        start = time.perf_counter()
        try:
            found, resumed = work(source, target, advance)
        except (KeyboardInterrupt, SystemExit):
            if work_folder(target).exists():
                print(f"whorl {self.verb}: {target}: stopped; the same command goes on from here.", file=sys.stderr)
            raise
        except Exception as error:  # one picture must not stop the others
            if os.environ.get("WHORL_TRACEBACK"):
                raise
            return record | _failure(error, source, target)
        record |= {"seconds": round(time.perf_counter() - start, 3), "resumed": resumed} if advance else {}
        return record | ({"hint": WENT_ON} if resumed else {}) | found

    def _filtered(
        self, source: Path, target: Path, advance: Callable[[float], None] | None
    ) -> tuple[dict[str, Any], bool]:
        """Filter a picture or a volume."""
        how = replace(self.how, advance=advance)
        if (file := self._opened(source)) is not None:
            with file:
                if self.compression:
                    raise ValueError(f"{source}: --compression is for pictures, and this is a volume. Leave it out.")
                return self._volume(file, target, how)
        if self.preview is not None:
            raise ValueError(f"{source}: --preview is for volumes. Give --volume if its pages are slices of one.")
        chosen: list[dict[str, Any]] = []

        def choose(pages: Sequence[Page]) -> Iterator[Sequence[Stage]]:
            for stages, numbers in self.treatment.chosen(pages):
                chosen.append(numbers)
                yield stages

        tiff = SUFFIXES.get(target.suffix.lower()) == "tiff"
        packed = self.compression or ("deflate" if self.treatment.lossless and tiff else None)
        pages: Any = self.pages or "separate"
        job = filter_file(source, target, choose, how, pages=pages, dry_run=advance is None, compression=packed)
        record: dict[str, Any] = {}
        if len(chosen) > 1 and self.pages is None and self.treatment.volumes:
            record["hint"] = "filtered as separate pictures; --volume takes them as one volume"
        elif doubts := [number["doubt"] for number in chosen if number.get("doubt") and not number.get("copied")]:
            record["hint"] = doubts[0].removesuffix(".")
        record |= {"hint": WENT_ON} if job.resumed else {}
        each = zip(job.layouts, job.plans, chosen, strict=True)
        return record | {"pages": [described(*page) for page in each]}, job.resumed

    def _stores(self, paths: Sequence[Path]) -> tuple[Path, Path]:
        """The two zarr arrays of a command for many machines."""
        if len(paths) != 2 or self.pages == "channels" or self.preview is not None or self.sheets:
            raise ValueError("--cluster and addresses take one zarr array in and one out, no sheet and no --pages.")
        if not is_remote(paths[0]) and not is_zarr(paths[0]):
            raise ValueError(f"{paths[0]}: workers read chunks, which only zarr has. Convert it to zarr first.")
        check_store(paths[1], self.force)
        return paths[0], paths[1]

    def _apart(
        self, source: Path, target: Path, advance: Callable[[float], None] | None
    ) -> tuple[dict[str, Any], bool]:
        """Filter one array on a cluster, or behind an address; only plan it without ``advance``."""
        found, plans, chosen, resumed = filter_store(
            source, target, partial(_chosen, self.treatment), replace(self.how, advance=advance), cluster=self.cluster,
            volume=self.volume if self.treatment.volumes and self.pages is None else None,
        )  # fmt: skip
        layout = replace(found.layout, height=found.shape[-2], width=found.shape[-1], channels=found.filtered, kept=0)
        depth = {"depth": found.shape[0], "colour": "volume"} if len(found.space) == 3 else {}
        pages = [described(layout, plan, depth | told) for plan, told in zip(plans, chosen, strict=True)]
        return {"pages": pages}, resumed

    def _opened(self, source: Path) -> VolumeFile | None:
        """The volume in a file; None for pictures, and where stacks are to be taken for pictures."""
        if volume_kind(source) or (self.treatment.volumes and self.pages is None):
            return open_volume(source, self.volume)
        return None

    def _volume(self, file: VolumeFile, target: Path, how: How) -> tuple[dict[str, Any], bool]:
        """Filter the volumes of a file in their three dimensions; only plan it where no progress is told."""
        stages, chosen = self.treatment.volume(file)
        record, resumed = {}, False
        if self.preview is not None or how.advance is None:
            plan = plan_volume(file, stages, how)
        if self.preview is not None and how.advance is not None:
            from whorl.cli.preview import preview

            picture, seconds = preview(file, target, stages, plan, self.preview, self.treatment.device)
            record = {"output": str(picture), "whole_seconds": seconds}
            record["hint"] = f"to compute all of it takes about {duration(seconds)}"
        elif how.advance is not None:
            plan, resumed = filter_volume(file, target, stages, how)
        layout = Layout(file.shape[1], file.shape[2], file.channels, file.dtype, "channels")
        page = described(layout, plan, {"depth": file.shape[0], "colour": "volume"} | chosen)
        return record | {"pages": [page | {"sides": list(plan.sides)}] * file.count}, resumed

    def _tell(self, record: dict[str, Any]) -> None:
        if "error" in record:
            print(f"whorl {self.verb}: {record['error']}", file=sys.stderr)
        elif not self.quiet:
            took = "" if self.dry_run else f", {duration(record['seconds'])}"
            hint = f"; {record['hint']}" if "hint" in record else ""
            typer.echo(f"{record['input']} -> {record['output']}: {summary(record['pages'])}{took}{hint}")


def _chosen(treatment: Treatment, found: ZarrVolume | Sequence[Page]) -> Chosen:
    """What a treatment chooses for the volumes or pages of an array."""
    return [treatment.volume(found)] * found.count if isinstance(found, ZarrVolume) else [*treatment.chosen(found)]


def _failure(error: Exception, source: Path, target: Path) -> dict[str, Any]:
    """What to tell of a picture that could not be filtered; unexpected errors are marked as bugs."""
    known = isinstance(error, ValueError | OSError | MemoryError)
    text = " ".join(str(error).split()) or "out of memory"
    text = text if known else f"{type(error).__name__}: {text}"
    text = text if str(source) in text or str(target) in text else f"{source}: {text}"
    return {"error": text} if known else {"error": text, "bug": True}
