"""All four measurements of one filter in one call."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from whorl.data.synthetic import Scene
from whorl.invariance.angles import AngleError, angle_error
from whorl.invariance.coincidence import TurnError, turn_error
from whorl.invariance.filters import Filter
from whorl.invariance.radius import RadiusError, equal_radius_error
from whorl.invariance.symmetries import SymmetryError, symmetry_error

PIXELS = 9 * 37 * 26 + 225**2 + 6 * 161**2 + 6 * 8 * 81**2
"""All the pixels the four measurements filter: symmetries, hill, turned scenes, windows around probes."""


@dataclass(frozen=True)
class RotationError:
    """What :func:`rotation_error` found; every part keeps its own numbers.

    Attributes
    ----------
    symmetries : SymmetryError
        Quarter turns and mirror images, exact on the lattice.
    radius : RadiusError
        A radial hill compared at lattice points of one radius.
    turns : tuple of TurnError
        A whorl under Pythagorean turns, compared at shared pixels.
    angles : tuple of AngleError
        A whorl under any angles, compared at the turning points.

    Examples
    --------
    >>> from whorl.invariance import rotation_error
    >>> error = rotation_error(lambda u: 0.5 * u)
    >>> error.symmetries.difference, error.radius.relative
    (0.0, 0.0)
    """

    symmetries: SymmetryError
    radius: RadiusError
    turns: tuple[TurnError, ...]
    angles: tuple[AngleError, ...]

    def summary(self) -> dict[str, float]:
        """The four numbers that matter: ulps, and three errors relative to the change the filter made."""
        return {
            "quarter_turn_ulp": self.symmetries.ulp,
            "equal_radius": self.radius.relative,
            "turned": max((error.relative for error in self.turns), default=0.0),
            "any_angle": max((error.relative for error in self.angles), default=0.0),
        }

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain numbers, ready for JSON."""
        return {
            "summary": self.summary(),
            "symmetries": {"spacing": self.symmetries.spacing, "change": self.symmetries.change}
            | {"differences": dict(self.symmetries.differences)},
            "equal_radius": vars(self.radius) | {"relative": self.radius.relative},
            "turns": [vars(error) | {"relative": error.relative} for error in self.turns],
            "angles": [vars(error) | {"relative": error.relative} for error in self.angles],
        }


def rotation_error(
    filter: Filter,
    *,
    hill: Scene | None = None,
    scene: Scene | None = None,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
    progress: Callable[[float], None] | None = None,
) -> RotationError:
    """How far a filter is from commuting with rotations, measured in four ways, none of which resamples a picture.

    Parameters
    ----------
    filter : Filter
        Any callable that takes an image ``(n, c, y, x)`` and returns one of the same shape.
    hill : Scene, optional
        Radial picture of the equal-radius test; :class:`~whorl.data.synthetic.Bump` by default.
    scene : Scene, optional
        Picture to turn; :data:`~whorl.invariance.FINGERPRINT` by default.
    channels : int
        Image channels of the test pictures; 3 crosses edges of different channels.
    dtype, device
        How the pictures are handed to the filter. Below float64 the last bits of the *input* already depend on the
        angle, so expect nothing under 1e-6.
    progress : callable, optional
        Told the share of the work done since the last call, as often as a picture is filtered; all shares sum to 1.

    Returns
    -------
    RotationError
        Numbers, never a verdict.

    Notes
    -----
    The smooth pictures lie in [0, 255] with a steepest slope of 12 grey values per pixel. A filter whose contrast
    parameter lies far above that is linear there and hardly tested. One whose contrast lies far below it may sharpen
    the flanks into steps (the ill-posed side of Perona and Malik's filter); where these steps fall depends on the
    lattice, and the error tells of that rather than of the coupling. Call the four functions themselves to choose
    scenes, sizes and angles.

    Examples
    --------
    >>> from whorl.invariance import rotation_error
    >>> error = rotation_error(lambda u: u.clamp(max=200.0))
    >>> error.symmetries.ulp, error.radius.relative
    (0.0, 0.0)
    """

    def counted(u: Tensor) -> Tensor:
        result = filter(u)
        if progress is not None:
            progress(u.shape[-2] * u.shape[-1] / PIXELS)
        return result

    common: dict[str, Any] = {"channels": channels, "dtype": dtype, "device": device}
    return RotationError(
        symmetries=symmetry_error(counted, **common),
        radius=equal_radius_error(counted, scene=hill, **common),
        turns=turn_error(counted, scene=scene, **common),
        angles=angle_error(counted, scene=scene, **common),
    )
