"""Laws: symmetric tensors within their bounds that turn with the structure, in plane and space, gradients finite."""

import pytest
import torch

import whorl
from catalogue import noise
from whorl.activations import (
    Anisotropic,
    AxisAligned,
    CoherenceEnhancing,
    CustomLaw,
    EdgeContinuing,
    EdgeEnhancing,
    FeatureActivation,
    Isotropic,
    SymmetricMatrix,
    TensorField,
    Variational,
    eigenvalues,
    matrix_diffusivity,
)
from whorl.activations.tensors import upper
from whorl.diffusivities import Charbonnier, Exponential, Rational, RegularisedTV, by_name, names
from whorl.energies import Energy
from whorl.errors import ShapeError
from whorl.operators import CellGradient, Composed, Smoothing
from whorl.operators.cell_smoothing import CellSmoothing


def half(J):
    """A law in Python: half of the matrix function of a rational diffusivity."""
    return matrix_diffusivity(Rational(2.0), J).scaled(torch.tensor(0.5, dtype=J[0].dtype))


LAWS = {
    "isotropic": Variational("isotropic", Exponential(2.0)),
    "anisotropic": Variational("anisotropic", Rational(2.0)),
    "edge-enhancing": EdgeEnhancing(Exponential(2.0)),
    "edge-enhancing lines": EdgeEnhancing(Charbonnier(2.0), keep="lines"),
    "edge-enhancing tv": EdgeEnhancing(RegularisedTV(2.0)),
    "coherence-enhancing": CoherenceEnhancing(1.5),
    "edge-continuing": EdgeContinuing(1.5),
    "custom": CustomLaw(half, maximum=0.5),
}
COUNTER_EXAMPLES = {
    "uncoupled": Variational("uncoupled", Exponential(2.0)),
    "axis-aligned": AxisAligned(CoherenceEnhancing(1.5)),
}
lawful = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
spaces = pytest.mark.parametrize("d", [2, 3], ids=["plane", "space"])
KINDS = ("full", "rank one", "rank two", "equal", "nearly equal", "flat", "strong")


def structure(kind, d, rng, dtype=torch.float64):
    """Structure tensors as matrices ``(count, d, d)``."""
    A = torch.randn(60, d, d, dtype=torch.float64, generator=rng)
    Q = torch.linalg.qr(A)[0]
    spectrum = {
        "equal": [2.0] * d,
        "nearly equal": [2.0, 2.0 + 1e-6, 0.5][:d],
        "flat": [0.0] * d,
    }
    if kind in spectrum:
        J = Q @ torch.diag(torch.tensor(spectrum[kind], dtype=torch.float64)) @ Q.mT
    else:
        A = A[:, :, : {"rank one": 1, "rank two": 2}.get(kind, d)]
        J = (1e8 if kind == "strong" else 1.0) * A @ A.mT
    J = J.to(dtype)
    return 0.5 * (J + J.mT)


def packed(J):
    d = J.shape[-1]
    return SymmetricMatrix(*(J[:, i, j].view(1, 1, 1, 1, -1, *[1] * (d - 1)) for i, j in upper(d)))


def unpacked(D, count):
    d = D.dimensions
    entries = [[D.entry(i, j).flatten().expand(count) for j in range(d)] for i in range(d)]
    return torch.stack([torch.stack(row, -1) for row in entries], -2)


@lawful
@spaces
@pytest.mark.parametrize("kind", KINDS)
def test_eigenvalues_stay_within_the_bounds(law, d, kind, dtype, rng):
    J = structure(kind, d, rng, dtype)
    values = torch.linalg.eigvalsh(unpacked(law.matrix(packed(J)), len(J)).double())
    # Where two eigenvalues of J come near each other, directions are only known to eps over their distance: 1e-3.
    slack = 2e3 * torch.finfo(dtype).eps * law.maximum()
    assert values.min() >= -slack
    assert values.max() <= law.maximum() + slack


