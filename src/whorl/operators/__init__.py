"""Differential operators K with exact adjoints and proven norms, under reflecting boundaries."""

from whorl.operators.base import Operator, Scaled, Stacked
from whorl.operators.boundary import fold, mirror
from whorl.operators.cells import CellGradient
from whorl.operators.contrast import local_contrast
from whorl.operators.derivative import Derivative
from whorl.operators.dictionary import Dictionary, LaplacianPower
from whorl.operators.directional import DirectionalDerivatives
from whorl.operators.fields import FieldMap
from whorl.operators.hessian import Hessian
from whorl.operators.joined import JoinedMap
from whorl.operators.laplacian import Laplacian
from whorl.operators.levels import coarser, finer
from whorl.operators.mixing import Mixed
from whorl.operators.profiles import ProfileMap
from whorl.operators.scales import ScaleSampling, ScaleStack, sample_scales
from whorl.operators.smoothing import Composed, Smoothing, gaussian_weights
from whorl.operators.steerable import SteerableMap
from whorl.operators.stencils import SteerableStencils, steerable_stencils

__all__ = [
    "CellGradient", "Composed", "Derivative", "Dictionary", "DirectionalDerivatives", "FieldMap", "Hessian",
    "JoinedMap", "Laplacian", "LaplacianPower", "Mixed", "Operator", "ProfileMap", "ScaleSampling", "ScaleStack",
    "Scaled", "Smoothing", "Stacked", "SteerableMap", "SteerableStencils", "coarser", "finer", "fold",
    "gaussian_weights", "local_contrast", "mirror", "sample_scales", "steerable_stencils",
]  # fmt: skip
