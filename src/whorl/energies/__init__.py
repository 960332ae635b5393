"""Energies with closed-form gradients, the data term of variational models, and known pixels."""

from whorl.energies.energy import Energy, refusal
from whorl.energies.fidelity import QuadraticFidelity
from whorl.energies.known import KnownPixels

__all__ = ["Energy", "KnownPixels", "QuadraticFidelity", "refusal"]