@lawful
@spaces
@pytest.mark.parametrize("kind", ["full", "rank one", "flat"])
def test_the_tensor_turns_with_the_structure(law, d, kind, rng):
    if kind == "rank one" and d == 3 and law.name == "coherence-enhancing":
        pytest.skip("a plate has no direction in which it changes least")
    J = structure(kind, d, rng)
    R = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=rng))[0]
    D, turned = (unpacked(law.matrix(packed(A)), len(A)) for A in (J, R @ J @ R.mT))
    assert (turned - R @ D @ R.mT).abs().max() <= 1e-11 * law.maximum()


@pytest.mark.parametrize("law", COUNTER_EXAMPLES.values(), ids=COUNTER_EXAMPLES)
@spaces
def test_laws_without_coupling_do_not(law, d, rng):
    J = structure("full", d, rng)
    R = torch.linalg.qr(torch.randn(d, d, dtype=torch.float64, generator=rng))[0]
    D, turned = (unpacked(law.matrix(packed(A)), len(A)) for A in (J, R @ J @ R.mT))
    assert (turned - R @ D @ R.mT).abs().max() > 1e-2


@spaces
@pytest.mark.parametrize("kind", ["full", "rank one", "equal", "flat"])
def test_edges_are_continued_as_far_as_their_direction_is_certain(d, kind, rng):
    """The inverse of the structure, scaled so that nothing holds back diffusion where the image changes least."""
    J, contrast = structure(kind, d, rng), 1.5
    D = unpacked(EdgeContinuing(contrast).tensor(packed(J)), len(J))
    A = contrast**2 * torch.eye(d, dtype=torch.float64) + J
    exact = torch.linalg.eigvalsh(A)[:, :1, None] * torch.linalg.inv(A)
    # In space eigenvalues of J that differ by less than a thousandth count as equal.
    assert (D - exact).abs().max() <= (1e-12 if d == 2 else 1e-3)
    if kind == "rank one" and d == 2:  # of a single gradient: edge-enhancing diffusion
        edges = unpacked(EdgeEnhancing(Rational(contrast)).tensor(packed(J)), len(J))
        assert (D - edges).abs().max() <= 1e-12


@lawful
@spaces
@pytest.mark.parametrize("kind", ["full", "rank one", "equal", "flat"])
def test_gradients_are_finite_in_float32(law, d, kind, rng):
    J = packed(structure(kind, d, rng, torch.float32))
    entries = [entry.clone().requires_grad_() for entry in J]
    D = law.matrix(SymmetricMatrix(*entries))
    weights = [torch.randn(entry.shape, generator=rng) for entry in D]
    total = sum((w * entry).sum() for w, entry in zip(weights, D, strict=True))
    for gradient in torch.autograd.grad(total, entries, allow_unused=True):
        assert gradient is None or torch.isfinite(gradient).all()


MAGNITUDES = {
    "anisotropic": lambda size: Variational("anisotropic", Exponential(2.0 * size)),
    "anisotropic weickert": lambda size: Variational("anisotropic", by_name("weickert", 2.0 * size)),
    "edge-enhancing": lambda size: EdgeEnhancing(Exponential(2.0 * size)),
    "edge-enhancing lines": lambda size: EdgeEnhancing(Charbonnier(2.0 * size), keep="lines"),
    "coherence-enhancing": lambda size: CoherenceEnhancing(1.5 * size),
    "edge-continuing": lambda size: EdgeContinuing(1.5 * size),
}


