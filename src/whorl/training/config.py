"""The settings of a training run, as one frozen value."""

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

from whorl.training.method import Loss

Optimiser = Literal["adam", "whitened", "gauss-newton"]
Schedule = Literal["constant", "cosine", "annealed"]
Precision = Literal["float32", "bfloat16"]
Derivatives = Literal["forward-mode", "differences"]


@dataclass(frozen=True)
class TrainingConfig:
    """Settings of a run; the defaults are the paper's protocol.

    Parameters
    ----------
    optimiser : str
        ``"adam"`` for networks of any size; ``"whitened"``, Adam along the principal directions of the gradients, for a
        few thousand parameters; ``"gauss-newton"`` (with Levenberg's damping) for a few dozen.
    epochs : int
        Passes over the data; for Gauss–Newton the largest number of iterations.
    batch : int
        Images per Adam step, over all processes together.
    rate : float
        Adam's learning rate, and its ``schedule``: ``"constant"``, ``"cosine"`` falling to zero from epoch to epoch, or
        ``"annealed"``, rising during the first ``warmup`` steps and then falling to zero from step to step.
    loss : str
        What is minimised: ``"mse"``, ``"charbonnier"``, ``"log"`` or ``"cross-entropy"``; see
        :mod:`whorl.training.method`.
    clip : float
        Gradients longer than this are shortened to it; 0 leaves them as they are.
    turn : float
        Weight of the difference under the 3-4-5 turn in the loss; see :mod:`whorl.training.turning`.
    precision : str
        ``"bfloat16"`` for networks that can compute their responses in half precision.
    seed : int
        Fixes the order of the images. (Data and starting values have seeds of their own.)
    images : int
        Gauss–Newton: how many images, drawn by ``seed``, the least-squares problem holds; 0 takes all.
    derivatives : str
        Gauss–Newton: exact ``"forward-mode"`` derivatives, or ``"differences"`` for engines without them.
    damping, tolerance : float
        Gauss–Newton: starting damping, and the relative gain in loss below which a run has converged.
    peak : float
        Largest value of an image, for the PSNR.
    patience : int
        Epochs without gain on pictures held back after which the run ends; 0 takes all epochs.
    checkpoint_seconds : float
        Least time between two checkpoints, also within an epoch; 0 writes one after every step.

    Examples
    --------
    >>> TrainingConfig(epochs=0)
    Traceback (most recent call last):
    ...
    ValueError: TrainingConfig(epochs=0): must be at least 1.
    """

    optimiser: Optimiser = "adam"
    epochs: int = 250
    batch: int = 10
    rate: float = 1e-3
    schedule: Schedule = "constant"
    warmup: int = 0
    loss: Loss = "mse"
    clip: float = 0.0
    turn: float = 0.0
    precision: Precision = "float32"
    seed: int = 0
    images: int = 10
    derivatives: Derivatives = "forward-mode"
    damping: float = 1e-2
    tolerance: float = 1e-4
    peak: float = 255.0
    checkpoint_seconds: float = 10.0
    patience: int = 0

    def __post_init__(self) -> None:
        for name, smallest in (("epochs", 1), ("batch", 1), ("seed", 0), ("images", 0), ("warmup", 0), ("patience", 0)):
            if getattr(self, name) < smallest:
                raise ValueError(f"TrainingConfig({name}={getattr(self, name)}): must be at least {smallest}.")
        for name in ("rate", "damping", "peak"):
            if not (0 < getattr(self, name) < math.inf):
                raise ValueError(f"TrainingConfig({name}={getattr(self, name)}): must be positive and finite.")
        for name in ("tolerance", "checkpoint_seconds", "clip", "turn"):
            if not getattr(self, name) >= 0:
                raise ValueError(f"TrainingConfig({name}={getattr(self, name)}): must be at least 0.")
        literals = ("optimiser", Optimiser), ("schedule", Schedule), ("derivatives", Derivatives), ("loss", Loss)
        for name, choices in (*literals, ("precision", Precision)):
            if getattr(self, name) not in get_args(choices):
                raise ValueError(f"TrainingConfig({name}={getattr(self, name)!r}): choose one of {get_args(choices)}.")

    def as_dict(self) -> dict[str, Any]:
        """Settings as plain values, for JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> "TrainingConfig":
        """The inverse of :meth:`as_dict`; refuses unknown names and wrong types."""
        hints = get_type_hints(cls)
        for name, value in values.items():
            if name not in hints:
                raise ValueError(f"TrainingConfig has no setting {name!r}; it has {sorted(hints)}.")
            wanted = hints[name] if isinstance(hints[name], type) else str
            if isinstance(value, bool) or not isinstance(value, (int, float) if wanted is float else wanted):
                raise ValueError(f"TrainingConfig({name}={value!r}): expected {wanted.__name__}.")
        return cls(**values)


PROTOCOLS = {
    "paper": TrainingConfig(),
    "converged": TrainingConfig(rate=0.03, schedule="cosine"),
    "gauss-newton": TrainingConfig(optimiser="gauss-newton", epochs=40),
}
"""Named settings: the paper's; thirty times its rate falling to zero; second order."""
