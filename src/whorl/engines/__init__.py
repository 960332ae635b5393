"""Engines: three ways to take the steps of a description. The compiled ones agree with plain PyTorch, the reference."""

from whorl.engines import smoothing as smoothing
from whorl.engines.base import Engine
from whorl.engines.capabilities import REGISTRY, Capabilities
from whorl.engines.reference import ReferenceEngine
from whorl.engines.selection import ENGINES, advance, apply, choose, energy, select, transformed

__all__ = [
    "ENGINES", "REGISTRY", "Capabilities", "Engine", "ReferenceEngine", "advance", "apply", "choose", "energy",
    "select", "transformed",
]  # fmt: skip
