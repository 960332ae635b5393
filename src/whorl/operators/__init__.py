"""Differential operators K with exact adjoints and proven norms, under reflecting boundaries."""

from whorl.operators.base import Operator, Scaled, Stacked
from whorl.operators.boundary import fold, mirror
from whorl.operators.cells import CellGradient
from whorl.operators.dictionary import Dictionary, LaplacianPower
from whorl.operators.directional import DirectionalDerivatives
from whorl.operators.hessian import Hessian
from whorl.operators.laplacian import Laplacian
from whorl.operators.scales import ScaleSampling, ScaleStack, sample_scales
from whorl.operators.smoothing import Composed, Smoothing, gaussian_weights

__all__ = [
    "CellGradient",
    "Composed",
    "Dictionary",
    "DirectionalDerivatives",
    "Hessian",
    "Laplacian",
    "LaplacianPower",
    "Operator",
    "ScaleSampling",
    "ScaleStack",
    "Scaled",
    "Smoothing",
    "Stacked",
    "fold",
    "gaussian_weights",
    "mirror",
    "sample_scales",
]
