"""A progress bar for the patient: it shows up after two seconds, with the time remaining, on stderr."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from whorl.cli.signals import honour

__all__ = ["progress"]

PATIENCE = 2.0  # seconds before the bar appears: what is over sooner needs none


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
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.percentage:>3.0f} %"))
    left = (TimeRemainingColumn(compact=True), TextColumn("left,"), TimeElapsedColumn(), TextColumn("elapsed"))
    bar = Progress(*columns, *left, console=Console(stderr=True), transient=True)
    job = bar.add_task(task, total=total)
    timer = threading.Timer(PATIENCE, bar.start if bar.console.is_terminal else lambda: None)
    timer.daemon = True
    timer.start()

    def advance(amount: float) -> None:
        honour()
        bar.advance(job, amount)

    try:
        yield advance
    finally:
        timer.cancel()
        timer.join()  # a bar that starts just now must be there before it can be stopped
        if bar.live.is_started:  # one that never started would print an empty line
            bar.stop()
