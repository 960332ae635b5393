"""Many machines: windows of a zarr array as tasks, each of which reads, filters and writes its own chunks.

Tasks run on the workers of a dask cluster, or one after the other here. Arrays lie where all workers reach them: in a
shared folder, or behind an address that fsspec knows, such as ``s3://`` or ``http://``.
"""

import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from whorl.errors import FileError
from whorl.files.base import reason
from whorl.files.layout import Metadata
from whorl.files.zarr_arrays import ZarrWriter, address, is_remote
from whorl.foundations.atomic import check_target, move
from whorl.foundations.samples import working_dtype
from whorl.large.plan import USUALLY, How, Plan
from whorl.large.resuming import identity, work_folder
from whorl.large.tasks import Choose, Source, Task, filter_window, looked
from whorl.large.windows import windows

RETRIES = 3
"""How often a window is tried again that failed; one whose worker was lost is tried again in any case."""

WAIT = 30
"""Seconds until a scheduler must have answered, and one worker be there."""


def filter_store(
    source: Path,
    target: Path,
    choose: Choose,
    how: How = USUALLY,
    *,
    cluster: str | None = None,
    volume: bool | None = None,
) -> tuple[Source, list[Plan], list[dict[str, Any]], bool]:
    """Filter a zarr array or OME-Zarr image into another, window by window.

    Parameters
    ----------
    source, target : Path
        Folders, or addresses such as ``memory://store/a.zarr``. A folder appears when it is complete; behind an address
        the array grows in place, and an array ``.whorl`` beside it, which says what is done, is removed in the end.
    choose : callable
        Gives the stages; runs once, on a worker, which reads the samples it measures.
    how : How
        Windows, memory for each worker, device, and whom to tell; with nobody to tell, nothing is written.
    cluster : str, optional
        The address of a dask scheduler, such as ``tcp://host:8786``; all is computed here by default.
    volume : bool, optional
        Whether axes without names are a volume; None takes all arrays for pictures.

    Returns
    -------
    source, plans, records, resumed
        What was found, how each image was cut, what was chosen for it, and whether a former run was gone on with.
    """
    with _workers(cluster) as each:
        ((found, chosen),) = each(partial(looked, source, choose, volume), [0])
        plans = [found.planned(tuple(stages), how) for stages, _ in chosen]
        records = [record for _, record in chosen]
        if (advance := how.advance) is None:
            return found, plans, records, False
        check_store(target, how.force)
        with _Work(source, target, found, plans, str(how.device)) as work:
            tasks = work.tasks()
            left = [task for task in tasks if not work.done[task.number]]
            advance(1 - len(left) / len(tasks))
            for step in range(max(task.step for task in tasks) + 1):
                for _ in each(filter_window, [task for task in left if task.step == step]):
                    advance(1 / len(tasks))
            work.finish(how.force)
    return found, plans, records, work.resumed


def check_store(target: Path, force: bool) -> None:
    """Refuse a target that is no zarr array, or exists and was not left unfinished by us."""
    if target.suffix.lower() != ".zarr":
        raise FileError(f"{address(target)}: workers write chunks, which only zarr has. Choose a name ending in .zarr.")
    if not is_remote(target):
        check_target(target, force, folder=True)
    elif not force and _exists(address(target)) and not _exists(f"{address(target)}.whorl"):
        raise FileError(f"{address(target)}: exists already and is kept. Use --force to replace it.")


