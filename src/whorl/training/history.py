"""What happened during training, one row per epoch."""

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["Epoch", "History"]


@dataclass(frozen=True)
class Epoch:
    """Mean squared error and PSNR (mean over the images, dB) of the outputs seen during one epoch, and its seconds.

    ``held_back`` is the PSNR on images that are not trained with, where there are any.
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
    """All epochs so far, over interruptions; ``stopped`` says why the run ended."""

    epochs: list[Epoch] = field(default_factory=list)
    stopped: str = ""

    @property
    def last(self) -> Epoch:
        """The latest epoch."""
        return self.epochs[-1]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {"epochs": [list(asdict(epoch).values()) for epoch in self.epochs], "stopped": self.stopped}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "History":
        """The inverse of :meth:`as_dict`."""
        return cls([Epoch(*row) for row in values["epochs"]], values["stopped"])
