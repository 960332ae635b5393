"""The ways to fill in that have a name, with their settings."""

from typing import Any

from whorl.activations import Anisotropic, EdgeContinuing
from whorl.foundations.types import SpacingLike
from whorl.models import Model, build
from whorl.operators import CellGradient, Composed, Smoothing

__all__ = ["METHODS", "edge_continuing", "method"]

METHODS: dict[str, dict[str, Any]] = {
    "eed": {"contrast": 1.0, "sigma": 1.0, "rho": 3.0, "alpha": 0.1, "gamma": 0.8},
    "homogeneous": {"name": "perona-malik", "diffusivity": "homogeneous"},
    "biharmonic": {"name": "you-kaveh", "diffusivity": "homogeneous"},
}
"""What ``model=`` takes beside a model; contrasts in grey values, sigma and rho in the unit of the pixel size.

The settings of ``"eed"`` were chosen on photographs, for all densities together (``experiments/inpainting.py``).
"""


IN_SPACE = {"gamma": 0.0, "alpha": 0.25}
"""What differs for volumes: gamma belongs to the plane, and alpha is that of all second order models in space."""


def method(name: str, dimensions: int = 2, **changes: Any) -> Model:
    """The model that fills in by that name, in plane or space, with other settings where given.

    >>> method("eed").name, method("biharmonic").name
    ('edge-continuing', 'you-kaveh')
    """
    if name != "eed":
        return build(**METHODS[name], **changes)
    return edge_continuing(**{**METHODS[name], **(IN_SPACE if dimensions == 3 else {}), **changes})


def edge_continuing(
    contrast: float, sigma: float, rho: float, alpha: float, gamma: float = 0.0, spacing: SpacingLike = 1.0
) -> Model:
    """Edge-enhancing diffusion under a smoothed structure tensor, which all channels share.

    Few known pixels leave gradients that point anywhere; smoothing their tensor over ``rho`` finds the direction that
    most of them agree on, and the law follows it as far as they agree.
    """
    return Model(
        CellGradient(alpha, spacing),
        Anisotropic(EdgeContinuing(contrast), ("channels",), gamma=gamma, rho=rho, spacing=spacing),
        structure=Composed(CellGradient(0.5, spacing), Smoothing(sigma, spacing=spacing)),
        name="edge-continuing",
        settings={"contrast": contrast, "sigma": sigma, "rho": rho, "alpha": alpha, "gamma": gamma, "spacing": spacing},
    )
