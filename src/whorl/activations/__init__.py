"""Activations that couple channels: the paper's three design principles as modules."""

from whorl.activations.anisotropic import Anisotropic
from whorl.activations.base import Activation
from whorl.activations.features import FeatureActivation
from whorl.activations.scalar import Isotropic, Uncoupled
from whorl.activations.tensors import SymmetricMatrix, eigenvalues, matrix_diffusivity

__all__ = [
    "Activation",
    "Anisotropic",
    "FeatureActivation",
    "Isotropic",
    "SymmetricMatrix",
    "Uncoupled",
    "eigenvalues",
    "matrix_diffusivity",
]
