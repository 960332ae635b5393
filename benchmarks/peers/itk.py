"""ITK: gradient and curvature anisotropic diffusion, scalar and vector.

The conductance is relative to the mean squared gradient of the current picture, ``exp(-s^2 / (2 c^2 mean s^2))``; that
is how the filters are documented and used, so the quality search tunes ``c``. ``fixed`` pins the mean to 1, which makes
``c`` our lambda: the same equation as whorl's, for comparisons at equal settings. ITK warns above tau = 0.125 in 2-D.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def _scalar(kind: str, fixed: bool) -> Callable[[], Run]:
    def load() -> Run:
        import itk

        plane = itk.Image[itk.F, 2]
        return _run(getattr(itk, f"{kind}AnisotropicDiffusionImageFilter")[plane, plane], itk, False, fixed)

    return load


def _vector(kind: str) -> Callable[[], Run]:
    def load() -> Run:
        import itk

        plane = itk.Image[itk.Vector[itk.F, 3], 2]
        return _run(getattr(itk, f"Vector{kind}AnisotropicDiffusionImageFilter")[plane, plane], itk, True, False)

    return load


def _run(filter_type: Any, itk: Any, is_vector: bool, fixed: bool) -> Run:
    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        smoother = filter_type.New()
        picture = itk.image_from_array(np.ascontiguousarray(image), ttype=_vector_image(itk) if is_vector else None)
        smoother.SetInput(picture)
        smoother.SetNumberOfIterations(steps)
        smoother.SetTimeStep(tau)
        smoother.SetConductanceParameter(contrast)
        if fixed:
            smoother.SetFixedAverageGradientMagnitude(1.0)
        smoother.Update()
        return np.asarray(itk.array_from_image(smoother.GetOutput()))

    return run


def _vector_image(itk: Any) -> Any:
    return itk.Image[itk.Vector[itk.F, 3], 2]


def _method(name: str, model: str, layout: str, settings: str, load: Callable[[], Run], fixed: bool = False) -> Method:
    return Method(
        name=name,
        library="itk",
        distribution="itk",
        model=model,
        layout=layout,
        tau=0.125,
        tau_reason="largest it accepts without a warning",
        contrast="lambda" if fixed else "c = lambda / root mean squared gradient",
        contrast_range=(10.0, 160.0) if fixed else (0.5, 8.0),
        boundary="no flux",
        precision="float32",
        settings=settings,
        load=load,
    )


METHODS = [
    _method(
        "itk-gradient",
        "perona-malik",
        "grey",
        "GradientAnisotropicDiffusionImageFilter",
        _scalar("Gradient", fixed=False),
    ),
    _method(
        "itk-gradient-fixed",
        "perona-malik",
        "grey",
        "GradientAnisotropicDiffusionImageFilter, FixedAverageGradientMagnitude 1",
        _scalar("Gradient", fixed=True),
        fixed=True,
    ),
    _method(
        "itk-curvature",
        "weickert-brox",
        "grey",
        "CurvatureAnisotropicDiffusionImageFilter",
        _scalar("Curvature", fixed=False),
    ),
    _method(
        "itk-vector-gradient",
        "gerig",
        "colour",
        "VectorGradientAnisotropicDiffusionImageFilter",
        _vector("Gradient"),
    ),
    _method(
        "itk-vector-curvature",
        "weickert-brox",
        "colour",
        "VectorCurvatureAnisotropicDiffusionImageFilter",
        _vector("Curvature"),
    ),
]
