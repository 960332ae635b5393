"""From file to file: every page filtered in windows, alpha and metadata passed on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whorl.automatic.samples import samples_read
from whorl.errors import FileError
from whorl.files.base import Canvas, Page
from whorl.files.formats import SUFFIXES, check_writable, open_reader, open_writer
from whorl.files.layout import Layout
from whorl.files.tiff_reader import CACHE
from whorl.foundations.samples import rounded, working_dtype
from whorl.large.plan import USUALLY, How, Plan
from whorl.large.resuming import check_room, identity, journals
from whorl.large.run import run
from whorl.large.scratch import Journal, Scratch
from whorl.large.stages import Stage
from whorl.large.windows import Window, window_at, windows

STRIP = 64  # rows copied at a time
SAMPLED_PAGES = 8  # of a stack, when something is measured on all of it

Pages = Literal["separate", "channels"]
"""Whether every page is filtered for itself, or all of them together as the channels of one image."""

Choose = Callable[[Sequence[Page]], Iterable[Sequence[Stage]]]
"""Gives the stages for each of the pages of a file, one after the other."""


@dataclass(frozen=True)
class Filtered:
    """What a file holds, how it was or would be filtered, and whether a former run was gone on with."""

    layouts: tuple[Layout, ...]
    plans: tuple[Plan, ...]
    resumed: bool = False


def filter_file(
    source: Path,
    target: Path,
    choose: Choose,
    how: How = USUALLY,
    *,
    pages: Pages = "separate",
    dry_run: bool = False,
    compression: str | None = None,
) -> Filtered:
    """Filter a picture file into another; the target appears when it is complete, or not at all.

    Parameters
    ----------
    source, target : Path
        Files in any of the known formats. Every page keeps its size, type, alpha and metadata. While a page of several
        windows is filtered, a hidden folder beside the target holds what is done; a run that was killed goes on from
        there when it is started again with the same stages and the same source.
    choose : callable
        Gives the stages for the pages, which may depend on their contents.
    how : How
        Windows, memory, device, and whom to tell.
    pages : "separate" or "channels"
        Whether the pages of a file are coupled.
    dry_run : bool
        Only look at the file, check that the target can hold its result, and plan; nothing is written.
    compression : str, optional
        Of a TIFF: one of ``whorl.files.tiff_codecs.COMPRESSIONS``. JPEG for what was JPEG, and deflate, by default.
    """
    if compression is not None and SUFFIXES.get(target.suffix.lower()) != "tiff":
        raise FileError(f"{target}: --compression {compression} is for TIFF. Leave it out, or write a .tif.")
    with open_reader(source) as reader:
        found = _coupled(source, reader.pages) if pages == "channels" else reader.pages
        frames = [(page.layout, page.metadata) for page in reader.pages]
        if compression is not None:
            frames = [(layout, replace(metadata, compression=compression)) for layout, metadata in frames]
        if dry_run:
            check_writable(target, frames)
            chosen = zip(found, choose(found), strict=True)
            planned = tuple(_plan(page, tuple(stages), (1, 1), how) for page, stages in chosen)
            return Filtered(tuple(page.layout for page in found), planned)
        plans: list[Plan] = []
        resumed = False
        with journals(target) as begin, open_writer(target, frames, how.force) as writer:
            joint: Sequence[Canvas] = (
                [_Together(writer.canvases, frames[0][0])] if pages == "channels" else writer.canvases
            )
            for page, canvas, stages in zip(found, joint, choose(found), strict=True):
                plans.append(_plan(page, tuple(stages), canvas.grain, how))
                each, journal = replace(how, advance=how.part(1 / len(found))), None
                if plans[-1].count > 1:
                    size = page.layout.height * page.layout.width * page.layout.filtered
                    check_room(target, plans[-1], page.layout.nbytes, size, page.layout.dtype)
                    journal = begin(identity(plans[-1], source, str(how.device), len(plans), pages, page.layout))
                    resumed = resumed or journal.resumed
                with _unrolled(page, plans[-1], target.parent) as rows:
                    _filter_page(rows, canvas, plans[-1], each, target.parent, journal)
        return Filtered(tuple(page.layout for page in found), tuple(plans), resumed)


def colours_of(page: Page) -> Callable[[Window], NDArray[Any]]:
    """The colours of a page by window, as float samples ``(c, y, x)``, for the filter."""
    kind = working_dtype(page.layout.dtype)
    return lambda window: page.read(*window)[..., : page.layout.filtered].transpose(2, 0, 1).astype(kind)


def sample_blocks(pages: Sequence[Page]) -> Iterator[NDArray[Any]]:
    """Blocks ``(c, y, x)`` that stand for the pages together when something is measured: some windows of some pages.

    They depend on the number and size of the pages only, so that a measurement is one for the whole file, however it
    is cut.
    """
    count = min(len(pages), SAMPLED_PAGES)
    for page in (pages[number * len(pages) // count] for number in range(count)):
        shape, read = (page.layout.height, page.layout.width), colours_of(page)
        yield from samples_read(shape, lambda place, read=read: read(window_at(place)))  # type: ignore[misc]


def _filter_page(page: Page, canvas: Canvas, chosen: Plan, how: How, folder: Path, journal: Journal | None) -> None:
    """Filter a page onto its canvas; with a journal by way of a file, from which the canvas is filled in the end."""
    layout, finish = page.layout, chosen.finish
    held = None if journal is None else Scratch(journal.folder, chosen.shape, "result")
    if held is not None:
        held.reopen(layout.channels, layout.dtype)

    def write(window: Window, block: NDArray[Any]) -> None:
        samples = rounded(block, layout.dtype)
        if layout.kept or finish:
            before = page.read(*window).transpose(2, 0, 1)
            samples = np.concatenate((samples, before[layout.filtered :]))
            samples = samples if finish is None else finish(before, samples)
        if held is None:
            canvas.write(window[0], window[2], samples.transpose(1, 2, 0))
        else:
            held.write(window, samples)
            held.flush()

    try:
        run(chosen, colours_of(page), write, device=how.device, folder=folder, advance=how.advance, journal=journal)
        if held is not None:
            for window in windows(chosen.shape, chosen.sides):
                canvas.write(window[0], window[2], held.read(window).transpose(1, 2, 0))
    finally:
        if held is not None:
            held.release()


def _plan(page: Page, stages: tuple[Stage, ...], grain: tuple[int, int], how: How) -> Plan:
    layout = page.layout
    return how.planned((layout.height, layout.width), stages, layout.filtered, layout.dtype, grain)


@contextmanager
def _unrolled(page: Page, chosen: Plan, folder: Path) -> Iterator[Page]:
    """The page itself, or a copy on disk where windows would have to decode every strip of the page many times."""
    layout = page.layout
    band = (chosen.sides[0] + 2 * chosen.halo) * layout.width * layout.channels * layout.dtype.itemsize
    if not page.banded or chosen.sides[1] == layout.width or band <= CACHE:
        yield page
        return
    scratch = Scratch(folder, (layout.height, layout.width))
    try:
        for window in windows((layout.height, layout.width), (STRIP, layout.width)):
            scratch.write(window, page.read(*window).transpose(2, 0, 1))
        yield _Copied(page, scratch)
    finally:
        scratch.close()


class _Copied(Page):
    """A page whose samples lie in a scratch file."""

    def __init__(self, page: Page, scratch: Scratch) -> None:
        self.path, self.layout, self.metadata, self.scratch = page.path, page.layout, page.metadata, scratch

    def _read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        return self.scratch.read(Window(top, bottom, left, right)).transpose(1, 2, 0)


def _coupled(source: Path, pages: Sequence[Page]) -> tuple[Page, ...]:
    layout = pages[0].layout
    if any(page.layout != layout for page in pages):
        raise FileError(f"{source}: pages of different size or type cannot be coupled. Filter them one by one.")
    return (_Stack(pages),)


class _Stack(Page):
    """All pages as one, their colours side by side; what is kept of the pages comes last."""

    def __init__(self, pages: Sequence[Page]) -> None:
        first, count = pages[0].layout, len(pages)
        self.members, self.metadata, self.path = pages, pages[0].metadata, pages[0].path
        channels, kept = first.channels * count, first.kept * count
        self.layout = Layout(first.height, first.width, channels, first.dtype, "channels", kept)

    def _read(self, top: int, bottom: int, left: int, right: int) -> NDArray[Any]:
        blocks = [page.read(top, bottom, left, right) for page in self.members]
        colours = self.members[0].layout.filtered
        parts = [block[..., :colours] for block in blocks] + [block[..., colours:] for block in blocks]
        return np.concatenate(parts, axis=-1)


class _Together(Canvas):
    """The canvases of all pages, fed by the channels of a :class:`_Stack`."""

    def __init__(self, canvases: Sequence[Canvas], page: Layout) -> None:
        self.members, self.page, self.grain = canvases, page, canvases[0].grain

    def write(self, top: int, left: int, block: NDArray[Any]) -> None:
        colours, kept = np.split(block, [len(self.members) * self.page.filtered], axis=-1)
        parts = zip(self.members, _shared(colours, self.members), _shared(kept, self.members), strict=True)
        for canvas, colour, rest in parts:
            canvas.write(top, left, np.concatenate((colour, rest), axis=-1))


def _shared(block: NDArray[Any], members: Sequence[Canvas]) -> list[NDArray[Any]]:
    return np.split(block, len(members), axis=-1)
