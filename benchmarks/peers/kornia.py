"""kornia: no diffusion filter; its bilateral filter is the nearest edge-preserving smoother, quality only.

The spatial standard deviation is 1.5 pixels in a 7x7 window; the contrast is the standard deviation in grey values.
"""

from benchmarks.peers.base import Image, Method, Run


def load() -> Run:
    import torch
    from kornia.filters import bilateral_blur

    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        u = torch.from_numpy(image)
        u = u[None, None] if u.ndim == 2 else u.permute(2, 0, 1)[None]
        out = bilateral_blur(u, 7, contrast, (1.5, 1.5), border_type="reflect", color_distance_type="l2")[0]
        return (out[0] if image.ndim == 2 else out.permute(1, 2, 0)).numpy()

    return run


METHODS = [
    Method(
        name="kornia-bilateral",
        library="kornia",
        distribution="kornia",
        model="perona-malik",
        layout="any",
        tau=0.0,
        tau_reason="one pass, no time",
        contrast="sigma_color",
        contrast_range=(20.0, 320.0),
        boundary="mirror",
        precision="float32",
        settings="bilateral_blur(7, sigma_space=1.5)",
        load=load,
        timed=False,
    )
]
