"""OpenCV ximgproc: Perona–Malik on 8-bit pictures with three channels.

Grey values are rounded and cut to 0..255 on the way in and after every step: the library offers nothing else. Eight
neighbours count alike, so one step of ``alpha`` moves the linear limit by the time 3 alpha (second moment 6 against the
5-point stencil's 2), and alpha = 1/8 is the largest step with non-negative weights. ``K`` is compared with differences
of values in [0, 1]. The margin it puts around the picture is never filled: whatever the memory held is diffused into
the picture, so constants change at the border and two calls need not agree there (version 5.0; the behaviour suite
measures both).
"""

from math import sqrt

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    import cv2

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        eight_bit = np.clip(np.rint(image), 0, 255).astype(np.uint8)
        if eight_bit.ndim == 2:
            eight_bit = np.repeat(eight_bit[..., None], 3, axis=2)
        out = cv2.ximgproc.anisotropicDiffusion(eight_bit, tau / 3, sqrt(2) * contrast / 255, steps)
        return out.astype(np.float32) if image.ndim == 3 else out[..., 0].astype(np.float32)

    return run


METHODS = [
    Method(
        name="opencv",
        library="cv2",
        distribution="opencv-contrib-python-headless",
        model="gerig",
        layout="any",
        tau=0.375,
        tau_reason="max-min limit of its stencil: alpha = tau / 3 = 1/8",
        contrast="K = sqrt(2) lambda / 255",
        contrast_range=(10.0, 160.0),
        boundary="memory left as found",
        precision="uint8",
        settings="ximgproc.anisotropicDiffusion, grey repeated to three channels",
        load=load,
        chains=False,  # its margin around the picture is diffused too, and is another one in every call
    )
]
