"""How good a denoiser is at every angle, and how much that depends on the angle."""

from whorl.evaluation.angles import AngleTable, TestScenes, evaluate
from whorl.evaluation.reproduction import Summary, summarise

__all__ = ["AngleTable", "Summary", "TestScenes", "evaluate", "summarise"]
