"""Judgements about filters and operators, for users' tests and for ours: each raises ``AssertionError`` or is silent.

The numbers come from functions that never judge (:mod:`whorl.invariance`); the tolerances here are arguments.
"""

import torch

from whorl.invariance import (
    Filter,
    equal_radius_error,
    equal_sphere_error,
    solid_turn_error,
    symmetry_error,
    turn_error,
)

__all__ = ["assert_rotation_invariant"]


def assert_rotation_invariant(
    filter: Filter,
    *,
    ulp: float | None = 32.0,
    equal_radius: float | None = 2e-3,
    turned: float | None = 1e-2,
    dimension: int = 2,
    channels: int = 1,
    dtype: torch.dtype = torch.float64,
    device: str | torch.device = "cpu",
) -> None:
    """Assert that a filter commutes with rotations, as far as a lattice of pixels or voxels lets it.

    Parameters
    ----------
    filter : Filter
        Any callable on ``(n, c, y, x)``, or on ``(n, c, z, y, x)``.
    ulp : float, optional
        Quarter turns and mirror images may differ by this many units in the last place.
    equal_radius : float, optional
        Allowed spread at radius 65 of a filtered hill (15 of a ball), relative to the change there.
    turned : float, optional
        Allowed difference between upright and turned whorl (sheets that bend through space), relative to the change;
        the worst of five angles (four turns).
    dimension : int
        2, or 3 for a filter of volumes.
    channels, dtype, device
        Of the test pictures.

    Notes
    -----
    A limit of None leaves that measurement out. See :func:`whorl.invariance.rotation_error` on choosing the filter's
    contrast: the pictures' steepest slope is 12. A filter that changes nothing passes.

    Examples
    --------
    >>> assert_rotation_invariant(lambda u: u.square())
    >>> assert_rotation_invariant(lambda u: u.roll(1, -1))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    AssertionError: not rotation invariant: ...
    """
    faults = []
    if ulp is not None:
        measured = symmetry_error(filter, dimension=dimension, channels=channels, dtype=dtype, device=device).ulp
        if not measured <= ulp:
            faults.append(f"quarter turns and mirror images {measured:.3g} ulp > {ulp:g}")
    if equal_radius is not None:
        radial = equal_radius_error if dimension == 2 else equal_sphere_error
        measured = radial(filter, channels=channels, dtype=dtype, device=device).relative
        if not measured <= equal_radius:
            faults.append(f"equal radius {measured:.3g} > {equal_radius:g}")
    if turned is not None:
        turn = turn_error if dimension == 2 else solid_turn_error
        errors = turn(filter, channels=channels, dtype=dtype, device=device)
        worst = max(errors, key=lambda error: error.relative)
        if not worst.relative <= turned:
            faults.append(f"turned by {worst.angle:.1f} degrees {worst.relative:.3g} > {turned:g}")
    if faults:
        raise AssertionError("not rotation invariant: " + "; ".join(faults))