@pytest.mark.parametrize("size", [1e-14, 1e-12, 1e-6, 1e6, 1e10, 1e14])
@pytest.mark.parametrize("kind", ["full", "rank two"])
@pytest.mark.parametrize("name", MAGNITUDES)
@spaces
def test_values_and_gradients_do_not_depend_on_the_unit(name, d, kind, size, dtype, rng):
    """A structure and a contrast in other units have the same tensor; derivatives by J are those in these units."""
    J = structure(kind, d, rng)
    mu = torch.linalg.eigvalsh(J)
    J = J[(mu.diff(dim=-1).amin(-1) > 0.05 * mu[:, -1])]  # directions of nearly equal eigenvalues blow rounding up
    weights = torch.randn(len(J), d, d, dtype=torch.float64, generator=rng)
    found = []
    for unit, kept in ((1.0, torch.float64), (size, dtype)):
        A = (unit**2 * J).to(kept).requires_grad_()
        D = unpacked(MAGNITUDES[name](unit).matrix(packed(0.5 * (A + A.mT))), len(J))
        (slope,) = torch.autograd.grad((weights.to(kept) * D).sum(), A)
        found.append((D.double(), unit**2 * slope.double()))
    (exact, slope), (D, found_slope) = found
    eps = torch.finfo(dtype).eps
    assert (D - exact).abs().max() <= 16 * eps
    assert (found_slope - slope).abs().max() <= 20 * 16 * eps * slope.abs().max()


@pytest.mark.parametrize("name", MAGNITUDES)
def test_second_derivatives_in_space_are_right(name, rng):
    A = structure("full", 3, rng)[:6] + torch.diag(torch.tensor([0.0, 1.0, 3.0], dtype=torch.float64))
    law, E = MAGNITUDES[name](1.0), torch.randn(3, 6, 3, 3, dtype=torch.float64, generator=rng)
    E = E + E.mT

    def first(t):
        """The derivative along one direction of one component of the tensor."""
        D = unpacked(law.matrix(packed(A + t * E[0])), 6)
        return torch.autograd.grad((E[2] * D).sum(), t, create_graph=True)[0]

    t = torch.zeros(6, 1, 1, dtype=torch.float64, requires_grad=True)
    (second,) = torch.autograd.grad(first(t).sum(), t)
    h = 1e-4
    ends = [first(torch.full_like(t, k * h, requires_grad=True)).detach() for k in (-2, -1, 1, 2)]
    exact = (ends[0] - 8 * ends[1] + 8 * ends[2] - ends[3]) / (12 * h)
    assert torch.allclose(second, exact, rtol=1e-5, atol=1e-6 * exact.abs().max().item())


@spaces
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", names())
def test_functions_of_matrices_are_those_of_the_eigenvalues(name, kind, d, dtype, rng):
    g, J = by_name(name, 1e4 if kind == "strong" else 1.5), structure(kind, d, rng, dtype)
    D = unpacked(matrix_diffusivity(g, packed(J)), len(J)).double()
    values, vectors = torch.linalg.eigh(J.double())
    exact = vectors @ torch.diag_embed(g(values.clamp_min(0))) @ vectors.mT
    assert (D - exact).abs().max() <= 100 * torch.finfo(dtype).eps * g.maximum()


@pytest.mark.parametrize("kind", [*KINDS, "huge", "tiny"])
def test_spatial_eigenvalues_are_accurate(kind, dtype, rng):
    scale = {"huge": 1e30, "tiny": 1e-30}.get(kind, 1.0)
    J = (scale * structure("full" if scale != 1 else kind, 3, rng)).to(dtype)
    found = torch.stack([nu.flatten() for nu in eigenvalues(packed(J))], -1).double()
    exact = torch.linalg.eigvalsh(J.double()).flip(-1).clamp_min(0)
    assert ((found - exact).abs().amax(-1) <= 16 * torch.finfo(dtype).eps * exact[:, 0]).all()
    assert (found.diff(dim=-1) <= 0).all()


