"""Pictures from indirect measurements: every kind of A, every kind of array, and a sentence for what cannot be done."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import whorl
from whorl.errors import ShapeError
from whorl.reconstruction import Blur, Coarser, Masked, Measurement, ParallelBeam, RadialFourier, minimiser
from whorl.reconstruction.weights import _by_stein

SIDE = 24
KERNEL = torch.outer(torch.tensor([1.0, 2.0, 1.0]), torch.tensor([1.0, 1.0, 1.0, 1.0, 1.0])) / 20
MASK = torch.rand(SIDE, SIDE, generator=torch.Generator().manual_seed(3)) < 0.4
OPERATORS = {
    "blur": Blur(KERNEL),
    "circular blur": Blur(KERNEL, circular=True),
    "super-resolution": Coarser(2),
    "mask": Masked(MASK),
    "radial MRI": RadialFourier((SIDE, SIDE), 16),
    "parallel tomography": ParallelBeam((SIDE, SIDE), [math.pi * k / 24 for k in range(24)]),
}


@pytest.fixture(scope="module")
def scene():
    y, x = torch.meshgrid(torch.arange(float(SIDE)), torch.arange(float(SIDE)), indexing="ij")
    disc = (y - 13) ** 2 + (x - 10) ** 2 < 36
    return (60 + 100 * disc + 60.0 * (x > 17) + y)[None, None]


def measured(A, u, noise):
    clean = A(u)
    drawn = torch.randn(clean.shape, dtype=clean.dtype, generator=torch.Generator().manual_seed(1))
    return clean + noise * drawn * (math.sqrt(2) if clean.is_complex() else 1)  # torch shares the variance out


@pytest.mark.parametrize("name", OPERATORS)
def test_adjoints_are_exact_and_norms_are_bounds(name):
    A, shape = OPERATORS[name], (2, 3, SIDE, SIDE)
    u = torch.randn(shape, dtype=torch.float64)
    seen = A(u)
    v = torch.randn_like(seen)
    left, right = float((seen.conj() * v).real.sum()), float((u * A.adjoint(v)).sum())
    assert left == pytest.approx(right, rel=1e-12, abs=1e-10 * float(seen.norm() * v.norm()))
    bound = Measurement.of(A, v[:1, :1]).squared_norm
    w = u[:1, :1]
    for _ in range(60):
        w = A.adjoint(A(w / w.norm()))
        assert float(w.norm()) <= bound * (1 + 1e-9)
    assert float(w.norm()) >= 0.8 * bound


@pytest.mark.parametrize(("name", "noise"), [("circular blur", 3.0), ("super-resolution", 3.0), ("mask", 5.0),
                                             ("radial MRI", 3.0), ("parallel tomography", 20.0)])  # fmt: skip
def test_better_than_the_best_multiple_of_the_adjoint(name, noise, scene):
    """The remainder is that of the noise, the gradient as small as asked for, and the picture nearer to the scene."""
    A = OPERATORS[name]
    y = measured(A, scene, noise)
    found = minimiser(Measurement.of(A, y), y, "energy-convex", noise, peak=255.0)
    assert found.reached
    assert found.residual <= 1e-4
    assert found.remainder == pytest.approx(noise, rel=0.05)
    start = Measurement.of(A, y).start(y)
    assert float((found.u - scene).norm()) < 0.8 * float((start - scene).norm())


def test_minimisers_are_found_as_well_as_the_noise_demands():
    """Sums along rays outweigh their noise a thousand times: a share of them alone would stop too early."""
    side, noise = 48, 10.0
    y, x = torch.meshgrid(torch.arange(float(side)), torch.arange(float(side)), indexing="ij")
    scene = (60 + 100 * ((y - 25) ** 2 + (x - 20) ** 2 < 144) + 60.0 * (x > 35) + y)[None, None]
    A = ParallelBeam((side, side), [math.pi * k / 20 for k in range(20)])
    seen = measured(A, scene, noise)
    given = Measurement.of(A, seen)
    usual = minimiser(given, seen, "energy-convex", noise, peak=255.0)
    exact = minimiser(given, seen, "energy-convex", noise, usual.weight, peak=255.0, tolerance=1e-6)
    assert usual.remainder == pytest.approx(noise, rel=0.03)
    assert exact.remainder == pytest.approx(usual.remainder, rel=0.01)
    assert float((usual.u - exact.u).norm()) < 0.1 * float((exact.u - scene).norm())


@pytest.mark.parametrize("energy", ["energy-weak", "energy-guided", "model"])
def test_other_energies_deblur_too(energy, scene):
    model = whorl.models.build("perona-malik", diffusivity="charbonnier", contrast=2.0)
    y = measured(OPERATORS["circular blur"], scene, 4.0)
    told = model if energy == "model" else energy
    found = whorl.reconstruct(y, OPERATORS["circular blur"], energy=told, noise=4.0, peak=255.0, tolerance=1e-3)
    assert float((found - scene).norm()) < 0.7 * float((y - scene).norm())


def test_every_way_to_say_the_same_gives_the_same(scene):
    """An operator, a pair of functions of tensors or of arrays, and a function whose adjoint autograd finds."""
    kernel = torch.full((3, 3), 1 / 36)
    kernel[1, 1] += 0.75
    A, how = Blur(kernel, circular=True), {"noise": 4.0, "peak": 255.0, "weight": 0.5}
    y = measured(A, scene, 4.0)
    expected = whorl.reconstruct(y, A, **how)
    pair = whorl.reconstruct(y, (A, A.adjoint), **how)
    by_autograd = whorl.reconstruct(y, lambda u: A(u), **how)
    plain = (
        lambda u: A(torch.from_numpy(u)[None, None])[0, 0].numpy(),
        lambda v: A.adjoint(torch.from_numpy(v)[None, None])[0, 0].numpy(),
    )
    arrays = whorl.reconstruct(y[0, 0].numpy(), plain, **how)
    flat = whorl.reconstruct(y[0, 0].numpy(), A, **how)
    # No frequency is damped below 0.75 - 0.25: each end is within tolerance over the square of that.
    near = 2.2e-4 * float(A.adjoint(y).norm()) / 0.25
    for other in (pair, by_autograd, torch.from_numpy(arrays)[None, None], torch.from_numpy(flat)[None, None]):
        assert float((other - expected).norm()) <= near
    assert arrays.shape == flat.shape == (SIDE, SIDE)
    assert arrays.dtype == np.float32
    # The noise is measured on the same picture, whoever says how it was taken.
    untold = [whorl.reconstruct(y[0, 0].numpy(), each, weight=0.5, peak=255.0) for each in (plain, A)]
    assert float(np.linalg.norm(untold[0] - untold[1])) <= near
    with pytest.raises(TypeError, match="Give the pair"):
        whorl.reconstruct(y[0, 0].numpy(), lambda u: u.numpy() * 2, noise=1.0)


def test_colour_has_a_channel_axis_and_a_blur_without_border_gives_more(scene):
    A = OPERATORS["blur"]
    y = measured(A, scene.expand(-1, 3, -1, -1), 4.0)[0].movedim(0, -1).numpy()
    found = whorl.reconstruct(y, A, noise=4.0, peak=255.0, channel_axis=-1, weight=0.5, tolerance=1e-3)
    assert found.shape == (SIDE, SIDE, 3)
    assert y.shape == (SIDE - 2, SIDE - 4, 3)


def test_steins_estimate_finds_a_weight_nearly_as_good_as_the_best(scene):
    A = OPERATORS["circular blur"]
    y, model = measured(A, scene, 6.0), whorl.models.build("perona-malik", diffusivity="charbonnier", contrast=2.0)
    within = Measurement.of(A, y)
    chosen = minimiser(within, y, model, 6.0, "stein", tolerance=1e-3)
    clean = A(scene)

    def risk(found):
        return float((A(found.u) - clean).square().mean())

    risks = [risk(minimiser(within, y, model, 6.0, weight, tolerance=1e-3)) for weight in np.geomspace(0.3, 100, 9)]
    assert risk(chosen) <= 1.3 * min(risks)


@pytest.mark.parametrize(
    ("risk", "expected"),
    [
        (lambda place: (place + 2.3) ** 2 + 5, math.exp(-2.3)),
        (lambda place: (place - 1.9) ** 2 + 5, math.exp(1.9)),  # the other way
        (lambda place: (place + 0.2) ** 2 + 5, math.exp(-0.2)),
        (lambda place: 100 + place, 2.0**-8),  # as far as it goes
    ],
)
def test_the_weight_is_the_lowest_point_of_the_estimate(risk, expected):
    """Where data are not moved, the estimate is the squared remainder: here any function of the weight's logarithm."""

    class Told:
        y, deviation = torch.ones(1, 1, 4, 4, dtype=torch.float64), 1.0

        def solve(self, weight, start, moved=None):
            return SimpleNamespace(u=start if moved is not None else torch.full_like(self.y, math.log(weight)))

        def forward(self, u):
            return u

        def remainder(self, u):
            return math.sqrt(risk(float(u.mean())))

    weight, _ = _by_stein(Told(), 1.0, 1.0, Told.y)
    assert weight == pytest.approx(expected, rel=1e-9)


