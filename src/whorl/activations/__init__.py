"""Activations that couple channels: the paper's three design principles as modules, and the laws they follow."""

from whorl.activations.anisotropic import Anisotropic, Isotropic, Uncoupled
from whorl.activations.base import Activation
from whorl.activations.enhancing import CoherenceEnhancing, EdgeContinuing, EdgeEnhancing
from whorl.activations.features import FeatureActivation
from whorl.activations.given import CustomLaw, TensorField
from whorl.activations.laws import AxisAligned, Law, Variational
from whorl.activations.tensors import SymmetricMatrix, eigenvalues, matrix_diffusivity

__all__ = [
    "Activation", "Anisotropic", "AxisAligned", "CoherenceEnhancing", "CustomLaw", "EdgeContinuing", "EdgeEnhancing",
    "FeatureActivation", "Isotropic", "Law", "SymmetricMatrix", "TensorField", "Uncoupled", "Variational",
    "eigenvalues", "matrix_diffusivity",
]  # fmt: skip