@pytest.mark.parametrize("kind", ["full", "equal", "nearly equal", "rank one"])
@pytest.mark.parametrize("name", ["exponential", "weickert", "free-form"])
def test_spatial_functions_have_the_right_derivative(name, kind, rng):
    g, J = by_name(name, 1.5), structure(kind, 3, rng)[:8]
    direction = torch.randn(8, 3, 3, dtype=torch.float64, generator=rng)
    direction = direction @ direction.mT  # keeps J positive semidefinite on one side; differences are taken there
    J = J + 1e-2 * torch.eye(3, dtype=torch.float64)
    h = 1e-4
    moved = [unpacked(matrix_diffusivity(g, packed(J + k * h * direction)), 8) for k in (-2, -1, 1, 2)]
    slope = (moved[0] - 8 * moved[1] + 8 * moved[2] - moved[3]) / (12 * h)
    t = torch.zeros(8, 1, 1, dtype=torch.float64, requires_grad=True)  # one for each matrix: all at once
    D = unpacked(matrix_diffusivity(g, packed(J + t * direction)), 8)
    automatic = [torch.autograd.grad(entry.sum(), t, retain_graph=True)[0] for entry in D.flatten(1).unbind(1)]
    assert torch.allclose(torch.cat(automatic, 2).view_as(slope), slope, rtol=1e-6, atol=1e-7)


def test_the_regularisers_differ_by_where_the_trace_stands(rng):
    J = packed(structure("full", 2, rng))
    psi = Exponential(2.0).psi
    one, two = eigenvalues(J)
    assert torch.allclose(Variational("isotropic", Exponential(2.0)).psi(J), psi(one + two))
    assert torch.allclose(Variational("anisotropic", Exponential(2.0)).psi(J), psi(one) + psi(two))


def test_eed_in_the_plane_and_plates_and_lines_in_space():
    g = Rational(2.0)
    for d, keep, expected in ((2, "plates", [1]), (3, "plates", [1, 1]), (3, "lines", [g(torch.tensor(4.0)), 1])):
        mu = torch.tensor([16.0, 4.0, 0.25][:d], dtype=torch.float64)
        D = unpacked(EdgeEnhancing(g, keep).matrix(packed(torch.diag(mu)[None])), 1)[0]
        assert torch.allclose(D, torch.diag(torch.tensor([float(g(mu[0])), *expected], dtype=torch.float64)))


@spaces
@pytest.mark.parametrize("size", [0.0, 1e-3])
def test_ced_does_not_change_where_the_image_is_flat(d, size):
    """Up to a small share of the contrast the tensor is constant, so that its derivative is zero."""
    entries = [torch.full((1,) * 7, size if i == j else 0.0, dtype=torch.float64) for i, j in upper(d)]
    J = SymmetricMatrix(*(entry.requires_grad_() for entry in entries))
    D = CoherenceEnhancing(1.5, across=0.01).tensor(J)
    assert [entry.item() for entry in D] == pytest.approx([0.01 if i == j else 0.0 for i, j in upper(d)], abs=1e-15)
    for entry in D:
        gradients = torch.autograd.grad(entry, entries, retain_graph=True, allow_unused=True, materialize_grads=True)
        assert all(gradient.item() == 0 for gradient in gradients)


def test_ced_smooths_along_lines_alone():
    for mu in ([50.0, 1.0], [50.0, 40.0, 1.0]):
        law, values = CoherenceEnhancing(5.0, across=0.002), torch.tensor(mu, dtype=torch.float64)
        D = unpacked(law.matrix(packed(torch.diag(values)[None])), 1)[0]
        along = 0.002 + 0.998 * torch.exp(-(5.0**4) / (values[0] - values[-1]) ** 2)
        assert torch.allclose(D.diagonal()[:-1], torch.full((len(mu) - 1,), 0.002, dtype=torch.float64))
        assert torch.allclose(D.diagonal()[-1], along)


def test_a_strong_edge_keeps_its_digits_in_eed(dtype):
    """An edge of 45,000 grey values at contrast 20: along it, smoothing is as strong as on flat ground."""
    rows = torch.arange(24.0, dtype=torch.float64)
    slanted = 45000 * torch.sigmoid(3 * (rows[:, None] - 0.6 * rows[None, :] - 4)).expand(1, 1, 24, 24)
    for contrast in (20.0, 5.0):
        model = whorl.models.build("eed", contrast=contrast)
        exact = model(slanted, 5.0, engine="reference")
        found = model(slanted.to(dtype), 5.0, engine="reference").double()
        # Some ten steps, each of which rounds grey values of 45,000 a few times.
        assert (found - exact).abs().max() <= 100 * torch.finfo(dtype).eps * 45000