def test_turned_data_have_the_turned_picture(scene):
    """What is drawn, for the norm of A and for Stein's estimate, turns with the data."""
    A, model = OPERATORS["circular blur"], whorl.models.build("perona-malik", diffusivity="charbonnier", contrast=2.0)
    y = measured(A, scene.double(), 6.0)
    plain = Measurement.of((A, A.adjoint), y)
    found = minimiser(plain, y, model, 6.0, "stein", tolerance=1e-6)
    B = Blur(KERNEL.T.flip(0), circular=True)
    turned = Measurement.of((B, B.adjoint), y.rot90(1, (2, 3)))
    again = minimiser(turned, y.rot90(1, (2, 3)), model, 6.0, "stein", tolerance=1e-6)
    assert turned.squared_norm == pytest.approx(plain.squared_norm, rel=1e-12)
    assert again.weight == pytest.approx(found.weight, rel=1e-3)
    assert float((again.u.rot90(-1, (2, 3)) - found.u).abs().max()) < 0.01


def test_what_does_not_match_is_refused_with_the_number(scene):
    A = OPERATORS["circular blur"]
    y = A(scene)
    with pytest.raises(ValueError, match=r"do not match: <A u, v> = .*e-0\d of their lengths"):
        whorl.reconstruct(y, (A, lambda v: A.adjoint(v).roll(1, -1)), noise=1.0)
    with pytest.raises(ValueError, match="not linear"):
        whorl.reconstruct(y, (lambda u: A(u) + 1, A.adjoint), noise=1.0)
    with pytest.raises(ShapeError, match="y has"):
        whorl.reconstruct(y, (lambda u: A(u)[:, :, 1:], A.adjoint), noise=1.0)
    with pytest.raises(ShapeError, match="both complex"):
        whorl.reconstruct(y, (lambda u: A(u) + 0j, lambda v: A.adjoint(v.real)), noise=1.0)
    with pytest.raises(ValueError, match="gives NaN"):
        whorl.reconstruct(y, (lambda u: A(u) * float("nan"), A.adjoint), noise=1.0)
    with pytest.raises(ValueError, match="gives NaN"):  # a single one
        whorl.reconstruct(
            y, (lambda u: torch.where(torch.arange(u.shape[-1]) == 2, torch.inf, A(u)), A.adjoint), noise=1.0
        )
    with pytest.raises(TypeError, match="pair of functions"):
        whorl.reconstruct(y, np.eye(3), noise=1.0)
    with pytest.raises(ValueError, match="A and its adjoint"):
        whorl.reconstruct(y, (A,), noise=1.0)


