"""Filters of volumes (z, y, x) with one noise level: who takes part, and where the search for his best setting looks.

``contrast`` is what each is steered by: the contrast of a diffusion filter, the weight of total variation, the h of
non-local means, the noise level that BM4D is told, the width of the structure tensor of DIPlib's coherence filter.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.peers import Image, Method, Run, method
from benchmarks.peers.whorl import variant

__all__ = ["DIFFUSION", "contestants"]

DIFFUSION = ("whorl", "SimpleITK", "diplib", "medpy")
"""Libraries whose methods here are diffusion filters."""

_VOXEL = (1.0, 1.0, 1.0)


def contestants(noise: float) -> list[Method]:
    """Everyone who is installed, with ranges for noise of that standard deviation."""
    firm, soft = (0.7 * noise, 5.6 * noise), (0.05 * noise, 1.6 * noise)
    ours = [
        variant("perona-malik", contrast_range=firm, spacing=_VOXEL),
        variant("perona-malik", contrast_range=soft, spacing=_VOXEL, diffusivity="charbonnier"),
        variant("weickert-brox", contrast_range=firm, spacing=_VOXEL),
        variant("weickert-brox", contrast_range=soft, spacing=_VOXEL, diffusivity="charbonnier"),
        variant("eed", contrast_range=(0.2 * noise, 3.2 * noise), spacing=_VOXEL, sigma=0.5),
        variant("eed", contrast_range=(0.1 * noise, 1.6 * noise), spacing=_VOXEL, sigma=0.8),
    ]
    ours = [replace(m, name=m.name.replace(f" spacing={_VOXEL}", "")) for m in ours]
    peers = [
        _in_space("simpleitk-gradient", 0.0625, "ITK's limit in 3-D", (0.5, 8.0)),
        _in_space("simpleitk-curvature", 0.0625, "ITK's limit in 3-D", (0.5, 8.0)),
        _in_space("diplib-perona-malik", 0.125, "stable for six neighbours", firm),
        _in_space("diplib-gaussian", 0.125, "stable for six neighbours", firm),
        _in_space("medpy", 0.125, "stable for six neighbours", firm),
        _other("diplib-coherence", "diplib", "diplib", _coherence, (1.0, 3.0), tau=0.2, timed=True),
        _other("skimage-tv", "skimage", "scikit-image", _tv, (0.3 * noise, 2.4 * noise)),
        _other("skimage-nlm", "skimage", "scikit-image", _nlm(noise), (0.2 * noise, 0.8 * noise)),
        _other("bm4d", "bm4d", "bm4d", _bm4d, (noise, noise)),
    ]
    return [m for m in (*ours, *peers) if m.installed()]


def _in_space(name: str, tau: float, reason: str, search: tuple[float, float]) -> Method:
    """A filter of pictures that takes volumes as well, at the step it may take there."""
    return replace(method(name), tau=tau, tau_reason=reason, contrast_range=search)


def _other(
    name: str, library: str, distribution: str, load: Callable[[], Run], search: tuple[float, float],
    *, tau: float = 1.0, timed: bool = False,
) -> Method:  # fmt: skip
    return Method(
        name=name, library=library, distribution=distribution, model="", layout="any", tau=tau,
        tau_reason="fixed inside" if timed else "a single pass", contrast=str(load.__doc__), contrast_range=search,
        boundary="", precision="float32", settings="", load=load, timed=timed,
    )  # fmt: skip


def _coherence() -> Run:
    """Width of the structure tensor."""
    import diplib

    def run(u: Image, contrast: float, steps: int, tau: float) -> Image:
        out = diplib.CoherenceEnhancingDiffusion(
            diplib.Image(u), derivativeSigma=1.0, regularizationSigma=contrast, iterations=steps, flags={"all"}
        )
        return np.asarray(out)

    return run


def _tv() -> Run:
    """Weight."""
    from skimage.restoration import denoise_tv_chambolle

    def run(u: Image, contrast: float, steps: int, tau: float) -> Image:
        return np.asarray(denoise_tv_chambolle(u, weight=contrast, eps=1e-4, max_num_iter=200))

    return run


def _nlm(noise: float) -> Callable[[], Run]:
    def load() -> Run:
        from skimage.restoration import denoise_nl_means

        def run(u: Image, contrast: float, steps: int, tau: float) -> Image:
            found: Any = denoise_nl_means(u, 3, 5, h=contrast, sigma=noise, fast_mode=True)
            return np.asarray(found, np.float32)

        return run

    load.__doc__ = "h."
    return load


def _bm4d() -> Run:
    """Noise level."""
    import bm4d

    def run(u: Image, contrast: float, steps: int, tau: float) -> Image:
        return np.asarray(bm4d.bm4d(u, contrast), np.float32)

    return run
