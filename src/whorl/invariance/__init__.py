"""Evidence that a filter commutes with rotations, taken without resampling a single pixel.

Every function here takes a *filter*, any callable from an image ``(n, c, y, x)`` to an image of the same shape, or from
a volume to a volume, and returns numbers. None of them judges: :func:`whorl.testing.assert_rotation_invariant` does.
"""

from whorl.invariance.angles import AngleError, angle_error
from whorl.invariance.coincidence import (
    PYTHAGOREAN,
    SOLID_TURNS,
    TurnError,
    coincident_points,
    coincident_voxels,
    solid_turn_error,
    turn_error,
)
from whorl.invariance.filters import FINGERPRINT, Filter
from whorl.invariance.measure import RotationError, rotation_error
from whorl.invariance.radius import (
    RadiusError,
    SphereError,
    equal_radius_error,
    equal_sphere_error,
    lattice_circle,
    lattice_sphere,
)
from whorl.invariance.symmetries import CUBE_SYMMETRIES, SYMMETRIES, SymmetryError, symmetry_error

__all__ = [
    "CUBE_SYMMETRIES", "FINGERPRINT", "PYTHAGOREAN", "SOLID_TURNS", "SYMMETRIES", "AngleError", "Filter", "RadiusError",
    "RotationError", "SphereError", "SymmetryError", "TurnError", "angle_error", "coincident_points",
    "coincident_voxels", "equal_radius_error", "equal_sphere_error", "lattice_circle", "lattice_sphere",
    "rotation_error", "solid_turn_error", "symmetry_error", "turn_error",
]  # fmt: skip
