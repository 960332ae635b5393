"""How each model is put together: operator, activation, and the operator whose responses steer it."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from whorl.activations import Activation, Anisotropic, CoherenceEnhancing, EdgeEnhancing, Isotropic, Uncoupled
from whorl.diffusivities import Diffusivity, Rescaled
from whorl.diffusivities.base import Contrast
from whorl.foundations.types import Spacing
from whorl.operators import (
    CellGradient,
    Composed,
    DirectionalDerivatives,
    Hessian,
    Laplacian,
    Operator,
    ScaleSampling,
    ScaleStack,
    Smoothing,
    sample_scales,
)

Parts: TypeAlias = tuple[Operator, Activation, Operator | None]
"""Operator, activation and structure operator of a model; see :class:`whorl.models.Model`."""


@dataclass(frozen=True)
class Settings:
    """The settings that a model is built from; each model uses some of them."""

    g: Diffusivity
    contrast: Contrast
    spacing: Spacing
    alpha: float
    gamma: float
    sigma: float
    rho: float
    directions: int
    scales: ScaleSampling
    beta: Sequence[float] | None
    omega_inside: bool
    cell: str
    trainable: bool


def perona_malik(s: Settings) -> Parts:
    """Equation (7)."""
    return CellGradient(s.alpha, s.spacing, s.cell), Isotropic(s.g), _seen(s)


def you_kaveh(s: Settings) -> Parts:
    """Equation (11)."""
    K = Laplacian(s.alpha, s.spacing, s.cell)
    return K, Isotropic(s.g, axes=1), _presmoothed(s, K)


def lysaker(s: Settings) -> Parts:
    """Equation (13)."""
    K = Hessian(s.spacing)
    return K, Isotropic(s.g, axes=4), _presmoothed(s, K)


def gerig(s: Settings) -> Parts:
    """Equation (21)."""
    return CellGradient(s.alpha, s.spacing, s.cell), Isotropic(s.g, ("channels",)), _seen(s)


def weickert_brox(s: Settings) -> Parts:
    """Equation (26)."""
    return CellGradient(s.alpha, s.spacing, s.cell), Anisotropic(s.g, ("channels",), gamma=s.gamma), _seen(s)


def multiscale_isotropic(s: Settings) -> Parts:
    """Equation (32)."""
    K = _stack(s)
    return K, Isotropic(s.g, ("channels", "scales"), scale_weights=_inside(s)), _seen_scales(s, K)


def multiscale_anisotropic(s: Settings) -> Parts:
    """Equation (34)."""
    phi = Anisotropic(s.g, ("channels", "scales"), gamma=s.gamma, scale_weights=_inside(s))
    K = _stack(s)
    return K, phi, _seen_scales(s, K)


def uncoupled(s: Settings) -> Parts:
    """The counter-example."""
    return CellGradient(s.alpha, s.spacing, s.cell), Uncoupled(s.g), _seen(s)


def eed(s: Settings) -> Parts:
    """Equation (2), each image channel for itself: of a single gradient the law is smooth."""
    phi = Anisotropic(EdgeEnhancing(s.g), gamma=s.gamma)
    return CellGradient(s.alpha, s.spacing, s.cell), phi, _smoothed_gradient(s)


def ced(s: Settings) -> Parts:
    """Coherence-enhancing diffusion; image channels share one structure tensor."""
    law = CoherenceEnhancing(s.contrast, trainable=s.trainable)
    phi = Anisotropic(law, ("channels",), gamma=s.gamma, rho=s.rho, spacing=s.spacing)
    return CellGradient(s.alpha, s.spacing, s.cell), phi, _smoothed_gradient(s)


def weickert_integration(s: Settings) -> Parts:
    """Equation (1). The quadrature weight 2 / m sits in the responses; inside g it must not count."""
    K = DirectionalDerivatives(s.directions, s.spacing)
    phi = Uncoupled(Rescaled(s.g, K.directions / 2), axes=K.axes)
    return K, phi, _presmoothed(s, K)


def _smoothed_gradient(s: Settings) -> Operator:
    """The gradient of the presmoothed image, without the detail that belongs to the flux alone."""
    return Composed(CellGradient(0.5, s.spacing, s.cell), Smoothing(s.sigma, spacing=s.spacing))


def _presmoothed(s: Settings, K: Operator) -> Operator | None:
    """The operator on the presmoothed image; None where nothing is smoothed, and the flux steers itself."""
    G = Smoothing(s.sigma, spacing=s.spacing)
    return Composed(K, G) if G.radius else None


def _seen(s: Settings) -> Operator | None:
    return _smoothed_gradient(s) if s.sigma else None


def _seen_scales(s: Settings, K: ScaleStack) -> Operator | None:
    """The same scales of the presmoothed image, Gaussians after a Gaussian, with the weights of the flux."""
    if not s.sigma:
        return None
    sampling = ScaleSampling(tuple(math.hypot(scale, s.sigma) for scale in s.scales.sigma), s.scales.omega)
    seen = ScaleStack(CellGradient(0.5, s.spacing, s.cell), sampling)
    seen.beta = K.beta  # one set of weights, trained together
    return seen


def _stack(s: Settings) -> ScaleStack:
    return ScaleStack(CellGradient(s.alpha, s.spacing, s.cell), s.scales, s.beta, trainable=s.trainable)


def _inside(s: Settings) -> tuple[float, ...] | None:
    return s.scales.omega if s.omega_inside else None


def paper_scales(scales: int | ScaleSampling | None, pixel: float) -> ScaleSampling:
    """The scales asked for; by default the paper's eight, from a tenth of a pixel to ten."""
    count = 8 if scales is None else scales
    return count if isinstance(count, ScaleSampling) else sample_scales(count, 0.1 * pixel, 10.0 * pixel)
