"""What filling in guarantees: known pixels, bounds, turns, and the exact solution of the linear problems."""

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from scipy.sparse.linalg import spsolve

from whorl import inpainting, models
from whorl.inpainting import bands
from whorl.inpainting.images import METHODS, method
from whorl.inpainting.pyramid import Level
from whorl.schemes import fsi_steps

NAMES = list(METHODS)


def build(name: str, **more: object) -> models.Model:
    return method(name, **more)


def fill(model, image, known, **more):
    """In plain PyTorch: the pictures are small, and compiling takes longer than filling them."""
    return inpainting.fill(model, image, known, **{"engine": "reference", **more})


def scene(shape=(24, 30), channels=1, density=0.15, seed=0):
    generator = torch.Generator().manual_seed(seed)
    known = torch.rand(1, 1, *shape, generator=generator) < density
    y, x = torch.meshgrid(*(torch.arange(float(size), dtype=torch.float64) for size in shape), indexing="ij")
    shades = [
        120 + 60 * torch.sin(0.31 * x + 0.2 * y + c) + 40 * ((x - 14) ** 2 + (y - 9) ** 2 < 60 + 9 * c)
        for c in range(channels)
    ]
    return torch.stack(shades)[None], known


def direct(model, image, known):
    """The solution of the linear system, matrix and all."""
    size = image[0, 0].numel()
    unit = torch.eye(size, dtype=torch.float64).view(size, 1, *image.shape[2:])
    matrix = csr_matrix(model.rhs(unit).reshape(size, size).T.numpy())
    free = ~known.flatten().numpy()
    values = image.flatten().numpy().copy()
    values[free] = spsolve(matrix[free][:, free], -matrix[free][:, ~free] @ values[~free])
    return torch.from_numpy(values).view_as(image)


@pytest.mark.parametrize("name", ["homogeneous", "biharmonic"])
def test_linear_models_reach_the_direct_solution(name):
    image, known = scene()
    model = build(name)
    found = fill(model, image, known, tolerance=1e-8)
    assert found.converged
    assert float((found.image - direct(model, image, known)).abs().max()) < 1e-6


def test_the_plate_comes_to_rest_over_wide_holes():
    """Errors as wide as the hole take many steps of a flow of fourth order."""
    image, known = scene(shape=(96, 96), density=2.0)
    known[..., 8:-8, 8:-8] = False
    found, best = (fill(build("biharmonic"), image, known, engine="auto", tolerance=each) for each in (0.1, 0.01))
    assert found.converged
    assert best.converged
    # As with scattered pixels, the estimate may be off by a small factor.
    assert float((found.image - best.image).masked_select(~known).square().mean().sqrt()) < 0.4


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", NAMES)
def test_known_pixels_keep_their_values_to_the_last_bit(name, dtype):
    image, known = scene(channels=3)
    image = image.to(dtype)
    found = fill(build(name), image, known).image
    assert torch.equal(found.masked_select(known), image.masked_select(known))
    assert found.dtype == dtype


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_under_the_mask_has_no_effect(name):
    image, known = scene()
    broken = torch.where(known, image, torch.nan)
    assert torch.equal(fill(build(name), image, known).image, fill(build(name), broken, known).image)


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_stays_constant(name):
    _, known = scene()
    constant = torch.full((1, 1, 24, 30), 0.1, dtype=torch.float64)
    found = fill(build(name), constant * known, known, tolerance=1e-10).image
    assert float((found - 0.1).abs().max()) < 1e-9


@pytest.mark.parametrize("shape", [(21, 30), (33, 27), (9, 8, 11)])
@pytest.mark.parametrize("name", NAMES)
def test_filling_turns_with_what_is_filled(name, shape):
    """Axes exchanged and run through backwards, whether their lengths can be halved or not."""
    image, known = scene(shape[-2:])
    if len(shape) == 3:
        known = torch.rand(1, 1, *shape, generator=torch.Generator().manual_seed(4)) < 0.3
        image = image[:, :, None] * torch.linspace(0.5, 1, shape[0], dtype=torch.float64)[:, None, None]
    model = method(name, len(shape))
    plain = fill(model, image, known, tolerance=5.0).image
    for axes, backwards in [((3, 2, 4), (2,)), ((2, 4, 3), (3, 4))]:
        order = (0, 1, *(axis for axis in axes if axis < plain.dim()))
        ends = tuple(axis for axis in backwards if axis < plain.dim())
        moved = [u.permute(order).flip(ends) for u in (image, known)]
        found = fill(model, *moved, tolerance=5.0).image
        assert float((found - plain.permute(order).flip(ends)).abs().max()) < 1e-9 * 255


def test_the_membrane_stays_between_the_known_values():
    image, known = scene()
    seen = image.masked_select(known)
    for tolerance in (30.0, 1.0, 1e-6):
        found = fill(build("homogeneous"), image, known, tolerance=tolerance).image
        assert seen.min() <= found.min()
        assert found.max() <= seen.max()


