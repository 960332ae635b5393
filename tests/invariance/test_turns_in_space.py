"""Turns of space without interpolation: what they must find, and what they must not."""

from functools import partial

import pytest
import torch

import whorl
from whorl.data.solids import Ball, Gyroid, SolidTurn, render_solid
from whorl.invariance import (
    CUBE_SYMMETRIES,
    SOLID_TURNS,
    coincident_voxels,
    equal_sphere_error,
    lattice_sphere,
    solid_turn_error,
    symmetry_error,
)
from whorl.testing import assert_rotation_invariant

DIAGONAL = (SOLID_TURNS["1/3 about the diagonal"],)


@pytest.mark.parametrize("turn", SOLID_TURNS.values(), ids=SOLID_TURNS)
def test_shared_voxels_hold_the_same_bits(turn):
    """A drawn solid needs no interpolation: upright and turned volume agree where their voxels meet."""
    centre, size = 12, 25
    for solid in (Gyroid(), Ball(8.0, 2.0)):
        upright, turned = render_solid(solid, size)[0, 0], render_solid(solid, size, turn=turn)[0, 0]
        p, q = (centre + points for points in coincident_voxels(turn, centre))
        assert len(p) > 40
        gap = upright[p[:, 2], p[:, 1], p[:, 0]] - turned[q[:, 2], q[:, 1], q[:, 0]]
        assert gap.abs().max() <= 1e-12


@pytest.mark.parametrize("turn", SOLID_TURNS.values(), ids=SOLID_TURNS)
def test_every_norm_th_voxel_is_shared(turn):
    """The shared voxels are a sublattice, of one voxel in ``norm``."""
    p, q = coincident_voxels(turn, 20)
    inside = sum(1 for _ in coincident_voxels(SolidTurn(), 20)[0])
    assert len(p) * turn.norm == pytest.approx(inside, rel=0.02)
    assert torch.equal((p**2).sum(-1), (q**2).sum(-1))
    kept = {tuple(point) for point in p.tolist()}
    assert all(tuple(-c for c in point) in kept for point in kept)


def test_turns_are_checked():
    with pytest.raises(ValueError, match="no rotation"):
        SolidTurn(((1, 1, 0), (0, 1, 0), (0, 0, 1)))
    with pytest.raises(ValueError, match="mirror image"):
        SolidTurn(((-1, 0, 0), (0, 1, 0), (0, 0, 1)))
    assert [round(turn.angle, 1) for turn in SOLID_TURNS.values()] == [36.9, 36.9, 60.0, 90.0]


def test_a_pointwise_filter_passes_and_a_shift_does_not():
    assert all(error.relative <= 1e-12 for error in solid_turn_error(lambda u: u.square(), size=25))
    shifted = [error.relative for error in solid_turn_error(lambda u: u.roll(1, -1), size=25)]
    assert [error > 0.1 for error in shifted] == [
        True,
        False,
        True,
        True,
    ]  # a shift along x commutes with turns about x
    seen = []
    assert equal_sphere_error(lambda u: seen.append(u.shape) or u.square()).relative == 0
    assert seen == [(1, 1, 69, 69, 69)]
    assert equal_sphere_error(lambda u: u.roll(1, -1)).relative > 0.1


def test_slice_by_slice_is_found_out():
    """A planar model on every slice for itself is invariant about z and far from it about any other axis."""
    model = partial(whorl.models.build("perona-malik", contrast=12.0), time=1.0, engine="reference")

    def by_slices(u):
        n, c, z, y, x = u.shape
        return model(u.transpose(1, 2).reshape(n * z, c, y, x)).reshape(n, z, c, y, x).transpose(1, 2)

    about_z, about_x, about_diagonal, oblique = (e.relative for e in solid_turn_error(by_slices))
    assert about_z < 0.02
    assert min(about_x, about_diagonal, oblique) > 0.2
    assert equal_sphere_error(by_slices).relative > 0.1
    whole = [e.relative for e in solid_turn_error(model)]
    assert max(whole) < 0.02


def test_there_are_48_symmetries_of_the_cube():
    u = torch.arange(27.0).view(1, 1, 3, 3, 3)
    assert len({tuple(move(u).flatten().tolist()) for move in CUBE_SYMMETRIES.values()}) == 48
    assert torch.equal(CUBE_SYMMETRIES["+z+y+x"](u), u)
    found = symmetry_error(lambda v: v + v.flip(-1), dimension=3)
    assert set(found.differences) == set(CUBE_SYMMETRIES)
    assert found.differences["+z-y+x"] == 0
    assert found.differences["+y+x+z"] > 1


def test_lattice_spheres():
    found = {tuple(sorted(map(abs, point), reverse=True)) for point in lattice_sphere(15).tolist()}
    assert found == {(15, 0, 0), (12, 9, 0), (14, 5, 2), (11, 10, 2), (10, 10, 5)}
    with pytest.raises(ValueError, match="only the axes"):
        lattice_sphere(1)
    with pytest.raises(ValueError, match="not radial"):
        equal_sphere_error(lambda u: u, solid=Gyroid())


def test_the_assertion_judges_volumes():
    assert_rotation_invariant(lambda u: u.sqrt(), dimension=3)
    with pytest.raises(AssertionError, match=r"turned by"):
        assert_rotation_invariant(lambda u: u.roll(1, -1), dimension=3)
