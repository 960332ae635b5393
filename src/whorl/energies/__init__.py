"""Energies with closed-form gradients, learned ones, minimisers, data terms of variational models, known pixels."""

from whorl.energies.energy import Energy, refusal
from whorl.energies.fidelity import QuadraticFidelity
from whorl.energies.known import KnownPixels
from whorl.energies.learned import EnergyAt, Guidance, LearnedEnergy
from whorl.energies.minimise import Minimum, implicit, minimise
from whorl.energies.potentials import Potentials

__all__ = [
    "Energy", "EnergyAt", "Guidance", "KnownPixels", "LearnedEnergy", "Minimum", "Potentials", "QuadraticFidelity",
    "implicit", "minimise", "refusal",
]  # fmt: skip
