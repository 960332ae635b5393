"""scikit-image: no diffusion filter, so its total variation (Chambolle) stands in; quality only.

``weight`` plays the part of the contrast; there is no stopping time. The tolerance is well below the default, so that
the comparison is with the minimiser and not with an early stop. Colour is coupled through ``channel_axis``.
"""

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    from skimage.restoration import denoise_tv_chambolle

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        axis = -1 if image.ndim == 3 else None
        return denoise_tv_chambolle(image, weight=contrast, eps=2e-5, max_num_iter=400, channel_axis=axis)

    return run


METHODS = [
    Method(
        name="skimage-tv",
        library="skimage",
        distribution="scikit-image",
        model="perona-malik",
        layout="any",
        tau=0.0,
        tau_reason="a minimiser, no time",
        contrast="weight",
        contrast_range=(8.0, 130.0),
        boundary="no flux",
        precision="float32",
        settings="denoise_tv_chambolle(eps=2e-5, max_num_iter=400)",
        load=load,
        timed=False,
    )
]