@pytest.mark.parametrize("shift", [0.0, -1.0])
def test_bounds_of_zero_are_bounds(shift):
    """On a line with long gaps the fast scheme overshoots: without the bounds eight of these ten leave their range."""
    for seed in range(10):
        generator = torch.Generator().manual_seed(seed)
        known = torch.rand(1, 1, 1, 40, generator=generator) < 0.06
        known[..., 0] = True
        values = shift + (torch.rand(1, 1, 1, 40, generator=generator, dtype=torch.float64) < 0.5).double()
        found, seen = fill(build("homogeneous"), values, known, tolerance=1e-3).image, values.masked_select(known)
        assert seen.min() <= found.min()
        assert found.max() <= seen.max()


def test_edges_are_at_rest_after_three_calm_cycles_in_a_row():
    """One calm cycle may be where an edge turns round, as it does here."""
    image, known = scene(shape=(48, 48), density=0.1)
    distances = []
    found = fill(build("eed"), image, known, tolerance=3.0, report=distances.append)
    calm = [distance <= 3.0 for distance in distances]
    assert found.converged
    assert calm[-4:] == [False, True, True, True]
    assert any(calm[:-4])  # and was not taken for the end
    once = []
    assert fill(build("homogeneous"), image, known, tolerance=3.0, report=once.append).converged
    assert [distance <= 3.0 for distance in once] == [False, True]


@pytest.mark.parametrize("name", NAMES)
def test_the_tolerance_is_kept(name):
    image, known = scene(shape=(48, 48), density=0.1)
    best = fill(build(name), image, known, tolerance=1e-3).image
    for tolerance in (3.0, 0.1):
        found = fill(build(name), image, known, tolerance=tolerance).image
        distance = float((found - best).masked_select(~known).square().mean().sqrt())
        # The estimate leans on the changes of the last two cycles; it may be off by a small factor.
        assert distance < 4 * tolerance


