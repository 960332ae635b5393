"""A progress bar for the patient: it shows up after two seconds, with the time remaining, on stderr.

Ctrl-C and SIGTERM unwind the stack, so that half-written files are removed. A signal raises wherever Python happens to
be, and some libraries swallow whatever is raised inside them (Numba does while it compiles). So the signal is
remembered, and every step of a progress bar raises it again.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

PATIENCE = 2.0  # seconds before the bar appears: shorter work needs none


@contextmanager
def progress(task: str, total: float, quiet: bool = False) -> Iterator[Callable[[float], None]]:
    """Give ``advance(amount)`` for a job of size ``total``; the bar is drawn only on a terminal.

    Calling it also honours a Ctrl-C that some library swallowed.

    >>> with progress("filtering", total=3, quiet=True) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if quiet:
        yield lambda amount: honour()
        return
    started: list[Any] = []
    done = [0.0]

    def begin() -> None:
        """Draw the bar; loading what draws it takes longer than to filter a small picture."""
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
        left = (TimeRemainingColumn(compact=True), TextColumn("left,"), TimeElapsedColumn(), TextColumn("elapsed"))
        bar = Progress(*columns, *left, console=Console(stderr=True), transient=True)
        if not bar.console.is_terminal:
            return
        bar.update(bar.add_task(task, total=total), completed=done[0])
        bar.start()
        started.append(bar)

    timer = threading.Timer(PATIENCE, begin)
    timer.daemon = True
    timer.start()

    def advance(amount: float) -> None:
        honour()
        done[0] += amount
        for bar in started:
            bar.update(bar.task_ids[0], completed=done[0])

    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()  # a bar that starts just now must be there before it can be stopped
        for bar in started:
            bar.stop()


_pending: list[int] = []


def handle_signals() -> None:
    """Handle both signals from now on."""
    forget()
    signal.signal(signal.SIGINT, _handle)
    signal.signal(signal.SIGTERM, _handle)


def forget() -> None:
    """Forget a signal that has done its work."""
    _pending.clear()


def honour() -> None:
    """Raise what a signal raised that arrived before and was swallowed."""
    if _pending:
        _leave(_pending[-1])


def _handle(number: int, frame: FrameType | None) -> None:
    _pending.append(number)
    _leave(number)


def _leave(number: int) -> None:
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)
