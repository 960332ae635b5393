"""Engines: the same mathematics, compiled. The plain PyTorch operators are the reference they must agree with."""

from whorl.engines.base import Engine, Gradients, Numbers
from whorl.engines.plan import Plan, describe
from whorl.engines.selection import ENGINES, advance, select, step

__all__ = ["ENGINES", "Engine", "Gradients", "Numbers", "Plan", "advance", "describe", "select", "step"]
