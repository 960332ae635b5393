"""VTK: neighbours that differ by less than a threshold are averaged, the others not at all.

``vtkImageAnisotropicDiffusion2D`` with four neighbours and without a threshold on the gradient: a step adds a quarter
of ``DiffusionFactor`` times each difference that is below ``DiffusionThreshold``. That is a four-neighbour loop whose
diffusivity is a switch. Where the factor is 1, four neighbours replace the pixel: the largest step that is stable.
"""

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    from vtkmodules.util.numpy_support import numpy_to_vtk, vtk_to_numpy
    from vtkmodules.vtkCommonDataModel import vtkImageData
    from vtkmodules.vtkImagingGeneral import vtkImageAnisotropicDiffusion2D

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        picture = vtkImageData()
        picture.SetDimensions(image.shape[1], image.shape[0], 1)
        picture.GetPointData().SetScalars(numpy_to_vtk(np.ascontiguousarray(image).reshape(-1), deep=True))
        smoother = vtkImageAnisotropicDiffusion2D()
        smoother.SetInputData(picture)
        smoother.EdgesOn()
        smoother.CornersOff()
        smoother.GradientMagnitudeThresholdOff()
        smoother.SetDiffusionThreshold(2 * contrast)
        smoother.SetDiffusionFactor(4 * tau)
        smoother.SetNumberOfIterations(steps)
        smoother.Update()
        return vtk_to_numpy(smoother.GetOutput().GetPointData().GetScalars()).reshape(image.shape).copy()

    return run


METHODS = [
    Method(
        name="vtk",
        library="vtkmodules",
        distribution="vtk",
        model="perona-malik",
        layout="grey",
        tau=0.25,
        tau_reason="max-min limit of its stencil: DiffusionFactor = 4 tau = 1",
        contrast="DiffusionThreshold = 2 lambda",
        contrast_range=(5.0, 80.0),
        boundary="no flux",
        precision="float32",
        settings="ImageAnisotropicDiffusion2D, four neighbours",
        load=load,
    )
]