@pytest.mark.parametrize("name", NAMES)
def test_the_result_depends_on_the_known_values_as_differences_say(name):
    image, known = scene(shape=(10, 12), density=0.3)
    image = image.requires_grad_()
    model = build(name)
    weight = torch.randn(image.shape, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    (slope,) = torch.autograd.grad((fill(model, image, known, tolerance=1e-7).image * weight).sum(), image)
    direction = torch.randn(image.shape, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    with torch.no_grad():
        ends = [
            (fill(model, image + sign * 1e-3 * direction, known, tolerance=1e-7).image * weight).sum()
            for sign in (1, -1)
        ]
    # What the tolerance leaves open counts 1e-7 of 1e-3 on either side.
    assert float((slope * direction).sum()) == pytest.approx(float(ends[0] - ends[1]) / 2e-3, rel=1e-3)
    assert torch.all(slope.masked_select(~known) == 0)


@pytest.mark.parametrize("name", NAMES)
def test_volumes_are_filled(name):
    """Linear models reach the direct solution; all keep known voxels."""
    shape = (7, 6, 8)
    z, y, x = torch.meshgrid(*(torch.arange(float(n), dtype=torch.float64) for n in shape), indexing="ij")
    volume = (60 * torch.sin(0.4 * x + 0.3 * y) + 12 * z + 50 * (x + z > 8))[None, None]
    known = torch.rand(1, 1, *shape, generator=torch.Generator().manual_seed(2)) < 0.25
    model = build(name, dimensions=3)
    found = fill(model, torch.where(known, volume, torch.nan), known, tolerance=1e-8 if name != "eed" else 0.1)
    assert found.converged
    assert torch.equal(found.image.masked_select(known), volume.masked_select(known))
    if name != "eed":
        assert float((found.image - direct(model, volume, known)).abs().max()) < 1e-6


def test_bounds_hold_in_space():
    known = torch.rand(1, 1, 6, 6, 6, generator=torch.Generator().manual_seed(2)) < 0.2
    volume = torch.rand(1, 1, 6, 6, 6, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    seen = volume.masked_select(known)
    model = build("homogeneous", alpha=0.3)
    assert model.max_min_limit(3) is not None
    found = fill(model, volume, known, tolerance=0.1).image
    assert seen.min() <= found.min()
    assert found.max() <= seen.max()


@pytest.mark.parametrize("name", NAMES)
def test_the_turn_by_3_4_5_is_commuted_with(name):
    """Known pixels on the sublattice that the turn maps onto itself: nothing is interpolated."""
    from whorl.data.synthetic import Turn, render
    from whorl.invariance.coincidence import coincident_points

    def hill(x, y):
        return 120 + 80 * torch.tanh((14 - (x * x + 1.5 * y * y).sqrt()) / 3) + 1.5 * x

    turn, size, radius = Turn(3, 4, 5), 81, 40
    views = [render(hill, size), render(hill, size, turn=turn)]
    points = [points.flip(-1) + radius for points in coincident_points(turn, radius)]
    chosen = torch.rand(len(points[0]), generator=torch.Generator().manual_seed(1)) < 0.5
    inside = (points[0] - radius).double().norm(dim=1) < 26
    results = []
    for view, at in zip(views, points, strict=True):
        known = torch.zeros(1, 1, size, size, dtype=torch.bool)
        known[0, 0, at[chosen, 0], at[chosen, 1]] = True
        filled = fill(build(name), view, known, tolerance=0.01).image
        results.append(filled[0, 0, at[inside & ~chosen, 0], at[inside & ~chosen, 1]])
    spread = float(results[0].std())
    assert float((results[1] - results[0]).square().mean().sqrt()) < 0.03 * spread


def test_edges_are_continued():
    """Two half planes seen through few pixels: edge-enhancing diffusion keeps them apart, the membrane blurs."""
    y, x = torch.meshgrid(torch.arange(48.0), torch.arange(48.0), indexing="ij")
    step = (200.0 * (x + 0.5 * y > 36))[None, None].double()
    known = torch.rand(1, 1, 48, 48, generator=torch.Generator().manual_seed(5)) < 0.15
    errors = {
        name: float((fill(build(name), step, known).image - step).square().mean()) for name in ("eed", "homogeneous")
    }
    assert errors["eed"] < 0.8 * errors["homogeneous"]


def test_work_grows_with_the_pixels():
    """The number of steps, in full-size steps, does not grow with the size of the picture."""
    counts = []
    for size in (32, 64, 128):
        image, known = scene(shape=(size, size), density=0.05)
        counts.append(fill(build("homogeneous"), image, known).steps)
    assert max(counts) <= 2 * min(counts)


@pytest.mark.parametrize("name", ["homogeneous", "eed"])
def test_engines_agree(name):
    image, known = scene()
    ours, plain = (
        fill(build(name), image, known, engine=engine, tolerance=1e-6).image for engine in ("auto", "reference")
    )
    assert float((ours - plain).abs().max()) < 1e-3


@pytest.mark.parametrize("engine", ["reference", "auto"])
def test_bands_give_the_bits_of_the_whole(engine, monkeypatch):
    """Also where a window has no known pixel, and for every image of a batch."""
    pairs = [scene(shape=(150, 20), seed=seed) for seed in (1, 2)]
    image, known = (torch.cat(parts) for parts in zip(*pairs, strict=True))
    known[0, :, 60:90] = False
    model, u = build("eed", rho=1.0), torch.where(known, image, 100)
    taus, mixes = fsi_steps((6,), model.step_limit())
    move = torch.full_like(u, 0.5)

    def cycle():
        with torch.no_grad():
            return bands.cycle(bands.pieces(model, Level(u, known), 6), u, move, 0.7, taus, mixes, engine)

    whole, along = cycle()
    monkeypatch.setattr(bands, "LARGE", 600)
    assert len(list(bands.bands(150, 20, 20))) > 3
    pieces, shares = cycle()
    assert torch.equal(pieces, whole)
    assert shares == pytest.approx(along, rel=1e-9)


def test_no_window_is_thinner_than_its_halo():
    for rows, halo in ((100, 30), (95, 7), (10, 20)):
        found = list(bands.bands(rows, 10**9, halo))
        assert min(window.last - window.first for window in found) >= min(halo, rows)
        assert [window.first for window in found[1:]] == [window.last for window in found[:-1]]
    assert len(list(bands.bands(5, 10**9, 0))) == 5


def test_the_distance_is_that_of_one_sample_however_many_channels_there_are():
    image, known = scene()
    for name in ("homogeneous", "biharmonic"):
        one, three = (fill(build(name), image.expand(1, count, -1, -1), known, tolerance=0.5) for count in (1, 3))
        assert (three.distance, three.steps) == (pytest.approx(one.distance, rel=1e-6), one.steps)


@pytest.mark.parametrize(("name", "most"), [("homogeneous", 20), ("biharmonic", 80), ("eed", 20)])
def test_what_does_not_come_to_rest_ends_after_so_many_steps(name, most, monkeypatch):
    """In a flow of fourth order after four times as many."""
    from importlib import import_module

    monkeypatch.setattr(import_module("whorl.inpainting.fill"), "MOST_STEPS", 20)
    image, known = scene(shape=(4, 4), density=0.5)  # too small for a coarser level
    cycles = []
    found = fill(build(name), image, known, tolerance=1e-300, report=cycles.append)
    assert not found.converged
    assert most <= found.steps < most + found.steps / len(cycles) * 2


def test_images_of_a_batch_have_masks_of_their_own():
    one, first = scene(seed=1)
    two, second = scene(seed=2)
    model = build("homogeneous")
    both = fill(model, torch.cat([one, two]), torch.cat([first, second]), tolerance=1e-7).image
    assert np.allclose(both[:1], fill(model, one, first, tolerance=1e-7).image, atol=1e-5)
    assert np.allclose(both[1:], fill(model, two, second, tolerance=1e-7).image, atol=1e-5)


def test_the_threads_of_pytorch_are_given_back():
    """Also where somebody stops the filling; meanwhile kernels have all of them."""
    image, known = scene()
    threads, seen = torch.get_num_threads(), []

    def stop(distance):
        seen.append(torch.get_num_threads())
        raise KeyboardInterrupt

    torch.set_num_threads(2)
    try:
        with pytest.raises(KeyboardInterrupt):
            fill(build("homogeneous"), image, known, engine="numba", report=stop)
        assert seen == [1]
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
