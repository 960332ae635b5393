"""What happened during training, one row per epoch, and how it is shown: loss, PSNR and remaining time."""

import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any

from whorl.training.method import Begun


@dataclass(frozen=True)
class Epoch:
    """Mean squared error and PSNR (mean over the images, dB) of the outputs seen during one epoch, and its seconds.

    ``held_back`` is the PSNR on images that are not trained with, where there are any.

    >>> Epoch(loss=65.025, psnr=30.0, seconds=1.5).psnr
    30.0
    """

    loss: float
    psnr: float
    seconds: float
    held_back: float | None = None

    @property
    def words(self) -> str:
        """The row in words."""
        held = "" if self.held_back is None else f", {self.held_back:.2f} dB on pictures held back"
        return f"loss {self.loss:.2f}  PSNR {self.psnr:.2f} dB{held}"


@dataclass
class History:
    """All epochs so far, over interruptions; ``stopped`` says why the run ended.

    >>> from whorl.training import Epoch
    >>> History([Epoch(65.0, 30.0, 1.5)]).last.psnr
    30.0
    """

    epochs: list[Epoch] = field(default_factory=list)
    stopped: str = ""
    begun: Begun = field(default_factory=Begun)

    @property
    def last(self) -> Epoch:
        """The latest epoch."""
        return self.epochs[-1]

    def idle(self, patience: int) -> bool:
        """Whether pictures held back (or else all) have gained nothing for this many epochs; with 0 never."""
        values = [row.psnr if row.held_back is None else row.held_back for row in self.epochs]
        return 0 < patience < len(values) and max(values[-patience:]) <= max(values[:-patience])

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"epochs": [list(asdict(epoch).values()) for epoch in self.epochs], "stopped": self.stopped}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "History":
        """The inverse of :meth:`as_dict`."""
        return cls([Epoch(*row) for row in values["epochs"]], values["stopped"])


class Reporter:
    """Receives every step and every finished epoch; this one shows nothing."""

    def step(self, done: int, total: int, words: str, remaining: float | None) -> None:
        """Step ``done`` of ``total`` of all epochs has ended; None where the remaining seconds are not known yet."""

    def epoch(self, done: int, total: int, row: Epoch, remaining: float) -> None:
        """Epoch ``done`` of ``total`` has ended; ``remaining`` seconds are expected."""

    def close(self) -> None:
        """No more epochs will come."""


class Lines(Reporter):
    """A line of text on stderr, at most every two seconds: for log files, and where rich is missing."""

    def __init__(self, title: str = "train", every: float = 2.0) -> None:
        self.title, self.every, self.next = title, every, 0.0

    def step(self, done: int, total: int, words: str, remaining: float | None) -> None:
        self._write(f"step {done}/{total}  {words}  {_clock(remaining)}")

    def epoch(self, done: int, total: int, row: Epoch, remaining: float) -> None:
        self._write(f"epoch {done}/{total}  {row.words}  {_clock(remaining)}", always=done == total)

    def _write(self, text: str, *, always: bool = False) -> None:
        if time.monotonic() >= self.next or always:
            self.next = time.monotonic() + self.every
            print(f"{self.title}: {text}", file=sys.stderr, flush=True)


class Bar(Reporter):
    """A progress bar (rich) on stderr."""

    def __init__(self, title: str = "train") -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[words]}  {task.fields[left]}"),
            console=Console(stderr=True),
        )
        self.title, self.stepping = title, False
        self.task = self.bar.add_task(title, total=None, words="", left="")
        self.bar.start()

    def epoch(self, done: int, total: int, row: Epoch, remaining: float) -> None:
        if not self.stepping:
            self.bar.update(self.task, completed=done, total=total)
        self.bar.update(self.task, words=row.words, left=_clock(remaining))

    def step(self, done: int, total: int, words: str, remaining: float | None) -> None:
        self.stepping = True
        self.bar.update(self.task, completed=done, total=total, words=words, left=_clock(remaining))

    def close(self) -> None:
        self.bar.stop()


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "measuring the time left"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d} left" if minutes >= 60 else f"{minutes}:{rest:02d} left"


def show(title: str, *, quiet: bool = False) -> Reporter:
    """The best way to show progress here: a bar on a terminal, lines elsewhere, nothing when ``quiet``."""
    if quiet:
        return Reporter()
    if sys.stderr.isatty():
        try:
            return Bar(title)
        except ImportError:
            pass
    return Lines(title)
