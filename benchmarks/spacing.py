"""Pixels of unequal size: whether a library's spacing parameter diffuses the right physical distance.

A Gaussian of physical variance s² is rendered on pixels of size (h_y, h_x) and diffused linearly (contrast far above
its slopes) for the time t in physical units: its variance must grow by 2 t along both axes, whatever the pixel size.
The ratio of the measured growth to 2 t is reported for each axis; 1 is right.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.peers import Image

__all__ = ["SPACED", "Spaced", "spacing_error"]

# run(image, spacing (h_y, h_x), steps, tau) -> image, in the linear limit
SpacedRun = Callable[[Image, tuple[float, float], int, float], Image]
_SPACING = (2.0, 1.5)
_TAU, _STEPS = 0.1, 60
_VARIANCE = 60.0
_LINEAR = 1e6  # contrast


@dataclass(frozen=True)
class Spaced:
    """A library that takes a pixel spacing."""

    library: str
    parameter: str
    load: Callable[[], SpacedRun]

    def installed(self) -> bool:
        return find_spec(self.library) is not None


def spacing_error(run: SpacedRun) -> dict[str, float]:
    """Growth of the variance along y and x over what it should be."""
    h_y, h_x = _SPACING
    y = h_y * np.arange(-48, 49)[:, None]
    x = h_x * np.arange(-64, 65)[None, :]
    before = (1000 * np.exp(-(y**2 + x**2) / (2 * _VARIANCE))).astype(np.float32)
    after = run(before, _SPACING, _STEPS, _TAU)
    due = 2 * _STEPS * _TAU
    growth = {
        axis: (_variance(after, at, h * h) - _variance(before, at, h * h)) / due
        for axis, at, h in (("growth_y", y / h_y, h_y), ("growth_x", x / h_x, h_x))
    }
    return {"h_y": h_y, "h_x": h_x, **growth}


def _variance(image: Image, at: Any, scale: float) -> float:
    weights = image.astype(np.float64)
    return float(scale * (weights * at**2).sum() / weights.sum())


def _whorl() -> SpacedRun:
    import whorl

    def run(image: Image, spacing: tuple[float, float], steps: int, tau: float) -> Image:
        out = whorl.diffuse(image, "perona-malik", contrast=_LINEAR, time=steps * tau, tau=tau, spacing=spacing)
        return np.asarray(out)

    return run


def _itk() -> SpacedRun:
    import itk

    def run(image: Image, spacing: tuple[float, float], steps: int, tau: float) -> Image:
        plane = itk.Image[itk.F, 2]
        smoother = itk.GradientAnisotropicDiffusionImageFilter[plane, plane].New()
        picture = itk.image_from_array(image)
        picture.SetSpacing([spacing[1], spacing[0]])
        smoother.SetInput(picture)
        smoother.SetUseImageSpacing(True)
        smoother.SetNumberOfIterations(steps)
        smoother.SetTimeStep(tau)
        smoother.SetConductanceParameter(_LINEAR)
        smoother.Update()
        return np.asarray(itk.array_from_image(smoother.GetOutput()))

    return run


def _simpleitk() -> SpacedRun:
    import SimpleITK

    def run(image: Image, spacing: tuple[float, float], steps: int, tau: float) -> Image:
        picture = SimpleITK.GetImageFromArray(image)
        picture.SetSpacing((spacing[1], spacing[0]))
        out = SimpleITK.GradientAnisotropicDiffusion(
            picture, timeStep=tau, conductanceParameter=_LINEAR, numberOfIterations=steps
        )
        return np.asarray(SimpleITK.GetArrayFromImage(out))

    return run


def _medpy() -> SpacedRun:
    from medpy.filter.smoothing import anisotropic_diffusion

    def run(image: Image, spacing: tuple[float, float], steps: int, tau: float) -> Image:
        return np.asarray(anisotropic_diffusion(image, niter=steps, kappa=_LINEAR, gamma=tau, voxelspacing=spacing))

    return run


def _diplib() -> SpacedRun:
    import diplib

    def run(image: Image, spacing: tuple[float, float], steps: int, tau: float) -> Image:
        picture = diplib.Image(image)
        picture.SetPixelSize([spacing[1], spacing[0]])
        return np.asarray(diplib.PeronaMalikDiffusion(picture, iterations=steps, K=_LINEAR, stepSizeLambda=tau))

    return run


SPACED = {
    "whorl": Spaced("whorl", "spacing=", _whorl),
    "itk": Spaced("itk", "image spacing, UseImageSpacing on", _itk),
    "simpleitk": Spaced("SimpleITK", "image spacing", _simpleitk),
    "medpy": Spaced("medpy", "voxelspacing=", _medpy),
    "diplib": Spaced("diplib", "pixel size", _diplib),
}
