"""Energies with closed-form gradients, and the data term of variational models."""

from whorl.energies.energy import Energy, refusal
from whorl.energies.fidelity import QuadraticFidelity

__all__ = ["Energy", "QuadraticFidelity", "refusal"]
