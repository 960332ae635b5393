"""MedPy: the four-neighbour loop for any dimension, ``exp(-(d/kappa)^2)``, axes not coupled."""

from math import sqrt

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    from medpy.filter.smoothing import anisotropic_diffusion

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        return anisotropic_diffusion(image, niter=steps, kappa=sqrt(2) * contrast, gamma=tau, option=1)

    return run


METHODS = [
    Method(
        name="medpy",
        library="medpy",
        distribution="medpy",
        model="perona-malik",
        layout="grey",
        tau=0.25,
        tau_reason="largest its documentation allows",
        contrast="kappa = sqrt(2) lambda",
        contrast_range=(10.0, 160.0),
        boundary="no flux",
        precision="float32",
        settings="anisotropic_diffusion(option=1)",
        load=load,
    )
]