def test_a_given_field_is_linear_diffusion_with_its_energy(rng):
    A = torch.randn(2, 2, 9, 11, dtype=torch.float64, generator=rng)
    D = torch.einsum("ikyx,jkyx->ijyx", A, A) / 8
    law = TensorField.on_pixels(torch.stack([D[0, 0], D[0, 1], D[1, 1]]))
    model = whorl.models.Model(CellGradient(), Anisotropic(law))
    u, w = noise(rng, 1, 2, 9, 11), noise(rng, 1, 2, 9, 11)
    assert torch.allclose(model.rhs(u + 2 * w), model.rhs(u) + 2 * model.rhs(w))
    x = u.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model.energy(x), x)
    assert torch.allclose(-gradient, model.rhs(u), atol=1e-10)
    norm, tau = u.norm(), model.step_limit()
    for _ in range(50):
        u = model.step(u, tau)
        assert u.norm() <= norm * (1 + 1e-13)
        norm = u.norm()


def test_fields_that_do_not_fit_are_refused(rng):
    with pytest.raises(ShapeError, match="entries"):
        TensorField(torch.zeros(4, 5, 5))
    with pytest.raises(ValueError, match="negative eigenvalues"):
        TensorField(torch.tensor([1.0, 2.0, 1.0])[:, None, None].expand(3, 5, 5))
    law = TensorField(torch.tensor([1.0, 0.0, 1.0])[:, None, None].expand(3, 5, 5))
    with pytest.raises(ShapeError, match="cells"):
        whorl.models.Model(CellGradient(), Anisotropic(law)).rhs(noise(rng, 1, 1, 5, 5))


@pytest.mark.parametrize("largest", [0.5, 1.0, 100.0])
def test_rounding_errors_below_zero_are_forgiven_in_a_given_field(largest):
    """Up to a millionth of the largest eigenvalue, or of one."""

    def field(smallest):
        entries = torch.tensor([largest, 0.0, smallest], dtype=torch.float64)
        return TensorField(entries[:, None, None].expand(3, 4, 5))

    size = 1e-6 * max(1.0, largest)
    for allowed in (-0.98 * size, -size):
        assert field(allowed).maximum() == largest
    with pytest.raises(ValueError, match="negative eigenvalues"):
        field(-1.02 * size)


def test_a_law_in_python_is_the_law_itself_and_is_held_to_its_bound(rng):
    u = noise(rng, 1, 1, 9, 8)
    own = whorl.models.Model(CellGradient(), Anisotropic(CustomLaw(lambda J: matrix_diffusivity(Rational(9.0), J))))
    assert torch.equal(own.rhs(u), whorl.models.Model(CellGradient(), Anisotropic(Rational(9.0))).rhs(u))
    loud = Anisotropic(CustomLaw(lambda J: matrix_diffusivity(Rational(9.0), J), maximum=0.01))
    with pytest.raises(ValueError, match="outside"):
        whorl.models.Model(CellGradient(), loud).rhs(u)
    with pytest.raises(ValueError, match="SymmetricMatrix"):
        whorl.models.Model(CellGradient(), Anisotropic(CustomLaw(lambda J: J.a))).rhs(u)
    with pytest.raises(ValueError, match="CustomLaw"):
        Anisotropic(half)


@pytest.mark.parametrize(("low", "high", "fits"), [(-0.001, 1.001, True), (-0.0011, 0.5, False), (0.5, 1.0011, False)])
def test_a_law_in_python_may_leave_its_bound_by_a_thousandth(low, high, fits):
    def diagonal(J):
        return SymmetricMatrix(torch.full_like(J.a, low), torch.zeros_like(J.a), torch.full_like(J.a, high))

    J = packed(torch.eye(2, dtype=torch.float64)[None])
    if fits:
        assert CustomLaw(diagonal).tensor(J).c.item() == high
    else:
        with pytest.raises(ValueError, match="outside"):
            CustomLaw(diagonal).tensor(J)


