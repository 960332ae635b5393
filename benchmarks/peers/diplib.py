"""DIPlib: Perona–Malik over four neighbours, a Gaussian-derivative variant, and coherence-enhancing diffusion.

Coherence-enhancing diffusion is its only tensor filter: the structure tensor is recomputed in every step (flag
``all``), as EED does; without that flag version 3.6.1 stops with "Image is not forged". It has no contrast parameter
and no step size: both are ignored by the adapter, and it takes part in speed only. A constant picture comes out as NaN.
"""

from collections.abc import Callable
from math import sqrt

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def load_perona_malik() -> Run:
    import diplib

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        out = diplib.PeronaMalikDiffusion(
            diplib.Image(image), iterations=steps, K=sqrt(2) * contrast, stepSizeLambda=tau, g="Gauss"
        )
        return np.asarray(out)

    return run


def load_gaussian() -> Run:
    import diplib

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        out = diplib.GaussianAnisotropicDiffusion(
            diplib.Image(image), iterations=steps, K=sqrt(2) * contrast, stepSizeLambda=tau, g="Gauss"
        )
        return np.asarray(out)

    return run


def load_coherence() -> Run:
    import diplib

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        out = diplib.CoherenceEnhancingDiffusion(
            diplib.Image(image), derivativeSigma=1.0, regularizationSigma=3.0, iterations=steps, flags={"all"}
        )
        return np.asarray(out)

    return run


def _method(
    name: str, model: str, settings: str, load: Callable[[], Run], tau: float, contrast: str, boundary: str
) -> Method:
    return Method(
        name=name,
        library="diplib",
        distribution="diplib",
        model=model,
        layout="grey",
        tau=tau,
        tau_reason="its default" if tau else "fixed inside",
        contrast=contrast,
        contrast_range=(10.0, 160.0),
        boundary=boundary,
        precision="float32",
        settings=settings,
        load=load,
        chains=bool(tau),
    )


METHODS = [
    _method(
        "diplib-perona-malik",
        "perona-malik",
        "PeronaMalikDiffusion(g='Gauss')",
        load_perona_malik,
        0.25,
        "K = sqrt(2) lambda",
        "black outside",
    ),
    _method(
        "diplib-gaussian",
        "perona-malik",
        "GaussianAnisotropicDiffusion(g='Gauss')",
        load_gaussian,
        0.25,
        "K = sqrt(2) lambda, on Gaussian derivatives",
        "mirror",
    ),
    _method(
        "diplib-coherence",
        "ced",
        "CoherenceEnhancingDiffusion(derivativeSigma=1, regularizationSigma=3, flags={'all'})",
        load_coherence,
        0.0,
        "none",
        "mirror",
    ),
]
