"""SimpleITK: ITK's scalar filters behind another door; the conductance is always relative to the mean gradient."""

from collections.abc import Callable

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def _load(function: str) -> Callable[[], Run]:
    def load() -> Run:
        import SimpleITK

        smooth = getattr(SimpleITK, function)

        def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
            picture = SimpleITK.GetImageFromArray(image)
            out = smooth(picture, timeStep=tau, conductanceParameter=contrast, numberOfIterations=steps)
            return np.asarray(SimpleITK.GetArrayFromImage(out))

        return run

    return load


METHODS = [
    Method(
        name=f"simpleitk-{kind.lower()}",
        library="SimpleITK",
        distribution="SimpleITK",
        model=model,
        layout="grey",
        tau=0.125,
        tau_reason="its default, and ITK's limit in 2-D",
        contrast="c = lambda / root mean squared gradient",
        contrast_range=(0.5, 8.0),
        boundary="no flux",
        precision="float32",
        settings=f"{kind}AnisotropicDiffusion",
        load=_load(f"{kind}AnisotropicDiffusion"),
    )
    for kind, model in (("Gradient", "perona-malik"), ("Curvature", "weickert-brox"))
]