def test_activations_and_laws_have_their_usual_settings():
    """No detail follows the mixed entry, nothing is smoothed, directions are those of the plane."""
    plain = Anisotropic(Rational(1.0))
    assert (plain.gamma, plain.smoothing, plain.radius, plain.axes) == (0.0, None, 0, 2)
    assert Isotropic(Rational(1.0)).gamma == 0.0
    assert Isotropic(Rational(1.0)).axes == 2
    assert Anisotropic(Rational(1.0), rho=1.0).radius == 4
    assert Anisotropic(Rational(1.0), rho=1.0).smoothing.spacing.along(2) == (1.0, 1.0)
    ced = CoherenceEnhancing()
    assert (ced.contrast.item(), ced.across) == (1.0, 0.001)
    assert not any(parameter.requires_grad for parameter in ced.parameters())
    assert CustomLaw(half).maximum() == 1.0
    features = FeatureActivation(plain)
    assert (features.operator_channels, features.scales) == (2, 1)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: CoherenceEnhancing(1.0, across=0.0), "across"),
        (lambda: CoherenceEnhancing(1.0, across=1.01), "across"),
        (lambda: CustomLaw(half, maximum=0.0), "maximum"),
        (lambda: Anisotropic(Rational(1.0), gamma=1.01), "gamma"),
        (lambda: Anisotropic(Rational(1.0), rho=-0.01), "rho"),
        (lambda: FeatureActivation(Isotropic(Rational(1.0)), 0), "positive"),
        (lambda: FeatureActivation(Isotropic(Rational(1.0)), 2, 0), "positive"),
    ],
)
def test_settings_out_of_range_are_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()


