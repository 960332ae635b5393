"""The baseline everyone writes first: Perona–Malik over four neighbours, a few lines of NumPy.

    u += tau * sum over the four neighbours n of g(u_n - u)(u_n - u),   g(d) = exp(-d^2 / (2 lambda^2))

Every difference is damped by its own size, so the two axes are not coupled: the result depends on the angle. Colour
couples the channels through the summed squares of the differences. ``numpy-loop`` is that formula as one writes it;
``numpy-loop-tuned`` computes each flux once, in place, in work arrays that are kept between steps.
"""

import numpy as np

from benchmarks.peers.base import Image, Method, Run


def load_plain() -> Run:
    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        u = image.copy()
        factor = np.float32(-1 / (2 * contrast**2))
        for _ in range(steps):
            change = np.zeros_like(u)
            for axis in (0, 1):
                d = np.diff(u, axis=axis)
                s2 = d * d if u.ndim == 2 else (d * d).sum(axis=2, keepdims=True)
                flux = np.exp(factor * s2) * d
                here = (slice(None),) * axis + (slice(None, -1),)
                there = (slice(None),) * axis + (slice(1, None),)
                change[here] += flux
                change[there] -= flux
            u += np.float32(tau) * change
        return u

    return run


def load_tuned() -> Run:
    def run(image: Image, contrast: float, steps: int, tau: float) -> Image:
        u = image.copy()
        factor = np.float32(-1 / (2 * contrast**2))
        work = []
        for axis in (0, 1):
            here = tuple(slice(None, -1) if a == axis else slice(None) for a in range(u.ndim))
            there = tuple(slice(1, None) if a == axis else slice(None) for a in range(u.ndim))
            flux = np.empty_like(u[here])
            work.append((here, there, flux, np.empty(flux.shape[:2] + (1,) * (u.ndim - 2), np.float32)))
        for _ in range(steps):
            for here, there, flux, g in work:  # every flux before any update: the step is explicit
                np.subtract(u[there], u[here], out=flux)
                if u.ndim == 3:
                    np.einsum("yxc,yxc->yx", flux, flux, out=g[..., 0])
                else:
                    np.multiply(flux, flux, out=g)
                g *= factor
                np.exp(g, out=g)
                flux *= g
                flux *= np.float32(tau)
            for here, there, flux, _ in work:
                u[here] += flux
                u[there] -= flux
        return u

    return run


METHODS = [
    Method(
        name=name,
        library="numpy",
        distribution="numpy",
        model="perona-malik",
        layout="any",
        tau=0.25,
        tau_reason="max-min limit of the 5-point stencil",
        contrast="lambda",
        contrast_range=(10.0, 160.0),
        boundary="no flux",
        precision="float32",
        settings=settings,
        load=load,
    )
    for name, settings, load in (
        ("numpy-loop", "four neighbours, exponential g", load_plain),
        ("numpy-loop-tuned", "the same in place, work arrays kept", load_tuned),
    )
]
