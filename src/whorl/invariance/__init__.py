"""Evidence that a filter commutes with rotations, taken without resampling a single pixel.

Every function here takes a *filter*, any callable from an image ``(n, c, y, x)`` to an image of the same shape, and
returns numbers. None of them judges: :func:`whorl.testing.assert_rotation_invariant` does that.
"""

from whorl.invariance.angles import AngleError, angle_error
from whorl.invariance.coincidence import PYTHAGOREAN, TurnError, coincident_points, turn_error
from whorl.invariance.filters import FINGERPRINT, Filter
from whorl.invariance.measure import RotationError, rotation_error
from whorl.invariance.radius import RadiusError, equal_radius_error, lattice_circle
from whorl.invariance.symmetries import SYMMETRIES, SymmetryError, symmetry_error

__all__ = [
    "FINGERPRINT",
    "PYTHAGOREAN",
    "SYMMETRIES",
    "AngleError",
    "Filter",
    "RadiusError",
    "RotationError",
    "SymmetryError",
    "TurnError",
    "angle_error",
    "coincident_points",
    "equal_radius_error",
    "lattice_circle",
    "rotation_error",
    "symmetry_error",
    "turn_error",
]
