"""Training: one loop for every network, exactly repeatable and safe to kill at any moment."""

from whorl.training.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from whorl.training.config import PROTOCOLS, TrainingConfig
from whorl.training.history import Epoch, History
from whorl.training.loop import train
from whorl.training.pairs import Pairs, TensorPairs

__all__ = [
    "PROTOCOLS", "Checkpoint", "Epoch", "History", "Pairs", "TensorPairs", "TrainingConfig", "read_checkpoint", "train",
    "write_checkpoint",
]  # fmt: skip