def test_bad_input_is_named(scene):
    A = OPERATORS["circular blur"]
    y = A(scene)
    for arguments, words in (
        ({"noise": 0}, "noise = 0"),
        ({"noise": -1.0}, "noise must lie"),
        ({"noise": 1.0, "weight": "best"}, "'discrepancy' or 'stein'"),
        ({"weight": 0.0}, "weight must lie"),
        ({"noise": 1.0, "energy": "photo-grey"}, "Give one of energy-convex"),
        ({"noise": 1.0, "energy": whorl.models.build("ced", contrast=1.0)}, "no energy exists"),
        ({"noise": 1.0, "peak": 0.0}, "peak must lie"),
    ):
        with pytest.raises(ValueError, match=words):
            whorl.reconstruct(y, A, **arguments)
    holed = y.clone()
    holed[0, 0, 3, 3] = math.nan
    with pytest.raises(ValueError, match=r"1 NaN or infinite value"):
        whorl.reconstruct(holed, A, noise=1.0)
    with pytest.raises(ValueError, match="0 everywhere"):
        whorl.reconstruct(torch.zeros_like(y), A, noise=1.0)
    with pytest.raises(ValueError, match="pictures alone"):
        whorl.reconstruct(OPERATORS["mask"](scene), OPERATORS["mask"])
    with pytest.raises(ShapeError, match="NumPy or torch"):
        whorl.reconstruct([1.0], A, noise=1.0)
    with pytest.raises(ShapeError, match="larger than the picture"):
        whorl.reconstruct(y[:, :, :2], A, noise=1.0)
    with pytest.raises(ShapeError, match="kernel"):
        Blur(torch.ones(3))
    with pytest.raises(ShapeError, match="no multiples"):
        Coarser(3)(torch.zeros(1, 1, 8, 8))
    with pytest.raises(ValueError, match="whole number"):
        Coarser(0)
    with pytest.raises(ShapeError, match="of bool"):
        Masked(torch.zeros(3, 3))


def test_what_is_not_reached_is_said(scene):
    y = measured(OPERATORS["circular blur"], scene, 4.0)
    with pytest.warns(UserWarning, match="stopped after 2 steps"):
        whorl.reconstruct(y, OPERATORS["circular blur"], noise=4.0, weight=1.0, steps=2)


def test_noise_that_cannot_be_is_doubted(scene):
    """More noise than there are data: no weight leaves so much."""
    y = measured(OPERATORS["circular blur"], scene, 2.0)
    model = whorl.models.build("perona-malik", diffusivity="charbonnier", contrast=2.0)
    with pytest.warns(UserWarning, match="no weight leaves 500"):
        whorl.reconstruct(y, OPERATORS["circular blur"], energy=model, noise=500.0, tolerance=1e-2, steps=200)