class _Work:
    """What a run keeps while it goes: the target, arrays between passes, and one entry for each window that is done."""

    def __init__(self, source: Path, target: Path, found: Source, plans: Sequence[Plan], device: str) -> None:
        import zarr

        self.final, self.found, self.plans, self.device = target, found, plans, device
        remote = is_remote(target)
        self.folder = f"{address(target)}.whorl" if remote else str(work_folder(target))
        self.place = Path(address(target)) if remote else Path(self.folder) / "result.zarr"
        local = None if is_remote(source) else source
        marks = [identity(chosen, local, address(source), device, found.layout, found.sizes) for chosen in plans]
        said = json.dumps({"run": marks})
        total = sum(chosen.count * len(chosen.passes) for chosen in plans)
        done = f"{self.folder}/done"
        self.resumed = _exists(done) and json.dumps(dict(zarr.open_array(done, mode="r").attrs)) == said
        if not self.resumed:
            _remove(self.folder)
            _remove(address(self.place))
        one_each = [1 if axis in found.outer else size for axis, size in enumerate(found.chunks)]
        metadata = Metadata(**{**vars(found.metadata), "array": {**found.metadata.array, "chunks": tuple(one_each)}})  # type: ignore[dict-item]
        self.writer = ZarrWriter(self.place, target.name, [(found.layout, metadata)], resume=self.resumed)
        if not self.resumed:
            zarr.create_array(store=done, shape=(total,), chunks=(1,), dtype="u1", attributes=json.loads(said))
            for image, chosen in enumerate(plans):
                for step in range(len(chosen.passes) - 1):
                    zarr.create_array(
                        store=f"{self.folder}/{image}-{step}",
                        shape=(found.filtered, *found.shape),
                        chunks=(found.filtered, *chosen.sides),
                        dtype=working_dtype(found.layout.dtype),
                    )
        self.done = np.asarray(zarr.open_array(done, mode="r")[...])

    def __enter__(self) -> "_Work":
        return self

    def __exit__(self, kind: Any, *error: object) -> None:
        """Keep what is done after an error, for the next run to go on, unless the request itself was wrong."""
        if kind is not None and issubclass(kind, ValueError):
            _remove(self.folder)

    def tasks(self) -> list[Task]:
        """All windows of all passes."""
        image = self.writer.image
        target = address(self.place) if image is None else f"{address(self.place)}/{image.paths[0]}"
        shared = self.found, self.folder, target, self.device
        found: list[Task] = []
        for number, chosen in enumerate(self.plans):
            for step in range(len(chosen.passes)):
                for window in windows(chosen.shape, chosen.sides):
                    found.append(Task(len(found), step, number, window, chosen, *shared))
        return found

    def finish(self, force: bool) -> None:
        """Write smaller sizes, and give the array its name."""
        self.writer.finish()
        if not is_remote(self.final):
            check_target(self.final, force, folder=True)
            move(self.place, self.final)
        _remove(self.folder)


Each = Callable[[Callable[[Any], Any], Sequence[Any]], Iterator[Any]]
"""Calls a function with many things, and gives its results as they come."""


@contextmanager
def _workers(cluster: str | None) -> Iterator[Each]:
    """How to run tasks: on the cluster, where those of lost workers run again elsewhere; or one by one here."""
    if cluster is None:
        yield lambda function, items: (function(item) for item in items)
        return
    try:
        from distributed import Client, as_completed
    except ModuleNotFoundError:
        raise FileError(f"--cluster {cluster}: needs dask's cluster: pip install 'whorl-imaging[large]'.") from None
    try:
        client = Client(cluster, timeout=WAIT, set_as_default=False)
    except (OSError, ValueError) as error:  # TimeoutError is one
        raise FileError(
            f"--cluster {cluster}: no scheduler answers there ({reason(error)}). Start one with: dask scheduler"
        ) from None
    with client:
        try:
            client.wait_for_workers(1, timeout=WAIT)
        except TimeoutError:
            raise FileError(f"--cluster {cluster}: has no workers. Start some with: dask worker {cluster}") from None

        def each(function: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
            futures = [client.submit(function, item, retries=RETRIES, pure=False) for item in items]
            for future in as_completed(futures, loop=client.loop):
                yield future.result()

        yield each


def _exists(place: str) -> bool:
    """Whether there is something behind a path or an address."""
    if "://" not in place:
        return Path(place).exists()
    import fsspec

    files, inner = fsspec.core.url_to_fs(place)
    return bool(files.exists(f"{inner}/zarr.json") or files.exists(f"{inner}/.zgroup") or files.exists(inner))


def _remove(place: str) -> None:
    if "://" not in place:
        shutil.rmtree(place, ignore_errors=True)
    elif _exists(place):
        import fsspec

        files, inner = fsspec.core.url_to_fs(place)
        files.rm(inner, recursive=True)
