"""The records that a run leaves for people: a table, a curve, and events for TensorBoard where that is installed."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from whorl.foundations.atomic import write_bytes
from whorl.training.history import Epoch, History, Reporter

COLUMNS = ("epoch", "loss", "psnr", "seconds", "held_back_psnr")


class Recorded(Reporter):
    """Keeps ``metrics.csv``, ``curve.png`` (matplotlib) and TensorBoard's events in a folder, and tells another."""

    def __init__(self, folder: Path, told: Reporter) -> None:
        self.folder, self.told = folder, told
        self.events = _events(folder)

    def step(self, done: int, total: int, words: str, remaining: float | None) -> None:
        self.told.step(done, total, words, remaining)

    def epoch(self, done: int, total: int, row: Epoch, remaining: float) -> None:
        if self.events is not None:
            for name, value in (("loss", row.loss), ("psnr", row.psnr), ("held_back_psnr", row.held_back)):
                if value is not None:
                    self.events.add_scalar(name, value, done)
        self.told.epoch(done, total, row, remaining)

    def close(self) -> None:
        if self.events is not None:
            self.events.close()
        self.told.close()

    def write(self, history: History) -> None:
        """The table and the curve of all epochs, those before an interruption among them."""
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        table.writerow(COLUMNS)
        for number, row in enumerate(history.epochs, 1):
            held = "" if row.held_back is None else f"{row.held_back:.4f}"
            table.writerow((number, f"{row.loss:.6g}", f"{row.psnr:.4f}", f"{row.seconds:.2f}", held))
        write_bytes(self.folder / "metrics.csv", text.getvalue().encode())
        if picture := _curve(history.epochs):
            write_bytes(self.folder / "curve.png", picture)


def _curve(epochs: Sequence[Epoch]) -> bytes:
    """PSNR over the epochs as a PNG; nothing without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return b""
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    numbers = range(1, len(epochs) + 1)
    axes.plot(numbers, [row.psnr for row in epochs], marker=".", label="pictures trained with")
    held = [row.held_back for row in epochs if row.held_back is not None]
    if len(held) == len(epochs):
        axes.plot(numbers, held, marker=".", label="pictures held back")
    axes.set(xlabel="epoch", ylabel="PSNR in dB")
    axes.legend()
    drawn = io.BytesIO()
    figure.savefig(drawn, format="png", dpi=120)
    return drawn.getvalue()


def _events(folder: Path) -> Any:
    """A writer of TensorBoard's events, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        return None
    return SummaryWriter(str(folder / "events"))