def test_a_law_in_python_may_be_trained(rng):
    class Learned(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.share = torch.nn.Parameter(torch.tensor(0.3))

        def forward(self, J):
            return J.scaled(0 * J.a).shifted(torch.sigmoid(self.share) + 0 * J.a)

    model = whorl.models.Model(CellGradient(), Anisotropic(CustomLaw(Learned())))
    model.step(noise(rng, 1, 1, 6, 6), 0.2).square().sum().backward()
    (parameter,) = model.parameters()
    assert parameter.grad is not None
    assert parameter.grad != 0


@spaces
def test_smoothing_on_cells_is_smoothing_of_the_mirrored_image(d, rng):
    """The structure tensor of a larger, mirrored image, smoothed and cut out, is the same."""
    from whorl.operators.boundary import mirror

    u = noise(rng, 1, 1, *(6, 7, 5)[:d])
    K, phi = CellGradient(0.5), Anisotropic(Exponential(5.0), rho=1.2)
    around = phi.structure_tensor(K(mirror(u, 8)))
    inner = (..., *(slice(8, 8 + size + 1) for size in u.shape[2:]))
    for near, far in zip(phi.structure_tensor(K(u)), around, strict=True):
        assert torch.allclose(near, far[inner], atol=1e-10)
    # On cells at the border a mixed product is zero, so that nothing flows out.
    assert phi.structure_tensor(K(u)).b[..., 0].abs().max() <= 1e-12


def test_smoothing_on_cells_knows_the_spacing():
    assert CellSmoothing(2.0, (0.5, 1.0)).weights_along(2)[0] == CellSmoothing(4.0).weights_along(2)[0]
    assert CellSmoothing(2.0, (0.5, 1.0)).radius == 16


@pytest.mark.parametrize("name", ["eed", "ced", "weickert-brox", "gerig"])
def test_models_in_space_keep_constants_and_means_and_never_gain(name, dtype, rng):
    gamma = {"gamma": 0.0} if name == "ced" else {}
    model = whorl.models.build(name, contrast=3.0, **({"rho": 1.5} if name == "ced" else {}), **gamma)
    flat = torch.full((1, 2, 4, 5, 6), 0.1, dtype=dtype)
    assert torch.equal(model.step(flat, 0.1), flat)
    u = noise(rng, 1, 2, 7, 6, 5, dtype=dtype)
    tau, mean, norm = model.step_limit(dimension=3), u.double().mean(), u.norm()
    for _ in range(20):
        u = model.step(u, tau)
        assert u.norm() <= norm * (1 + 4 * torch.finfo(dtype).eps)
        norm = u.norm()
    assert (u.double().mean() - mean).abs() <= 100 * torch.finfo(dtype).eps * 20


@pytest.mark.parametrize("activation", [Isotropic(Rational(9.0), ("channels",)), Anisotropic(Exponential(9.0))])
def test_energies_in_space_have_the_flux_as_gradient(activation, rng):
    energy, u = Energy(CellGradient(0.3), activation), noise(rng, 1, 2, 4, 5, 6)
    x = u.clone().requires_grad_()
    (automatic,) = torch.autograd.grad(energy(x), x)
    assert (automatic - energy.gradient(u)).norm() <= 1e-10 * automatic.norm()


def test_a_section_that_does_not_change_along_z_gives_the_planar_tensor(rng):
    u = noise(rng, 1, 1, 8, 9)
    volume = u[:, :, None].expand(1, 1, 5, 8, 9)
    for law in (EdgeEnhancing(Exponential(9.0)), Variational("anisotropic", Rational(9.0))):
        phi, K = Anisotropic(law), Composed(CellGradient(0.5), Smoothing(0.8))
        planar, spatial = (law.matrix(phi.structure(K(image))) for image in (u, volume))
        for i, j in upper(2):
            gap = spatial.entry(i, j)[..., 2, :, :] - planar.entry(i, j)
            assert gap.abs().max() <= 1e-12


@pytest.mark.parametrize("scales", [1, 2])
@pytest.mark.parametrize("name", ["multiscale-isotropic", "multiscale-anisotropic"])
def test_weights_inside_count_on_a_single_scale_too(name, scales, rng):
    model = whorl.models.build(name, contrast=9.0, scales=scales)
    u = noise(rng, 1, 1, 8, 9)
    x = u.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(model.energy(x), x)
    assert (model.rhs(u) + gradient).norm() <= 1e-10 * gradient.norm()
    compiled = model.step(u, 0.02)
    assert torch.allclose(compiled, u + 0.02 * model.rhs(u), atol=1e-10)


@lawful
@spaces
def test_bounds_are_attained(law, d):
    """On flat ground by most laws; by coherence-enhancing diffusion along a strong line."""
    flat, line = torch.zeros(d, d, dtype=torch.float64), torch.diag(torch.tensor([1e9] * (d - 1) + [0.0]).double())
    values = [torch.linalg.eigvalsh(unpacked(law.matrix(packed(J[None])), 1)).max().item() for J in (flat, line)]
    assert max(values) == pytest.approx(law.maximum(), rel=1e-12)


@pytest.mark.parametrize("keep", ["plates", "lines"])
@spaces
def test_equal_eigenvalues_are_the_limit_of_nearly_equal_ones(keep, d, rng):
    law = EdgeEnhancing(Rational(1.0), keep)
    J = 2 * torch.eye(d, dtype=torch.float64)[None]
    E = torch.randn(d, d, dtype=torch.float64, generator=rng)
    D, near = (unpacked(law.matrix(packed(A)), 1) for A in (J, J + 1e-9 * (E + E.mT)))
    assert (D - near).abs().max() <= 1e-4


@pytest.mark.parametrize(
    "gaps",
    [(1e-5, 0.5), (0.5, 1e-5), (0.0, 5e-4), (1e-3, 0.0), (4e-4, 0.0), (5e-4, 5e-4), (2e-4, 8e-4), (0.3, 0.3)],
    ids=str,
)
@pytest.mark.parametrize("keep", ["plates", "lines"])
def test_eigenvalues_that_meet_share_their_diffusion(keep, gaps):
    """Two that come near each other are moved towards their mean: the trace stays, and so does one far from them."""
    g = Rational(1.0)
    mu = [2.0, 2.0 - gaps[0], 2.0 - gaps[0] - gaps[1]]
    D = EdgeEnhancing(g, keep).matrix(packed(torch.diag(torch.tensor(mu, dtype=torch.float64))[None]))
    found = unpacked(D, 1)[0].diagonal().tolist()
    middle = 1.0 if keep == "plates" else g(torch.tensor(mu[1], dtype=torch.float64)).item()
    law = [g(torch.tensor(2.0, dtype=torch.float64)).item(), middle, 1.0]
    assert sum(found) == pytest.approx(sum(law), rel=1e-9)
    for pair in (0, 1):
        if gaps[pair] == 0:  # equal eigenvalues have no directions
            assert found[pair] == pytest.approx(found[pair + 1], rel=1e-9)
    if gaps[0] > 1e-2:
        assert found[0] == pytest.approx(law[0], rel=1e-9)
    if gaps[1] > 1e-2:
        assert found[2] == pytest.approx(law[2], rel=1e-9)


def test_in_the_plane_they_are_parted_in_proportion_to_their_distance():
    """Below a thousandth of the larger one, as far as the law would part them at a thousandth."""
    g, gap = Rational(1.0), 4e-4
    mu = torch.tensor([2.0, 2.0 - gap], dtype=torch.float64)
    D = unpacked(EdgeEnhancing(g).matrix(packed(torch.diag(mu)[None])), 1)[0].diagonal()
    rise = g(mu[0]) - 1
    assert float(D[0] - D[1]) == pytest.approx(float(rise) * gap / (1e-3 * 2.0), rel=1e-9)
    assert float(D.sum()) == pytest.approx(2 + float(rise), rel=1e-12)


def test_eigenvalues_of_matrices_with_negative_entries_off_an_even_diagonal():
    """The deviation from the mean has no positive entry here."""
    A = torch.full((3, 3), -1.0, dtype=torch.float64) + 3 * torch.eye(3, dtype=torch.float64)
    found = torch.stack([mu.flatten() for mu in eigenvalues(packed(A[None]))]).flatten()
    assert torch.allclose(found, torch.tensor([3.0, 3.0, 0.0], dtype=torch.float64), atol=1e-12)


@pytest.mark.parametrize("angle", [0.3, -0.4, 2.5])
def test_details_follow_the_size_of_the_mixed_entry(angle):
    """The flux of two parts by hand: a r_x - gamma |b| r_y and c r_y - gamma |b| r_x for each of them."""
    gamma, (p, q) = 0.6, (3 * torch.tensor([angle]).cos().item(), 3 * torch.tensor([angle]).sin().item())
    details = [0.5, -0.25, 0.125, 1.0]
    v = torch.tensor([p, q, *details], dtype=torch.float64).view(1, 1, 1, 6, 1, 1)
    activation = Anisotropic(Rational(2.0), gamma=gamma)
    D = matrix_diffusivity(Rational(2.0), activation.structure_tensor(v))
    a, b, c = (entry.item() for entry in D)
    expected = [a * p + b * q, b * p + c * q]
    for r_x, r_y in (details[:2], details[2:]):
        expected += [a * r_x - gamma * abs(b) * r_y, c * r_y - gamma * abs(b) * r_x]
    assert activation(v).flatten().tolist() == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="gamma = 0.6 is for the plane"):
        activation(torch.ones(1, 1, 1, 3, 1, 1, 1))


def test_directions_are_those_of_the_space_unless_given():
    plane, space = torch.zeros(1, 1, 1, 12, 1, 1), torch.zeros(1, 1, 1, 12, 1, 1, 1)
    for axes, in_plane, in_space in ((2, 2, 3), (1, 1, 1), (4, 4, 4)):
        activation = Isotropic(Rational(1.0), axes=axes)
        assert (activation.directions(plane), activation.directions(space)) == (in_plane, in_space)


@pytest.mark.parametrize("law", [EdgeContinuing, CoherenceEnhancing])
def test_contrasts_of_laws_are_1_and_fixed_by_default(law):
    assert float(law().contrast) == 1
    assert not list(law().parameters())
    assert len(list(law(trainable=True).parameters())) == 1
