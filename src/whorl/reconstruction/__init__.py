"""Pictures from indirect measurements y = A u + n: blurred, coarse, incomplete, frequencies, projections."""

from whorl.reconstruction.images import minimiser, reconstruct
from whorl.reconstruction.measurement import Measurement
from whorl.reconstruction.operators import Blur, Coarser, Masked, ParallelBeam, RadialFourier
from whorl.reconstruction.weights import Reconstruction

__all__ = [
    "Blur",
    "Coarser",
    "Masked",
    "Measurement",
    "ParallelBeam",
    "RadialFourier",
    "Reconstruction",
    "minimiser",
    "reconstruct",
]
