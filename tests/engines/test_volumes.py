"""The compiled step in space against the formulas of the cell, written out with NumPy and eigenvectors."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch

pytest.importorskip("numba")

import numba

from whorl.engines.cpu.arithmetic import put
from whorl.engines.cpu.compiling import COMPILED
from whorl.engines.cpu.laws import ANISOTROPIC
from whorl.engines.cpu.space import volumes
from whorl.engines.cpu.space.cells import LANE, entries
from whorl.engines.cpu.space.tensors import _together, parted
from whorl.engines.cpu.space.tensors import axis as axis_of
from whorl.engines.cpu.space.volumes import advance_volume
from whorl.models import build
from whorl.operators import Derivative, gaussian_weights
from whorl.steps import Form

TAU, ALPHA, CONTRAST, ACROSS = 0.1, 0.41, 0.3, 0.01
STEP = (TAU, CONTRAST)
SIGNS = [(0, 0, 1), (0, 1, 0), (1, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 1, 1)]
LAWS = ("uncoupled", "isotropic", "anisotropic", "edges", "plates", "lines", "coherence")
SPACINGS = [(1.0, 1.0, 1.0), (2.0, 1.5, 0.8)]


def form(law: str, spacing: tuple[float, float, float]) -> Form:
    """The step under test: its structure is smoothed where the law needs a second direction."""
    rho = 1.5 if law in ("lines", "coherence") else 0.0
    smooth, blur = (tuple(tuple(gaussian_weights(sigma / h)) for h in spacing) for sigma in (1.0, rho))
    names = {"edges": "edge-enhancing", "plates": "edge-enhancing", "lines": "edge-enhancing"}
    names["coherence"] = "coherence-enhancing"
    flux = Derivative("cells", spacing, ALPHA)
    return Form(
        law=names.get(law, law),
        diffusivity="none" if law == "coherence" else "rational",
        flux=flux,
        structure=Derivative("cells", spacing, 0.5, taps=(smooth,)) if law in names else flux,
        couple_channels=law != "edges",
        rho=blur if law in names else (),
        keep={"edges": "plates", "plates": "plates", "lines": "lines"}.get(law, ""),
        floor=ACROSS if law == "coherence" else 0.0,
    )


def channels(law: str) -> int:
    return 1 if law == "edges" else 2


@pytest.mark.parametrize("spacing", SPACINGS)
@pytest.mark.parametrize("law", LAWS)
def test_step_is_that_of_the_formulas(law: str, spacing: tuple[float, float, float], dtype: torch.dtype) -> None:
    chosen = form(law, spacing)
    u = torch.randn(2, channels(law), 7, 9, 20, dtype=dtype, generator=torch.Generator().manual_seed(1))
    result = advance_volume(chosen, u, [STEP])
    expected = np.stack([formulas(chosen, each.double().numpy()) for each in u])
    # Two nearly equal eigenvalues blow rounding up by the inverse of their relative distance, at most a thousand times.
    tolerance = (1000 if chosen.law.endswith("enhancing") else 16) * torch.finfo(dtype).eps
    assert np.abs(result.double().numpy() - expected).max() <= tolerance


@pytest.mark.parametrize("law", LAWS)
def test_windows_and_threads_give_the_bits_of_the_whole(law: str, monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = form(law, SPACINGS[1])
    u = torch.randn(1, channels(law), 11, 12, 37, generator=torch.Generator().manual_seed(2))
    whole = advance_volume(chosen, u, [STEP] * 2)
    monkeypatch.setattr(volumes, "WIDEST", 16)
    monkeypatch.setattr(volumes, "bands", lambda length, *_: [(0, 3), (3, length)])
    monkeypatch.setattr(volumes, "_even", lambda length, *_: volumes.split(length, 5, 1))
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        assert torch.equal(advance_volume(chosen, u, [STEP] * 2), whole)
    finally:
        torch.set_num_threads(before)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 9), (2, 1, 3), (5, 4, 1)])
def test_thin_volumes(law: str, shape: tuple[int, int, int]) -> None:
    chosen = form(law, SPACINGS[0])
    u = torch.randn(1, channels(law), *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    result = advance_volume(chosen, u, [STEP])[0].numpy()
    assert np.abs(result - formulas(chosen, u[0].numpy())).max() <= 1000 * np.finfo(np.float64).eps


@pytest.mark.parametrize("law", LAWS)
def test_constants_stay_and_the_mean_is_kept(law: str, dtype: torch.dtype) -> None:
    chosen = form(law, SPACINGS[1])
    flat = torch.full((1, channels(law), 5, 6, 19), 0.1, dtype=dtype)
    assert torch.equal(advance_volume(chosen, flat, [STEP] * 3), flat)
    u = torch.randn(1, channels(law), 8, 9, 19, dtype=dtype, generator=torch.Generator().manual_seed(4))
    change = advance_volume(chosen, u, [STEP] * 20).double().mean() - u.double().mean()
    assert change.abs() <= 20 * torch.finfo(dtype).eps


def test_steps_are_mixed_with_the_iterate_before_and_nothing_given_is_changed() -> None:
    chosen, mixes = form("anisotropic", SPACINGS[0]), [1.0, 1.2, 1.4, 1.5]
    u = torch.randn(1, 2, 6, 7, 18, dtype=torch.float64, generator=torch.Generator().manual_seed(5))
    given, before, now = u.clone(), u, u
    for mix in mixes:
        before, now = now, torch.lerp(before, advance_volume(chosen, now, [STEP]), mix)
    into = torch.empty_like(u)
    assert advance_volume(chosen, u, [STEP] * 4, mixes, out=into) is into
    assert torch.equal(u, given)
    torch.testing.assert_close(into, now, rtol=0, atol=8 * torch.finfo(torch.float64).eps)


@pytest.mark.parametrize("law", ["isotropic", "anisotropic", "edges", "coherence"])
@pytest.mark.parametrize("steps", [2, 3])
def test_volumes_that_slide_have_the_bits_of_single_steps(
    law: str, steps: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = replace(form(law, (1.0, 1.0, 1.0)), couple_channels=False)
    numbers = [(TAU / (k + 1), CONTRAST) for k in range(steps)]
    u = torch.randn(2, 2, 60, 9, 20, generator=torch.Generator().manual_seed(1))
    kept, expected = u.clone(), u
    for each in numbers:
        expected = advance_volume(chosen, expected, [each])
    slid: list[bool] = []
    monkeypatch.setattr(volumes, "LARGE", 0)
    monkeypatch.setattr(volumes, "SLABS", 5)
    monkeypatch.setattr(
        volumes, "_step", lambda *a, step=volumes._step: (slid.append(len(a) > 5 and a[5] > 0), step(*a))
    )
    result = advance_volume(chosen, u, numbers)
    assert slid == [False] + [True] * (steps - 1)
    assert torch.equal(result, expected)
    assert torch.equal(u, kept)
    assert result.untyped_storage().nbytes() == u.untyped_storage().nbytes()  # the gap was given back
    steered = advance_volume(chosen, u, numbers, steer=kept)
    monkeypatch.setattr(volumes, "LARGE", 2**62)
    assert torch.equal(steered, advance_volume(chosen, u, numbers, steer=kept))


@pytest.mark.parametrize("law", ["plates", "lines", "coherence"])
@pytest.mark.parametrize(
    "gaps", [(0.5, 0.7), (1e-4, 0.7), (0.5, 1e-4), (3e-4, 4e-4), (4e-4, 0.0), (0.0, 4e-4), (1e-9, 1e-9)], ids=str
)
def test_eigenvalues_that_meet_share_their_diffusion(law: str, gaps: tuple[float, float]) -> None:
    """Their sum stays; where all three meet, the tensor is the mean of its eigenvalues in every direction."""
    chosen, mu = form(law, SPACINGS[0]), np.array([2.0, 2.0 - gaps[0], 2.0 - sum(gaps)])
    wide = eigenvalues(chosen, np.array([2.0, 1.5, 0.5]))
    found = numba.njit(**COMPILED)(lambda *six: _together(*six))(*mu, *wide)
    assert sum(found) == pytest.approx(wide.sum(), rel=1e-12)
    for pair in (0, 1):
        if gaps[pair] == 0:  # equal eigenvalues have no directions
            assert found[pair] == pytest.approx(found[pair + 1], rel=1e-12)
    if sum(gaps) < 1e-8:
        assert found == pytest.approx([wide.mean()] * 3, rel=1e-4)
    if min(gaps) > 1e-2:
        assert found == pytest.approx(wide, rel=1e-12)


def test_another_volume_steers() -> None:
    chosen = form("plates", SPACINGS[0])
    u = torch.randn(1, 2, 6, 7, 18, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
    twice = advance_volume(chosen, u, [STEP, STEP], steer=u)
    first = advance_volume(chosen, u, [STEP])
    assert torch.equal(twice, advance_volume(chosen, first, [STEP], steer=u))
    assert not torch.equal(twice, advance_volume(chosen, first, [STEP]))


MODELS = {
    "perona-malik": {},
    "gerig": {"diffusivity": "charbonnier"},
    "weickert-brox": {"diffusivity": "rational"},
    "uncoupled": {"diffusivity": "tv"},
    "eed": {"diffusivity": "weickert"},
    "ced": {},
}


@pytest.mark.filterwarnings("ignore:.*torch.jit.script.* is deprecated:DeprecationWarning")
@pytest.mark.parametrize(
    "dtype",
    # Every law is compared in double precision above; here it would only be compiled again for each diffusivity.
    [torch.float32, pytest.param(torch.float64, marks=pytest.mark.slow)],
    ids=["float32", "float64"],
)
@pytest.mark.parametrize("scheme", ["explicit", "fed", "fsi"])
@pytest.mark.parametrize("name", MODELS)
def test_models_agree_with_the_reference(name: str, scheme: str, dtype: torch.dtype) -> None:
    model = build(name, contrast=0.5, spacing=(1.6, 1.0, 1.2), **MODELS[name])
    u = torch.randn(1, 2, 6, 9, 21, dtype=dtype, generator=torch.Generator().manual_seed(8))
    time = (4 if scheme == "explicit" else 30) * model.automatic_step()
    expected = model(u.double(), time, scheme=scheme, engine="reference")
    found = model(u, time, scheme=scheme, engine="numba")
    # Volumes of size 4; steps of the fast schemes are large, and near-equal eigenvalues blow rounding up.
    assert (found.double() - expected).abs().max() <= 4000 * torch.finfo(dtype).eps


@pytest.mark.parametrize("value", [torch.nan, torch.inf], ids=["nan", "infinity"])
@pytest.mark.parametrize("name", MODELS)
def test_a_step_spreads_what_is_not_finite_as_the_reference_does(name: str, value: float) -> None:
    model = build(name, contrast=0.5, spacing=(1.6, 1.0, 1.2), **MODELS[name])
    u = torch.randn(1, 2, 6, 9, 21, generator=torch.Generator().manual_seed(8))
    u[0, 1, 3, 4, 10] = value
    found, exact = (model.step(u, engine=engine).isfinite() for engine in ("numba", "reference"))
    assert torch.equal(found, exact)
    assert not exact.all()


def test_volumes_take_the_compiled_engine_by_themselves(caplog: pytest.LogCaptureFixture) -> None:
    model = build("perona-malik", contrast=0.5)
    u = torch.randn(1, 1, 6, 9, 21)
    assert torch.equal(model(u, 1.0), model(u, 1.0, engine="numba"))
    assert not caplog.records
    u.requires_grad_()
    model(u, 1.0).sum().backward()
    assert u.grad is not None


@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_eigenvalues_and_vectors(real: type) -> None:
    """Of full rank, of rank two and one, of sizes far apart, multiples of the identity, and zero."""
    rng = np.random.default_rng(7)
    v = rng.standard_normal((6, 100, 3, 3))
    v[1, :, 2], v[2, :, 1:] = 0, 0
    v[3] *= 10.0 ** rng.uniform(-5, 5, (100, 3, 1))
    v[4], v[5] = 3 * np.eye(3), 0
    J = np.einsum("nki,nkj->nij", v.reshape(-1, 3, 3), v.reshape(-1, 3, 3)).astype(real)
    lanes, found = np.zeros((6, LANE), real), np.zeros((13, LANE), real)
    for lane, (i, j) in enumerate(itertools.combinations_with_replacement(range(3), 2)):
        lanes[lane, : len(J)] = J[:, i, j]
    _parted(lanes.reshape(-1), found.reshape(-1), len(J))
    n, ss, st, tt = found[:4, : len(J)].astype(float)
    vectors = found[4:, : len(J)].T.reshape(-1, 3, 3).astype(float)
    blocks = np.zeros((len(J), 3, 3))
    blocks[:, 0, 0], blocks[:, 1, 1], blocks[:, 2, 2], blocks[:, 1, 2], blocks[:, 2, 1] = n, ss, tt, st, st
    size, eps = np.maximum(np.abs(J).max((1, 2)), np.finfo(real).tiny), np.finfo(real).eps
    exact = np.linalg.eigvalsh(J.astype(float))
    assert (np.abs(np.linalg.eigvalsh(blocks) - exact).max(1) <= 16 * eps * size).all()
    assert np.abs(np.einsum("nki,nkj->nij", vectors, vectors) - np.eye(3)).max() <= 16 * eps
    again = np.einsum("nki,nkl,nlj->nij", vectors, blocks, vectors)
    assert (np.abs(again - J).max((1, 2)) <= 32 * eps * size).all()
    mean = (ss + tt) / 2  # the eigenvalue of the first vector is the largest or the smallest
    apart = np.where(n >= mean, exact[:, 2], exact[:, 0])
    assert (np.abs(n - apart) <= 16 * eps * size).all()


@pytest.mark.parametrize("strength", [1e3, 1e6, 1e9])
@pytest.mark.parametrize("along", [0, 1, 2])
def test_an_edge_along_an_axis_costs_the_weak_directions_no_digits(along: int, strength: float) -> None:
    """J = p p^T + q q^T + I with one large entry of p: both weak eigenvalues are exact up to their own rounding."""
    rng, eps = np.random.default_rng(3), np.finfo(np.float32).eps
    p = rng.uniform(-1, 1, (200, 3))
    p[:, along] = rng.uniform(0.5, 1, 200) * strength
    q = rng.uniform(-1, 1, (200, 3))
    q[:, along] = 0
    J = (np.einsum("ni,nj->nij", p, p) + np.einsum("ni,nj->nij", q, q) + np.eye(3)).astype(np.float32)
    lanes, found = np.zeros((6, LANE), np.float32), np.zeros((13, LANE), np.float32)
    for lane, (i, j) in enumerate(itertools.combinations_with_replacement(range(3), 2)):
        lanes[lane, : len(J)] = J[:, i, j]
    _parted(lanes.reshape(-1), found.reshape(-1), len(J))
    _, ss, st, tt = found[:4, : len(J)].astype(float)
    weak = np.linalg.eigvalsh(np.stack([ss, st, st, tt], -1).reshape(-1, 2, 2))
    # They are those of the Schur complement but for terms of the squared ratio of weak to strong entries, at most 16 to
    # the strength squared: in double precision the whole matrix would not show them.
    others = [axis for axis in range(3) if axis != along]
    double = J.astype(float)
    block, column = double[:, others][:, :, others], double[:, others, along]
    exact = np.linalg.eigvalsh(block - np.einsum("ni,nj->nij", column, column) / double[:, along, along, None, None])
    assert (np.abs(weak - exact) <= (16 * eps + 16 * strength**-2) * exact).all()


@numba.njit(**COMPILED)
def _parted(J, out, n):  # type: ignore[no-untyped-def]
    for j in range(n):
        matrix = entries(ANISOTROPIC, j, J)
        v = axis_of(*matrix)
        found = parted(*matrix, *v)
        for e in range(4):
            put(out, e * LANE + j, found[e])
        for e in range(3):
            put(out, (4 + e) * LANE + j, v[e])
            put(out, (7 + e) * LANE + j, found[4 + e])
            put(out, (10 + e) * LANE + j, found[7 + e])


# The formulas, in their own words.


def formulas(chosen: Form, u: np.ndarray) -> np.ndarray:
    """The channels ``(c, z, y, x)`` after one step."""
    h, kappa = chosen.flux.spacing[::-1], 1 - 2 * chosen.flux.alpha
    D = diffusion(chosen, structure_tensor(chosen, u))
    result = []
    for channel in u:
        p, (r_xy, r_xz, r_yz), t = details(channel)
        p = [p[i] / h[i] for i in range(3)]
        trace = [D[i][i] / h[i] ** 2 for i in range(3)]
        flux = [sum(D[i][j] * p[j] for j in range(3)) / h[i] for i in range(3)]
        flux += [kappa * (trace[0] + trace[1]) * r_xy, kappa * (trace[0] + trace[2]) * r_xz]
        flux += [kappa * (trace[1] + trace[2]) * r_yz, kappa**2 * sum(trace) * t]
        result.append(channel - TAU * transposed(flux))
    return np.stack(result)


def details(u: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray], np.ndarray]:
    """The seven Haar details of all cells of the mirrored volume."""
    m = np.pad(u, 1, mode="symmetric")
    found = [sum(weight(sign, corner) * m[place(corner, m)] for corner in corners()) for sign in SIGNS]
    return found[:3], found[3:6], found[6]


def transposed(flux: list[np.ndarray]) -> np.ndarray:
    """What the voxels of the volume receive."""
    m = np.zeros([size + 1 for size in flux[0].shape])
    for f, sign in zip(flux, SIGNS, strict=True):
        for corner in corners():
            m[place(corner, m)] += weight(sign, corner) * f
    return m[1:-1, 1:-1, 1:-1]


def corners() -> itertools.product:
    return itertools.product((0, 1), repeat=3)


def weight(sign: tuple[int, ...], corner: tuple[int, ...]) -> float:
    return 0.25 * float(np.prod([2 * c - 1 for c, s in zip(corner, sign, strict=True) if s]))


def place(corner: tuple[int, ...], m: np.ndarray) -> tuple[slice, ...]:
    return tuple(slice(c, size - 1 + c) for c, size in zip(corner, m.shape, strict=True))


def structure_tensor(chosen: Form, u: np.ndarray) -> np.ndarray:
    """J of the cells ``(..., 3, 3)``: of the smoothed channels, mirrored as far as its own smoothing looks."""
    h, kappa = chosen.flux.spacing[::-1], 1 - 2 * chosen.structure.alpha
    taps = chosen.steering or ((1.0,),) * 6
    for axis in range(3):
        u = smoothed(u, axis + 1, taps[axis])
    halo = [len(weights) for weights in taps[3:]]
    J = 0
    for channel in np.pad(u, [(0, 0), *((p, p) for p in halo)], mode="symmetric"):
        p, (r_xy, r_xz, r_yz), t = details(channel)
        extra = [kappa * (a**2 + b**2) + (kappa * t) ** 2 for a, b in ((r_xy, r_xz), (r_xy, r_yz), (r_xz, r_yz))]
        rows = [[(p[i] * p[j] + (i == j) * extra[i]) / (h[i] * h[j]) for j in range(3)] for i in range(3)]
        J = J + np.array(rows)
    for axis in range(3):
        J = smoothed(J, axis + 2, taps[3 + axis])
    inner = tuple(slice(p, J.shape[axis + 2] - p) for axis, p in enumerate(halo))
    return np.moveaxis(J[:, :, *inner], (0, 1), (-2, -1))


def smoothed(u: np.ndarray, axis: int, weights: tuple[float, ...]) -> np.ndarray:
    R = len(weights) - 1
    m = np.pad(u, [(R, R) if a == axis else (0, 0) for a in range(u.ndim)], mode="symmetric")
    parts = [np.take(m, range(R + k, R + k + u.shape[axis]), axis) * weights[abs(k)] for k in range(-R, R + 1)]
    return np.sum(parts, axis=0)


def diffusion(chosen: Form, J: np.ndarray) -> np.ndarray:
    """D of the cells, as rows of entries."""
    if chosen.law == "uncoupled":
        D = np.stack([np.where(np.eye(3, dtype=bool)[i], _g(J[..., i, :]), 0) for i in range(3)], -2)
    elif chosen.law == "isotropic":
        D = _g(np.trace(J, axis1=-2, axis2=-1))[..., None, None] * np.eye(3)
    else:
        mu, vectors = np.linalg.eigh(J)
        mu = np.maximum(mu, 0)
        D = np.einsum("...k,...ik,...jk->...ij", eigenvalues(chosen, mu[..., ::-1])[..., ::-1], vectors, vectors)
    return np.moveaxis(D, (-2, -1), (0, 1))


def eigenvalues(form: Form, mu: np.ndarray) -> np.ndarray:
    """Those of D for mu_1 >= mu_2 >= mu_3; evened out where these differ by less than a thousandth of the largest."""
    if form.law == "anisotropic":
        return _g(mu)
    one, (a, b, c) = np.ones(mu.shape[:-1]), np.moveaxis(mu, -1, 0)
    if form.law == "coherence-enhancing":
        ratio = CONTRAST**2 / np.maximum(a - c, 1e-300)
        chosen = [ACROSS * one, ACROSS * one, ACROSS + (1 - ACROSS) * np.exp(-(np.minimum(ratio, 30) ** 2))]
    else:
        chosen = [_g(a), _g(b) if form.keep == "lines" else one, one]
    # Means over eigenvalues that are nearly equal: weights of a half for two of them, of a third for three.
    near = np.ones((*mu.shape[:-1], 3, 3))
    for i, j in itertools.permutations(range(3), 2):
        gap = np.abs(mu[..., i] - mu[..., j])
        near[..., i, j] = 1 - gap / np.maximum(np.maximum(gap, 1e-3 * a), 1e-300)
    W = np.zeros_like(near)
    for i, j, k in itertools.permutations(range(3)):
        W[..., i, j] = near[..., i, j] / (2 + np.minimum(near[..., i, k], near[..., j, k]))
    for i in range(3):
        W[..., i, i] = 1 - W[..., i, :].sum(-1)
    return np.einsum("...ij,...j->...i", W, np.stack(chosen, -1))


def _g(s2: np.ndarray) -> np.ndarray:
    return 1 / (1 + s2 / CONTRAST**2)
