"""ANTsPy: ITK's gradient anisotropic diffusion, behind the operation ``PeronaMalik`` of ``ants.iMath``.

The conductance is relative to the mean squared gradient, as in ITK. The step is fixed inside: how fast a bump grows
tells that it is 0.05.
"""

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    import ants

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        picture = ants.from_numpy(np.ascontiguousarray(image))
        return np.asarray(ants.iMath(picture, "PeronaMalik", steps, contrast).numpy(), np.float32)

    return run


METHODS = [
    Method(
        name="ants",
        library="ants",
        distribution="antspyx",
        model="perona-malik",
        layout="grey",
        tau=0.05,
        tau_reason="fixed inside",
        contrast="c = lambda / root mean squared gradient",
        contrast_range=(0.5, 8.0),
        boundary="no flux",
        precision="float32",
        settings="iMath PeronaMalik",
        load=load,
    )
]
